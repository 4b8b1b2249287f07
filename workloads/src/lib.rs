//! Request generators, trace formats, trace replay.

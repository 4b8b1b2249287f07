//! What a storage system itself computes: cache policies, erasure and cipher codecs, placement.

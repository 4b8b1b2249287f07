//! stub
pub(crate) use crate::statements::StatementWriter as PageWriter;

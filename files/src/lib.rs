//! Everything that the program writes, so that users lose nothing by it.
//!
//! - A file is whole or not there ([`NewFile`]): it is written under another name beside its own,
//!   synced, renamed, and the directory is synced. What stands at its name must be an ordinary file or
//!   nothing: symbolic links, pipes, devices and directories are neither followed nor replaced.
//! - A directory of ours ([`Directory`]) carries a manifest, [`MANIFEST`], that lists our files in it with
//!   their sizes. Only what it lists, and what still has the size that we wrote, is replaced or
//!   removed. A directory that is neither empty nor ours is refused. The manifest is on the disk before
//!   the first file is.
//! - The manifest is data like any other. Names in it, and names that come from data elsewhere, must be
//!   plain relative paths ([`check_name`]); directories on the way are opened one by one, and none may be
//!   a symbolic link.
//! - One command at a time writes into a directory. A lock on the directory itself says so; the system
//!   drops it with the process, however that ends.
//! - A directory that nothing came into is removed again, and so is what was half-written: when the
//!   values of this crate are dropped, or by [`abandon`] before a process exits.
//!
//! Left out: protection against others who may write into the same directory and race with us between
//! two system calls. They can make a command fail, but not lead it out of the directory.

mod abandon;
mod dir;
mod directory;
mod error;
mod grow;
mod manifest;
mod name;
mod new_file;
mod scratch;

pub use abandon::abandon;
pub use directory::{Access, Directory, Purpose};
pub use error::FilesError;
pub use grow::{append_line, grow};
pub use manifest::MANIFEST;
pub use name::check_name;
pub use new_file::{NewFile, check, write, write_new};
pub use scratch::Scratch;

//! All output of the program to files, in such a way that users lose no data.
//!
//! - A file is complete or does not exist ([`NewFile`]): it is written under a temporary name in the same
//!   directory, synced, renamed, and the directory is synced. Its name must be free or belong to an
//!   ordinary file of the kind that the command writes ([`FileKind`]). Other files, symbolic links, pipes,
//!   devices and directories are neither followed nor replaced.
//! - A directory of ours ([`Directory`]) contains a manifest, [`MANIFEST`], which lists our files in it
//!   with their sizes. A file is replaced or removed only if it is listed and still has the size that we
//!   wrote. A directory that is neither empty nor ours is rejected. The manifest is on the disk before the
//!   first file.
//! - The manifest is untrusted data. Names in it, and names from other data, must be plain relative paths
//!   ([`check_name`]). Directories on the path are opened one by one, and none may be a symbolic link.
//! - Only one command at a time writes into a directory. This is ensured by a lock on the directory
//!   itself; the system releases it when the process ends, for whatever reason.
//! - Directories without content, and half-written files, are removed: when the values of this crate are
//!   dropped, or by [`abandon`] before a process exits.
//!
//! Left out: protection against others who may write into the same directory and race with us between two
//! system calls. They can make a command fail, but cannot make it write outside the directory.

mod abandon;
mod dir;
mod directory;
mod error;
mod grow;
mod kind;
mod manifest;
mod name;
mod new_file;
mod scratch;

pub use abandon::abandon;
pub use directory::{Access, Directory, Purpose};
pub use error::FilesError;
pub use grow::{append_line, grow};
pub use kind::FileKind;
pub use manifest::MANIFEST;
pub use name::check_name;
pub use new_file::{NewFile, check, check_apart, write, write_new};
pub use scratch::Scratch;

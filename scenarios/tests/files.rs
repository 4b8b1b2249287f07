//! All tests of scenario files in one binary, which is linked once.

mod ceph;
mod changes;
mod devices;
mod drives;
mod errors;
mod known;
mod profiles;
mod reference;
mod robust;
mod shipped;

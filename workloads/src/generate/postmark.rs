//! `PostMark` (Katcher 1997, Network Appliance TR3022), as Thereska et al. 2006 runs it: small files of mail
//! and news; results are transactions per second.
//!
//! A pool of files lies in subdirectories. A transaction reads a whole file or appends to one, and then
//! creates a file or deletes one (both with equal probability, `PostMark`'s bias of 5 in 10). Sizes are
//! uniform from 500 B to 9.77 KB. An append adds a uniform part of the difference between a file's size and
//! the largest size, so files of the largest size do not change. The pool exists at the start and at the
//! end: only `PostMark`'s transaction phase is counted, not the creation and deletion of the pool.
//!
//! Files need places on a volume. *Assumed*, because neither source says: a file system with a table of
//! inodes of 128 B, directories with entries of 32 B, and a fixed place for each file, large enough for the
//! largest. Places are reused, the last freed one first. The file system reads and writes whole blocks of 4
//! KiB. A read looks the name up in its directory, then reads inode and data. An append also reads the block
//! that it continues, and writes data and inode. Creating writes data, inode and directory; deleting writes
//! directory and inode. Each step is complete on the volume before the next, as an NFS server guarantees;
//! there is no journal.

use foretell_units::{Bytes, Stream};

use super::GenerateError;
use super::pattern::check_share;
use crate::transaction::{TransactionStep, Transactions};

/// Bytes of an inode.
const INODE: u64 = 128;
/// Bytes of a directory entry.
const ENTRY: u64 = 32;

/// Settings of `PostMark`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Postmark {
    /// Number of files at the start.
    pub files: u32,
    /// Number of transactions.
    pub transactions: u64,
    /// Number of subdirectories.
    pub subdirectories: u32,
    /// The smallest file.
    pub smallest: Bytes,
    /// The largest.
    pub largest: Bytes,
    /// Share of transactions that read; the others append.
    pub read_share: f64,
    /// Share of transactions that create; the others delete.
    pub create_share: f64,
    /// The file system's block.
    pub block: Bytes,
}

impl Default for Postmark {
    fn default() -> Self {
        Self {
            files: 20_000,
            transactions: 20_000,
            subdirectories: 140,
            smallest: Bytes(500),
            largest: Bytes(10_000),
            read_share: 0.5,
            create_share: 0.5,
            block: Bytes::kib(4),
        }
    }
}

impl Postmark {
    /// Number of places for files: twice the number of files at the start, as in `PostMark`'s own table.
    fn places(self) -> u64 {
        u64::from(self.files) * 2
    }

    /// Number of blocks of a file of the largest size.
    fn blocks_of_file(self) -> u64 {
        self.largest.div_ceil(self.block)
    }

    /// Number of blocks of a directory. Names are spread at random, so there is room for twice the mean.
    fn blocks_of_directory(self) -> u64 {
        let entries = (2 * self.places()).div_ceil(u64::from(self.subdirectories.max(1)));
        (entries * ENTRY).div_ceil(self.block.get()).max(1)
    }

    /// Start of the directories, start of the data, and the end, in blocks.
    fn regions(self) -> [u64; 3] {
        let directories = (self.places() * INODE).div_ceil(self.block.get());
        let data = directories + self.blocks_of_directory() * u64::from(self.subdirectories);
        [directories, data, data + self.places() * self.blocks_of_file()]
    }

    /// Size of the file system on a volume.
    pub fn footprint(self) -> Bytes {
        if self.block == Bytes::ZERO {
            return Bytes::ZERO;
        }
        Bytes(self.block.get().saturating_mul(self.regions()[2]))
    }

    /// The transactions, on a volume of `volume` bytes; the file system begins at `base`.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, or the files do not fit.
    pub fn over(
        self,
        volume: Bytes,
        base: Bytes,
        mut stream: Stream,
    ) -> Result<PostmarkTransactions, GenerateError> {
        check_share("read_share", self.read_share)?;
        check_share("create_share", self.create_share)?;
        if self.block == Bytes::ZERO || self.smallest == Bytes::ZERO {
            return Err(GenerateError::NoAccess);
        }
        if self.files == 0 || self.subdirectories == 0 || self.smallest > self.largest {
            return Err(GenerateError::NoFiles {
                files: self.files,
                subdirectories: self.subdirectories,
                smallest: self.smallest,
                largest: self.largest,
            });
        }
        let working_set = Bytes(base.get().saturating_add(self.footprint().get()));
        if working_set > volume {
            return Err(GenerateError::BeyondVolume { working_set, volume });
        }
        // the pool lies at the beginning, in the order of its creation; the lowest free place is on top
        let free = (self.files..self.files * 2).rev().collect();
        let files = (0..self.files).map(|place| self.new_file(place, &mut stream)).collect();
        let left = self.transactions;
        Ok(PostmarkTransactions { postmark: self, base, files, free, left, stream })
    }

    fn new_file(self, place: u32, stream: &mut Stream) -> File {
        let spread = (self.largest - self.smallest).get() + 1;
        let size = self.smallest.get() + stream.below(spread);
        let directory = stream.below(u64::from(self.subdirectories)) as u32;
        File { place, directory, size }
    }
}

/// A file of the pool.
#[derive(Clone, Copy, Debug)]
struct File {
    place: u32,
    directory: u32,
    size: u64,
}

/// The requested number of transactions.
#[derive(Clone, Debug)]
pub struct PostmarkTransactions {
    postmark: Postmark,
    base: Bytes,
    files: Vec<File>,
    free: Vec<u32>,
    left: u64,
    stream: Stream,
}

impl PostmarkTransactions {
    fn blocks(&self, first: u64, count: u64) -> (Bytes, Bytes) {
        let block = self.postmark.block;
        (self.base + block * first, block * count)
    }

    /// The block of a file's inode.
    fn inode(&self, file: File) -> (Bytes, Bytes) {
        let at = u64::from(file.place) * INODE / self.postmark.block.get();
        self.blocks(at, 1)
    }

    /// The directory block with a file's entry: chosen by a hash of its name, as in an indexed directory.
    fn entry(&self, file: File) -> (Bytes, Bytes) {
        let per_directory = self.postmark.blocks_of_directory();
        let at = u64::from(file.directory) * per_directory + u64::from(file.place) % per_directory;
        self.blocks(self.postmark.regions()[0] + at, 1)
    }

    /// The blocks of a file's bytes `from` to `to`.
    fn data(&self, file: File, from: u64, to: u64) -> (Bytes, Bytes) {
        let block = self.postmark.block.get();
        let begin =
            self.postmark.regions()[1] + u64::from(file.place) * self.postmark.blocks_of_file();
        self.blocks(begin + from / block, to.div_ceil(block) - from / block)
    }

    fn read_or_append(&mut self, steps: &mut Vec<TransactionStep>) {
        // both choices are always drawn, so changing one share does not change the other's draws
        let reads = self.stream.chance(self.postmark.read_share);
        let chosen = self.stream.below(self.files.len() as u64) as usize;
        let amount = self.stream.unit();
        let file = self.files[chosen];
        let read = |(offset, size)| TransactionStep::read(offset, size);
        let write = |(offset, size)| TransactionStep::write(offset, size);
        steps.extend([read(self.entry(file)), read(self.inode(file))]);
        if reads {
            steps.push(read(self.data(file, 0, file.size)));
            return;
        }
        let lacks = self.postmark.largest.get() - file.size;
        if lacks == 0 {
            return;
        }
        let end = file.size + 1 + (amount * lacks as f64) as u64;
        let end = end.min(self.postmark.largest.get());
        if !file.size.is_multiple_of(self.postmark.block.get()) {
            steps.push(read(self.data(file, file.size, file.size + 1)));
        }
        steps.extend([write(self.data(file, file.size, end)), write(self.inode(file))]);
        self.files[chosen].size = end;
    }

    fn create_or_delete(&mut self, steps: &mut Vec<TransactionStep>) {
        let wanted = self.stream.chance(self.postmark.create_share);
        // the last file is kept, and files are created only while there are free places
        let creates = (wanted || self.files.len() == 1) && !self.free.is_empty();
        let read = |(offset, size)| TransactionStep::read(offset, size);
        let write = |(offset, size)| TransactionStep::write(offset, size);
        if creates {
            let place = self.free.pop().expect("a place is free");
            let file = self.postmark.new_file(place, &mut self.stream);
            self.files.push(file);
            steps.extend([
                read(self.entry(file)),
                write(self.data(file, 0, file.size)),
                write(self.inode(file)),
                write(self.entry(file)),
            ]);
        } else {
            let chosen = self.stream.below(self.files.len() as u64) as usize;
            let file = self.files.swap_remove(chosen);
            self.free.push(file.place);
            steps.extend([
                read(self.entry(file)),
                write(self.entry(file)),
                write(self.inode(file)),
            ]);
        }
    }
}

impl Transactions for PostmarkTransactions {
    fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.read_or_append(steps);
        self.create_or_delete(steps);
        true
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::{Op, Seed};

    use super::*;
    use crate::chi_square::assert_fits;

    fn postmark(settings: Postmark) -> PostmarkTransactions {
        let volume = settings.footprint() + Bytes::mib(1);
        settings.over(volume, Bytes::mib(1), Seed(1).stream("postmark")).unwrap()
    }

    #[test]
    fn defaults_are_those_of_the_paper() {
        let default = Postmark::default();
        assert_eq!(
            (default.files, default.transactions, default.subdirectories),
            (20_000, 20_000, 140)
        );
        // 40 000 places: 1250 blocks of inodes, 140 directories of 5 blocks (572 entries of 32 B
        // are 18 304 B), 120 000 blocks of data
        assert_eq!(default.regions(), [1250, 1950, 121_950]);
        assert_eq!(default.footprint(), Bytes::kib(4) * 121_950);
    }

    #[test]
    fn there_are_as_many_transactions_as_asked_for_and_all_stay_within() {
        let settings =
            Postmark { files: 50, transactions: 3_000, subdirectories: 7, ..Postmark::default() };
        let mut source = postmark(settings);
        let mut count = 0;
        let mut steps = Vec::new();
        while source.next(&mut steps) {
            count += 1;
            // a lookup and a read or an append; then a creation or a deletion
            assert!((5..=9).contains(&steps.len()), "{steps:?}");
            for step in steps.drain(..) {
                let TransactionStep::Io(access) = step else { panic!("no server") };
                assert!(
                    access.offset >= Bytes::mib(1)
                        && access.end() <= settings.footprint() + Bytes::mib(1)
                );
                assert!(
                    access.offset.get().is_multiple_of(4096)
                        && access.size.get().is_multiple_of(4096)
                );
                assert!(access.size <= Bytes::kib(12));
            }
            assert_eq!(source.files.len() + source.free.len(), 100);
            assert!(source.files.iter().all(|file| (500..=10_000).contains(&file.size)));
        }
        assert_eq!(count, 3_000);
    }

    #[test]
    fn sizes_are_uniform_and_directories_even() {
        let source = postmark(Postmark::default());
        let mut sizes = vec![0; 19];
        let mut directories = vec![0; 140];
        for file in &source.files {
            // 9501 sizes in 19 cells of 500, and one left over
            sizes[((file.size - 500) / 500).min(18) as usize] += 1;
            directories[file.directory as usize] += 1;
        }
        let mut weights = vec![500.0; 19];
        weights[18] = 501.0;
        assert_fits(&sizes, &weights);
        assert_fits(&directories, &[1.0; 140]);
    }

    #[test]
    fn shares_of_reads_and_creations_are_met() {
        for (read_share, create_share) in [(0.5, 0.5), (0.9, 0.5), (0.0, 0.45)] {
            let settings = Postmark { read_share, create_share, ..Postmark::default() };
            let mut source = postmark(settings);
            let (mut reads, mut creations, mut steps) = (0_u64, 0_u64, Vec::new());
            for _ in 0..20_000 {
                steps.clear();
                source.read_or_append(&mut steps);
                let is_write = |step: &TransactionStep| matches!(step, TransactionStep::Io(a) if a.op == Op::Write);
                reads += u64::from(steps.len() == 3 && !steps.iter().any(is_write));
                let before = source.files.len();
                source.create_or_delete(&mut steps);
                creations += u64::from(source.files.len() > before);
            }
            for (count, share) in [(reads, read_share), (creations, create_share)] {
                // four standard deviations of a binomial share
                let tolerance = 4.0 * (share * (1.0 - share) / 20_000.0_f64).sqrt();
                assert!((count as f64 / 20_000.0 - share).abs() <= tolerance, "{count} of {share}");
            }
        }
    }

    #[test]
    fn files_must_fit_and_be_possible() {
        let refused = |settings: Postmark| {
            settings.over(Bytes::mib(1), Bytes(0), Seed(1).stream("x")).unwrap_err().to_string()
        };
        assert!(refused(Postmark::default()).contains("but the volume has 1 MiB"));
        assert!(refused(Postmark { files: 0, ..Postmark::default() }).contains("0 files"));
    }
}

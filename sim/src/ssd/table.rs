//! A table of 32-bit numbers of which most are zero.
//!
//! A mapping table of a terabyte has 10⁸ entries. Memory is taken in chunks when something in them
//! is first written. A chunk is so large that the system hands it out untouched, page by page, and
//! that the list of chunks stays in the processor's caches; so what a run takes grows with the pages
//! that it touches.

/// Entries of a chunk.
const CHUNK: usize = 1 << 16;

fn new_chunk() -> Box<[u32; CHUNK]> {
    // zeroed by the system, not by us: `Box::new` would touch all of it
    vec![0; CHUNK].into_boxed_slice().try_into().expect("it has as many entries")
}

/// A table of numbers, zero at first.
#[derive(Debug)]
pub(super) struct Table {
    chunks: Vec<Option<Box<[u32; CHUNK]>>>,
}

impl Table {
    /// A table of `entries` zeros.
    pub(super) fn new(entries: u32) -> Self {
        Self { chunks: vec![None; (entries as usize).div_ceil(CHUNK)] }
    }

    /// The number at `index`.
    pub(super) fn get(&self, index: u32) -> u32 {
        let index = index as usize;
        self.chunks[index / CHUNK].as_ref().map_or(0, |chunk| chunk[index % CHUNK])
    }

    /// Sets the number at `index`.
    pub(super) fn set(&mut self, index: u32, value: u32) {
        let index = index as usize;
        let chunk = self.chunks[index / CHUNK].get_or_insert_with(new_chunk);
        chunk[index % CHUNK] = value;
    }

    /// Chunks that take memory.
    #[cfg(test)]
    fn taken(&self) -> usize {
        self.chunks.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_where_something_is_written() {
        let mut table = Table::new(1 << 30);
        assert_eq!((table.get(123_456_789), table.taken()), (0, 0));
        table.set(123_456_789, 7);
        table.set(123_456_788, 8);
        assert_eq!((table.get(123_456_789), table.get(123_456_788)), (7, 8));
        assert_eq!((table.get(123_456_790), table.taken()), (0, 1));
    }
}

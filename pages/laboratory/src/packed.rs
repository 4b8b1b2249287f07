//! An engine, packed: a file of LZMA (`.lzma`), which `assets/lzma.js` unpacks in the page.
//!
//! LZMA makes the engine a third smaller than gzip, because it finds repetitions at any distance; gzip looks 32 KB back.
//! The format has no checksum. But after a damaged bit other bytes are decoded, and the file does not end where it should.

use std::io::{Read, Write};

use flate2::read::GzDecoder;
use lzma_rust2::{EncodeMode, LzmaOptions, LzmaReader, LzmaWriter, MfType};

/// Maximum size of an engine.
const MAX_BYTES: u64 = 64 << 20;
/// Memory in which an engine of that size is unpacked, KiB.
const MAX_KIB: u32 = (MAX_BYTES >> 10) as u32 + 1024;
/// The smallest dictionary of LZMA.
const MIN_DICTIONARY: u32 = 4096;
/// Number of bits of the byte before by which a byte is predicted. With 4, and without the byte's position (`lp`, `pb`),
/// the packed engine is smallest: instructions of WebAssembly have any length, so positions predict nothing.
const LITERAL_CONTEXT: u32 = 4;
/// The first bytes of a file of gzip, in which pages of earlier versions have the engine.
const GZIP: &[u8] = &[0x1f, 0x8b, 8];

/// Packs a module; `None` if it is too large.
pub(crate) fn pack(module: &[u8]) -> Option<Vec<u8>> {
    let size = module.len() as u64;
    if size > MAX_BYTES {
        return None;
    }
    let options = LzmaOptions {
        // any part of the module can be repeated; a power of two, because some programs read no other sizes
        dict_size: (size as u32).next_power_of_two().max(MIN_DICTIONARY),
        lc: LITERAL_CONTEXT,
        lp: 0,
        pb: 0,
        mode: EncodeMode::Normal,
        nice_len: LzmaOptions::NICE_LEN_MAX,
        mf: MfType::Bt4,
        depth_limit: 0, // chosen by `nice_len`
        preset_dict: None,
    };
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, Some(size)).ok()?;
    writer.write_all(module).ok()?;
    writer.finish().ok()
}

/// Whether an engine is packed as in pages of earlier versions.
pub(crate) fn is_gzip(packed: &[u8]) -> bool {
    packed.starts_with(GZIP)
}

/// Unpacks a module; `None` if it is damaged or too large.
pub(crate) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut module = Vec::new();
    if is_gzip(packed) {
        GzDecoder::new(packed).take(MAX_BYTES).read_to_end(&mut module).ok()?;
        return Some(module);
    }
    let size = u64::from_le_bytes(packed.get(5..13)?.try_into().ok()?);
    if size > MAX_BYTES {
        return None;
    }
    let mut reader = LzmaReader::new_mem_limit(packed, MAX_KIB, None).ok()?;
    reader.set_relaxed_end_condition(false);
    reader.read_to_end(&mut module).ok()?;
    (module.len() as u64 == size).then_some(module)
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Bytes with repetitions near and far.
    fn module() -> Vec<u8> {
        let noise = (0..50_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
        let noise: Vec<u8> = noise.collect();
        [&noise, &[7; 1000][..], &noise[10_000..30_000]].concat()
    }

    #[test]
    fn modules_come_back() {
        for module in [&module()[..], b"a", b"", &[0; 5000]] {
            assert_eq!(unpack(&pack(module).unwrap()).unwrap(), module);
        }
    }

    #[test]
    fn what_earlier_versions_packed_comes_back() {
        let mut writer = GzEncoder::new(Vec::new(), Compression::best());
        writer.write_all(&module()).unwrap();
        assert_eq!(unpack(&writer.finish().unwrap()).unwrap(), module());
    }

    #[test]
    fn damage_is_found() {
        let packed = pack(&module()).unwrap();
        for at in (0..packed.len()).step_by(997) {
            let mut damaged = packed.clone();
            damaged[at] ^= 16;
            // the dictionary's size may be another
            assert!((1..5).contains(&at) || unpack(&damaged).is_none(), "{at}");
            assert!(unpack(&packed[..at]).is_none(), "{at}");
        }
    }

    #[test]
    fn sizes_that_no_engine_has_are_refused() {
        let packed = pack(&module()).unwrap();
        for size in [MAX_BYTES + 1, u64::MAX, 70_999, 71_001] {
            let size = size.to_le_bytes();
            assert!(unpack(&[&packed[..5], &size, &packed[13..]].concat()).is_none(), "{size:?}");
        }
        let dictionary = u32::MAX.to_le_bytes();
        assert!(unpack(&[&packed[..1], &dictionary, &packed[5..]].concat()).is_none());
    }
}

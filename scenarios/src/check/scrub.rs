//! Checks scrubbing: its rate, its chunks, and whether there is anything to scrub.

use foretell_units::{Bytes, SimSpan};

use super::{Context, section};
use crate::error::Problem;
use crate::model::{Scrub, System};
use crate::raw::{RawScrub, Size};
use crate::tree::Table;

impl Context<'_> {
    /// How a scenario is scrubbed; `None` inside if it is not. Errors if that is wrong, which was reported.
    pub(super) fn scrub(
        &mut self,
        tree: &Table,
        system: Option<&System>,
        duration: Option<SimSpan>,
    ) -> Result<Option<Scrub>, ()> {
        let Some(entry) = tree.entry("scrub") else { return Ok(None) };
        if section(tree, "volume").next().is_none() {
            let message = "`scrub` has no effect: there are no volumes, so the disks store nothing";
            let help =
                "add a volume, such as `[volume.mail]` with `size` and `nodes`, or leave it out";
            self.add(Problem::new(entry.key_place, message).help(help));
            return Err(());
        }
        let raw: RawScrub = self.part(tree, "scrub").ok_or(())?;
        let rate = self.rate(&raw.rate);
        let chunk = match &raw.chunk {
            Some(size) => self.chunk(size),
            None => system.map(usual_chunk),
        };
        let (rate, chunk) = (rate.ok_or(())?, chunk.ok_or(())?);
        let each = rate.time_for(chunk);
        if let Some(duration) = duration.filter(|duration| each > *duration) {
            let message = format!(
                "`scrub` has no effect: at this rate a scrubber reads {chunk} in {each}, and the run measures {duration}"
            );
            let help = "take a higher `rate`, a smaller `chunk` or a longer `duration`";
            self.add(Problem::new(raw.rate.place(), message).help(help));
            return Err(());
        }
        Ok(Some(Scrub { rate, chunk }))
    }

    /// A chunk: whole blocks, and not too many.
    fn chunk(&mut self, raw: &Size) -> Option<Bytes> {
        let size = self.size_above_zero(raw, "a chunk")?;
        let (block, largest) = (Scrub::BLOCK, Scrub::LARGEST_CHUNK);
        let message = if size > largest {
            format!("a scrubber cannot read {size} at a time: at most {largest}")
        } else if size.get() % block.get() != 0 {
            format!("a scrubber reads whole blocks of {block}, and {size} are not")
        } else {
            return Some(size);
        };
        let help = "a chunk is what is read of a disk at once, such as \"512 KiB\"";
        self.add(Problem::new(raw.place(), message).help(help));
        None
    }
}

/// The bytes that the software of a system reads at a time.
fn usual_chunk(system: &System) -> Bytes {
    match system {
        // `disk_chunk_size` of Swift's object auditor
        System::Swift(_) => Bytes::kib(64),
        // `osd_deep_scrub_stride` of Ceph up to Quincy; assumed for Ursa Minor, whose value no source gives
        _ => Bytes::kib(512),
    }
}

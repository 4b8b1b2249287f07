//! The description of this host.

use std::num::NonZeroUsize;

/// A host as its operating system describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    /// Model of the processor, or its architecture if no model is known. Plain ASCII.
    pub(crate) processor: String,
    /// Cores that this process may use.
    pub(crate) cores: u32,
    /// Architecture and operating system.
    pub(crate) platform: String,
}

impl Machine {
    /// The host that this program runs on.
    pub(crate) fn this() -> Self {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let platform = format!("{}, {}", std::env::consts::ARCH, std::env::consts::OS);
        let processor = model_name(&text)
            .unwrap_or_else(|| format!("a processor of {}", std::env::consts::ARCH));
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        // a profile has at most 1,024 cores
        Self { processor, cores: cores.min(1024) as u32, platform }
    }
}

/// The model name in the text of `/proc/cpuinfo`, without characters that a profile's text cannot
/// hold.
fn model_name(cpuinfo: &str) -> Option<String> {
    let value = cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then_some(value)
    })?;
    let plain: String = value
        .chars()
        .map(|c| if c.is_ascii_graphic() && !matches!(c, '"' | '\\') { c } else { ' ' })
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_name_is_found_and_made_plain() {
        let text = "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD \"EPYC\\  9R\u{7f}14\n";
        assert_eq!(model_name(text).as_deref(), Some("AMD EPYC 9R 14"));
        assert_eq!(model_name("processor : 0\n"), None);
        assert_eq!(model_name("model name : \u{e9}\n"), None);
        assert!(Machine::this().cores >= 1);
    }
}

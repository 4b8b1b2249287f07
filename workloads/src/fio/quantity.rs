//! Numbers as fio writes them: `4k`, `1g`, `10%`, `30s`, `500us`.

use foretell_units::{Bytes, SimSpan};

/// Parses a size: a number with a suffix, which is a power of 1024 (`k`, `kb`, `kib`, ... as with
/// fio's default `kb_base=1024`). `None`: it is not a size.
pub fn size(text: &str) -> Option<Bytes> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let power = match text[digits..].trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" | "ki" => 1,
        "m" | "mb" | "mib" | "mi" => 2,
        "g" | "gb" | "gib" | "gi" => 3,
        "t" | "tb" | "tib" | "ti" => 4,
        "p" | "pb" | "pib" | "pi" => 5,
        _ => return None,
    };
    number.checked_mul(1024_u64.checked_pow(power)?).map(Bytes)
}

/// Parses a time: a number with `d`, `h`, `m`, `s`, `ms` or `us`; without a suffix, in units of
/// `unit`. `None`: it is not a time.
pub fn time(text: &str, unit: SimSpan) -> Option<SimSpan> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let ns = match text[digits..].trim() {
        "" => unit.as_ns() as f64,
        "d" => 86_400e9,
        "h" => 3_600e9,
        "m" => 60e9,
        "s" => 1e9,
        "ms" => 1e6,
        "us" | "usec" => 1e3,
        _ => return None,
    };
    let found = number * ns;
    (0.0..=3.2e17).contains(&found).then(|| SimSpan::from_ns(found.round() as u64))
}

/// Parses a switch: `1`, `0`, or empty, which means on.
pub fn switch(text: &str) -> Option<bool> {
    match text.trim() {
        "" | "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_switches_are_read_as_fio_reads_them() {
        assert_eq!(size("4k"), Some(Bytes::kib(4)));
        assert_eq!(size("1G"), Some(Bytes::gib(1)));
        assert_eq!(size("512"), Some(Bytes(512)));
        assert_eq!(size("2MiB"), Some(Bytes::mib(2)));
        for bad in ["", "k", "4x", "-1", "1.5k", "99999999p"] {
            assert_eq!(size(bad), None, "{bad}");
        }
        let second = SimSpan::from_secs(1);
        assert_eq!(time("30", second), Some(SimSpan::from_secs(30)));
        assert_eq!(time("1.5m", second), Some(SimSpan::from_secs(90)));
        assert_eq!(time("250us", second), Some(SimSpan::from_us(250)));
        assert_eq!(time("7", SimSpan::from_us(1)), Some(SimSpan::from_us(7)));
        assert_eq!(time("1e9d", second), None);
        assert_eq!((switch(""), switch("0"), switch("maybe")), (Some(true), Some(false), None));
    }
}

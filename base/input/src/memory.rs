//! The memory that this process may still use, according to the operating system.
//!
//! Work that needs more is refused with a message before it begins. Otherwise the system would end the
//! process without a message, or the machine would swap.

use std::fs;

/// Bytes that this process may still use: the minimum of the machine's free memory, the rest of the limit
/// on its address space, and the rest of its control group's limit. `None` on systems other than Linux.
pub fn available_memory() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let free = read("/proc/meminfo").and_then(|text| kib_of(&text, "MemAvailable:"));
    let space = read("/proc/self/limits").and_then(|text| address_space(&text)).map(|most| {
        let taken = read("/proc/self/status").and_then(|text| kib_of(&text, "VmSize:"));
        most.saturating_sub(taken.unwrap_or(0))
    });
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    [free, space, group].into_iter().flatten().min()
}

/// The bytes in a line such as `VmSize:  1234 kB`.
fn kib_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit in the line `Max address space`; `None` if it is unlimited.
fn address_space(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let status = "Name:\tx\nVmSize:\t    1234 kB\n";
        assert_eq!(kib_of(status, "VmSize:"), Some(1234 << 10));
        assert_eq!(kib_of(status, "MemAvailable:"), None);
        let limits = "Limit  Soft Limit  Hard Limit  Units\n\
                      Max address space         2147483648           unlimited            bytes\n";
        assert_eq!(address_space(limits), Some(2 << 30));
        assert_eq!(address_space(&limits.replace("2147483648", "unlimited ")), None);
        if cfg!(target_os = "linux") {
            assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}

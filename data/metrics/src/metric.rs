//! The 32 metrics that `dstat -tcly -mg --vm -dr -n --tcp --float` prints, in its order and units.
//!
//! These are those of dstat up to 0.7.2. Later versions print stolen time (`stl`) in place of hardware
//! and software interrupts (`hiq`, `siq`), and free memory before buffers.

/// One of dstat's metrics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Metric {
    /// User code, % of the processors' time.
    CpuUsr,
    /// The kernel, %.
    CpuSys,
    /// Idle, %.
    CpuIdl,
    /// Idle while a thread waits for a disk, %.
    CpuWai,
    /// Hardware interrupts, %.
    CpuHiq,
    /// Software interrupts, %.
    CpuSiq,
    /// Threads that run or wait for a processor or a disk, averaged with decay over 1 minute.
    Load1m,
    /// The same over 5 minutes.
    Load5m,
    /// The same over 15 minutes.
    Load15m,
    /// Interrupts a second.
    SystemInt,
    /// Context switches a second.
    SystemCsw,
    /// Memory of programs and the kernel, bytes.
    MemoryUsed,
    /// Buffers of block devices, bytes.
    MemoryBuff,
    /// Cached files, bytes.
    MemoryCach,
    /// Free memory, bytes.
    MemoryFree,
    /// Swapped in, bytes a second.
    PagingIn,
    /// Swapped out, bytes a second.
    PagingOut,
    /// Page faults served by a disk, a second.
    VmMajpf,
    /// Other page faults, a second.
    VmMinpf,
    /// Pages allocated, a second.
    VmAlloc,
    /// Pages freed, a second.
    VmFree,
    /// Read from disks, bytes a second.
    DiskRead,
    /// Written to disks, bytes a second.
    DiskWrit,
    /// Reads of disks, requests a second.
    IoRead,
    /// Writes of disks, requests a second.
    IoWrit,
    /// Received from the network, bytes a second.
    NetworkRecv,
    /// Sent to the network, bytes a second.
    NetworkSend,
    /// Listening TCP sockets.
    TcpLis,
    /// Connected TCP sockets.
    TcpAct,
    /// TCP sockets that are being connected.
    TcpSyn,
    /// TCP sockets that wait after their end.
    TcpTim,
    /// TCP sockets that are being closed.
    TcpClo,
}

/// Number of metrics.
pub const METRICS: usize = 32;

/// The names and meaning of a metric.
struct Entry {
    metric: Metric,
    /// Its group and its name in dstat's column headings.
    group: &'static str,
    name: &'static str,
    /// Its name in features: `network.send`.
    short: &'static str,
    /// Its column name in tables: the unit comes last.
    column: &'static str,
    meaning: &'static str,
}

const fn entry(
    metric: Metric,
    group: &'static str,
    name: &'static str,
    short: &'static str,
    column: &'static str,
    meaning: &'static str,
) -> Entry {
    Entry { metric, group, name, short, column, meaning }
}

const CPU: &str = "total cpu usage";
const LOAD: &str = "load avg";
const MEMORY: &str = "memory usage";
const VM: &str = "virtual memory";
const DISK: &str = "dsk/total";
const IO: &str = "io/total";
const NET: &str = "net/total";
const TCP: &str = "tcp sockets";

#[rustfmt::skip]
const TABLE: [Entry; METRICS] = [
    entry(Metric::CpuUsr, CPU, "usr", "cpu.usr", "cpu_usr_percent", "processors: user code"),
    entry(Metric::CpuSys, CPU, "sys", "cpu.sys", "cpu_sys_percent", "processors: the kernel"),
    entry(Metric::CpuIdl, CPU, "idl", "cpu.idl", "cpu_idl_percent", "processors: nothing"),
    entry(Metric::CpuWai, CPU, "wai", "cpu.wai", "cpu_wai_percent", "processors: nothing, while a thread waits for a disk"),
    entry(Metric::CpuHiq, CPU, "hiq", "cpu.hiq", "cpu_hiq_percent", "processors: hardware interrupts"),
    entry(Metric::CpuSiq, CPU, "siq", "cpu.siq", "cpu_siq_percent", "processors: software interrupts"),
    entry(Metric::Load1m, LOAD, "1m", "load.1m", "load_1m", "threads that run or wait for a processor or a disk, decaying over a minute"),
    entry(Metric::Load5m, LOAD, "5m", "load.5m", "load_5m", "the same over 5 minutes"),
    entry(Metric::Load15m, LOAD, "15m", "load.15m", "load_15m", "the same over 15 minutes"),
    entry(Metric::SystemInt, "system", "int", "system.int", "system_int_per_s", "interrupts"),
    entry(Metric::SystemCsw, "system", "csw", "system.csw", "system_csw_per_s", "context switches"),
    entry(Metric::MemoryUsed, MEMORY, "used", "memory.used", "memory_used_bytes", "memory of programs and the kernel"),
    entry(Metric::MemoryBuff, MEMORY, "buff", "memory.buff", "memory_buff_bytes", "buffers of block devices"),
    entry(Metric::MemoryCach, MEMORY, "cach", "memory.cach", "memory_cach_bytes", "cached files"),
    entry(Metric::MemoryFree, MEMORY, "free", "memory.free", "memory_free_bytes", "free memory"),
    entry(Metric::PagingIn, "paging", "in", "paging.in", "paging_in_bytes_per_s", "swapped in; there is no swap"),
    entry(Metric::PagingOut, "paging", "out", "paging.out", "paging_out_bytes_per_s", "swapped out; there is no swap"),
    entry(Metric::VmMajpf, VM, "majpf", "vm.majpf", "vm_majpf_per_s", "page faults that a disk served; files are not mapped"),
    entry(Metric::VmMinpf, VM, "minpf", "vm.minpf", "vm_minpf_per_s", "other page faults"),
    entry(Metric::VmAlloc, VM, "alloc", "vm.alloc", "vm_alloc_per_s", "pages allocated"),
    entry(Metric::VmFree, VM, "free", "vm.free", "vm_free_per_s", "pages freed"),
    entry(Metric::DiskRead, DISK, "read", "disk.read", "disk_read_bytes_per_s", "read from disks"),
    entry(Metric::DiskWrit, DISK, "writ", "disk.writ", "disk_writ_bytes_per_s", "written to disks"),
    entry(Metric::IoRead, IO, "read", "io.read", "io_read_per_s", "requests that read from disks"),
    entry(Metric::IoWrit, IO, "writ", "io.writ", "io_writ_per_s", "requests that write to disks"),
    entry(Metric::NetworkRecv, NET, "recv", "network.recv", "network_recv_bytes_per_s", "received from the network"),
    entry(Metric::NetworkSend, NET, "send", "network.send", "network_send_bytes_per_s", "sent to the network"),
    entry(Metric::TcpLis, TCP, "lis", "tcp.lis", "tcp_lis", "TCP sockets that listen"),
    entry(Metric::TcpAct, TCP, "act", "tcp.act", "tcp_act", "TCP sockets that are connected"),
    entry(Metric::TcpSyn, TCP, "syn", "tcp.syn", "tcp_syn", "TCP sockets that are being connected; connections are set up before a run"),
    entry(Metric::TcpTim, TCP, "tim", "tcp.tim", "tcp_tim", "TCP sockets that wait after their end; connections last"),
    entry(Metric::TcpClo, TCP, "clo", "tcp.clo", "tcp_clo", "TCP sockets that are being closed; connections last"),
];

impl Metric {
    /// All metrics, in dstat's order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|entry| entry.metric)
    }

    /// Its index in that order.
    pub const fn index(self) -> usize {
        self as usize
    }

    fn entry(self) -> &'static Entry {
        &TABLE[self.index()]
    }

    /// Its group in dstat: `total cpu usage`.
    pub fn group(self) -> &'static str {
        self.entry().group
    }

    /// Its name within the group in dstat: `usr`.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Its name in features: `cpu.usr`.
    pub fn short(self) -> &'static str {
        self.entry().short
    }

    /// Its column name in tables, with its unit: `cpu_usr_percent`.
    pub fn column(self) -> &'static str {
        self.entry().column
    }

    /// Its meaning.
    pub fn meaning(self) -> &'static str {
        self.entry().meaning
    }

    /// The metric with this name in this group; `_` stands for any character that is neither letter
    /// nor digit, as in `total_cpu_usage`.
    pub fn find(group: &str, name: &str) -> Option<Self> {
        let (group, name) = (plain(group), plain(name));
        let is_it = |entry: &&Entry| plain(entry.group) == group && plain(entry.name) == name;
        TABLE.iter().find(is_it).map(|entry| entry.metric)
    }
}

/// A name in the form used for comparison: lower case, with `_` for any character that is neither
/// letter nor digit.
pub(crate) fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_stands_at_its_place() {
        for (index, metric) in Metric::all().enumerate() {
            assert_eq!(metric.index(), index);
        }
        assert_eq!(Metric::all().len(), METRICS);
    }

    #[test]
    fn metrics_are_found_as_dstat_and_as_others_head_them() {
        assert_eq!(Metric::find("dsk/total", "writ"), Some(Metric::DiskWrit));
        assert_eq!(Metric::find("dsk_total", "writ"), Some(Metric::DiskWrit));
        assert_eq!(Metric::find("virtual memory", "free"), Some(Metric::VmFree));
        assert_eq!(Metric::find("memory usage", "free"), Some(Metric::MemoryFree));
        assert_eq!(Metric::find("Total_CPU_usage", "USR"), Some(Metric::CpuUsr));
        assert_eq!(Metric::find("total cpu usage", "stl"), None);
    }
}

//! Results of a COSBench workload as COSBench itself writes them.
//!
//! The columns of its workload report (0.4). `Avg-ProcTime`, what of a response was not transfer, is
//! not measured here: `N/A`, as COSBench prints what it does not know. No operation fails.

use std::fmt::Write;

use foretell_sim::truth::JobTruth;

/// The columns.
const HEADER: &str = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,60%-ResTime,\
                      80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,\
                      Bandwidth,Succ-Ratio,Status,Detailed Status";

/// A row for each stage, work and kind of operation: times in ms, throughput in operations and
/// bandwidth in bytes per second.
pub(crate) fn results(jobs: &[JobTruth]) -> String {
    let mut text = format!("{HEADER}\n");
    for job in jobs {
        let time = &job.response_time_ms;
        let [p60, p80, p90] = job.quantiles_ms;
        let _ = writeln!(
            text,
            "{},{},{},{},{},{:.2},N/A,{p60:.2},{p80:.2},{p90:.2},{:.2},{:.2},{:.2},{:.2},{:.2},100%,\
             completed,completed",
            job.stage,
            job.job,
            job.operation,
            job.operations,
            job.bytes,
            time.mean,
            time.p95,
            time.p99,
            time.max,
            job.operations_per_s,
            job.bytes_per_s
        );
    }
    text
}

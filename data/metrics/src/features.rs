//! From many hosts' metrics to one row of features, whatever the number of hosts (Hsu et al. 2016, IV-A).
//!
//! 1. *Alignment.* Samples of different hosts belong together if they are the nearest ones to the same
//!    moment of a common grid; the moment's own time is the average of their timestamps.
//! 2. *Smoothing.* Each host's metrics are averaged over a window, one minute in the paper.
//! 3. *Features.* For each metric, over the hosts of a kind: mean, standard deviation (of all hosts, not
//!    of a sample of them), sum, and the 95th percentile (linear between hosts), the paper's "5 %".
//!
//! Clients' measurements are averaged over the same window. There is a row for each interval of the
//! clients at whose end a complete window has passed. If a host posted nothing for a moment (its collector
//! was late), its other samples in the window are used.

use crate::error::MetricsError;
use crate::series::{HostSeries, Observed, Series, TARGETS};

/// The averaging of metrics.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Smoothing {
    /// Length of the window in seconds.
    pub window_s: f64,
}

impl Default for Smoothing {
    /// The paper's window of a minute.
    fn default() -> Self {
        Self { window_s: 60.0 }
    }
}

/// Rows of features, with clients' measurements.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Features {
    /// Names of the columns: `osd.network.send.sum`.
    pub names: Vec<String>,
    /// Times of the rows, seconds.
    pub times: Vec<f64>,
    /// Values by name, then row.
    pub columns: Vec<Vec<f64>>,
    /// Values by target ([`TARGETS`]), then row; empty if clients did not report it.
    pub targets: [Vec<f64>; TARGETS.len()],
}

impl Features {
    /// Adds to each feature its values of 1 to `lags` rows before. They reflect effects such as later
    /// write-back by a host, or a counter that lags its load. The first rows, which have no predecessors,
    /// are left out.
    pub fn lagged(self, lags: usize) -> Self {
        let rows = self.times.len();
        let first = lags.min(rows);
        let (mut names, mut columns) = (self.names.clone(), Vec::new());
        for lag in 0..=lags {
            if lag > 0 {
                names.extend(self.names.iter().map(|name| format!("{name}.lag{lag}")));
            }
            for column in &self.columns {
                columns.push((first..rows).map(|row| column[row - lag]).collect());
            }
        }
        let targets = self.targets.map(|mut column| column.split_off(first.min(column.len())));
        Self { names, times: self.times[first..].to_vec(), columns, targets }
    }

    /// Adds the rows of another set. Errors if it has other features or targets.
    pub fn append(&mut self, other: Self) -> Result<(), MetricsError> {
        if self.names.is_empty() {
            *self = other;
            return Ok(());
        }
        let apart = |reason: String| Err(MetricsError::Apart { reason });
        if self.names != other.names {
            let strange = other.names.iter().find(|name| !self.names.contains(name));
            let missing = self.names.iter().find(|name| !other.names.contains(name));
            return apart(match (strange, missing) {
                (Some(name), _) | (None, Some(name)) => {
                    format!("the feature `{name}` is not in all of the sets")
                }
                (None, None) => "the sets have their features in different orders".to_owned(),
            });
        }
        for ((mine, more), target) in self.targets.iter_mut().zip(&other.targets).zip(TARGETS) {
            if mine.is_empty() != more.is_empty()
                && !self.times.is_empty()
                && !other.times.is_empty()
            {
                return apart(format!("`{}` is not in all of the sets", target.column));
            }
            mine.extend(more);
        }
        self.times.extend(other.times);
        for (mine, more) in self.columns.iter_mut().zip(other.columns) {
            mine.extend(more);
        }
        Ok(())
    }

    /// Only the rows with these indices.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
    pub fn take_rows(&self, rows: &[usize]) -> Self {
        let pick = |values: &Vec<f64>| rows.iter().map(|&row| values[row]).collect();
        let pick_known =
            |values: &Vec<f64>| if values.is_empty() { Vec::new() } else { pick(values) };
        Self {
            names: self.names.clone(),
            times: pick(&self.times),
            columns: self.columns.iter().map(pick).collect(),
            targets: self.targets.each_ref().map(pick_known),
        }
    }
}

/// The features of the observations. There are no rows if they are shorter than a window. Errors if hosts
/// of a kind have different metrics, or there are no hosts.
pub fn features(observed: &Observed, smoothing: Smoothing) -> Result<Features, MetricsError> {
    let apart = |reason: String| MetricsError::Apart { reason };
    if observed.hosts.is_empty() {
        return Err(apart("there are no hosts with metrics".to_owned()));
    }
    let grid = Grid::of(&observed.hosts)?;
    let mut kinds: Vec<&str> = Vec::new();
    for host in &observed.hosts {
        if !kinds.contains(&host.kind.as_str()) {
            kinds.push(&host.kind);
        }
    }
    let windows = grid.windows(&observed.clients, smoothing.window_s);
    let mut found =
        Features { times: windows.iter().map(|w| w.end).collect(), ..Features::default() };
    for kind in kinds {
        let hosts: Vec<(usize, &HostSeries)> =
            observed.hosts.iter().enumerate().filter(|(_, host)| host.kind == kind).collect();
        let names = &hosts[0].1.series.names;
        if let Some((_, other)) = hosts.iter().find(|(_, host)| host.series.names != *names) {
            return Err(apart(format!(
                "hosts `{}` and `{}` of kind `{kind}` have different metrics",
                hosts[0].1.name, other.name
            )));
        }
        for (place, name) in names.iter().enumerate() {
            // by host: its averages over the windows
            let averages: Vec<Vec<f64>> = hosts
                .iter()
                .map(|(number, host)| grid.averages(*number, &host.series.columns[place], &windows))
                .collect();
            let mut columns: [Vec<f64>; STATISTICS.len()] = Default::default();
            let mut values = Vec::with_capacity(hosts.len());
            for row in 0..windows.len() {
                values.clear();
                values.extend(averages.iter().map(|of_host| of_host[row]));
                for (column, value) in columns.iter_mut().zip(statistics(&mut values)) {
                    column.push(value);
                }
            }
            for (column, statistic) in columns.into_iter().zip(STATISTICS) {
                found.names.push(format!("{kind}.{name}.{statistic}"));
                found.columns.push(column);
            }
        }
    }
    for (of_target, target) in found.targets.iter_mut().zip(TARGETS) {
        if let Some(column) = observed.clients.column(target.column) {
            let average = |window: &Window| mean(&column[window.intervals.clone()]);
            *of_target = windows.iter().map(average).collect();
        }
    }
    Ok(found)
}

/// Statistics of each metric over the hosts of a kind.
const STATISTICS: [&str; 4] = ["mean", "std", "sum", "p95"];

fn statistics(values: &mut [f64]) -> [f64; 4] {
    let sum: f64 = values.iter().sum();
    let mean = sum / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    values.sort_unstable_by(f64::total_cmp);
    let place = 0.95 * (values.len() - 1) as f64;
    let below = values[place.floor() as usize];
    let above = values[place.ceil() as usize];
    [mean, (squares / values.len() as f64).sqrt(), sum, below + (above - below) * place.fract()]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The moments at which hosts' samples are aligned.
struct Grid {
    /// The average timestamp of each moment.
    moments: Vec<f64>,
    /// By host and moment: the index of its sample, if there is one.
    rows: Vec<Vec<Option<u32>>>,
}

/// A part of the time, as ranges of moments and of clients' intervals.
struct Window {
    end: f64,
    moments: std::ops::Range<usize>,
    intervals: std::ops::Range<usize>,
}

/// Maximum number of moments in a grid: per sample of the longest series, and in addition. Days without
/// samples are within this limit. A time in milliseconds among seconds is not, and would take all memory.
const MOMENTS_PER_SAMPLE: usize = 1000;
const MOMENTS_BESIDE: usize = 1_000_000;

impl Grid {
    /// Errors if samples are so far apart in time that one of their timestamps must be wrong.
    fn of(hosts: &[HostSeries]) -> Result<Self, MetricsError> {
        let first = |host: &HostSeries| host.series.times.first().copied();
        let starts: Vec<f64> = hosts.iter().filter_map(first).collect();
        let period = period(&hosts[0].series.times);
        let start = mean(&starts);
        // from the first moment that all hosts may have to the last moment of any host
        let place = |time: f64| ((time - start) / period).round() as i64;
        let from = starts.iter().map(|time| place(*time)).max().unwrap_or(0);
        let last = |host: &&HostSeries| host.series.times.last().map_or(from, |time| place(*time));
        let latest = hosts.iter().max_by_key(last);
        let to = latest.as_ref().map_or(from, last);
        let count = usize::try_from(to.saturating_sub(from).saturating_add(1)).unwrap_or(0);
        let longest = hosts.iter().map(|host| host.series.times.len()).max().unwrap_or(0);
        let most = longest.saturating_mul(MOMENTS_PER_SAMPLE).saturating_add(MOMENTS_BESIDE);
        if let Some(HostSeries { name, series, .. }) = latest.filter(|_| count > most) {
            return Err(MetricsError::Apart {
                reason: format!(
                    "the last sample of `{name}` is at {:?} s, but hosts begin at {start:?} s; at \
                     most {most} samples of {period:?} s are expected between: is a timestamp wrong?",
                    series.times.last().copied().unwrap_or_default()
                ),
            });
        }
        let rows: Vec<Vec<Option<u32>>> = hosts
            .iter()
            .map(|host| {
                let mut rows = vec![None; count];
                for (row, time) in (0..).zip(&host.series.times) {
                    // of two samples for one moment the later one is used
                    if let Ok(moment) = usize::try_from(place(*time).saturating_sub(from))
                        && moment < count
                    {
                        rows[moment] = Some(row);
                    }
                }
                rows
            })
            .collect();
        let moments = (0..count).map(|moment| {
            let posted = rows
                .iter()
                .zip(hosts)
                .filter_map(|(rows, host)| rows[moment].map(|row| host.series.times[row as usize]));
            let (sum, count) = posted.fold((0.0, 0), |(sum, count), time| (sum + time, count + 1));
            if count == 0 {
                start + (from as f64 + moment as f64) * period
            } else {
                sum / f64::from(count)
            }
        });
        let mut moments: Vec<f64> = moments.collect();
        // averages over different hosts may be slightly out of order
        moments.sort_unstable_by(f64::total_cmp);
        Ok(Self { moments, rows })
    }

    /// Windows that end at the ends of clients' intervals.
    fn windows(&self, clients: &Series, length_s: f64) -> Vec<Window> {
        let Some(first) = self.moments.first() else { return Vec::new() };
        let interval = period(&clients.times);
        // a sample describes the second before it
        let tolerance = 0.5 * period(&self.moments);
        let began = clients.times.first().copied().unwrap_or(0.0) - interval;
        let mut windows = Vec::new();
        for (row, &end) in clients.times.iter().enumerate() {
            let from = end - length_s;
            if from < began - tolerance || from + 2.0 * tolerance < *first - tolerance {
                continue;
            }
            let place =
                |time: f64| self.moments.partition_point(|moment| *moment <= time + tolerance);
            let moments = place(from)..place(end);
            let first = clients.times.partition_point(|time| *time <= from + tolerance);
            let is_whole = self.moments.last().is_some_and(|last| *last + 3.0 * tolerance >= end);
            if moments.is_empty() || !is_whole || first > row {
                continue;
            }
            windows.push(Window { end, moments, intervals: first..row + 1 });
        }
        windows
    }

    /// A host's averages of a metric over windows; a window without a sample gets the previous average.
    fn averages(&self, host: usize, values: &[f64], windows: &[Window]) -> Vec<f64> {
        let rows = &self.rows[host];
        let mut last = values.first().copied().unwrap_or(0.0);
        let mut average = |window: &Window| {
            let posted = rows[window.moments.clone()].iter().flatten();
            let (sum, count) =
                posted.fold((0.0, 0_u32), |(sum, n), row| (sum + values[*row as usize], n + 1));
            if count > 0 {
                last = sum / f64::from(count);
            }
            last
        };
        windows.iter().map(&mut average).collect()
    }
}

/// The usual time between two rows: the median; a second if there are fewer than two.
fn period(times: &[f64]) -> f64 {
    let mut gaps: Vec<f64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(kind: &str, offset: f64, value: impl Fn(f64) -> f64) -> HostSeries {
        let mut series = Series::empty(vec!["cpu.usr".to_owned()]);
        for second in 1..=100 {
            let time = f64::from(second);
            series.push(time + offset, [value(time)]);
        }
        HostSeries { kind: kind.to_owned(), name: format!("{kind}{offset}"), series }
    }

    #[test]
    fn lagged_rows_hold_what_was_before_them() {
        let features = Features {
            names: vec!["a".to_owned()],
            times: vec![1.0, 2.0, 3.0],
            columns: vec![vec![10.0, 20.0, 30.0]],
            targets: std::array::from_fn(
                |target| if target == 0 { vec![7.0, 8.0, 9.0] } else { vec![] },
            ),
        };
        let lagged = features.lagged(1);
        assert_eq!(lagged.names, ["a", "a.lag1"]);
        assert_eq!(lagged.times, [2.0, 3.0]);
        assert_eq!(lagged.columns, [[20.0, 30.0], [10.0, 20.0]]);
        assert_eq!(lagged.targets[0], [8.0, 9.0]);
    }

    fn clients() -> Series {
        let mut clients = Series::empty(vec!["read_iops".to_owned()]);
        for interval in 1..=20 {
            let end = f64::from(interval) * 5.0;
            clients.push(end, [end]);
        }
        clients
    }

    #[test]
    fn four_features_by_hand() {
        // two hosts at 1 and 3: mean 2, deviation 1, sum 4, 95th percentile 1 + 0.95 * 2
        let hosts = vec![host("osd", 0.0, |_| 1.0), host("osd", 0.004, |_| 3.0)];
        let found =
            features(&Observed { hosts, clients: clients() }, Smoothing::default()).unwrap();
        let names = ["mean", "std", "sum", "p95"].map(|name| format!("osd.cpu.usr.{name}"));
        assert_eq!(found.names, names);
        // the first window ends with the first 60 s, the last with the 100th
        assert_eq!((found.times[0], found.times.len()), (60.0, 9));
        for (column, wanted) in found.columns.iter().zip([2.0, 1.0, 4.0, 2.9]) {
            assert!(column.iter().all(|value| (value - wanted).abs() < 1e-12), "{column:?}");
        }
        // intervals that end at 5, 10 ... 60
        assert_eq!(found.targets[2][0], 32.5);
        assert!(found.targets[0].is_empty());
    }

    #[test]
    fn a_moving_average_goes_over_the_window_alone() {
        // at second t the metric is t: its mean over seconds 41 to 100 is 70.5
        let hosts = vec![host("osd", 0.0, |time| time)];
        let found =
            features(&Observed { hosts, clients: clients() }, Smoothing::default()).unwrap();
        assert_eq!(found.columns[0].last(), Some(&70.5));
        assert_eq!(found.columns[0][0], 30.5);
    }

    #[test]
    fn clocks_and_late_samples_do_not_shift_rows() {
        let hosts = vec![host("osd", -0.2, |time| time), host("mon", 0.3, |time| 2.0 * time)];
        let mut missing = hosts.clone();
        missing[1].series.times.remove(70);
        missing[1].series.columns[0].remove(70);
        let all = features(&Observed { hosts, clients: clients() }, Smoothing::default()).unwrap();
        assert_eq!(all.names[4], "mon.cpu.usr.mean");
        assert!((all.columns[4].last().unwrap() - 141.0).abs() < 1e-9);
        let observed = Observed { hosts: missing, clients: clients() };
        let less = features(&observed, Smoothing::default()).unwrap();
        // 59 samples of seconds 41 to 100 without the 71st: (60 * 141 - 142) / 59
        let wanted = (60.0 * 141.0 - 142.0) / 59.0;
        assert!((less.columns[4].last().unwrap() - wanted).abs() < 1e-9);
    }

    #[test]
    fn one_wrong_timestamp_is_told() {
        // milliseconds among seconds, and an impossible time
        for wrong in [1.6e12, 1e300] {
            let mut hosts = vec![host("osd", 1.6e9, |_| 1.0), host("mon", 1.6e9, |_| 1.0)];
            *hosts[1].series.times.last_mut().unwrap() = wrong;
            let found = features(&Observed { hosts, clients: clients() }, Smoothing::default());
            let message = found.unwrap_err().to_string();
            assert!(message.contains("the last sample of `mon1600000000` is at"), "{message}");
            assert!(message.contains("is a timestamp wrong?"), "{message}");
        }
        // a quiet day between two samples is not an error
        let mut quiet = host("osd", 0.0, |_| 1.0);
        *quiet.series.times.last_mut().unwrap() += 86_400.0;
        let observed = Observed { hosts: vec![quiet], clients: clients() };
        assert!(!features(&observed, Smoothing::default()).unwrap().times.is_empty());
    }

    #[test]
    fn too_short_a_time_gives_no_rows() {
        let hosts = vec![host("osd", 0.0, |_| 1.0)];
        let found =
            features(&Observed { hosts, clients: clients() }, Smoothing { window_s: 200.0 });
        assert_eq!(found.unwrap().times.len(), 0);
    }
}

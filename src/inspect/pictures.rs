//! The pictures of a trace.

use foretell_pictures::{Align, BLACK, Picture, READ, WRITE};
use foretell_workloads::trace::Profile;

use super::amount;
use crate::tables::number;

/// Size of a picture and of the margins around its axes, in pixels.
const SIZE: (usize, usize) = (900, 420);
const LEFT: f64 = 90.0;
const TOP: f64 = 40.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 50.0;

/// All pictures of a trace, with their names.
pub(super) fn of(profile: &Profile) -> Vec<(&'static str, Picture)> {
    let mut pictures = vec![("sizes", sizes(profile)), ("addresses", addresses(profile))];
    if profile.seconds.is_some() {
        pictures.push(("arrivals", arrivals(profile)));
    }
    if !profile.reuse.gaps.is_empty() {
        pictures.push(("reuse", reuse(profile)));
    }
    pictures
}

/// A picture with a frame; `x` and `y` are the labels of its axes.
fn framed(title: &str, x: &str, y: &str) -> (Picture, f64, f64) {
    let (width, height) = (SIZE.0 as f64 - LEFT - RIGHT, SIZE.1 as f64 - TOP - BOTTOM);
    let mut picture = Picture::new(SIZE.0, SIZE.1);
    picture.text(LEFT, 16.0, title, Align::Right, BLACK);
    picture.text(LEFT, TOP - 8.0, y, Align::Right, BLACK);
    picture.text(LEFT + width / 2.0, SIZE.1 as f64 - 8.0, x, Align::Middle, BLACK);
    picture.rectangle([LEFT - 1.0, TOP, 1.0, height], BLACK);
    picture.rectangle([LEFT - 1.0, TOP + height, width + 1.0, 1.0], BLACK);
    (picture, width, height)
}

/// Bars of reads with bars of writes stacked on them, and labels for some of them.
fn bars(
    [title, x, y]: [&str; 3],
    values: &[[f64; 2]],
    label: impl Fn(usize) -> Option<String>,
) -> Picture {
    let (mut picture, width, height) = framed(title, x, y);
    let most = values.iter().map(|pair| pair[0] + pair[1]).fold(f64::MIN_POSITIVE, f64::max);
    let each = width / values.len().max(1) as f64;
    for (index, pair) in values.iter().enumerate() {
        let at = LEFT + each * index as f64;
        let mut bottom = TOP + height;
        for (value, colour) in pair.iter().zip([READ, WRITE]) {
            let tall = value / most * height;
            bottom -= tall;
            picture.rectangle([at, bottom, each, tall], colour);
        }
        if let Some(label) = label(index) {
            picture.text(at + each / 2.0, TOP + height + 18.0, &label, Align::Middle, BLACK);
        }
    }
    for share in [0.0, 0.5, 1.0] {
        let at = TOP + height * (1.0 - share) + 5.0;
        picture.text(LEFT - 6.0, at, &number(most * share), Align::Left, BLACK);
    }
    let legend = SIZE.0 as f64 - RIGHT;
    picture.text(legend - 70.0, 16.0, "reads", Align::Left, READ);
    picture.text(legend, 16.0, "writes", Align::Left, WRITE);
    picture
}

/// Requests per second over time.
fn arrivals(profile: &Profile) -> Picture {
    let (cells, width) = (profile.series.cells(), profile.series.width_s());
    let rates: Vec<[f64; 2]> =
        cells.iter().map(|cell| cell.map(|count| count as f64 / width)).collect();
    let every = (cells.len() / 6).max(1);
    let label = |index: usize| index.is_multiple_of(every).then(|| number(index as f64 * width));
    bars(["Arrivals", "seconds", "requests per second"], &rates, label)
}

/// Shares of requests by size, in powers of two.
fn sizes(profile: &Profile) -> Picture {
    let class = |size: u64| size.max(1).ilog2() as usize;
    let of_all = || profile.sizes.iter().flat_map(foretell_workloads::trace::SizeCounts::counts);
    let low = of_all().map(|(size, _)| class(*size)).min().unwrap_or(0);
    let high = of_all().map(|(size, _)| class(*size)).max().unwrap_or(0);
    let mut shares = vec![[0.0; 2]; high - low + 1];
    let total: u64 = profile.requests.iter().sum();
    for (direction, sizes) in profile.sizes.iter().enumerate() {
        for (size, count) in sizes.counts() {
            shares[class(*size) - low][direction] += *count as f64 / total.max(1) as f64 * 100.0;
        }
    }
    let label = |index: usize| Some(amount(1 << (low + index)));
    bars(["Sizes", "bytes, from this power of two on", "% of all requests"], &shares, label)
}

/// Accesses to pages, by reads and by writes, by the gap since the previous access.
fn reuse(profile: &Profile) -> Picture {
    let total: u64 = profile.reuse.gaps.iter().flatten().sum();
    let share = |count: u64| count as f64 / total.max(1) as f64 * 100.0;
    let shares: Vec<[f64; 2]> = profile.reuse.gaps.iter().map(|counts| counts.map(share)).collect();
    let label = |index: usize| Some(number((1_u64 << index) as f64));
    let x = "requests since the last touch, from here on";
    bars(["Reuse of pages of 4 KiB", x, "% of reuses"], &shares, label)
}

/// Requests by time and address.
fn addresses(profile: &Profile) -> Picture {
    let timed = profile.seconds.is_some();
    let x = if timed { "seconds" } else { "requests" };
    let (mut picture, width, height) = framed("Addresses", x, "address");
    let heat = &profile.heat;
    let (columns, rows) = heat.shape();
    let places = (0..columns).flat_map(|x| (0..rows).map(move |y| (x, y)));
    let cells: Vec<(usize, usize, u64)> =
        places.map(|(x, y)| (x, y, heat.at(x, y))).filter(|(_, _, count)| *count > 0).collect();
    let columns = cells.iter().map(|cell| cell.0).max().unwrap_or(0) + 1;
    let rows = cells.iter().map(|cell| cell.1).max().unwrap_or(0) + 1;
    let most = cells.iter().map(|cell| cell.2).max().unwrap_or(1) as f64;
    let (wide, tall) = (width / columns as f64, height / rows as f64);
    for (x, y, count) in cells {
        // logarithmic, so that one request is visible beside a million
        let share = libm::log(1.0 + count as f64) / libm::log(1.0 + most);
        let colour = [(205.0, 20.0), (222.0, 40.0), (240.0, 110.0)]
            .map(|(from, to): (f64, f64)| (from + (to - from) * share) as u8);
        let top = TOP + height - tall * (y + 1) as f64;
        picture.rectangle([LEFT + wide * x as f64, top, wide + 0.3, tall + 0.3], colour);
    }
    let (across, up) = heat.cell();
    for share in [0.0, 0.5, 1.0] {
        let at = across as f64 * columns as f64 * share;
        let label = number(if timed { at / 1e9 } else { at });
        picture.text(LEFT + width * share, TOP + height + 18.0, &label, Align::Middle, BLACK);
        let address = amount((up as f64 * rows as f64 * share) as u64);
        let y = TOP + height * (1.0 - share) + 5.0;
        picture.text(LEFT - 6.0, y, &address, Align::Left, BLACK);
    }
    picture
}

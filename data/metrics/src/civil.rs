//! Dates of the Gregorian calendar as seconds since the start of 1970, and back.
//!
//! The method is Howard Hinnant's `days_from_civil`: years begin in March, so that the leap day is
//! their last.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Days from 1970-01-01 to a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Seconds since the start of 1970; `None` if the date or the time of day does not exist.
pub(crate) fn seconds(year: i64, month: i64, day: i64, time: &str) -> Option<f64> {
    let mut parts = time.split(':');
    let (hour, minute) = (parts.next()?.parse::<u32>().ok()?, parts.next()?.parse::<u32>().ok()?);
    let second: f64 = parts.next().unwrap_or("0").parse().ok()?;
    let is_near =
        (1..=12).contains(&month) && (1..=31).contains(&day) && (1..=9999).contains(&year);
    let is_time = hour < 24 && minute < 60 && (0.0..61.0).contains(&second);
    if !is_near || !is_time || parts.next().is_some() {
        return None;
    }
    let midnight = days(year, month, day) * 86_400;
    // 31 February would otherwise become a day in March
    let (true_year, true_month, true_day, _) = date(midnight);
    if (true_year, true_month, true_day) != (year, month, day) {
        return None;
    }
    let whole = midnight + i64::from(hour) * 3600 + i64::from(minute) * 60;
    Some(whole as f64 + second)
}

/// The number of a month by the first letters of its name.
pub(crate) fn month(name: &str) -> Option<i64> {
    (1..).zip(MONTHS).find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(number, _)| number)
}

/// Year, month, day, and time of day, for whole seconds since the start of 1970.
fn date(seconds: i64) -> (i64, i64, i64, String) {
    let (days, rest) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let time = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    (year, month, day, time)
}

/// The time of a row as dstat writes it: `20-11 10:26:04`.
pub(crate) fn row_time(seconds: i64) -> String {
    let (_, month, day, time) = date(seconds);
    format!("{day:02}-{month:02} {time}")
}

/// The date of an output as dstat writes it: `20 Nov 2026 10:26:04 UTC`.
pub(crate) fn heading(seconds: i64) -> String {
    let (year, month, day, time) = date(seconds);
    format!("{day:02} {} {year} {time} UTC", MONTHS[month as usize - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_by_the_calendar() {
        assert_eq!(seconds(1970, 1, 1, "00:00:00"), Some(0.0));
        // 2000 was a leap year: 31 + 29 days up to March, 10,957 up to 2000
        assert_eq!(seconds(2000, 3, 1, "00:00:01"), Some(f64::from((10_957 + 60) * 86_400 + 1)));
        assert_eq!(seconds(2026, 13, 1, "00:00:00"), None);
        assert_eq!(seconds(2026, 1, 1, "24:00:00"), None);
        assert_eq!(seconds(2026, 2, 29, "00:00:00"), None);
        assert_eq!(seconds(2026, 4, 31, "00:00:00"), None);
        assert!(seconds(2024, 2, 29, "00:00:00").is_some());
        assert_eq!(row_time((10_957 + 60) * 86_400 + 3_661), "01-03 01:01:01");
        assert_eq!(heading((10_957 + 59) * 86_400), "29 Feb 2000 00:00:00 UTC");
    }
}

//! Numbers in Ceph's notation.

use foretell_input::shown;

/// A weight in 16.16 fixed point, rounded from a JSON number.
pub(crate) fn fixed(value: f64, what: &str) -> Result<u32, String> {
    let fixed = (value * 65_536.0).round();
    if fixed >= 0.0 && fixed <= f64::from(u32::MAX) {
        return Ok(fixed as u32);
    }
    Err(format!("{what} is {}; expected 0 to 65535", shown(value)))
}

/// The text " (did you mean `X`?)", or nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let nearest = known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min()
        .filter(|(distance, known)| *distance * 3 <= known.len().max(3));
    nearest.map_or(String::new(), |(_, known)| format!(" (did you mean `{known}`?)"))
}

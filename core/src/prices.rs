//! Prices of drives: a table by class, model or device.
//!
//! A table has two columns: `drive`, and a column that names the currency, such as `usd_per_tb`. A
//! drive is found by its own name (a device of a scenario, a model of a report), or else by its class:
//! `hdd`, `ssd`, `nvme`.

use std::path::Path;

use foretell_input::Limit;
use foretell_sorted::SortedMap;

use crate::error::Error;

/// The table that comes with the program; it states the sources of its figures.
const SHIPPED: &str = include_str!("prices.csv");
const TERABYTE: f64 = 1e12;

/// Prices by drive.
#[derive(Clone, PartialEq, Debug)]
pub struct Prices {
    /// The currency as people write it: `USD`.
    pub currency: String,
    per_tb: SortedMap<String, f64>,
}

impl Prices {
    /// The prices that come with the program.
    pub fn shipped() -> Self {
        Self::parse(SHIPPED.as_bytes()).expect("the shipped table is right")
    }

    /// The prices in a CSV table.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let bytes = foretell_input::bytes(path, Limit::SCENARIO)
            .map_err(|error| Error::Invalid(format!("cannot read the prices `{name}`: {error}")))?;
        Self::parse(&bytes).map_err(|what| Error::Invalid(format!("{name}: {what}")))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut rows =
            csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(bytes);
        let header = rows.headers().map_err(|error| error.to_string())?.clone();
        let expected = "expected the columns `drive` and `CURRENCY_per_tb`, such as `usd_per_tb` or `eur_per_tb`";
        let currency = match (header.get(0), header.get(1), header.len()) {
            (Some("drive"), Some(price), 2) => price.strip_suffix("_per_tb"),
            _ => None,
        };
        let Some(currency) = currency.filter(|currency| !currency.is_empty()) else {
            let found: Vec<&str> = header.iter().collect();
            return Err(format!("found the columns `{}`; {expected}", found.join(",")));
        };
        let currency = currency.to_uppercase();
        let mut per_tb = SortedMap::new();
        for row in rows.records() {
            let row = row.map_err(|error| error.to_string())?;
            let (drive, price) = (row[0].to_owned(), &row[1]);
            let price: f64 = price
                .parse()
                .ok()
                .filter(|price: &f64| price.is_finite() && *price >= 0.0)
                .ok_or_else(|| {
                    format!("`{drive}`: found the price `{price}`; expected a number from 0")
                })?;
            if per_tb.insert(drive.clone(), price).is_some() {
                return Err(format!("`{drive}` has two prices"));
            }
        }
        Ok(Self { currency, per_tb })
    }

    /// The price of a drive with these names, the most specific first; `None` if the table has none of
    /// them.
    pub fn of(&self, names: &[&str], bytes: f64) -> Option<f64> {
        let found = names.iter().find_map(|name| self.per_tb.get(*name));
        found.map(|per_tb| per_tb * bytes / TERABYTE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_has_the_price_of_its_name_or_class() {
        let table = b"# mine\ndrive,eur_per_tb\nhdd,20\nWDC WD40,10\n";
        let prices = Prices::parse(table).unwrap();
        assert_eq!(prices.currency, "EUR");
        assert_eq!(prices.of(&["WDC WD40", "hdd"], 4e12), Some(40.0));
        assert_eq!(prices.of(&["other", "hdd"], 4e12), Some(80.0));
        assert_eq!(prices.of(&["other", "ssd"], 4e12), None);
    }

    #[test]
    fn a_wrong_table_says_what_is_wrong() {
        let wrong = |table: &str| Prices::parse(table.as_bytes()).unwrap_err();
        assert!(wrong("a,b\n").contains("expected the columns `drive`"));
        assert!(wrong("drive,usd_per_tb\nhdd,cheap\n").contains("`cheap`"));
        assert!(wrong("drive,usd_per_tb\nhdd,-1\n").contains("from 0"));
        assert!(wrong("drive,usd_per_tb\nhdd,1\nhdd,2\n").contains("two prices"));
        assert_eq!(Prices::shipped().currency, "USD");
    }
}

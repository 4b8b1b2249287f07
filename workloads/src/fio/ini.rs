//! The syntax of a job file: sections in brackets, lines of `key=value`.

use thiserror::Error;

use super::job::nearest_key;
use super::keys;

/// Why a job file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FioError {
    /// A line is neither a section nor a setting.
    #[error("fio job file, line {line}: `{found}` is neither a section in brackets nor key=value")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The line's text, shortened.
        found: String,
    },
    /// A key that fio may support, and that would change the requests.
    #[error("{}, job `{job}`: `{key}` is not supported{meant}", place(*line))]
    Unsupported {
        /// The line, from 1; 0 for the options of a result.
        line: usize,
        /// The section.
        job: String,
        /// The key.
        key: String,
        /// A similar key, which may have been meant.
        meant: String,
    },
    /// A value that is invalid for its key.
    #[error("{}, job `{job}`: `{key}` is `{found}`; wanted {wanted}", place(*line))]
    Value {
        /// The line, from 1; 0 for the file as a whole, and for the options of a result.
        line: usize,
        /// The section.
        job: String,
        /// The key.
        key: String,
        /// The value.
        found: String,
        /// The valid values.
        wanted: &'static str,
    },
    /// A job lacks something.
    #[error("fio job file, job `{job}`: {what}")]
    Job {
        /// The section.
        job: String,
        /// What is wrong with it.
        what: String,
    },
    /// There is no job.
    #[error("the fio job file has no job; wanted a section in brackets beside `[global]`")]
    NoJobs,
}

/// Where an error is.
fn place(line: usize) -> String {
    if line == 0 { "fio".to_owned() } else { format!("fio job file, line {line}") }
}

/// A setting, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its line, from 1; 0 if it comes from a result.
    pub line: usize,
    /// Its name.
    pub key: String,
    /// Its value; empty without `=`.
    pub value: String,
}

/// A job's name and settings: those of the global sections before it, then its own.
pub type Section = (String, Vec<Setting>);

/// The part of a line that is shown.
fn shown(text: &str) -> String {
    foretell_input::one_line(text).chars().take(60).collect()
}

/// The jobs of a file with their settings.
///
/// # Errors
///
/// If a line is malformed, or there is no job.
pub fn sections(text: &str) -> Result<Vec<Section>, FioError> {
    let mut global: Vec<Setting> = Vec::new();
    let mut jobs: Vec<Section> = Vec::new();
    let mut in_global = true;
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        // a comment begins at the start of a line, or after a blank
        let cut = raw.find([';', '#']).filter(|&at| at == 0 || raw[..at].ends_with([' ', '\t']));
        let body = raw[..cut.unwrap_or(raw.len())].trim();
        if body.is_empty() {
            continue;
        }
        if let Some(rest) = body.strip_prefix('[') {
            let Some(name) = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty())
            else {
                return Err(FioError::Line { line, found: shown(body) });
            };
            in_global = name.eq_ignore_ascii_case("global");
            if !in_global {
                jobs.push((shown(name), global.clone()));
            }
            continue;
        }
        let (key, value) = match body.split_once('=') {
            Some((key, value)) => (key.trim(), value.trim()),
            None => (body, ""),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if key.is_empty() || !key.chars().all(plain) {
            return Err(FioError::Line { line, found: shown(body) });
        }
        let setting = Setting { line, key: key.to_ascii_lowercase(), value: value.to_owned() };
        match jobs.last_mut() {
            Some((_, settings)) if !in_global => settings.push(setting),
            _ => global.push(setting),
        }
    }
    if jobs.is_empty() { Err(FioError::NoJobs) } else { Ok(jobs) }
}

/// The error for an unsupported key, or for a value that makes a key change the requests.
pub(super) fn unsupported(job: &str, setting: &Setting) -> FioError {
    let key = setting.key.as_str();
    let allowed: Vec<String> = keys::allowed(key)
        .iter()
        .filter(|value| !value.is_empty())
        .map(|value| format!("`{key}={value}`"))
        .collect();
    let meant = match (allowed.as_slice(), nearest_key(key)) {
        ([], _) if keys::known().any(|known| known == key) => {
            "; it would change the requests".to_owned()
        }
        ([], Some(near)) => format!("; did you mean `{near}`?"),
        ([], None) => String::new(),
        (allowed, _) => format!(
            "{}; it would change the requests; allowed: {}",
            as_written(setting),
            allowed.join(", ")
        ),
    };
    FioError::Unsupported { line: setting.line, job: job.to_owned(), key: shown(key), meant }
}

/// The value that is not supported, if there is one.
fn as_written(setting: &Setting) -> String {
    let value = &setting.value;
    if value.is_empty() { String::new() } else { format!(" as `{}`", shown(value)) }
}

/// The error for a setting that is supported only in other ways.
pub(super) fn refused(job: &str, setting: &Setting, why: &str) -> FioError {
    let meant = format!("{}; {why}", as_written(setting));
    FioError::Unsupported {
        line: setting.line,
        job: job.to_owned(),
        key: setting.key.clone(),
        meant,
    }
}

/// The error for a value that is invalid for its key.
pub(super) fn wrong(job: &str, setting: &Setting, wanted: &'static str) -> FioError {
    FioError::Value {
        line: setting.line,
        job: job.to_owned(),
        key: setting.key.clone(),
        found: shown(&setting.value),
        wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_settings_hold_for_the_jobs_after_them() {
        let text = "; a comment\n[global]\nbs=4k\n\n[one]\nrw=read # and why\n[global]\nbs=8k\n[two]\ntime_based\n";
        let found = sections(text).unwrap();
        let keys = |index: usize| {
            let settings: &Vec<Setting> = &found[index].1;
            settings.iter().map(|s| format!("{}={}", s.key, s.value)).collect::<Vec<_>>()
        };
        assert_eq!(found.len(), 2);
        assert_eq!(keys(0), ["bs=4k", "rw=read"]);
        assert_eq!(keys(1), ["bs=4k", "bs=8k", "time_based="]);
    }

    #[test]
    fn what_is_no_job_file_is_refused() {
        assert_eq!(sections("").unwrap_err(), FioError::NoJobs);
        assert_eq!(sections("[global]\nbs=4k\n").unwrap_err(), FioError::NoJobs);
        let message = sections("[a]\nrw read\n").unwrap_err().to_string();
        assert!(message.contains("line 2: `rw read`"), "{message}");
        assert!(sections("[a\n").is_err());
    }
}

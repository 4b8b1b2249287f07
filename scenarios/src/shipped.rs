//! Files that come with the program: scenarios, sweeps and profiles, found by name in any directory.
//!
//! Left out: the scenarios of `inside-out/`, which read a workload file beside them.

use std::path::{Path, PathBuf};

use crate::document::Document;
use crate::error::{ScenarioError, ScenarioErrors};
use crate::names::meant;
use crate::profiles::{ProfileKind, known, text_of};

/// Names and texts.
const SCENARIOS: &[(&str, &str)] = &[
    ("first-look", include_str!("../first-look.toml")),
    ("trace-replay", include_str!("../trace-replay.toml")),
    ("encodings", include_str!("../encodings.toml")),
    ("log-structured", include_str!("../log-structured.toml")),
    ("big-cluster", include_str!("../big-cluster.toml")),
    ("solid-state", include_str!("../solid-state.toml")),
    ("array-server", include_str!("../array-server.toml")),
    ("virtualized", include_str!("../virtualized.toml")),
    ("benchmarks", include_str!("../benchmarks.toml")),
    ("failure", include_str!("../failure.toml")),
    ("grow", include_str!("../grow.toml")),
    ("hedge", include_str!("../hedge.toml")),
    ("ceph", include_str!("../ceph.toml")),
    ("rgw", include_str!("../rgw.toml")),
    ("swift", include_str!("../swift.toml")),
    ("ursa-minor/coding", include_str!("../ursa-minor/coding.toml")),
    ("ursa-minor/interference", include_str!("../ursa-minor/interference.toml")),
    ("ursa-minor/iozone", include_str!("../ursa-minor/iozone.toml")),
    ("ursa-minor/micro", include_str!("../ursa-minor/micro.toml")),
    ("ursa-minor/movement", include_str!("../ursa-minor/movement.toml")),
    ("ursa-minor/oltp", include_str!("../ursa-minor/oltp.toml")),
    ("ursa-minor/postmark", include_str!("../ursa-minor/postmark.toml")),
];

/// The scenarios of Hsu et al. 2016, for `reproduce`: the cluster of one tenant, and of two. They
/// read a workload file that is made for each run, so they cannot be found by name.
pub const INSIDE_OUT: [&str; 2] =
    [include_str!("../inside-out/cluster.toml"), include_str!("../inside-out/tenants.toml")];

const SWEEPS: &[(&str, &str)] = &[
    ("encoding-choice", include_str!("../sweeps/encoding-choice.toml")),
    ("inside-out", include_str!("../sweeps/inside-out.toml")),
    ("virtualized", include_str!("../sweeps/virtualized.toml")),
];

/// A kind of file that comes with the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShippedKind {
    /// `foretell run NAME`.
    Scenario,
    /// `foretell sweep NAME`.
    Sweep,
    /// A profile of a storage device.
    Device,
    /// A profile of a processor.
    Cpu,
}

impl ShippedKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Scenario, Self::Sweep, Self::Device, Self::Cpu];

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Sweep => "sweep",
            Self::Device => "device",
            Self::Cpu => "cpu",
        }
    }

    /// The directory of the kind's files.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Scenario => "scenarios",
            Self::Sweep => "sweeps",
            Self::Device => "devices",
            Self::Cpu => "cpus",
        }
    }

    /// Names and texts of the files that come with the program.
    pub fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Scenario => SCENARIOS,
            Self::Sweep => SWEEPS,
            Self::Device => ProfileKind::Device.shipped(),
            Self::Cpu => ProfileKind::Cpu.shipped(),
        }
    }

    fn profile(self) -> Option<ProfileKind> {
        match self {
            Self::Scenario | Self::Sweep => None,
            Self::Device => Some(ProfileKind::Device),
            Self::Cpu => Some(ProfileKind::Cpu),
        }
    }

    /// The text of a file that comes with the program.
    pub fn shipped(self, name: &str) -> Option<&'static str> {
        self.files().iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
    }

    /// All names: those that come with the program, and profiles below `base` that scenarios there
    /// find (`devices/NAME.toml`).
    pub fn names(self, base: &Path) -> Vec<String> {
        match self.profile() {
            Some(kind) => known(kind, None, base.into()),
            None => self.files().iter().map(|(name, _)| (*name).to_owned()).collect(),
        }
    }

    /// The text with this name. A file below `base` has precedence, and is returned with it.
    fn text(self, name: &str, base: &Path) -> Result<Option<Named>, ScenarioErrors> {
        if let Some(kind) = self.profile() {
            return match text_of(kind, name, base.into()) {
                Ok(None) => Ok(None),
                Ok(Some((file, text))) => {
                    let is_ours = self.files().iter().any(|(_, shipped)| *shipped == text);
                    let file = (!is_ours).then(|| PathBuf::from(file));
                    Ok(Some(Named { kind: self, name: name.to_owned(), text, file }))
                }
                Err((file, error)) => {
                    let message = format!("cannot read the profile `{}`: {error}", file.display());
                    Err(ScenarioError::nowhere(message, None).into())
                }
            };
        }
        let found = self.files().iter().find(|(known, _)| *known == name);
        Ok(found.map(|(name, text)| Named {
            kind: self,
            name: (*name).to_owned(),
            text: (*text).to_owned(),
            file: None,
        }))
    }
}

/// A scenario, sweep or profile found by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// What it is.
    pub kind: ShippedKind,
    /// Its name.
    pub name: String,
    /// TOML.
    pub text: String,
    /// Its file, if it did not come with the program.
    pub file: Option<PathBuf>,
}

impl Named {
    /// The scenario, sweep or profile called `name`, as scenarios in the directory `base` see it.
    ///
    /// If several have the same name, the scenario is taken. The name may be written as a path:
    /// `sweeps/virtualized`, `scenarios/first-look.toml`. Errors if there is none, with the nearest
    /// name.
    pub fn find(name: &str, base: &Path) -> Result<Self, ScenarioErrors> {
        let inner = name.strip_suffix(".toml").unwrap_or(name);
        let inner = inner.rsplit_once("scenarios/").map_or(inner, |(_, inner)| inner);
        let prefixed = ShippedKind::ALL.iter().find_map(|kind| {
            let (directory, rest) = inner.split_once('/')?;
            let is_it = directory == kind.directory() || directory == kind.name();
            is_it.then_some((*kind, rest))
        });
        let candidates: Vec<(ShippedKind, &str)> = match prefixed {
            Some(found) => vec![found],
            None => ShippedKind::ALL.iter().map(|kind| (*kind, inner)).collect(),
        };
        for (kind, name) in &candidates {
            if let Some(found) = kind.text(name, base)? {
                return Ok(found);
            }
        }
        let names: Vec<String> = candidates.iter().flat_map(|(kind, _)| kind.names(base)).collect();
        let what = match prefixed {
            Some((kind, _)) => format!("{} `{}`", kind.name(), candidates[0].1),
            None => format!("scenario, sweep, device or cpu `{name}`"),
        };
        let help = meant(candidates[0].1, names.iter().map(String::as_str));
        Err(ScenarioError::nowhere(format!("there is no {what}"), help).into())
    }
}

/// A file's description of itself: the first sentence of the comment at its beginning.
pub fn about(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix('#'));
    let paragraph: Vec<&str> = lines.map(str::trim).take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let ends = paragraph.char_indices().filter(|(_, c)| matches!(c, '.' | '?'));
    for (at, mark) in ends {
        let rest = &paragraph[at + mark.len_utf8()..];
        // a full stop in `al. 2006` or `7200.8` does not end a sentence
        let begins = |next: &str| next.starts_with(|c: char| c.is_uppercase() || c == '`');
        if rest.is_empty() || rest.strip_prefix(' ').is_some_and(begins) {
            return paragraph[..=at].to_owned();
        }
    }
    paragraph
}

/// Names of the scenarios that come with the program.
pub fn shipped_names() -> impl Iterator<Item = &'static str> + Clone {
    SCENARIOS.iter().map(|(name, _)| *name)
}

/// The text of the sweep `name` that comes with the program.
pub fn shipped_sweep(name: &str) -> Option<&'static str> {
    SWEEPS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

impl Document {
    /// The scenario `name` that comes with the program; `None` if there is none. Errors would be our own.
    ///
    /// Relative paths in it are resolved from the current directory.
    pub fn shipped(name: &str) -> Option<Result<Self, ScenarioErrors>> {
        let (_, text) = SCENARIOS.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(&format!("{name}.toml"), text, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_in_a_sentence() {
        assert_eq!(about("# A disk.\n# More of it.\nkind = 1\n"), "A disk.");
        assert_eq!(about("# Which of them?  Seven\n# in all.\n"), "Which of them?  Seven in all.");
        assert_eq!(
            about("# As in Ra et al. 2018: a 7200.8\n# disk. Of two\n#\n# Not this.\n"),
            "As in Ra et al. 2018: a 7200.8 disk."
        );
        assert_eq!(
            about("# One moves in (Figure 10).\n# `a` fits.\n"),
            "One moves in (Figure 10)."
        );
        assert_eq!(about("kind = 1\n"), "");
        assert_eq!(about("# Ä. Ö.\n"), "Ä.");
        for kind in ShippedKind::ALL {
            for (name, text) in kind.files() {
                let about = about(text);
                assert!(about.len() > 12 && about.len() < 260, "{name}: {about}");
            }
        }
    }

    #[test]
    fn whatever_is_shipped_is_found_by_its_name() {
        let nowhere = Path::new("no/such/directory");
        for kind in ShippedKind::ALL {
            for (name, text) in kind.files() {
                let alone = (kind, *name) != (ShippedKind::Sweep, "virtualized");
                let alone = alone.then(|| (*name).to_owned());
                let paths = [
                    format!("{}/{name}", kind.directory()),
                    format!("scenarios/{}/{name}.toml", kind.directory()),
                ];
                // a scenario has precedence over a sweep of the same name
                for written in alone.into_iter().chain(paths) {
                    let found = Named::find(&written, nowhere).unwrap();
                    assert_eq!((found.kind, found.text.as_str()), (kind, *text), "{written}");
                    assert_eq!(found.file, None);
                }
            }
        }
        let fault = |name: &str| Named::find(name, nowhere).unwrap_err().lines();
        assert!(
            fault("first-lok").contains("did you mean `first-look`?"),
            "{}",
            fault("first-lok")
        );
        assert!(fault("devices/first-look").contains("no device `first-look`"));
        assert!(fault("../../etc/passwd").contains("there is no"));
    }
}

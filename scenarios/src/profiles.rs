//! Profiles of processors and devices: from the scenario, from files beside it, from the program, in this order.

use std::path::{Path, PathBuf};

use foretell_input::Limit;
use foretell_sorted::SortedMap;

use crate::check::is_below;
use crate::error::{Problem, Problems};
use crate::names::{is_profile_name, meant};
use crate::shape;
use crate::source::{Place, SourceKind, Sources};
use crate::structure::{Broken, check_alone, complete_node};
use crate::tree::{Node, Table, parse_document};

/// The kind of a profile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ProfileKind {
    /// A processor: `[cpu.NAME]`, `cpus/NAME.toml`.
    Cpu,
    /// A storage device: `[device.NAME]`, `devices/NAME.toml`.
    Device,
}

impl ProfileKind {
    /// Its section in a scenario.
    pub(crate) fn section(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Device => "device",
        }
    }

    /// Its directory beside a scenario.
    pub(crate) fn directory(self) -> &'static str {
        match self {
            Self::Cpu => "cpus",
            Self::Device => "devices",
        }
    }

    /// The profiles that come with the program: name and text of each file.
    pub fn shipped(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Cpu => CPUS,
            Self::Device => DEVICES,
        }
    }
}

macro_rules! files {
    ($directory:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../", $directory, "/", $name, ".toml")))),+]
    };
}

const CPUS: &[(&str, &str)] =
    files!("cpus": "pentium4-2.6", "pentium4-3.0", "system-z-ifl", "xeon-2023", "xeon-p4-3.0");
const DEVICES: &[(&str, &str)] = files!(
    "devices": "barracuda-7200.8",
    "cheetah-15k",
    "barracuda-4lp",
    "cheetah-9lp",
    "ds8700-raid5",
    "fc-15k-2008",
    "hdd-16tb-7200",
    "hdd-24tb-7200",
    "hdd-4tb-7200",
    "hp-c3323a",
    "mqsim-default",
    "nvme-3gbs",
    "nvme-7gbs",
    "nvme-no-plp",
    "optane-p4800x",
    "sata-7200-2005",
    "sata-ssd",
    "sata-ssd-no-plp",
);

/// The directory beside a scenario, where its own profiles are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProfileDirectory<'a> {
    directory: &'a Path,
    /// Whether links must not lead out of it.
    is_confined: bool,
}

impl<'a> From<&'a Path> for ProfileDirectory<'a> {
    fn from(directory: &'a Path) -> Self {
        Self { directory, is_confined: false }
    }
}

impl Sources {
    /// Where profiles are found of a scenario whose files are found from `base`.
    pub(crate) fn beside<'a>(&'a self, base: &'a Path) -> ProfileDirectory<'a> {
        match &self.confined {
            Some(confined) => {
                ProfileDirectory { directory: &confined.directory, is_confined: true }
            }
            None => base.into(),
        }
    }
}

impl ProfileDirectory<'_> {
    /// The path of a file, and whether it may be read.
    fn file(self, name: &Path) -> (PathBuf, bool) {
        let path = self.directory.join(name);
        let may = !self.is_confined || is_below(&path, name, self.directory);
        (path, may)
    }
}

/// Finds profiles, each once.
pub(crate) struct Profiles<'a> {
    scenario: &'a Table,
    base: &'a Path,
    broken: &'a Broken,
    found: SortedMap<(ProfileKind, String), Option<Node>>,
}

impl<'a> Profiles<'a> {
    pub(crate) fn new(scenario: &'a Table, base: &'a Path, broken: &'a Broken) -> Self {
        Self { scenario, base, broken, found: SortedMap::new() }
    }

    /// The profile called `name`, complete. Problems are reported at `place` or in the profile's own text.
    pub(crate) fn get(
        &mut self,
        kind: ProfileKind,
        name: &str,
        place: Place,
        sources: &mut Sources,
        problems: &mut Problems,
    ) -> Option<&Node> {
        let key = (kind, name.to_owned());
        if !self.found.contains_key(&key) {
            let node = self.find(kind, name, place, sources, problems);
            self.found.insert(key.clone(), node);
        }
        self.found[&key].as_ref()
    }

    /// All profiles found, in the order of their names.
    pub(crate) fn into_found(self) -> impl Iterator<Item = (ProfileKind, String, Node)> {
        self.found.into_iter().filter_map(|((kind, name), node)| Some((kind, name, node?)))
    }

    fn find(
        &self,
        kind: ProfileKind,
        name: &str,
        place: Place,
        sources: &mut Sources,
        problems: &mut Problems,
    ) -> Option<Node> {
        let section = self.scenario.get(kind.section()).and_then(Node::table);
        if let Some(node) = section.and_then(|section| section.get(name)) {
            let mut node = node.clone();
            complete_node(&mut node, shape::section(kind.section()), place);
            return (!self.broken.entry(kind.section(), name)).then_some(node);
        }
        if self.broken.entry(kind.section(), name) {
            return None;
        }
        match text_of(kind, name, sources.beside(self.base)) {
            Ok(Some((file, text))) => read(kind, &file, &text, sources, problems),
            Ok(None) => {
                let known = known(kind, section, sources.beside(self.base));
                let message = format!("there is no {} profile `{name}`", kind.section());
                let names = known.iter().map(String::as_str);
                let help = meant(name, names).map(|help| {
                    if is_profile_name(name) {
                        let beside =
                            if sources.confined.is_some() { Path::new("") } else { self.base };
                        let file = beside.join(kind.directory()).join(format!("{name}.toml"));
                        format!("{help} Your own goes into `{}`.", file.display())
                    } else {
                        help
                    }
                });
                problems.add(Problem::new(place, message).maybe_help(help));
                None
            }
            Err((file, error)) => {
                let message = format!("cannot read the profile `{}`: {error}", file.display());
                problems.add(Problem::new(place, message));
                None
            }
        }
    }
}

/// The text of a profile, from its file beside the scenario or from the program.
pub(crate) fn text_of(
    kind: ProfileKind,
    name: &str,
    directory: ProfileDirectory<'_>,
) -> Result<Option<(String, String)>, (PathBuf, std::io::Error)> {
    if !is_profile_name(name) {
        return Ok(None);
    }
    let below = Path::new(kind.directory()).join(format!("{name}.toml"));
    let (file, may_be_read) = directory.file(&below);
    // a file of that name is meant even if it cannot be read
    if may_be_read && std::fs::symlink_metadata(&file).is_ok_and(|there| !there.is_dir()) {
        return match foretell_input::text(&file, Limit::SCENARIO) {
            Ok(text) => Ok(Some((file.display().to_string(), text))),
            Err(error) => Err((file, error)),
        };
    }
    let shipped = kind.shipped().iter().find(|(known, _)| *known == name);
    Ok(shipped.map(|(_, text)| (format!("{}/{name}.toml", kind.directory()), (*text).to_owned())))
}

/// Reads the text of a profile's file.
pub(crate) fn read(
    kind: ProfileKind,
    file: &str,
    text: &str,
    sources: &mut Sources,
    problems: &mut Problems,
) -> Option<Node> {
    let base = sources.add(file, text, SourceKind::File);
    let table = match parse_document(text, base) {
        Ok(table) => table,
        Err(found) => {
            problems.add_all(found);
            return None;
        }
    };
    let shape = shape::section(kind.section());
    let mut node = check_alone(table, shape, base, problems)?;
    let place = node.place;
    complete_node(&mut node, shape, place);
    Some(node)
}

/// Names of all profiles: in the scenario, beside it, in the program.
pub(crate) fn known(
    kind: ProfileKind,
    section: Option<&Table>,
    directory: ProfileDirectory<'_>,
) -> Vec<String> {
    let mut names: Vec<String> =
        section.into_iter().flat_map(Table::keys).map(str::to_owned).collect();
    let (directory, may_be_read) = directory.file(Path::new(kind.directory()));
    let files = may_be_read.then(|| std::fs::read_dir(directory)).into_iter().flatten();
    let files = files.flatten().flatten();
    names
        .extend(files.filter_map(|file| {
            file.file_name().to_str()?.strip_suffix(".toml").map(str::to_owned)
        }));
    names.extend(kind.shipped().iter().map(|(name, _)| (*name).to_owned()));
    names.sort();
    names.dedup();
    names
}

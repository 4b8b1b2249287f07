//! The text form of a CRUSH map, as written by `crushtool -d` and compiled by `crushtool -c`.
//!
//! Weights are read as in `crushtool`: rounded to a 32-bit float, times 65536, truncated.

use std::collections::BTreeMap;
use std::str::FromStr;

use foretell_algorithms::crush::{
    Algorithm, Bucket, ChooseArg, Item, MapParts, Mask, Mode, Rule, Setting, Step, Tunables,
    add_shadows,
};
use foretell_input::{one_line, shown};
use foretell_sorted::{SortedMap, SortedSet};

use crate::error::ReadError;
use crate::text::did_you_mean;

/// The steps of rules besides settings.
const STEPS: [&str; 5] = ["take", "choose", "chooseleaf", "choosemsr", "emit"];

/// The tunables that a map may have.
const TUNABLES: [&str; 10] = [
    "choose_local_tries",
    "choose_local_fallback_tries",
    "choose_total_tries",
    "chooseleaf_descend_once",
    "chooseleaf_vary_r",
    "chooseleaf_stable",
    "straw_calc_version",
    "msr_descents",
    "msr_collision_tries",
    "allowed_bucket_algs",
];

/// Whether a text has a line that begins like a line of a map: a keyword, then a number or name, and no `=`.
pub(crate) fn looks_like_a_map(text: &str) -> bool {
    let declares = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let known = ["tunable", "device", "type", "rule", "choose_args", "host", "root"];
        known.contains(&first) && words.next().is_some_and(|second| !second.starts_with('='))
    };
    text.lines().any(declares)
}

/// Reads a map's text; `file` is its name in errors. Adds what is not used to `notes`.
pub(crate) fn read(file: &str, text: &str, notes: &mut Vec<String>) -> Result<MapParts, ReadError> {
    let mut reader = Reader::new(file, text);
    while let Some(word) = reader.next() {
        match word {
            "tunable" => reader.tunable()?,
            "device" => reader.device()?,
            "type" => reader.kind()?,
            "rule" => reader.rule()?,
            "choose_args" => reader.choose_args()?,
            kind => reader.bucket(kind)?,
        }
    }
    reader.shadows()?;
    if reader.parts.buckets.is_empty() {
        return Err(reader.wrong("it has no bucket: this is no CRUSH map"));
    }
    notes.append(&mut reader.notes);
    Ok(reader.parts)
}

/// Parses the steps of a rule over a map: `take default class ssd`, `chooseleaf firstn 0 type rack`, `emit`.
///
/// # Errors
///
/// The index of the wrong step, and a message with the wrong word and the expected one.
pub fn rule_steps(parts: &MapParts, steps: &[&str]) -> Result<Vec<Step>, (usize, String)> {
    let mut reader = Reader::new("", "");
    reader.whole = "step";
    reader.items = parts.buckets.iter().map(|bucket| (bucket.name.clone(), bucket.id)).collect();
    reader.classes =
        parts.classes.values().cloned().collect::<SortedSet<_>>().into_iter().collect();
    let shadows = parts.buckets.iter().filter(|bucket| bucket.is_shadow());
    reader.shadows = shadows.map(|bucket| (bucket.name.clone(), bucket.id)).collect();
    reader.parts = parts.clone();
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        (reader.words, reader.at) = (words_of(step), 0);
        let read = reader.step().and_then(|step| match (step, reader.next()) {
            (
                Step::ChooseMsr { .. }
                | Step::Set(Setting::MsrDescents | Setting::MsrCollisionTries, _),
                _,
            ) => Err(reader.wrong(
                "`choosemsr` is for rules of the types `msr_firstn` and `msr_indep` of a CRUSH map",
            )),
            (step, None) => Ok(step),
            (_, Some(word)) => {
                Err(reader.wrong(format!("found `{word}` after the end of the step")))
            }
        });
        found.push(read.map_err(|error| match error {
            ReadError::Text { what, .. } => (at, what),
            other => (at, other.to_string()),
        })?);
    }
    Ok(found)
}

/// Words and brackets of a text with their line numbers; comments are dropped.
fn words_of(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or("");
        for word in content.split_whitespace() {
            // brackets need no space around them
            let mut rest = word;
            while !rest.is_empty() {
                let bracket = |c| matches!(c, '{' | '}' | '[' | ']');
                let end = match rest.find(bracket) {
                    Some(0) => 1,
                    Some(before) => before,
                    None => rest.len(),
                };
                words.push((line, &rest[..end]));
                rest = &rest[end..];
            }
        }
    }
    words
}

struct Reader<'a> {
    file: &'a str,
    /// Name of the unit that ended too early if words run out.
    whole: &'static str,
    /// The words with their line numbers.
    words: Vec<(usize, &'a str)>,
    at: usize,
    parts: MapParts,
    /// Devices and buckets by name. A map may have hundreds of thousands.
    items: BTreeMap<String, i32>,
    /// Weights of the buckets so far, by id.
    weights: BTreeMap<i32, u32>,
    /// No id above this one is free.
    next_id: i32,
    /// Classes, by device that has one.
    classed: BTreeMap<i32, String>,
    /// Device classes in the order of appearance, which determines the ids of shadows.
    classes: Vec<String>,
    /// Declared ids of shadow buckets.
    shadow_ids: BTreeMap<i32, SortedMap<String, i32>>,
    shadowed: bool,
    /// By name: shadow buckets.
    shadows: BTreeMap<String, i32>,
    notes: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, text: &'a str) -> Self {
        let parts =
            MapParts { tunables: Tunables::LEGACY, types: SortedMap::new(), ..MapParts::default() };
        Self {
            file,
            whole: "map",
            words: words_of(text),
            at: 0,
            parts,
            items: BTreeMap::new(),
            weights: BTreeMap::new(),
            next_id: -1,
            classed: BTreeMap::new(),
            classes: Vec::new(),
            shadow_ids: BTreeMap::new(),
            shadowed: false,
            shadows: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// An error at the last word read, or at the end if there is no more.
    fn wrong(&self, what: impl Into<String>) -> ReadError {
        let word = self.words.get(self.at.saturating_sub(1)).or(self.words.last());
        let line = word.map_or(1, |(line, _)| *line);
        ReadError::Text { file: self.file.to_owned(), line, what: what.into() }
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).map(|(_, word)| *word);
        self.at += 1;
        word
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(|(_, word)| *word)
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ReadError> {
        self.next()
            .ok_or_else(|| self.wrong(format!("the {} ends where {what} is expected", self.whole)))
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ReadError> {
        let word = self.word(&format!("`{wanted}`"))?;
        if word == wanted {
            return Ok(());
        }
        Err(self.wrong(format!("found `{word}`, expected `{wanted}`")))
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, ReadError> {
        let word = self.word(what)?;
        word.parse().map_err(|_| self.wrong(format!("found `{word}`, expected {what}")))
    }

    /// A weight in 16.16 fixed point, converted from decimals as in `crushtool`.
    fn weight(&mut self) -> Result<u32, ReadError> {
        let weight: f32 = self.number("a weight")?;
        let fixed = weight * 65_536.0;
        if (0.0..4_294_967_296.0).contains(&fixed) {
            return Ok(fixed as u32);
        }
        Err(self.wrong(format!("the weight is {}; expected 0 to 65535", shown(weight.into()))))
    }

    fn class(&mut self) -> Result<String, ReadError> {
        let class = self.word("a device class")?.to_owned();
        if !self.classes.contains(&class) {
            self.classes.push(class.clone());
        }
        Ok(class)
    }

    fn tunable(&mut self) -> Result<(), ReadError> {
        let name = self.word("a tunable's name")?;
        if !TUNABLES.contains(&name) {
            let nearest = did_you_mean(name, TUNABLES);
            let (file, name) = (self.file, one_line(name));
            let note = format!("{file}: the tunable `{name}` is not known, and not used{nearest}");
            self.notes.push(note);
            self.skip_line();
            return Ok(());
        }
        let value: u32 = self.number("the tunable's value")?;
        let tunables = &mut self.parts.tunables;
        match name {
            "choose_local_tries" => tunables.choose_local_tries = value,
            "choose_local_fallback_tries" => tunables.choose_local_fallback_tries = value,
            "choose_total_tries" => tunables.choose_total_tries = value,
            "chooseleaf_descend_once" => tunables.chooseleaf_descend_once = value > 0,
            "chooseleaf_vary_r" => tunables.chooseleaf_vary_r = value,
            "chooseleaf_stable" => tunables.chooseleaf_stable = value > 0,
            "straw_calc_version" => tunables.straw_calc_version = value,
            "msr_descents" => tunables.msr_descents = value,
            "msr_collision_tries" => tunables.msr_collision_tries = value,
            // `allowed_bucket_algs`: the kinds of buckets that Ceph lets users add
            _ => {}
        }
        Ok(())
    }

    fn device(&mut self) -> Result<(), ReadError> {
        let id: i32 = self.number("a device's number")?;
        if id < 0 {
            return Err(self.wrong(format!("the device's number is {id}; expected 0 or more")));
        }
        let name = self.word("a device's name")?;
        self.name(name, id)?;
        if self.peek() == Some("class") {
            self.at += 1;
            let class = self.class()?;
            self.classed.insert(id, class);
        }
        Ok(())
    }

    fn name(&mut self, name: &str, id: i32) -> Result<(), ReadError> {
        if self.items.insert(name.to_owned(), id).is_some() {
            return Err(self.wrong(format!("`{name}` is defined twice")));
        }
        Ok(())
    }

    fn kind(&mut self) -> Result<(), ReadError> {
        let number = self.number("a type's number")?;
        let name = self.word("a type's name")?;
        self.parts.types.insert(number, name.to_owned());
        Ok(())
    }

    fn type_number(&self, name: &str) -> Result<u16, ReadError> {
        let types = &self.parts.types;
        types.iter().find(|(_, known)| *known == name).map(|(number, _)| *number).ok_or_else(|| {
            let nearest = did_you_mean(name, types.values().map(String::as_str));
            self.wrong(format!("the type `{name}` is not defined{nearest}"))
        })
    }

    fn item(&self, name: &str) -> Result<i32, ReadError> {
        self.items.get(name).copied().ok_or_else(|| {
            let nearest = did_you_mean(name, self.items.keys().map(String::as_str));
            self.wrong(format!("`{name}` is not defined (yet){nearest}"))
        })
    }

    fn bucket(&mut self, kind: &str) -> Result<(), ReadError> {
        let kind = self.type_number(kind)?;
        let name = self.word("a bucket's name")?;
        self.expect("{")?;
        let mut id = None;
        let mut ids = SortedMap::new();
        let mut algorithm = None;
        let mut found: Vec<(Item, Option<usize>)> = Vec::new();
        loop {
            match self.word("`}`")? {
                "}" => break,
                "id" => {
                    let number: i32 = self.number("a bucket's id")?;
                    if self.peek() == Some("class") {
                        self.at += 1;
                        let class = self.class()?;
                        if ids.insert(class.clone(), number).is_some() {
                            return Err(self.wrong(format!("`{name}` has two ids for `{class}`")));
                        }
                    } else {
                        id = Some(number);
                    }
                }
                "alg" => {
                    let word = self.word("an algorithm")?;
                    algorithm = Algorithm::from_name(word);
                    if algorithm.is_none() {
                        let known = ["uniform", "list", "tree", "straw", "straw2"];
                        let nearest = did_you_mean(word, known);
                        return Err(
                            self.wrong(format!("the algorithm `{word}` is not known{nearest}"))
                        );
                    }
                }
                "hash" => {
                    let hash = self.word("a hash")?;
                    if hash != "0" && hash != "rjenkins1" {
                        return Err(
                            self.wrong(format!("the hash is `{hash}`; expected 0 (rjenkins1)"))
                        );
                    }
                }
                "item" => found.push(self.member()?),
                other => {
                    let known = ["id", "alg", "hash", "item", "}"];
                    let nearest = did_you_mean(other, known);
                    return Err(self.wrong(format!(
                        "found `{other}` in bucket `{name}`, expected `id`, `alg`, `hash`, `item` or `}}`{nearest}"
                    )));
                }
            }
        }
        let algorithm =
            algorithm.ok_or_else(|| self.wrong(format!("bucket `{name}` has no `alg`")))?;
        let items = self.in_position(name, &found)?;
        if algorithm == Algorithm::Uniform && items.windows(2).any(|w| w[0].weight != w[1].weight) {
            return Err(
                self.wrong(format!("the items of the uniform bucket `{name}` differ in weight"))
            );
        }
        // an id may be omitted: take the first free one
        let id = if let Some(id) = id.filter(|id| *id != 0) {
            id
        } else {
            let free = (i32::MIN..=self.next_id).rev().find(|id| !self.weights.contains_key(id));
            self.next_id = free.expect("fewer than 2^31 buckets");
            self.next_id
        };
        self.name(name, id)?;
        let weight = items.iter().map(|item| u64::from(item.weight)).sum::<u64>();
        // the first of two buckets with one id keeps its weight: the map's check reports both
        self.weights.entry(id).or_insert_with(|| u32::try_from(weight).unwrap_or(u32::MAX));
        self.shadow_ids.insert(id, ids);
        self.parts.buckets.push(Bucket { id, name: name.to_owned(), kind, algorithm, items });
        Ok(())
    }

    /// `item NAME [weight W] [pos P]`, after the first word.
    fn member(&mut self) -> Result<(Item, Option<usize>), ReadError> {
        let name = self.word("an item's name")?;
        let id = self.item(name)?;
        let weight = self.weights.get(&id).copied().unwrap_or(0x1_0000);
        let mut item = Item { id, weight };
        let mut position = None;
        loop {
            match self.peek() {
                Some("weight") => {
                    self.at += 1;
                    item.weight = self.weight()?;
                }
                Some("pos") => {
                    self.at += 1;
                    position = Some(self.number("a position")?);
                }
                _ => return Ok((item, position)),
            }
        }
    }

    /// Items with a position are placed there; the others fill the gaps in order.
    fn in_position(
        &self,
        bucket: &str,
        found: &[(Item, Option<usize>)],
    ) -> Result<Vec<Item>, ReadError> {
        let mut placed: Vec<Option<Item>> = vec![None; found.len()];
        for (item, position) in found {
            let Some(position) = *position else { continue };
            match placed.get_mut(position) {
                Some(place @ None) => *place = Some(*item),
                Some(_) => {
                    return Err(
                        self.wrong(format!("bucket `{bucket}` has two items at {position}"))
                    );
                }
                None => {
                    let most = found.len() - 1;
                    return Err(self.wrong(format!(
                        "bucket `{bucket}` has an item at position {position}; expected 0 to {most}"
                    )));
                }
            }
        }
        let mut others = found.iter().filter(|(_, position)| position.is_none());
        let fill = |place: Option<Item>| place.or_else(|| Some(others.next()?.0));
        Ok(placed.into_iter().filter_map(fill).collect())
    }

    /// Adds shadow trees, once all buckets are read.
    fn shadows(&mut self) -> Result<(), ReadError> {
        if !std::mem::replace(&mut self.shadowed, true) {
            self.parts.classes = std::mem::take(&mut self.classed).into_iter().collect();
            add_shadows(&mut self.parts, &self.classes, &self.shadow_ids)
                .map_err(|error| ReadError::Crush { file: self.file.to_owned(), error })?;
            let shadows = self.parts.buckets.iter().filter(|bucket| bucket.is_shadow());
            self.shadows = shadows.map(|bucket| (bucket.name.clone(), bucket.id)).collect();
        }
        Ok(())
    }

    fn rule(&mut self) -> Result<(), ReadError> {
        self.shadows()?;
        let name = match self.word("a rule's name")? {
            "{" => String::new(),
            name => {
                self.expect("{")?;
                name.to_owned()
            }
        };
        let mut id = None;
        let mut kind = None;
        let (mut min_size, mut max_size) = (None, None);
        let (mut steps, mut unknown) = (Vec::new(), None);
        loop {
            match self.word("`}`")? {
                "}" => break,
                "id" | "ruleset" => id = Some(self.number("a rule's number")?),
                "type" => {
                    kind = Some(match self.word("a rule's type")? {
                        "replicated" => 1,
                        "erasure" => 3,
                        "msr_firstn" => Rule::MSR_FIRSTN,
                        "msr_indep" => Rule::MSR_INDEP,
                        other => other.parse().map_err(|_| {
                            self.wrong(format!(
                                "found `{other}`, expected `replicated` or `erasure`"
                            ))
                        })?,
                    });
                }
                "min_size" => min_size = Some(self.number("a number of replicas")?),
                "max_size" => max_size = Some(self.number("a number of replicas")?),
                "step" if !self.knows_step() => {
                    let what = self.step().err().map(|error| match error {
                        ReadError::Text { what, .. } => what,
                        other => other.to_string(),
                    });
                    unknown = unknown.or(what);
                    self.skip_line();
                }
                "step" => steps.push(self.step()?),
                other => {
                    return Err(self.wrong(format!(
                        "found `{other}` in rule `{name}`, expected `id`, `type`, `min_size`, `max_size`, `step` or `}}`"
                    )));
                }
            }
        }
        let id = id.ok_or_else(|| self.wrong(format!("rule `{name}` has no `id`")))?;
        let kind = kind.ok_or_else(|| self.wrong(format!("rule `{name}` has no `type`")))?;
        let mask = min_size.zip(max_size);
        let mask = mask.map(|(min_size, max_size)| Mask { ruleset: id, min_size, max_size });
        self.parts.rules.push(Rule { id, name, kind, mask, steps, unknown });
        Ok(())
    }

    /// Whether the next word begins a step that is known.
    fn knows_step(&self) -> bool {
        self.peek().is_none_or(|word| STEPS.contains(&word) || Setting::from_name(word).is_some())
    }

    /// Passes over the words on the line of the last word.
    fn skip_line(&mut self) {
        let line = self.words.get(self.at.saturating_sub(1)).map(|(line, _)| *line);
        while self.words.get(self.at).is_some_and(|(at, word)| Some(*at) == line && *word != "}") {
            self.at += 1;
        }
    }

    fn step(&mut self) -> Result<Step, ReadError> {
        let word = self.word("a step")?;
        if let Some(setting) = Setting::from_name(word) {
            return Ok(Step::Set(setting, self.number("a number")?));
        }
        match word {
            "emit" => Ok(Step::Emit),
            "take" => {
                let name = self.word("what to take")?;
                let id = self.item(name)?;
                if self.peek() != Some("class") {
                    return Ok(Step::Take(id));
                }
                self.at += 1;
                let class = self.word("a device class")?;
                let shadow = self.shadows.get(&format!("{name}~{class}"));
                shadow.map(|id| Step::Take(*id)).ok_or_else(|| {
                    let nearest = did_you_mean(class, self.classes.iter().map(String::as_str));
                    self.wrong(format!("`{name}` has no devices of class `{class}`{nearest}"))
                })
            }
            "choosemsr" => {
                let count = self.number("a number of items")?;
                self.expect("type")?;
                let kind = self.word("a type")?;
                Ok(Step::ChooseMsr { count, kind: self.type_number(kind)? })
            }
            "choose" | "chooseleaf" => {
                let mode = match self.word("`firstn` or `indep`")? {
                    "firstn" => Mode::Firstn,
                    "indep" => Mode::Indep,
                    other => {
                        return Err(
                            self.wrong(format!("found `{other}`, expected `firstn` or `indep`"))
                        );
                    }
                };
                let count = self.number("a number of items")?;
                self.expect("type")?;
                let kind = self.word("a type")?;
                let kind = self.type_number(kind)?;
                Ok(Step::Choose { mode, leaf: word == "chooseleaf", count, kind })
            }
            other => {
                let known = STEPS.into_iter().chain(Setting::ALL.iter().map(|(name, _)| *name));
                let nearest = did_you_mean(other, known);
                Err(self.wrong(format!(
                    "the step `{}` is not known (rules up to Squid are){nearest}",
                    one_line(other)
                )))
            }
        }
    }

    fn choose_args(&mut self) -> Result<(), ReadError> {
        self.shadows()?;
        let pool: i64 = self.number("a pool's number, or -1")?;
        self.expect("{")?;
        let mut args = Vec::new();
        loop {
            match self.word("`{` or `}`")? {
                "}" => break,
                "{" => args.push(self.choose_arg()?),
                other => return Err(self.wrong(format!("found `{other}`, expected `{{` or `}}`"))),
            }
        }
        if self.parts.choose_args.insert(pool, args).is_some() {
            return Err(self.wrong(format!("choose_args {pool} is defined twice")));
        }
        Ok(())
    }

    fn choose_arg(&mut self) -> Result<ChooseArg, ReadError> {
        self.expect("bucket_id")?;
        let mut arg =
            ChooseArg { bucket: self.number("a bucket's id")?, weight_sets: Vec::new(), ids: None };
        loop {
            match self.word("`weight_set`, `ids` or `}`")? {
                "}" => return Ok(arg),
                "weight_set" => {
                    self.expect("[")?;
                    while self.peek() != Some("]") {
                        self.expect("[")?;
                        let mut set = Vec::new();
                        while self.peek() != Some("]") {
                            set.push(self.weight()?);
                        }
                        self.at += 1;
                        arg.weight_sets.push(set);
                    }
                    self.at += 1;
                }
                "ids" => {
                    self.expect("[")?;
                    let mut ids = Vec::new();
                    while self.peek() != Some("]") {
                        ids.push(self.number("an id")?);
                    }
                    self.at += 1;
                    arg.ids = Some(ids);
                }
                other => {
                    return Err(self
                        .wrong(format!("found `{other}`, expected `weight_set`, `ids` or `}}`")));
                }
            }
        }
    }
}

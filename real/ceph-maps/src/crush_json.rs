//! A CRUSH map as JSON: `ceph osd crush dump`, and a part of a report.

use foretell_algorithms::crush::{
    Algorithm, Bucket, ChooseArg, Item, MapParts, Mask, Mode, Rule, Setting, Step, Tunables,
};
use foretell_input::one_line;
use foretell_sorted::SortedMap;
use serde::{Deserialize, Serialize};

use crate::text::{did_you_mean, fixed};

#[derive(Deserialize, Serialize)]
pub(crate) struct CrushJson {
    #[serde(default)]
    devices: Vec<DeviceJson>,
    types: Vec<TypeJson>,
    buckets: Vec<BucketJson>,
    rules: Vec<RuleJson>,
    tunables: TunablesJson,
    #[serde(default)]
    choose_args: SortedMap<String, Vec<ArgJson>>,
}

#[derive(Deserialize, Serialize)]
struct DeviceJson {
    id: i32,
    class: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct TypeJson {
    type_id: u16,
    name: String,
}

#[derive(Deserialize, Serialize)]
struct BucketJson {
    id: i32,
    name: String,
    type_id: u16,
    alg: String,
    hash: Option<String>,
    items: Vec<ItemJson>,
}

#[derive(Deserialize, Serialize)]
struct ItemJson {
    id: i32,
    weight: i64,
}

#[derive(Deserialize, Serialize)]
struct RuleJson {
    rule_id: u32,
    rule_name: String,
    ruleset: Option<u32>,
    #[serde(rename = "type")]
    kind: u32,
    min_size: Option<u32>,
    max_size: Option<u32>,
    steps: Vec<StepJson>,
}

#[derive(Deserialize, Serialize)]
struct StepJson {
    op: Option<String>,
    /// Set if the kind of step has no name in JSON.
    opcode: Option<u32>,
    arg1: Option<i32>,
    arg2: Option<i32>,
    item: Option<i32>,
    num: Option<i32>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct TunablesJson {
    choose_local_tries: u32,
    choose_local_fallback_tries: u32,
    choose_total_tries: u32,
    chooseleaf_descend_once: u32,
    #[serde(default)]
    chooseleaf_vary_r: u32,
    #[serde(default)]
    chooseleaf_stable: u32,
    #[serde(default)]
    straw_calc_version: u32,
    msr_descents: Option<u32>,
    msr_collision_tries: Option<u32>,
}

#[derive(Deserialize, Serialize)]
struct ArgJson {
    bucket_id: i32,
    #[serde(default)]
    weight_set: Vec<Vec<f64>>,
    ids: Option<Vec<i32>>,
}

impl CrushJson {
    /// The parts of a map, not yet checked against each other. Adds guesses to `notes`.
    pub(crate) fn parts(self, notes: &mut Vec<String>) -> Result<MapParts, String> {
        let types: SortedMap<u16, String> =
            self.types.into_iter().map(|kind| (kind.type_id, kind.name)).collect();
        let buckets = self.buckets.into_iter().map(BucketJson::bucket).collect::<Result<_, _>>()?;
        let rules = self.rules.into_iter().map(|rule| rule.rule(&types, notes)).collect();
        let mut choose_args = SortedMap::new();
        for (key, args) in self.choose_args {
            let pool: i64 = key.parse().map_err(|_| {
                format!("choose_args has the key `{key}`; expected a pool's number")
            })?;
            let args = args.into_iter().map(ArgJson::arg).collect::<Result<_, _>>()?;
            choose_args.insert(pool, args);
        }
        let classes = self
            .devices
            .into_iter()
            .filter_map(|device| Some((device.id, device.class?)))
            .collect();
        let tunables = self.tunables.tunables();
        Ok(MapParts { buckets, rules, tunables, types, classes, choose_args })
    }
}

impl BucketJson {
    fn bucket(self) -> Result<Bucket, String> {
        let Self { id, name, type_id: kind, alg, hash, items } = self;
        let algorithm = Algorithm::from_name(&alg).ok_or_else(|| {
            let known = ["uniform", "list", "tree", "straw", "straw2"];
            format!(
                "bucket `{name}` has the unknown algorithm `{alg}`{}",
                did_you_mean(&alg, known)
            )
        })?;
        if let Some(hash) = hash.filter(|hash| hash != "rjenkins1") {
            return Err(format!("bucket `{name}` has the hash `{hash}`; expected `rjenkins1`"));
        }
        let items = items
            .into_iter()
            .map(|item| {
                let weight = u32::try_from(item.weight).map_err(|_| {
                    let (id, weight) = (item.id, item.weight);
                    format!("item {id} of bucket `{name}` has the weight {weight}; expected 0 to 2^32 - 1")
                })?;
                Ok(Item { id: item.id, weight })
            })
            .collect::<Result<_, String>>()?;
        Ok(Bucket { id, name, kind, algorithm, items })
    }
}

impl RuleJson {
    /// The rule. What is not known of it is a part of it: only a pool that uses it cannot be placed.
    fn rule(self, types: &SortedMap<u16, String>, notes: &mut Vec<String>) -> Rule {
        let (name, mut unknown) = (self.rule_name, None);
        let mut steps = Vec::new();
        for step in self.steps {
            match step.step(&name, types, notes) {
                Ok(step) => steps.extend(step),
                Err(what) => unknown = unknown.or(Some(what)),
            }
        }
        let mask = self.ruleset.map(|ruleset| Mask {
            ruleset,
            min_size: self.min_size.unwrap_or(0),
            max_size: self.max_size.unwrap_or(u32::MAX),
        });
        if !matches!(self.kind, 1 | 3 | Rule::MSR_FIRSTN | Rule::MSR_INDEP) {
            unknown = unknown.or_else(|| Some(format!("its type {} is not known", self.kind)));
        }
        Rule { id: self.rule_id, name, kind: self.kind, mask, steps, unknown }
    }
}

impl StepJson {
    fn step(
        self,
        rule: &str,
        types: &SortedMap<u16, String>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Step>, String> {
        let Some(op) = self.op else {
            let setting = match self.opcode {
                Some(10) => Setting::ChooseLocalTries,
                Some(11) => Setting::ChooseLocalFallbackTries,
                Some(12) => Setting::ChooseleafVaryR,
                Some(13) => Setting::ChooseleafStable,
                Some(14) => Setting::MsrDescents,
                Some(15) => Setting::MsrCollisionTries,
                Some(16) => {
                    let (count, kind) =
                        self.arg1.zip(self.arg2).ok_or("a step has no arguments")?;
                    return choose_msr(count, u16::try_from(kind).ok()).map(Some);
                }
                Some(code) => return Err(format!("a step has the unknown opcode {code}")),
                None => return Err("a step has no `op`".to_owned()),
            };
            let value = self.arg1.ok_or("a step with an opcode has no `arg1`")?;
            return Ok(Some(Step::Set(setting, value)));
        };
        if op == "noop" {
            return Ok(None);
        }
        let missing = |what: &str| format!("step `{op}` has no `{what}`");
        if op == "take" {
            let item = self.item.ok_or_else(|| missing("item"))?;
            return Ok(Some(Step::Take(item)));
        }
        if op == "emit" {
            return Ok(Some(Step::Emit));
        }
        if let Some(setting) = Setting::from_name(&op) {
            let value = self.num.ok_or_else(|| missing("num"))?;
            return Ok(Some(Step::Set(setting, value)));
        }
        let number =
            |kind: &str| types.iter().find(|(_, name)| *name == kind).map(|(number, _)| *number);
        if matches!(op.as_str(), "choosemsr" | "choose_msr") {
            let kind = self.kind.as_deref().ok_or_else(|| missing("type"))?;
            return choose_msr(self.num.ok_or_else(|| missing("num"))?, number(kind)).map(Some);
        }
        let chosen = op
            .strip_prefix("choose_")
            .map(|mode| (false, mode))
            .or_else(|| op.strip_prefix("chooseleaf_").map(|mode| (true, mode)))
            .and_then(|(leaf, mode)| Some((leaf, mode_of(mode)?)));
        let Some((leaf, (mode, name))) = chosen else {
            return Err(format!(
                "the step `{}` is not known (rules up to Squid are)",
                one_line(&op)
            ));
        };
        if !op.ends_with(name) {
            notes.push(format!(
                "the step `{op}` of rule `{rule}` is read as `{name}`: the file was edited"
            ));
        }
        let kind = self.kind.ok_or_else(|| missing("type"))?;
        let kind = number(&kind).ok_or_else(|| {
            let nearest = did_you_mean(&kind, types.values().map(String::as_str));
            format!("step `{op}` chooses the type `{kind}`, which is not defined{nearest}")
        })?;
        let count = self.num.ok_or_else(|| missing("num"))?;
        Ok(Some(Step::Choose { mode, leaf, count, kind }))
    }
}

/// The step `choosemsr` for a number of items of a type.
fn choose_msr(count: i32, kind: Option<u16>) -> Result<Step, String> {
    let count = u32::try_from(count)
        .map_err(|_| format!("the step `choosemsr` chooses {count} items; expected 0 or more"))?;
    let kind = kind.ok_or("the step `choosemsr` chooses a type that is not defined")?;
    Ok(Step::ChooseMsr { count, kind })
}

/// The mode of finding replicas, with its proper name. Anonymised reports have parts of words replaced,
/// in these two words, too. The first and last letters and the length still distinguish them.
fn mode_of(name: &str) -> Option<(Mode, &'static str)> {
    let known = [("firstn", Mode::Firstn), ("indep", Mode::Indep)];
    let ends = |text: &str| text.chars().next().zip(text.chars().next_back());
    known
        .into_iter()
        .find(|(right, _)| name.len() == right.len() && ends(name) == ends(right))
        .map(|(right, mode)| (mode, right))
}

impl TunablesJson {
    fn tunables(self) -> Tunables {
        Tunables {
            choose_local_tries: self.choose_local_tries,
            choose_local_fallback_tries: self.choose_local_fallback_tries,
            choose_total_tries: self.choose_total_tries,
            chooseleaf_descend_once: self.chooseleaf_descend_once > 0,
            chooseleaf_vary_r: self.chooseleaf_vary_r,
            chooseleaf_stable: self.chooseleaf_stable > 0,
            straw_calc_version: self.straw_calc_version,
            msr_descents: self.msr_descents.unwrap_or(Tunables::JEWEL.msr_descents),
            msr_collision_tries: self
                .msr_collision_tries
                .unwrap_or(Tunables::JEWEL.msr_collision_tries),
        }
    }
}

impl ArgJson {
    fn arg(self) -> Result<ChooseArg, String> {
        let bucket = self.bucket_id;
        let what = format!("a weight of bucket {bucket} in choose_args");
        let weight_sets = self
            .weight_set
            .into_iter()
            .map(|set| set.into_iter().map(|weight| fixed(weight, &what)).collect())
            .collect::<Result<_, String>>()?;
        Ok(ChooseArg { bucket, weight_sets, ids: self.ids })
    }
}

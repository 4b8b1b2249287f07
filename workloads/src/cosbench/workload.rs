//! The content of a workload file, and the operations that its workers do.

use std::sync::Arc;

use foretell_units::{Bytes, SimSpan, Stream};

use super::CosbenchError;
use super::select::{Select, unit};
use super::xml::{Element, parse};
use crate::transaction::{TransactionStep, Transactions};

/// Bytes of a container's block; places of objects are multiples of it.
const BLOCK: u64 = 4096;
/// The largest request, unless each object is read and written by one request.
const CHUNK: u64 = 4 << 20;
/// The largest request that can be recorded.
const MAX_RECORDED: u64 = u32::MAX as u64 / BLOCK * BLOCK;
/// Most workers of one work.
const MAX_WORKERS: u64 = 1 << 16;

/// A workload file.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Its stages, in order.
    pub stages: Vec<Stage>,
}

/// A workstage: its works begin together.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Its works.
    pub works: Vec<Work>,
    /// Idle time after it.
    pub closure_delay: SimSpan,
}

/// A work.
#[derive(Clone, PartialEq, Debug)]
pub struct Work {
    /// Its name.
    pub name: String,
    /// Number of workers.
    pub workers: u32,
    /// Operations in this time from its start are not counted.
    pub ramp_up: SimSpan,
    /// Time after which it ends, in addition to the ramp-up.
    pub runtime: Option<SimSpan>,
    /// Number of operations, of all workers together, after which it ends.
    pub total_operations: Option<u64>,
    /// Its operations, with shares that add up to 1.
    pub operations: Vec<Operation>,
}

/// Kinds of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// Makes a container.
    Init,
    /// Writes an object before the measurement.
    Prepare,
    /// Reads an object.
    Read,
    /// Writes an object.
    Write,
    /// Lists a container.
    List,
    /// Deletes an object.
    Delete,
    /// Deletes an object after the measurement.
    Cleanup,
    /// Removes a container.
    Dispose,
}

impl OperationKind {
    /// The name in COSBench.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Prepare => "prepare",
            Self::Read => "read",
            Self::Write => "write",
            Self::List => "list",
            Self::Delete => "delete",
            Self::Cleanup => "cleanup",
            Self::Dispose => "dispose",
        }
    }

    fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Init,
            Self::Prepare,
            Self::Read,
            Self::Write,
            Self::List,
            Self::Delete,
            Self::Cleanup,
            Self::Dispose,
        ];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it visits each of its containers and objects once, divided among the workers.
    const fn goes_through(self) -> bool {
        matches!(self, Self::Init | Self::Prepare | Self::Cleanup | Self::Dispose)
    }

    /// Whether it acts on objects, rather than on containers.
    const fn is_of_objects(self) -> bool {
        !matches!(self, Self::Init | Self::Dispose | Self::List)
    }

    const fn writes_objects(self) -> bool {
        matches!(self, Self::Prepare | Self::Write)
    }
}

/// An operation of a work.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    /// Its kind.
    pub kind: OperationKind,
    /// Its share of the work's operations.
    pub share: f64,
    /// Choice of containers.
    pub containers: Select,
    /// Choice of objects in them.
    pub objects: Select,
    /// Sizes of written objects, and their unit; for a read, the stated sizes of existing objects.
    pub sizes: Option<(Select, Bytes)>,
    /// Its own `config`, as written.
    pub config: String,
}

fn wrong(element: &Element, name: &str, what: impl Into<String>) -> CosbenchError {
    CosbenchError::Wrong { line: element.line, name: name.to_owned(), what: what.into() }
}

/// Parses a whole number in an attribute.
fn number(element: &Element, name: &str) -> Result<Option<u64>, CosbenchError> {
    let Some(text) = element.get(name) else { return Ok(None) };
    let found = text.trim().parse::<u64>().ok();
    found
        .map(Some)
        .ok_or_else(|| wrong(element, name, format!("is `{text}`; wanted a whole number")))
}

/// The value of a key in `key=value;key=value`.
fn setting<'a>(config: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = config.split(';').filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| known.trim() == key).map(|(_, value)| value)
}

fn selector(
    element: &Element,
    config: &str,
    key: &str,
) -> Result<Option<(Select, Bytes)>, CosbenchError> {
    let Some(text) = setting(config, key) else { return Ok(None) };
    let refused = || {
        wrong(
            element,
            key,
            format!(
                "is `{text}`; wanted c(N), u(A,B), r(A,B), s(A,B) or h(A|B|WEIGHT,...), with a unit after sizes"
            ),
        )
    };
    let (select, after) = Select::parse(text).ok_or_else(refused)?;
    Ok(Some((select, unit(after).ok_or_else(refused)?)))
}

impl Workload {
    /// Parses the text of a workload file.
    ///
    /// # Errors
    ///
    /// If it is not a workload file, or uses something that is not supported.
    pub fn parse(text: &str) -> Result<Self, CosbenchError> {
        let root = parse(text)?;
        if root.name != "workload" {
            return Err(wrong(&root, &root.name, "is the outermost element; wanted `workload`"));
        }
        let Some(flow) = root.all("workflow").next() else {
            return Err(wrong(&root, "workload", "has no `workflow`"));
        };
        let root_config =
            [root.get("config").unwrap_or(""), flow.get("config").unwrap_or("")].join(";");
        let mut stages = Vec::new();
        for (number, stage) in flow.all("workstage").enumerate() {
            let config = [stage.get("config").unwrap_or(""), &root_config].join(";");
            let works = stage
                .all("work")
                .enumerate()
                .map(|(index, work)| Work::of(work, index, &config))
                .collect::<Result<Vec<_>, _>>()?;
            let delay = self::number(stage, "closuredelay")?.unwrap_or(0);
            stages.push(Stage {
                name: format!("s{}-{}", number + 1, stage.get("name").unwrap_or("stage")),
                works,
                closure_delay: SimSpan::from_secs(delay.min(100_000_000)),
            });
        }
        if stages.iter().all(|stage| stage.works.is_empty()) {
            return Err(wrong(flow, "workflow", "has no work in any `workstage`"));
        }
        let name = root.get("name").unwrap_or("workload").to_owned();
        Ok(Self { name, stages })
    }

    fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.stages.iter().flat_map(|stage| &stage.works).flat_map(|work| &work.operations)
    }

    /// The placement of objects on a volume.
    ///
    /// # Errors
    ///
    /// Returns the space that the objects need, if the volume has less.
    pub fn layout(&self, volume: Bytes, seed: u64) -> Result<Layout, Bytes> {
        let most = |of: fn(&Operation) -> u64| {
            self.operations().map(of).max().unwrap_or(0).saturating_add(1)
        };
        let containers = most(|operation| operation.containers.largest());
        let objects = most(|o| if o.kind.is_of_objects() { o.objects.largest() } else { 0 });
        let of_sizes = |kind: fn(OperationKind) -> bool| {
            self.operations().find(|o| kind(o.kind)).and_then(|o| o.sizes.clone())
        };
        let written = of_sizes(|kind| kind == OperationKind::Prepare)
            .or_else(|| of_sizes(|kind| kind == OperationKind::Write))
            // only reads, of objects that must already exist: sizes as stated in the file, or 64 KB as
            // in COSBench's examples
            .or_else(|| of_sizes(|kind| kind == OperationKind::Read))
            .unwrap_or((Select::Constant(64), Bytes(1000)));
        let bytes = |(select, unit): &(Select, Bytes)| select.largest().saturating_mul(unit.get());
        let largest = self.operations().filter_map(|o| o.sizes.as_ref()).map(bytes).max();
        let largest = largest.unwrap_or(0).max(bytes(&written)).max(1);
        let place = largest.div_ceil(BLOCK).saturating_mul(BLOCK);
        let needed = containers
            .saturating_mul(BLOCK)
            .saturating_add(containers.saturating_mul(objects).saturating_mul(place));
        if needed > volume.get() {
            return Err(Bytes(needed));
        }
        Ok(Layout { containers, objects, place, chunk: CHUNK, written, seed })
    }

    /// Whether any operation lists a container.
    pub fn lists(&self) -> bool {
        self.operations().any(|operation| operation.kind == OperationKind::List)
    }
}

impl Work {
    fn of(element: &Element, index: usize, outer: &str) -> Result<Self, CosbenchError> {
        let kind = element.get("type").unwrap_or("normal");
        let name = element.get("name").map_or_else(|| format!("w{}", index + 1), str::to_owned);
        let config = [element.get("config").unwrap_or(""), outer].join(";");
        let mut operations = Vec::new();
        if kind == "normal" {
            for operation in element.all("operation") {
                let own = [operation.get("config").unwrap_or(""), &config].join(";");
                let kind = operation.get("type").unwrap_or("");
                let Some(kind) = OperationKind::named(kind).filter(|kind| !kind.goes_through())
                else {
                    let what = format!("is `{kind}`; wanted read, write, list or delete");
                    return Err(wrong(operation, "type", what));
                };
                let ratio = number(operation, "ratio")?.unwrap_or(100);
                operations.push(Operation::of(operation, kind, ratio as f64, &own)?);
            }
        } else if kind == "delay" {
            let what =
                "is `delay`, which is not supported; give the stage before it a `closuredelay`";
            return Err(wrong(element, "type", what));
        } else {
            let Some(kind) = OperationKind::named(kind).filter(|kind| kind.goes_through()) else {
                let what =
                    format!("is `{kind}`; wanted init, prepare, normal, cleanup, dispose or delay");
                return Err(wrong(element, "type", what));
            };
            operations.push(Operation::of(element, kind, 100.0, &config)?);
        }
        let all: f64 = operations.iter().map(|operation| operation.share).sum();
        if operations.is_empty() || all <= 0.0 {
            return Err(wrong(element, "work", "has no `operation` with a `ratio` above 0"));
        }
        for operation in &mut operations {
            operation.share /= all;
        }
        if number(element, "totalBytes")?.is_some_and(|bytes| bytes > 0) {
            return Err(wrong(
                element,
                "totalBytes",
                "is not supported; give `runtime` or `totalOps`",
            ));
        }
        let seconds = |name| number(element, name).map(|found| found.filter(|n| *n > 0));
        let workers = number(element, "workers")?.unwrap_or(1);
        if !(1..=MAX_WORKERS).contains(&workers) {
            return Err(wrong(
                element,
                "workers",
                format!("is {workers}; wanted 1 to {MAX_WORKERS}"),
            ));
        }
        let span = |seconds: u64| SimSpan::from_secs(seconds.min(100_000_000));
        let work = Self {
            name,
            workers: workers as u32,
            ramp_up: span(seconds("rampup")?.unwrap_or(0)),
            runtime: seconds("runtime")?.map(span),
            total_operations: seconds("totalOps")?,
            operations,
        };
        let goes_through = work.operations[0].kind.goes_through();
        if !goes_through && work.runtime.is_none() && work.total_operations.is_none() {
            return Err(wrong(element, "work", "has neither `runtime` nor `totalOps`"));
        }
        Ok(work)
    }
}

impl Operation {
    fn of(
        element: &Element,
        kind: OperationKind,
        share: f64,
        config: &str,
    ) -> Result<Self, CosbenchError> {
        let missing = |key: &str| {
            wrong(element, key, format!("is missing in the `config` of `{}`", kind.name()))
        };
        let (containers, _) =
            selector(element, config, "containers")?.ok_or_else(|| missing("containers"))?;
        let objects = selector(element, config, "objects")?.map(|(select, _)| select);
        let objects = match objects {
            Some(objects) => objects,
            None if kind.is_of_objects() => return Err(missing("objects")),
            None => Select::Constant(0),
        };
        let has_sizes = kind.writes_objects() || kind == OperationKind::Read;
        let sizes = selector(element, config, "sizes")?.filter(|_| has_sizes);
        if kind.writes_objects() && sizes.is_none() {
            return Err(missing("sizes"));
        }
        if sizes
            .as_ref()
            .is_some_and(|(select, unit)| select.largest().saturating_mul(unit.get()) > 1 << 50)
        {
            return Err(wrong(element, "sizes", "are beyond a petabyte"));
        }
        let config = element.get("config").unwrap_or("").to_owned();
        Ok(Self { kind, share, containers, objects, sizes, config })
    }
}

/// Places of containers and objects, and their sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    containers: u64,
    objects: u64,
    /// Bytes in an object's place.
    place: u64,
    /// Maximum size of a request.
    chunk: u64,
    written: (Select, Bytes),
    seed: u64,
}

impl Layout {
    /// The same, with one request for each object, as a gateway gets it.
    #[must_use]
    pub fn with_one_request_for_each_object(self) -> Self {
        Self { chunk: MAX_RECORDED, ..self }
    }

    fn container(container: u64) -> Bytes {
        Bytes(container * BLOCK)
    }

    fn object(&self, container: u64, object: u64) -> Bytes {
        Bytes(self.containers * BLOCK + (container * self.objects + object) * self.place)
    }

    /// The size of an object, drawn by its number.
    fn size(&self, container: u64, object: u64, sizes: &(Select, Bytes)) -> Bytes {
        let number = container * self.objects + object;
        let share = |salt: u64| {
            let mut bits =
                (number ^ self.seed).wrapping_add(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (select, unit) = sizes;
        Bytes((select.at(share(1), share(2), number) * unit.get()).max(1))
    }
}

/// The state of a worker.
#[derive(Clone, Debug)]
pub struct Worker {
    layout: Arc<Layout>,
    operations: Vec<Operation>,
    /// The worker's index, and the number of workers.
    place: (u64, u64),
    left: Option<u64>,
    /// Number of operations so far, by operation.
    made: Vec<u64>,
    last: usize,
    stream: Stream,
}

impl Worker {
    /// Worker number `worker` of a work.
    pub fn new(work: &Work, layout: Arc<Layout>, worker: u32, stream: Stream) -> Self {
        let (worker, workers) = (u64::from(worker), u64::from(work.workers));
        let share = |all: u64| all / workers + u64::from(worker < all % workers);
        let first = &work.operations[0];
        let left = if first.kind.goes_through() {
            let objects = if first.kind.is_of_objects() { first.objects.span() } else { 1 };
            Some(share(first.containers.span().saturating_mul(objects)))
        } else {
            work.total_operations.map(share)
        };
        let made = vec![0; work.operations.len()];
        let operations = work.operations.clone();
        Self { layout, operations, place: (worker, workers), left, made, last: 0, stream }
    }

    fn steps(
        &self,
        kind: OperationKind,
        at: (u64, u64),
        size: Bytes,
        steps: &mut Vec<TransactionStep>,
    ) {
        let (container, object) = at;
        let block = Bytes(BLOCK);
        match kind {
            OperationKind::Init | OperationKind::Dispose => {
                steps.push(TransactionStep::write(Layout::container(container), block));
            }
            OperationKind::List => {
                steps.push(TransactionStep::read(Layout::container(container), block));
            }
            OperationKind::Delete | OperationKind::Cleanup => {
                steps.push(TransactionStep::write(self.layout.object(container, object), block));
            }
            OperationKind::Read | OperationKind::Write | OperationKind::Prepare => {
                let begin = self.layout.object(container, object);
                let mut at = 0;
                while at < size.get() {
                    let part = Bytes(self.layout.chunk.min(size.get() - at));
                    let offset = begin + Bytes(at);
                    steps.push(if kind == OperationKind::Read {
                        TransactionStep::read(offset, part)
                    } else {
                        TransactionStep::write(offset, part)
                    });
                    at += self.layout.chunk;
                }
            }
        }
    }
}

impl Transactions for Worker {
    fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return false;
            }
            *left -= 1;
        }
        let mut chance = self.stream.unit();
        let mut chosen = self.operations.len() - 1;
        for (index, operation) in self.operations.iter().enumerate() {
            if chance < operation.share {
                chosen = index;
                break;
            }
            chance -= operation.share;
        }
        let (worker, workers) = self.place;
        let place = self.made[chosen] * workers + worker;
        self.made[chosen] += 1;
        self.last = chosen;
        let operation = &self.operations[chosen];
        let objects = if operation.kind.is_of_objects() { operation.objects.span() } else { 1 };
        let shares: [f64; 4] = std::array::from_fn(|_| self.stream.unit());
        let at = if operation.kind.goes_through() {
            // all objects of one container, then those of the next
            (
                operation.containers.smallest() + place / objects,
                operation.objects.smallest() + place % objects,
            )
        } else {
            let container = operation.containers.at(shares[0], shares[1], place / objects);
            (container, operation.objects.at(shares[2], shares[3], place))
        };
        let own = operation.sizes.as_ref().filter(|_| operation.kind.writes_objects());
        let sizes = own.unwrap_or(&self.layout.written);
        let size = self.layout.size(at.0, at.1, sizes);
        self.steps(operation.kind, at, size, steps);
        true
    }

    fn kind(&self) -> usize {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::chi_square::assert_fits;
    use crate::{Access, Op};

    const FILE: &str = r#"<?xml version="1.0" encoding="UTF-8" ?>
<workload name="s3-sample" description="sample">
  <storage type="s3" config="accesskey=a;secretkey=b" />
  <workflow>
    <workstage name="init"><work type="init" workers="1" config="cprefix=x;containers=r(1,2)" /></workstage>
    <workstage name="prepare">
      <work type="prepare" workers="3" config="containers=r(1,2);objects=r(1,10);sizes=c(64)KB" />
    </workstage>
    <workstage name="main" closuredelay="5">
      <work name="main" workers="8" rampup="10" runtime="30">
        <operation type="read" ratio="80" config="containers=u(1,2);objects=u(1,10)" />
        <operation type="write" ratio="20" config="containers=u(1,2);objects=u(11,20);sizes=u(1,128)KB" />
      </work>
    </workstage>
    <workstage name="cleanup"><work type="cleanup" workers="1" config="containers=r(1,2);objects=r(1,20)" /></workstage>
    <workstage name="dispose"><work type="dispose" workers="1" config="containers=r(1,2)" /></workstage>
  </workflow>
</workload>"#;

    fn steps(stage: usize, count: usize) -> Vec<(usize, Vec<Access>)> {
        let workload = Workload::parse(FILE).unwrap();
        let layout = Arc::new(workload.layout(Bytes::gib(1), 7).unwrap());
        let work = &workload.stages[stage].works[0];
        let mut found = Vec::new();
        for worker in 0..work.workers {
            let mut source =
                Worker::new(work, Arc::clone(&layout), worker, Seed(1).stream(&worker.to_string()));
            let mut steps = Vec::new();
            for _ in 0..count {
                if !source.next(&mut steps) {
                    break;
                }
                let access = |step| match step {
                    TransactionStep::Io(access) => access,
                    TransactionStep::Cached(_) => panic!("no server"),
                };
                found.push((source.kind(), steps.drain(..).map(access).collect()));
            }
        }
        found
    }

    #[test]
    fn a_file_is_understood() {
        let workload = Workload::parse(FILE).unwrap();
        let names: Vec<&str> = workload.stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(names, ["s1-init", "s2-prepare", "s3-main", "s4-cleanup", "s5-dispose"]);
        let main = &workload.stages[2].works[0];
        assert_eq!(
            (main.workers, main.ramp_up, main.runtime),
            (8, SimSpan::from_secs(10), Some(SimSpan::from_secs(30)))
        );
        assert_eq!(workload.stages[2].closure_delay, SimSpan::from_secs(5));
        assert!((main.operations[0].share - 0.8).abs() < 1e-12);
        // containers 0 to 2 of 4 KiB, 3 times 21 places of 128 kB, which are 32 blocks
        assert_eq!(workload.layout(Bytes::mib(1), 7), Err(Bytes(3 * 4096 + 63 * 32 * 4096)));
    }

    #[test]
    fn what_goes_through_its_objects_writes_each_once() {
        let mut offsets: Vec<u64> = steps(1, 1_000)
            .into_iter()
            .map(|(_, accesses)| {
                assert_eq!(
                    (accesses.len(), accesses[0].op, accesses[0].size),
                    (1, Op::Write, Bytes(64_000))
                );
                accesses[0].offset.get()
            })
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(offsets.len(), 20, "two containers of ten objects");
        assert_eq!(steps(0, 100).len(), 2);
    }

    #[test]
    fn ratios_are_met_and_reads_read_what_was_prepared() {
        let found = steps(2, 5_000);
        let mut kinds = [0; 2];
        for (kind, accesses) in &found {
            kinds[*kind] += 1;
            let bytes: u64 = accesses.iter().map(|access| access.size.get()).sum();
            if *kind == 0 {
                assert_eq!((accesses[0].op, bytes), (Op::Read, 64_000));
            } else {
                assert!(bytes.is_multiple_of(1000) && (1_000..=128_000).contains(&bytes));
            }
        }
        assert_fits(&kinds, &[0.8, 0.2]);
    }

    #[test]
    fn where_nothing_is_written_objects_are_as_large_as_reads_say() {
        let read_size = |prepare: &str, read: &str| {
            let config = "containers=u(1,2);objects=u(1,20)";
            let text = format!(
                r#"<workload name="w"><workflow>{prepare}<workstage name="m"><work name="m" workers="1"
                runtime="9"><operation type="read" ratio="100" config="{config}{read}"/></work></workstage>
                </workflow></workload>"#
            );
            let workload = Workload::parse(&text).unwrap();
            let layout = Arc::new(workload.layout(Bytes::gib(1), 7).unwrap());
            let work = &workload.stages.last().unwrap().works[0];
            let mut steps = Vec::new();
            Worker::new(work, layout, 0, Seed(1).stream("reader")).next(&mut steps);
            let TransactionStep::Io(access) = steps[0] else { panic!("no server") };
            access.size.get()
        };
        let prepare = r#"<workstage name="p"><work type="prepare" workers="1"
            config="containers=r(1,2);objects=r(1,20);sizes=c(100)KB"/></workstage>"#;
        assert_eq!(read_size("", ";sizes=c(512)KB"), 512_000);
        assert_eq!(read_size("", ""), 64_000);
        // the sizes of a read are ignored if objects are written
        assert_eq!(read_size(prepare, ";sizes=c(512)KB"), 100_000);
    }

    #[test]
    fn large_objects_go_in_parts() {
        let text = FILE.replace("c(64)KB", "c(9)MiB");
        let workload = Workload::parse(&text).unwrap();
        let layout = Arc::new(workload.layout(Bytes::gib(2), 7).unwrap());
        let mut source = Worker::new(&workload.stages[1].works[0], layout, 0, Seed(1).stream("x"));
        let mut steps = Vec::new();
        source.next(&mut steps);
        let sizes: Vec<Bytes> = steps
            .iter()
            .map(|s| if let TransactionStep::Io(a) = s { a.size } else { Bytes(0) })
            .collect();
        assert_eq!(sizes, [Bytes::mib(4), Bytes::mib(4), Bytes::mib(1)]);
    }

    #[test]
    fn what_is_not_supported_is_named() {
        let message = |from: &str, to: &str| {
            Workload::parse(&FILE.replace(from, to)).unwrap_err().to_string()
        };
        assert!(
            message("type=\"read\"", "type=\"filewrite\"")
                .contains("`type` is `filewrite`; wanted read")
        );
        assert!(
            message("runtime=\"30\"", "totalBytes=\"5\"").contains("`totalBytes` is not supported")
        );
        assert!(message("runtime=\"30\"", "").contains("neither `runtime` nor `totalOps`"));
        assert!(message("u(11,20)", "x(11,20)").contains("`objects` is `x(11,20)`"));
        assert!(message("sizes=u(1,128)KB", "").contains("`sizes` is missing"));
        assert!(
            message("workers=\"8\"", "workers=\"many\"").contains("line 10: `workers` is `many`")
        );
        assert!(message("<workflow>", "<workflo>").contains("was not opened last"));
    }
}

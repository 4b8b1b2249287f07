//! How much the volumes of a scenario hold, which failures they survive, under which they are served, and what they
//! cost.
//!
//! Copies and shards are counted where the storage system places them. A volume that clients spread over nodes
//! takes the same space on each of its nodes, striped over the node's disks. There the smallest disk sets the
//! limit.

use foretell_scenarios::device::Device;
use foretell_scenarios::model::{Scenario, Volume};
use foretell_sorted::{SortedMap, SortedSet};
use foretell_systems::{Down, devices_of, serves_without};
use foretell_units::{HostId, VolumeId};
use serde::Serialize;

use crate::prices::Prices;

const TIB: f64 = (1_u64 << 40) as f64;

/// How much a volume holds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VolumeCapacity {
    /// Bytes that clients address.
    pub stored_bytes: f64,
    /// Bytes that clients could address until the first device is full, if only this volume grew.
    pub usable_bytes: f64,
    /// Bytes on all devices together for each byte of the volume.
    pub overhead: f64,
    /// Fill level of the fullest of its devices, with the data of all volumes.
    pub fill: f64,
    /// Fill level at which a device accepts no more data.
    pub full_ratio: f64,
    /// By kind of unit (`device`, `host`, `rack`, ...): how many may fail at once, in any combination, while
    /// all data stay readable.
    pub survives: SortedMap<String, usize>,
    /// The same, while every group still accepts reads and writes. With more down, requests wait or fail, although no
    /// data may be lost.
    pub serves: SortedMap<String, usize>,
    /// Cost of the drives for each TiB that the volume could hold if no other volume used these drives;
    /// `null` if a price is not known.
    pub cost_per_usable_tib: Option<f64>,
}

/// A device: its host, and which of the host's disks.
type Place = (HostId, u32);

/// The capacities of all volumes of a scenario.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Capacities {
    /// The currency of all costs.
    pub currency: String,
    /// Volumes by name.
    pub volumes: SortedMap<String, VolumeCapacity>,
    /// Names of the drives for which the table has no price.
    #[serde(skip)]
    pub unpriced: Vec<String>,
}

impl Capacities {
    /// The capacities of a scenario.
    pub fn of(scenario: &Scenario, prices: &Prices) -> Self {
        let loads: Vec<SortedMap<Place, f64>> = (0..scenario.volumes.len())
            .map(|index| load(scenario, VolumeId::from(index)))
            .collect();
        let mut held: SortedMap<Place, f64> = SortedMap::new();
        for (volume, load) in scenario.volumes.iter().zip(&loads) {
            for (place, share) in load {
                *held.entry(*place).or_default() += share * volume.size.get() as f64;
            }
        }
        let full = scenario.system.traits().full_ratio();
        let mut classes = Classes::default();
        let volume = |(index, (volume, load)): (usize, (&Volume, &SortedMap<Place, f64>))| {
            let stored = volume.size.get() as f64;
            let least = |room: &dyn Fn(&Place, f64) -> f64| {
                let rooms = load.iter().map(|(place, share)| room(place, *share));
                rooms.min_by(f64::total_cmp).unwrap_or(0.0)
            };
            let of = |place: &Place| bytes(scenario, *place);
            let room = least(&|place, share| (full * of(place) - held[place]).max(0.0) / share);
            let alone = least(&|place, share| full * of(place) / share);
            let fills = load.keys().map(|place| held[place] / of(place));
            // all of them, to find every drive without a price
            let cost = |place| price(scenario, place, &mut classes, prices);
            let costs: Vec<Option<f64>> = load.keys().copied().map(cost).collect();
            let cost: Option<f64> = costs.into_iter().sum();
            let capacity = VolumeCapacity {
                stored_bytes: stored,
                usable_bytes: stored + room,
                overhead: load.values().sum(),
                fill: fills.max_by(f64::total_cmp).unwrap_or(0.0),
                full_ratio: full,
                survives: survives(scenario, index, volume),
                serves: serves(scenario, index),
                cost_per_usable_tib: cost.filter(|_| alone > 0.0).map(|cost| cost / (alone / TIB)),
            };
            (volume.name.clone(), capacity)
        };
        let volumes = scenario.volumes.iter().zip(&loads).enumerate().map(volume).collect();
        Self { currency: prices.currency.clone(), volumes, unpriced: classes.unpriced() }
    }
}

/// Bytes on each device for each byte of a volume.
fn load(scenario: &Scenario, id: VolumeId) -> SortedMap<Place, f64> {
    let volume = scenario.volume(id);
    let mut load: SortedMap<Place, f64> = SortedMap::new();
    let shard = 1.0 / f64::from(volume.m());
    if let Some(devices) = devices_of(scenario, id) {
        let groups = devices.len() as f64 / f64::from(volume.n());
        for device in devices {
            *load.entry(device).or_default() += shard / groups;
        }
        return load;
    }
    let nodes = volume.nodes.len() as f64;
    for node in &volume.nodes {
        let Some(storage) = scenario.host(*node).role.storage() else { continue };
        let disks = storage.disks.len();
        for disk in 0..disks as u32 {
            let part = shard * f64::from(volume.n()) / nodes / disks as f64;
            load.insert((*node, disk), part);
        }
    }
    load
}

/// How many devices, hosts and larger units may fail at once.
fn survives(scenario: &Scenario, index: usize, volume: &Volume) -> SortedMap<String, usize> {
    if let Some(survives) = scenario.system.traits().survives(index) {
        return survives.iter().cloned().collect();
    }
    // each fragment is on a host of its own
    let spare = volume.encoding.tolerates();
    [("device", spare), ("host", spare)].map(|(kind, count)| (kind.to_owned(), count)).into()
}

/// How many of them may be down at once while the volume is served.
fn serves(scenario: &Scenario, index: usize) -> SortedMap<String, usize> {
    if let Some(serves) = scenario.system.traits().serves(index) {
        return serves.iter().cloned().collect();
    }
    let Down { hosts, devices } = serves_without(scenario, VolumeId::from(index));
    [("device", devices), ("host", hosts)].map(|(kind, count)| (kind.to_owned(), count)).into()
}

fn disk(scenario: &Scenario, place: Place) -> Option<&foretell_scenarios::model::Disk> {
    let (host, disk) = place;
    scenario.host(host).role.storage()?.disks.get(disk as usize)
}

fn bytes(scenario: &Scenario, place: Place) -> f64 {
    disk(scenario, place).map_or(0.0, |disk| disk.device.capacity().get() as f64)
}

/// Cost of the drives of a device. For an array, this is the cost of all members. If the device keeps its
/// database or log on other devices, its parts of those count, too.
fn price(scenario: &Scenario, place: Place, classes: &mut Classes, prices: &Prices) -> Option<f64> {
    let disk = disk(scenario, place)?;
    let storage = scenario.host(place.0).role.storage()?;
    let mut sum = priced(&disk.device_name, &disk.device, classes, prices)?;
    for own in [disk.db, disk.wal].into_iter().flatten() {
        let whole = &storage.log_devices[own.device as usize];
        let cost = priced(&whole.device_name, &whole.device, classes, prices)?;
        sum += cost / f64::from(own.parts);
    }
    Some(sum)
}

fn priced(name: &str, device: &Device, classes: &mut Classes, prices: &Prices) -> Option<f64> {
    let bytes = device.capacity().get() as f64;
    let class = match device.class() {
        _ if matches!(device, Device::Array(_)) => None,
        Some("ssd") if name.contains("nvme") => Some("nvme"),
        Some(class) => Some(class),
        // a device of measured curves has no class, but its name may state one
        None => classes.of(name),
    };
    let names: Vec<&str> = [Some(name), class].into_iter().flatten().collect();
    let price = prices.of(&names, bytes);
    if price.is_none() {
        classes.unpriced.insert(name.to_owned());
    }
    price
}

/// The classes of devices by name, and the devices without a price. The profile of a name is read once.
#[derive(Default)]
struct Classes {
    known: SortedMap<String, Option<&'static str>>,
    unpriced: SortedSet<String>,
}

impl Classes {
    fn unpriced(self) -> Vec<String> {
        self.unpriced.iter().cloned().collect()
    }

    /// The class that a device's name states, or the class of the shipped device of this name.
    fn of(&mut self, name: &str) -> Option<&'static str> {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let in_name = ["nvme", "ssd", "hdd"].into_iter().find(|class| name.contains(class));
        let class = in_name.or_else(|| Device::named(name).ok()?.class());
        self.known.insert(name.to_owned(), class);
        class
    }
}

//! Placement in two steps: a host, then one of its devices (CRUSH with hosts as failure domains).
//!
//! An object belongs to a placement group of its pool. A group's copies are on distinct hosts,
//! chosen by straw2 with the sum of their devices' weights. On each host straw2 chooses one device
//! (Weil et al., *CRUSH*, SC 2006). A device that is added or removed changes its host's weight, so
//! data move to or from that host and among its devices, in proportion; hardly any other data move.
//! Left out: deeper trees (racks), tunables, and the retries of Ceph's *firstn* mode: here, a draw
//! excludes the hosts that hold an earlier copy.

use foretell_units::VolumeId;

use super::{Layout, Placement, PlacementError};
use crate::mix::mix;

/// A host as CRUSH sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct CrushHost {
    /// Its identity among all hosts.
    pub id: u32,
    /// Weights of its devices, usually their capacities. At least one device.
    pub devices: Vec<f64>,
}

/// The place of a device: its host's position in the list of hosts, and its position in that host's list.
pub type DevicePlace = (u32, u32);

/// Hosts and devices of one pool.
#[derive(Clone, Debug)]
pub struct Crush {
    hosts: Layout,
    /// By host.
    devices: Vec<Layout>,
}

impl Crush {
    /// The map of a pool.
    ///
    /// # Errors
    ///
    /// If there is no host, if a host is listed twice or has no device, or if a weight is not positive and finite.
    pub fn new(pool: VolumeId, hosts: &[CrushHost]) -> Result<Self, PlacementError> {
        let weights: Vec<(u32, f64)> =
            hosts.iter().map(|host| (host.id, host.devices.iter().sum())).collect();
        let devices = hosts.iter().map(|host| {
            let devices: Vec<(u32, f64)> = (0..).zip(host.devices.iter().copied()).collect();
            // each host draws independently of the others
            let draws = VolumeId(mix(u64::from(pool.0) << 32 | u64::from(host.id)) as u32);
            Layout::weighted(Placement::Hash, draws, &devices)
        });
        Ok(Self {
            devices: devices.collect::<Result<_, _>>()?,
            hosts: Layout::weighted(Placement::Hash, pool, &weights)?,
        })
    }

    /// The devices of the copies of placement group `group`, the primary first, on distinct hosts.
    ///
    /// # Panics
    ///
    /// If there are fewer hosts than copies.
    pub fn devices_for(&self, group: u64, copies: usize) -> Vec<DevicePlace> {
        let mut hosts = vec![0; copies];
        self.hosts.nodes_for(group, &mut hosts);
        let device = |host: u32| {
            let mut device = [0];
            self.devices[host as usize].nodes_for(group, &mut device);
            (host, device[0])
        };
        hosts.into_iter().map(device).collect()
    }

    /// All devices in the order in which a group falls back on them: first the device that each
    /// host would use, with hosts in the order in which they would get additional copies; then the
    /// next device of each host.
    pub fn ranked(&self, group: u64) -> Vec<DevicePlace> {
        let mut hosts = vec![0; self.devices.len()];
        self.hosts.nodes_for(group, &mut hosts);
        let most = self.devices.iter().map(Layout::node_count).max().unwrap_or(0);
        let mut of_hosts: Vec<Vec<u32>> = Vec::with_capacity(hosts.len());
        for host in &hosts {
            let devices = &self.devices[*host as usize];
            let mut ranked = vec![0; devices.node_count()];
            devices.nodes_for(group, &mut ranked);
            of_hosts.push(ranked);
        }
        let at = |rank: usize| {
            let devices = hosts.iter().zip(&of_hosts);
            devices.filter_map(move |(host, ranked)| Some((*host, *ranked.get(rank)?)))
        };
        (0..most).flat_map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: u64 = 20_000;

    fn crush(hosts: &[CrushHost]) -> Crush {
        Crush::new(VolumeId(1), hosts).unwrap()
    }

    fn even(hosts: u32, devices: usize) -> Vec<CrushHost> {
        (0..hosts).map(|id| CrushHost { id, devices: vec![1.0; devices] }).collect()
    }

    /// Number of copies that moved, and of those that moved between hosts, of `3 * GROUPS`; hosts
    /// have the same positions.
    fn moved(before: &Crush, after: &Crush) -> (f64, f64) {
        let (mut all, mut between_hosts) = (0.0, 0.0);
        for group in 0..GROUPS {
            let (old, new) = (before.devices_for(group, 3), after.devices_for(group, 3));
            all += new.iter().filter(|place| !old.contains(place)).count() as f64;
            let host_is_new = |place: &&DevicePlace| old.iter().all(|(host, _)| *host != place.0);
            between_hosts += new.iter().filter(host_is_new).count() as f64;
        }
        let copies = 3.0 * GROUPS as f64;
        (all / copies, between_hosts / copies)
    }

    #[test]
    fn copies_are_on_distinct_hosts_and_evenly_on_all_devices() {
        let crush = crush(&even(9, 4));
        let (mut held, mut first) = (vec![0.0; 36], vec![0.0; 36]);
        for group in 0..GROUPS {
            let places = crush.devices_for(group, 3);
            for (index, (host, device)) in places.iter().enumerate() {
                assert!(places[..index].iter().all(|(other, _)| other != host));
                held[(host * 4 + device) as usize] += 1.0;
            }
            first[(places[0].0 * 4 + places[0].1) as usize] += 1.0;
        }
        let chi_square = |counts: &[f64]| {
            let expected = counts.iter().sum::<f64>() / 36.0;
            counts.iter().map(|count| (count - expected).powi(2) / expected).sum::<f64>()
        };
        // 35 degrees of freedom: 66.6 is exceeded once in a thousand
        assert!(chi_square(&held) < 66.6, "{held:?}");
        assert!(chi_square(&first) < 66.6, "{first:?}");
    }

    #[test]
    fn primaries_follow_the_weights_of_devices() {
        // host 0 has 1 + 3, host 1 has 4, host 2 has 8: 1/4, 1/4, 1/2
        let weights = [vec![1.0, 3.0], vec![4.0], vec![8.0]];
        let hosts: Vec<_> =
            (0..).zip(weights).map(|(id, devices)| CrushHost { id, devices }).collect();
        let crush = crush(&hosts);
        let mut counts = [0.0_f64; 4];
        for group in 0..GROUPS {
            let (host, device) = crush.devices_for(group, 1)[0];
            counts[[0, 2, 3][host as usize] + device as usize] += 1.0 / GROUPS as f64;
        }
        for (count, expected) in counts.into_iter().zip([1.0, 3.0, 4.0, 8.0].map(|w| w / 16.0)) {
            // standard deviation of a share is below 0.0035
            assert!((count - expected).abs() < 0.014, "{counts:?}");
        }
    }

    #[test]
    fn a_device_more_takes_its_share_and_little_else_moves() {
        let before = even(9, 4);
        let mut after = before.clone();
        after[4].devices.push(1.0);
        let (moved, between_hosts) = moved(&crush(&before), &crush(&after));
        // It should hold 1/37 of the copies, 2.7 %. Its host gets 5/37 instead of 4/36, so 2.4 % of
        // all copies come from other hosts, and displaced copies displace others (a third more, as
        // with nine hosts and three copies). On the host a fifth of its 11 % goes to the new
        // device.
        assert!((0.022..0.037).contains(&between_hosts), "{between_hosts}");
        assert!((0.035..0.060).contains(&moved), "{moved}");
        let back = self::moved(&crush(&after), &crush(&before));
        assert!((0.022..0.060).contains(&back.0), "{back:?}");
    }

    #[test]
    fn a_host_more_takes_its_share() {
        let (moved, _) = moved(&crush(&even(9, 4)), &crush(&even(10, 4)));
        // a tenth, plus the copies that these displace
        assert!((0.095..0.125).contains(&moved), "{moved}");
    }

    #[test]
    fn ranked_devices_begin_with_those_of_the_copies() {
        let crush = crush(&even(5, 3));
        for group in 0..100 {
            let ranked = crush.ranked(group);
            assert_eq!(ranked[..3], crush.devices_for(group, 3));
            let mut all = ranked.clone();
            all.sort_unstable();
            all.dedup();
            assert_eq!((ranked.len(), all.len()), (15, 15));
        }
    }

    #[test]
    fn names_the_fault() {
        let fault = |hosts: &[CrushHost]| Crush::new(VolumeId(0), hosts).unwrap_err().to_string();
        assert!(fault(&[]).contains("one node at least"));
        assert!(fault(&[CrushHost { id: 3, devices: Vec::new() }]).contains("one node at least"));
        let twice = [(), ()].map(|()| CrushHost { id: 3, devices: vec![1.0] });
        assert!(fault(&twice).contains("node 3 occurs twice"));
        assert!(fault(&[CrushHost { id: 3, devices: vec![-1.0, 2.0] }]).contains("weight -1"));
    }
}

//! The maker and model in the name of a drive, without its serial number.
//!
//! Ceph names a drive `VENDOR_MODEL_SERIAL`. Each part may have underscores of its own, and the serial number of a
//! virtual disk is whatever its owner wrote: a host's name, a customer's. So nothing is kept that could be a part of it.
//! Kept are, from the left, words that makers use, and after these one part number; after a virtual disk's words none.
//! Some models lose their end in this way. The last part is always the serial number's.

/// Words that are a maker, a product line or a bus, in lower case.
const WORDS: [&str; 62] = [
    "adata",
    "apple",
    "ata",
    "corsair",
    "crucial",
    "dell",
    "disk",
    "enterprise",
    "evo",
    "exos",
    "express",
    "fujitsu",
    "gigabyte",
    "hdd",
    "hgst",
    "hitachi",
    "hp",
    "hpe",
    "hynix",
    "intel",
    "intenso",
    "ironwolf",
    "kingston",
    "kioxia",
    "lenovo",
    "lexar",
    "lite-on",
    "logical",
    "lsi",
    "marvell",
    "maxtor",
    "memblaze",
    "micron",
    "mini",
    "msft",
    "nvme",
    "optane",
    "patriot",
    "perc",
    "phison",
    "plextor",
    "plus",
    "pro",
    "qvo",
    "raid",
    "samsung",
    "sandisk",
    "sas",
    "sata",
    "scsi",
    "seagate",
    "sk",
    "solidigm",
    "ssd",
    "supermicro",
    "team",
    "toshiba",
    "transcend",
    "ultrastar",
    "volume",
    "wd",
    "wdc",
];

/// Words of disks that are not hardware, in lower case: what follows them is chosen by users.
const VIRTUAL: [&str; 13] = [
    "amazon",
    "drbd",
    "google",
    "harddisk",
    "iscsi",
    "nutanix",
    "persistentdisk",
    "qemu",
    "vbox",
    "virtual",
    "virtio",
    "vmware",
    "xen",
];

/// Length of a part number that is kept without a known word before it (assumed: names of hosts are shorter).
const LEAST_ALONE: usize = 12;

/// The words before the serial number that are certainly none of it; `None` if there are none.
pub(crate) fn model_in(id: &str) -> Option<String> {
    let (parts, _serial) = id.rsplit_once('_')?;
    let mut kept = Vec::new();
    let mut is_virtual = false;
    for part in parts.split('_') {
        let lower = part.to_ascii_lowercase();
        let is_word = WORDS.contains(&lower.as_str());
        let is_of_virtual = VIRTUAL.contains(&lower.as_str());
        is_virtual |= is_of_virtual;
        if is_word || is_of_virtual || is_size(&lower) {
            kept.push(part);
            continue;
        }
        if !is_virtual && is_line_number(part) && kept.len() < 3 {
            kept.push(part);
            continue;
        }
        // without a known maker before it, a short one may be the name of a host
        let is_known = !kept.is_empty() || part.len() >= LEAST_ALONE;
        if !is_virtual && is_known && is_part_number(part) {
            kept.push(part);
        }
        break;
    }
    (!kept.is_empty()).then(|| kept.join("_"))
}

/// `960gb`, `1.92tb`.
fn is_size(word: &str) -> bool {
    let number = word.strip_suffix("gb").or_else(|| word.strip_suffix("tb"));
    number.is_some_and(|number| number.len() <= 5 && number.parse::<f64>().is_ok())
}

/// A number of a product line: `860`, `7400`.
fn is_line_number(part: &str) -> bool {
    (3..=4).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit())
}

/// `ST12000NM0007`, `MZ7KM480HMHQ-00005`, `H710P`: capital letters and digits, both of them. Names have small letters
/// as a rule.
fn is_part_number(part: &str) -> bool {
    let plain = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'-';
    part.len() >= 4
        && part.bytes().all(plain)
        && part.bytes().any(|c| c.is_ascii_digit())
        && part.bytes().any(|c| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_kept() {
        for (id, model) in [
            ("HPE_MB012000JYCJF_ZV706H3E", "HPE_MB012000JYCJF"),
            ("MZXLR6T4HALA-000H3_S6C1NA0T400820", "MZXLR6T4HALA-000H3"),
            ("ATA_WDC_WD4003FFBX-68MU3N0_VBG4DL8R", "ATA_WDC_WD4003FFBX-68MU3N0"),
            ("DELL_PERC_H710P_00c61c3d1bfd6dd424001512d5e03f08", "DELL_PERC_H710P"),
            ("Micron_7400_MTFDKBA960TDZ_2136329E807D", "Micron_7400_MTFDKBA960TDZ"),
            ("Virtual_Disk_600224804806fbf568ed61eef03004ba", "Virtual_Disk"),
            ("Samsung_SSD_860_EVO_1TB_S3Z9NB0K123456A", "Samsung_SSD_860_EVO_1TB"),
            ("SEAGATE_ST12000_ZV70SERIAL", "SEAGATE_ST12000"),
        ] {
            assert_eq!(model_in(id).as_deref(), Some(model));
        }
    }

    #[test]
    fn no_part_of_a_serial_number_is_kept() {
        for (id, model) in [
            ("QEMU_QEMU_HARDDISK_alice_db_01", Some("QEMU_QEMU_HARDDISK")),
            ("QEMU_HARDDISK_ACME1_DATA_2", Some("QEMU_HARDDISK")),
            ("SEAGATE_ST12000_acme_rack_7", Some("SEAGATE_ST12000")),
            ("SEAGATE_ST12000_ZV70_SERIAL_1", Some("SEAGATE_ST12000")),
            ("acme_storage_01", None),
            ("ACME1_DATA_2", None),
            ("DB01_X", None),
            ("drive-scsi1", None),
        ] {
            assert_eq!(model_in(id).as_deref(), model, "{id}");
        }
    }
}

//! Lengths of straws, for buckets of the older kind `straw`.
//!
//! An item's 16-bit draw is multiplied by its straw, and the largest product wins. Straws are
//! computed from the weights, lightest first. Version 0 counts items of zero weight and of equal
//! weight wrongly; version 1 does not. Clusters created before Hammer have version 0, and a map
//! keeps its version.

/// Straws of items with these weights (16.16 fixed point), in 16.16 fixed point.
///
/// Sums wrap at 32 bits and an overlong straw loses its upper bits, as in Ceph.
pub(super) fn straws(weights: &[u32], version: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&item| weights[item]); // stable: equal weights keep their order
    let mut straws = vec![0; weights.len()];
    let (mut straw, mut below, mut last) = (1.0_f64, 0.0, 0.0);
    let mut left = weights.len() as u32;
    for (at, &item) in order.iter().enumerate() {
        let weight = weights[item];
        if weight == 0 {
            if version > 0 {
                left -= 1;
            }
            continue;
        }
        straws[item] = (straw * 65_536.0) as i64 as u32;
        let Some(&next) = order.get(at + 1) else { break };
        let heavier = weights[next];
        if version == 0 {
            if heavier == weight {
                continue;
            }
            below += (f64::from(weight) - last) * f64::from(left);
            let equal =
                order[at + 1..].iter().take_while(|&&item| weights[item] == heavier).count();
            left = left.wrapping_sub(equal as u32);
        } else {
            below += (f64::from(weight) - last) * f64::from(left);
            left -= 1;
        }
        let above = f64::from(left.wrapping_mul(heavier - weight));
        let share = below / (below + above);
        straw *= libm::pow(1.0 / share, 1.0 / f64::from(left.cast_signed()));
        last = f64::from(weight);
    }
    straws
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_have_equal_straws() {
        assert_eq!(straws(&[0x20000; 5], 0), [0x10000; 5]);
        assert_eq!(straws(&[0x20000; 5], 1), [0x10000; 5]);
    }

    #[test]
    fn a_weightless_item_never_wins() {
        assert_eq!(straws(&[0, 0x10000, 0], 1), [0, 0x10000, 0]);
    }

    #[test]
    fn of_two_items_the_heavier_wins_its_share() {
        // the heavier one wins 2/3 of the draws: with straw s it wins 1 - 1/(2 s), so s = 3/2
        let lengths = straws(&[0x10000, 0x20000], 1);
        assert_eq!(lengths[0], 0x10000);
        assert!(lengths[1].abs_diff(0x18000) <= 1, "{lengths:x?}");
    }
}

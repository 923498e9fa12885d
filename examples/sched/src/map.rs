//! The map of a group's whole state on one CPU: queue, entity and statistics, as co-located.

use crate::structs::SchedStatistics;
use crate::structs::operations::{Maps, OPERATIONS};
use corelocal::cacheline::{Access, Group, Layout, LayoutField, Touch};

/// Calls `use_map` with the map of `kernel`'s state on lines of 64 bytes.
///
/// The entity's fields have `se.` before their names. A field that the kernel has in no group is in
/// the group of its part.
pub fn with_state<R>(kernel: &Maps, use_map: impl FnOnce(&Layout<'_>) -> R) -> R {
    let named = |map: &Layout<'_>, prefix: &str| -> Vec<String> {
        map.fields().iter().map(|field| format!("{prefix}{}", field.name)).collect()
    };
    let (queue_names, se_names) = (named(&kernel.cfs_rq, ""), named(&kernel.se, "se."));
    let se_at = kernel.cfs_rq.size();
    let stats_at = se_at + kernel.se.size();

    let mut fields = Vec::new();
    for (field, name) in kernel.cfs_rq.fields().iter().zip(&queue_names) {
        let own = LayoutField::new(name, field.offset, field.size, field.align);
        fields.push(own.in_group(field.group.unwrap_or("cfs_rq")));
    }
    for (field, name) in kernel.se.fields().iter().zip(&se_names) {
        let own = LayoutField::new(name, se_at + field.offset, field.size, field.align);
        fields.push(own.in_group(if field.group.is_some() { "se hot" } else { "se" }));
    }
    let size = size_of::<SchedStatistics>();
    let stats = LayoutField::new("stats", stats_at, size, align_of::<SchedStatistics>());
    fields.push(stats.in_group("stats"));

    let mut groups: Vec<Group<'_>> = Vec::new();
    for name in fields.iter().filter_map(|field| field.group) {
        if groups.iter().all(|group| group.name != name) {
            groups.push(Group::new(name, &[]));
        }
    }

    let in_se = |touch: &Touch<'_>| (format!("se.{}", touch.field), touch.written);
    let se_touches: Vec<Vec<(String, bool)>> = OPERATIONS
        .iter()
        .map(|operation| operation.se.touches.iter().map(in_se).collect())
        .collect();
    let touches: Vec<Vec<Touch<'_>>> = OPERATIONS
        .iter()
        .zip(&se_touches)
        .map(|(operation, se)| {
            let se = se.iter().map(|(name, written)| match written {
                true => Touch::write(name),
                false => Touch::read(name),
            });
            operation.cfs_rq.touches.iter().copied().chain(se).collect()
        })
        .collect();
    let accesses: Vec<Access<'_>> = OPERATIONS
        .iter()
        .zip(&touches)
        .map(|(operation, touches)| Access::new(operation.name, touches))
        .collect();

    let name = format!("cfs_tg_state of {}", kernel.name);
    use_map(&Layout::new(&name, stats_at + size, 64, &fields, &groups, &accesses).with_line(64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structs::operations::KERNELS;

    #[test]
    fn the_whole_state_is_its_three_parts() {
        let sizes = [(1024, 512, 768), (960, 448, 704), (1088, 512, 832), (1088, 512, 832)];
        for (kernel, (size, se, stats)) in KERNELS.iter().zip(sizes) {
            with_state(kernel, |map| {
                assert_eq!((map.size(), map.lines()), (size, size / 64), "{}", kernel.name);
                let first = kernel.se.fields().first().expect("an entity has fields");
                let name = format!("se.{}", first.name);
                assert_eq!(map.field(&name).map(|field| field.offset), Some(se));
                assert_eq!(map.field("stats").map(|field| field.offset), Some(stats));
                assert_eq!(map.broken().filter(|b| b.field().is_some()), None);
            });
        }
    }

    /// `maps/` has the drawings of two kernels for people to look at.
    #[test]
    fn the_drawings_in_the_folder_are_what_is_drawn() {
        for kernel in &KERNELS[..2] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/maps");
            let file = format!("{folder}/{}.svg", kernel.name);
            let drawn = with_state(kernel, |map| map.to_svg());
            let there = std::fs::read_to_string(&file).expect("the drawing is there");
            assert!(drawn == there, "{file}: make it anew with `sched layout --svg`, and its PNG");
        }
    }

    #[test]
    fn an_operation_on_the_state_touches_the_lines_of_its_parts() {
        for kernel in &KERNELS {
            with_state(kernel, |map| {
                for (operation, access) in OPERATIONS.iter().zip(map.accesses()) {
                    let (queue, entity) = operation.lines(kernel);
                    assert_eq!(map.lines_of_access(access).count(), queue + entity);
                }
            });
        }
    }

    #[test]
    fn the_rfc_lowers_the_lines_of_every_operation_or_keeps_them() {
        let [before, after, ..] = &KERNELS;
        let count = with_state(before, |before| {
            with_state(after, |after| {
                let lines = after.diff(before).accesses().inspect(|(name, old, new)| {
                    assert!(new <= old, "{name}: {old} -> {new}");
                });
                lines.filter(|(_, old, new)| new < old).count()
            })
        });
        assert_eq!(count, 12);
    }
}

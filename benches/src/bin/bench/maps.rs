//! The pictures of memory on the page.

/// The crate's own example of a layout map: it draws the same structure, grown and declared.
#[allow(unreachable_pub, reason = "a program of its own elsewhere")]
#[path = "../../../../examples/layout.rs"]
mod example;

/// A picture, with what it shows.
pub(crate) struct Picture {
    pub(crate) title: String,
    /// What to look at.
    pub(crate) note: String,
    pub(crate) command: String,
    /// A document without scripts and references.
    pub(crate) svg: String,
}

/// Layout maps: as the crate draws them now, and of the kernel's scheduler as the main program drew
/// them (its tests hold the files against what it draws).
pub(crate) fn all() -> Vec<Picture> {
    let layout = |title: &str, note: &str, command: &str, svg: &str| Picture {
        title: title.into(),
        note: note.into(),
        command: command.into(),
        svg: svg.into(),
    };
    let example = "cargo run --example layout -- layout.svg";
    let mut pictures = vec![
        layout(
            "A connection as it grew",
            "Fields in the order in which they were added: an arriving packet touches two lines.",
            example,
            &example::GROWN.to_svg(),
        ),
        layout(
            "The same by use",
            "Declared with groups: what each packet writes is on one line.",
            example,
            &example::Connection::LAYOUT.to_svg(),
        ),
        layout(
            "A task group's state on one CPU, as in Linux 6.14",
            "Queue, entity and statistics, co-located.",
            "cargo run --release -p sched -- layout --kernel 6.14 --svg FILE",
            include_str!("../../../../examples/sched/maps/6.14.svg"),
        ),
        layout(
            "The same, reordered by use",
            "The order of a later series: fewer lines for each operation.",
            "cargo run --release -p sched -- layout --kernel reorder --svg FILE",
            include_str!("../../../../examples/sched/maps/reorder.svg"),
        ),
    ];
    for (at, picture) in pictures.iter_mut().enumerate() {
        picture.svg = own_names(&picture.svg, at);
    }
    pictures
}

/// Documents on one page must not share the names of their patterns.
fn own_names(svg: &str, at: usize) -> String {
    svg.replace("id=\"hatch\"", &format!("id=\"hatch{at}\""))
        .replace("url(#hatch)", &format!("url(#hatch{at})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_need_nothing_from_elsewhere_and_share_no_name() {
        let mut names = Vec::new();
        for Picture { title, svg, .. } in all() {
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{title}");
            for outside in ["href", "<script", "@import", "url(http"] {
                assert!(!svg.contains(outside), "{title}: {outside}");
            }
            for name in svg.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(!names.contains(&name.to_owned()), "{title}: {name}");
                names.push(name.to_owned());
            }
        }
        assert!(names.len() >= 2, "{names:?}");
    }
}

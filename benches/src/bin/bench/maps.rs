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

/// Layout maps, as the crate draws them now; heat maps, as the main program drew them.
pub(crate) fn all() -> Vec<Picture> {
    let layout = |title: &str, note: &str, svg: String, at: usize| Picture {
        title: title.into(),
        note: note.into(),
        command: "cargo run --example layout -- layout.svg".into(),
        svg: own_names(&svg, at),
    };
    let heat = |title: &str, note: &str, svg: &str| Picture {
        title: title.into(),
        note: note.into(),
        command: "cargo run --release -p sched -- rt --svg DIR".into(),
        svg: svg.into(),
    };
    vec![
        layout(
            "Layout map: a connection as it grew",
            "Fields in the order in which they were added: an arriving packet touches two lines.",
            example::GROWN.to_svg(),
            0,
        ),
        layout(
            "Layout map: the same by use",
            "Declared with groups: what each packet writes is on one line.",
            example::Connection::LAYOUT.to_svg(),
            1,
        ),
        heat(
            "Heat map: the priority vector as one array",
            "A model of 480 CPUs on two sockets; a line is the hotter, the more often it moves \
             between cores.",
            include_str!("../../../../examples/sched/maps/mix50-packed.svg"),
        ),
        heat(
            "Heat map: the priority vector by CPU",
            "The same operations with 64 CPUs a shard.",
            include_str!("../../../../examples/sched/maps/mix50-bycpu64.svg"),
        ),
    ]
}

/// Two documents on one page must not share the names of their patterns.
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

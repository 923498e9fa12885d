//! Service against what is due, as a picture.

use super::service::{Course, SHOWN};
use std::fmt::Write;

/// A panel's width and height.
const PANEL: [f64; 2] = [420.0, 240.0];
/// Around each panel: for numbers and titles.
const MARGIN: f64 = 60.0;
const COLOURS: [&str; 3] = ["#1f6fb2", "#c8501e", "#2f8f4e"];

/// Axes: the largest x, and the least and largest y.
#[derive(Clone, Copy)]
struct Axes {
    at: [f64; 2],
    x: f64,
    y: [f64; 2],
}

impl Axes {
    fn point(&self, x: f64, y: f64) -> [f64; 2] {
        let across = x / self.x * PANEL[0];
        let up = (y - self.y[0]) / (self.y[1] - self.y[0]) * PANEL[1];
        [self.at[0] + across, self.at[1] + PANEL[1] - up]
    }
}

/// Draws the runs beside each other: above what each group got (lines) and was due (dashes), below
/// the difference.
pub fn draw(courses: &[Course]) -> String {
    let (across, down) = (PANEL[0] + 2.0 * MARGIN, PANEL[1] + 2.0 * MARGIN);
    let (width, height) = (across * courses.len() as f64, 2.0 * down + 30.0);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>Service against the ideal</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
    );
    let points = || courses.iter().flat_map(|course| course.groups.iter().flatten());
    let (end, most) = points()
        .fold((1.0_f64, 1.0_f64), |(x, y), point| (x.max(point[0]), y.max(point[1]).max(point[2])));
    let worst = courses.iter().map(Course::worst).fold(1.0, f64::max).ceil();
    for (column, course) in courses.iter().enumerate() {
        let left = column as f64 * across + MARGIN;
        let above = Axes { at: [left, MARGIN], x: end, y: [0.0, most.ceil()] };
        let below = Axes { at: [left, down + MARGIN], x: end, y: [-worst, worst] };
        frame(&mut out, above, &format!("{}: service (line), due (dashes), ms", course.picker));
        frame(&mut out, below, &format!("{}: service - due, ms", course.picker));
        for (points, colour) in course.groups.iter().zip(COLOURS) {
            let of = |value: fn(&[f64; 3]) -> f64| points.iter().map(move |p| (p[0], value(p)));
            line(&mut out, above, of(|p| p[1]), colour, "");
            line(&mut out, above, of(|p| p[2]), colour, " stroke-dasharray=\"5 4\"");
            line(&mut out, below, of(|p| p[1] - p[2]), colour, "");
        }
    }
    for ((name, _), (at, colour)) in SHOWN.iter().zip(COLOURS.iter().enumerate()) {
        let x = MARGIN + 120.0 * at as f64;
        text(&mut out, [x, height - 15.0], "start", colour, &format!("group {name}"));
    }
    out.push_str("</svg>\n");
    out
}

fn frame(out: &mut String, axes: Axes, title: &str) {
    let [x, y] = axes.at;
    let [width, height] = PANEL;
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
         stroke=\"#888888\"/>"
    );
    text(out, [x, y - 10.0], "start", "#222222", title);
    for share in 0..=4 {
        let share = f64::from(share) / 4.0;
        let value = axes.y[0] + share * (axes.y[1] - axes.y[0]);
        let at = axes.point(0.0, value);
        text(out, [at[0] - 6.0, at[1] + 4.0], "end", "#222222", &format!("{value:.1}"));
        let time = share * axes.x;
        let at = axes.point(time, axes.y[0]);
        text(out, [at[0], at[1] + 18.0], "middle", "#222222", &format!("{time:.0} ms"));
    }
    if axes.y[0] < 0.0 {
        line(out, axes, [(0.0, 0.0), (axes.x, 0.0)].into_iter(), "#888888", "");
    }
}

fn line(
    out: &mut String,
    axes: Axes,
    points: impl Iterator<Item = (f64, f64)>,
    colour: &str,
    style: &str,
) {
    out.push_str("<polyline points=\"");
    for (x, y) in points {
        let [x, y] = axes.point(x, y);
        let _ = write!(out, "{x:.1},{y:.1} ");
    }
    let _ = writeln!(out, "\" fill=\"none\" stroke=\"{colour}\"{style}/>");
}

fn text(out: &mut String, at: [f64; 2], anchor: &str, fill: &str, text: &str) {
    let [x, y] = at;
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{text}</text>"
    );
}

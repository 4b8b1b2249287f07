//! `foretell laboratory`: the page that it makes. What the page does, `.ci/pages/laboratory.mjs` checks.

use crate::common;

use common::*;

/// A path as a word.
fn text(place: &Place, name: &str) -> String {
    place.path(name).display().to_string()
}

/// What a file is taken for an engine by.
const ENGINE: &[u8] = b"\0asm\x01\0\0\0\x0danswer_length and the rest";

#[test]
fn the_page_has_all_lessons_and_loads_nothing() {
    let place = Place::with(SMALL);
    std::fs::write(place.path("engine.wasm"), ENGINE).unwrap();
    let (engine, page) = (text(&place, "engine.wasm"), text(&place, "lab.html"));
    let done = run(["laboratory", "--engine", &engine, "-o", &page]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let html = std::fs::read_to_string(&page).unwrap();
    for lesson in
        ["knee", "little", "cache", "fan-out", "codes", "bottleneck", "failure", "records"]
    {
        assert!(html.contains(&format!("href=\"#lesson={lesson}\"")), "{lesson}");
    }
    assert!(html.contains("default-src 'none'"));
    assert!(!html.contains("src=\"") && !html.contains("url(http"), "something is loaded");
    // a page gives its engine to another
    let other = text(&place, "other.html");
    let done = run(["laboratory", "--engine", &page, "-o", &other]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), html);
}

#[test]
fn a_lesson_of_ones_own_runs_and_becomes_a_page() {
    let place = Place::with(SMALL);
    let shown = run(["laboratory", "--show", "knee"]);
    assert_eq!(shown.status, Some(0), "{}", shown.stderr);
    let mine = text(&place, "mine.md");
    std::fs::write(&mine, shown.stdout.replace("# Utilization and the knee", "# <b>Mine</b>"))
        .unwrap();
    std::fs::write(place.path("engine.wasm"), ENGINE).unwrap();
    let (engine, page) = (text(&place, "engine.wasm"), text(&place, "mine.html"));
    let done = run(["laboratory", &mine, "--engine", &engine, "-o", &page]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("#lesson=mine") && !html.contains("<b>Mine"));
    // the command line that the page shows
    let short = ["--set", "workload.web.rate=20", "--set", "duration=2 s", "--json"];
    let own = run([&["run", &mine], &short[..]].concat());
    let shipped = run([&["run", "lesson/knee"], &short[..]].concat());
    assert_eq!(own.status, Some(0), "{}", own.stderr);
    assert_eq!(timeless(truth(&own.stdout)), timeless(truth(&shipped.stdout)));
}

#[test]
fn mistakes_are_named_before_anything_is_written() {
    let place = Place::with(SMALL);
    std::fs::write(place.path("engine.wasm"), ENGINE).unwrap();
    let engine = text(&place, "engine.wasm");
    let knee = run(["laboratory", "--show", "knee"]).stdout;
    for (from, to, wanted) in [
        ("answer   = 3", "answer = 4", "`answer` is one of the 3 choices, from 1; found 4"),
        ("web.rate={x}", "wbe.rate={x}", "did you mean `workload.web`"),
        ("run.workloads", "rum.workloads", "figures begin with `x`, `run`, `base` or `ask`"),
        ("workload = \"web\"", "workload = \"mail\"", "one of the scenario's, `web`"),
        ("```toml scenario", "```toml cluster", "has no scenario"),
        ("question =", "questoin =", "questoin"),
    ] {
        assert!(knee.contains(from), "{from}");
        let (lesson, page) = (text(&place, "wrong.md"), text(&place, "wrong.html"));
        std::fs::write(&lesson, knee.replace(from, to)).unwrap();
        let done = run(["laboratory", &lesson, "--engine", &engine, "-o", &page]);
        assert_eq!(done.status, Some(2), "{to}");
        assert!(done.stderr.contains(wanted), "{to}: {}", done.stderr);
        assert!(!place.path("wrong.html").exists());
    }
    let page = text(&place, "page.html");
    let done = run(["laboratory", "--engine", &text(&place, "wrong.md"), "-o", &page]);
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("holds no engine"), "{}", done.stderr);
    let done = run(["laboratory", "--engine", &engine, "-o", &engine]);
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("is read by this command"), "{}", done.stderr);
}

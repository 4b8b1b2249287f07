//! The page: lessons, the scripts that show them, and the engine.
//!
//! A content security policy allows the page's own script by its digest, a worker made from it, and
//! WebAssembly. Nothing is loaded from elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::engine::{BEGINS, ENDS, Engine};
use crate::lesson::Lesson;

const STYLE: &str = include_str!("../assets/lab.css");
const SCRIPT: &str = concat!(
    include_str!("../assets/formula.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/picture.js"),
    include_str!("../assets/lab.js")
);
const WORKER: &str = concat!(
    "'use strict';\n",
    include_str!("../assets/base85.js"),
    include_str!("../assets/lzma.js"),
    include_str!("../assets/engine.js"),
    include_str!("../assets/worker.js")
);
/// The program that made the page.
const GENERATOR: &str = concat!("foretell ", env!("CARGO_PKG_VERSION"));

/// A script without indentation and without lines that are comments: the page has a limit. No text in the scripts spans
/// several lines.
fn compact(script: &str) -> String {
    let lines = script.lines().map(str::trim_start);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .fold(String::with_capacity(script.len()), |text, line| text + line + "\n")
}

/// The laboratory with these lessons, as HTML.
pub fn page(title: &str, lessons: &[Lesson], engine: &Engine) -> String {
    let (script, worker) = (compact(SCRIPT), compact(WORKER));
    // a `<` in the data could end the script
    let data = serde_json::to_string(lessons).expect("lessons are JSON").replace('<', "\\u003c");
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {} 'wasm-unsafe-eval'; worker-src blob:; style-src {}; base-uri 'none'; \
         form-action 'none'",
        digest(&script),
        digest(STYLE)
    );
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(GENERATOR);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#lesson-title" { "To the lesson" }
                header {
                    p.site { (title) }
                    nav aria-label="Lessons" { ol id="lessons-list" {
                        @for lesson in lessons {
                            li { a href={ "#lesson=" (lesson.name) } data-lesson=(lesson.name) { (lesson.title) } }
                        }
                    } }
                }
                main id="main" {
                    noscript { p.gap { "The laboratory needs JavaScript: it simulates a storage cluster here." } }
                    h1 id="lesson-title" tabindex="-1" { (lessons.first().map_or(title, |first| &first.title)) }
                    div id="before" {}
                    form id="question" {}
                    section id="bench" aria-label="Experiment" {}
                    div id="after" {}
                }
                footer {
                    p { "Simulated in this page by " (GENERATOR) ", without a network. " span id="speed" {} }
                }
                script type="application/json" id="lessons" { (PreEscaped(data)) }
                script type="text/plain" id="worker" { (PreEscaped(&worker)) }
                script { (PreEscaped(&script)) }
                (PreEscaped(BEGINS)) (PreEscaped(engine.text())) (PreEscaped(ENDS))
            }
        }
    };
    markup.into_string()
}

#[cfg(test)]
mod tests {
    use super::{SCRIPT, WORKER, compact};

    #[test]
    fn scripts_lose_indentation_and_comments_alone() {
        let script = "// head\nif (a) {\n    // why\n    b(`x // y`);\n\n}\n";
        assert_eq!(compact(script), "if (a) {\nb(`x // y`);\n}\n");
    }

    #[test]
    fn no_text_in_the_scripts_spans_several_lines() {
        for line in SCRIPT.lines().chain(WORKER.lines()).map(str::trim_start) {
            let ticks = line.matches('`').count();
            assert!(line.starts_with("//") || line.starts_with('*') || ticks % 2 == 0, "{line}");
        }
    }
}

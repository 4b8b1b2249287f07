//! The text of a lesson as HTML, and its blocks of TOML.
//!
//! HTML in a lesson is shown as text, so a lesson from elsewhere can put only text into the page. Links are
//! kept; images are not, as the page loads nothing.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// The parts of a lesson's Markdown.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The first heading.
    pub(crate) title: String,
    /// Before the first rule (`---`): shown at once.
    pub(crate) before: String,
    /// After it: shown when the question is answered.
    pub(crate) after: String,
    /// Blocks of TOML, by the word after `toml`: `scenario`, `lesson`.
    pub(crate) blocks: Vec<(String, String)>,
}

/// Splits a lesson's Markdown into parts.
pub(crate) fn parts(text: &str) -> Parts {
    let mut parts = Parts::default();
    let mut halves: [Vec<Event<'_>>; 2] = Default::default();
    let mut half = 0;
    // the title, or a block of TOML, while it is being read
    let mut title: Option<String> = None;
    let mut block: Option<(String, String)> = None;
    let mut is_dropped = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => {
                title = Some(String::new());
            }
            // only the text of a title counts, not its formatting
            Event::Start(_) | Event::SoftBreak if title.is_some() => {}
            Event::End(end) if title.is_some() && end != TagEnd::Heading(HeadingLevel::H1) => {}
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
                let title = title.take().unwrap_or_default();
                if parts.title.is_empty() {
                    parts.title = title;
                }
            }
            Event::Text(text) | Event::Code(text) if title.is_some() => {
                title.get_or_insert_default().push_str(&text);
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info)))
                if info.starts_with("toml ") =>
            {
                block = Some((info["toml ".len()..].trim().to_owned(), String::new()));
            }
            Event::Text(text) if block.is_some() => {
                block.get_or_insert_default().1.push_str(&text);
            }
            Event::End(TagEnd::CodeBlock) if block.is_some() => parts.blocks.extend(block.take()),
            Event::Rule => half = 1,
            Event::Html(html) | Event::InlineHtml(html) => halves[half].push(Event::Text(html)),
            // an image's text stays
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => {}
            Event::Start(Tag::Link { ref dest_url, .. }) if !is_safe(dest_url) => {
                is_dropped = true;
            }
            // links cannot be nested
            Event::End(TagEnd::Link) if is_dropped => is_dropped = false,
            other => halves[half].push(other),
        }
    }
    let [before, after] = halves;
    html::push_html(&mut parts.before, before.into_iter());
    html::push_html(&mut parts.after, after.into_iter());
    parts
}

/// Whether a link leads to a page, not to a script.
fn is_safe(link: &str) -> bool {
    ["https://", "http://", "#"].iter().any(|start| link.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesson_is_taken_apart() {
        let text = "# A *title*\n\nWords.\n\n```toml scenario\nseed = 1\n```\n\n---\n\nMore.\n\n```\ncode\n```\n";
        let parts = parts(text);
        assert_eq!(parts.title, "A title");
        assert_eq!(parts.before, "<p>Words.</p>\n");
        assert_eq!(parts.after, "<p>More.</p>\n<pre><code>code\n</code></pre>\n");
        assert_eq!(parts.blocks, [("scenario".to_owned(), "seed = 1\n".to_owned())]);
    }

    #[test]
    fn nothing_but_words_gets_into_the_page() {
        let text = "# T\n\n<script>alert(1)</script> <b onclick=x>b</b>\n\n[a](javascript:x) \
                    ![i](https://else.where/i.png) [good](https://example.org)\n";
        let found = parts(text).before;
        assert!(!found.contains("<script") && !found.contains("<b "), "{found}");
        assert!(!found.contains("javascript:") && !found.contains("<img"), "{found}");
        assert!(found.contains("<a href=\"https://example.org\">good</a>"), "{found}");
    }
}

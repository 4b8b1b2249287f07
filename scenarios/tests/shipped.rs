//! The scenarios that come with the project are all right.

use std::path::Path;

use foretell_scenarios::Document;

#[test]
fn the_readme_example_is_a_scenario() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("first-look.toml");
    let document = Document::load(path).unwrap();
    let scenario = document.check().unwrap_or_else(|e| panic!("{e}"));
    let text = document.resolved().unwrap();
    println!("{text}");
    let again = Document::parse("run.toml", &text, "").unwrap();
    assert_eq!(again.check().unwrap_or_else(|e| panic!("{e}")), scenario);
    assert_eq!(again.resolved().unwrap(), text);
    assert_eq!(scenario.hosts.len(), 12);
    assert_eq!(scenario.volumes[0].n, 3);
}

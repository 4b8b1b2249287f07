//! The scenarios that come with the project are all right.

use std::path::Path;

use foretell_scenarios::Document;

#[test]
fn the_readme_example_is_a_scenario() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("first-look.toml");
    let scenario = Document::load(path).unwrap().check().unwrap_or_else(|e| panic!("{e}"));
    println!("{scenario:#?}");
    assert_eq!(scenario.hosts.len(), 12);
    assert_eq!(scenario.volumes[0].n, 3);
}

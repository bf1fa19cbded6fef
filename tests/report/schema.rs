//! Generated files are those of the types; `UPDATE=1` writes them anew.

use std::path::{Path, PathBuf};

use pcb::results::schema;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn must_be(path: &Path, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, text).expect("can be written");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stored == text, "{} is not what the types say; run UPDATE=1 cargo test --test report", path.display());
}

#[test]
fn the_schema_is_that_of_the_types() {
    must_be(&root("specs/schemas/result.json"), &schema::json());
}

#[test]
fn the_document_has_every_field() {
    let path = root("docs/result-file.md");
    let text = std::fs::read_to_string(&path).expect("docs/result-file.md");
    must_be(&path, &schema::document(&text).expect("the marks of the table of fields"));
}

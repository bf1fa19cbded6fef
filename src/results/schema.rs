//! The JSON Schema of the result file, and the table of its fields in `docs/result-file.md`: both made from the types.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::ResultFile;

/// Where the table of fields starts and ends in the document; what is around it is written by hand.
const START: &str = "<!-- fields: made from the types by `UPDATE=1 cargo test --test report`; do not edit -->";
const END: &str = "<!-- end of fields -->";

/// What a case is in the document. It is a text there, which its type does not show.
const CASE: &str = "Text: the id of a case, with the parts \
    track/dataset/format:variant/layout/pattern/crop/tier/host/state; a part that does not apply is `-`";

/// The schema as the text of `specs/schemas/result.json`.
pub fn json() -> String {
    format!("{:#}\n", schema())
}

/// `docs/result-file.md` with its table of fields made anew; `None` where the text lacks the place for it.
pub fn document(text: &str) -> Option<String> {
    let (before, rest) = text.split_once(START)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{START}\n\n{}{END}{after}", fields(&schema())))
}

fn schema() -> Value {
    let mut schema = schemars::schema_for!(ResultFile).to_value();
    if let Some(description) = schema.pointer_mut("/$defs/Case/description") {
        *description = CASE.into();
    }
    // Whether serde_json keeps the order of keys depends on features that any dependency can turn on.
    schema.sort_all_objects();
    schema
}

/// One section for each type: the document first, the others in the order in which they are met.
fn fields(schema: &Value) -> String {
    let mut out = String::new();
    let mut names = vec!["ResultFile".to_owned()];
    let mut next = 0;
    while let Some(name) = names.get(next).cloned() {
        let definition = if next == 0 { schema } else { &schema["$defs"][&name] };
        section(&mut out, &name, definition);
        for found in references(definition) {
            if !names.contains(&found) {
                names.push(found);
            }
        }
        next += 1;
    }
    out
}

fn section(out: &mut String, name: &str, definition: &Value) {
    let _ = writeln!(out, "### {name}\n\n{}\n", description(definition));
    if let Some(variants) = definition["oneOf"].as_array() {
        table(out, ["kind", "fields", "unit", "meaning"], variants.iter().map(variant));
    } else if let Some(properties) = definition["properties"].as_object() {
        table(out, ["field", "type", "unit", "meaning"], properties.iter().map(|(name, field)| row(name, field)));
    }
}

fn table(out: &mut String, head: [&str; 4], rows: impl Iterator<Item = [String; 4]>) {
    let _ = writeln!(out, "| {} |\n|---|---|---|---|", head.join(" | "));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    out.push('\n');
}

fn row(name: &str, field: &Value) -> [String; 4] {
    [format!("`{name}`"), kind(field), unit(name, field).to_owned(), description(field)]
}

/// One value of an enum: a word, or an object with a `kind`.
fn variant(variant: &Value) -> [String; 4] {
    let none = Map::new();
    let properties = variant["properties"].as_object().unwrap_or(&none);
    let word = variant["const"].as_str().or_else(|| variant["properties"]["kind"]["const"].as_str()).unwrap_or("?");
    let others: Vec<_> = properties.iter().filter(|(name, _)| *name != "kind").collect();
    let fields: Vec<_> = others.iter().map(|(name, field)| format!("`{name}`: {}", kind(field))).collect();
    let units: Vec<_> = others.iter().map(|(name, field)| unit(name, field)).collect();
    let mut meaning = vec![description(variant)];
    meaning.extend(others.iter().map(|(name, field)| format!("`{name}`: {}", description(field))));
    [format!("`{word}`"), fields.join(", "), units.concat(), meaning.join(" ")]
}

fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A field's type in words: `integer`, `list of integer`, `map of text`, or a link to the section of a type.
fn kind(field: &Value) -> String {
    if let Some(name) = reference(field) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(options) = field["anyOf"].as_array() {
        return options.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &field["type"] {
        Value::Array(types) => {
            let kinds = types.iter().map(|word| simple(word.as_str().unwrap_or("?"), field));
            kinds.collect::<Vec<_>>().join(" or ")
        }
        Value::String(word) => simple(word, field),
        _ => "any".to_owned(),
    }
}

fn simple(word: &str, field: &Value) -> String {
    match word {
        "array" => format!("list of {}", kind(&field["items"])),
        "object" => format!("map of {}", kind(&field["additionalProperties"])),
        "string" => "text".to_owned(),
        other => other.to_owned(),
    }
}

/// Units stand in the names of fields, or else in their descriptions.
fn unit(name: &str, field: &Value) -> &'static str {
    let text = description(field);
    let is = |unit: &str| {
        name == unit
            || name.ends_with(&format!("_{unit}"))
            || name.starts_with(&format!("{unit}_per_"))
            || text.contains(&format!(" in {unit}"))
    };
    match ["ns", "ms", "bytes", "percent"].into_iter().find(|unit| is(unit)) {
        Some(unit) => unit,
        None if text.contains("per second") => "1/s",
        None if text.starts_with("Share") || text.contains(" over bytes ") => "ratio",
        None => "",
    }
}

fn reference(field: &Value) -> Option<String> {
    field["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")).map(str::to_owned)
}

/// Names of the types that a type uses, in the order in which it names them.
fn references(schema: &Value) -> Vec<String> {
    let mut found: Vec<String> = reference(schema).into_iter().collect();
    match schema {
        Value::Object(map) => {
            found.extend(map.iter().filter(|(key, _)| *key != "$defs").flat_map(|(_, value)| references(value)));
        }
        Value::Array(list) => found.extend(list.iter().flat_map(references)),
        _ => {}
    }
    found
}

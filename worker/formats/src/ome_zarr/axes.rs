//! Which axis of an array is the channel, and that the others are those of one plane.

use std::path::Path;

use serde_json::Value;

use crate::FormatError;

use super::document::Document;

/// Where the axes of an image lie. The last two are always y and x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axes {
    /// Index of the channel axis; `None` for an image of one channel without such an axis.
    pub channel: Option<usize>,
}

impl Axes {
    /// Axes of the array in `folder`, which has the axes' lengths `shape`: as the image's metadata name them, else as the
    /// array itself does, else by their number.
    pub fn find(folder: &Path, array: &Document, shape: &[u64]) -> Result<Self, FormatError> {
        if let Some(image) = folder.parent().map(Document::of_group).transpose()?.flatten()
            && let Some(names) = of_image(&image.value, folder)
        {
            return Self::of(&image, &names, shape);
        }
        let own = array.value.get("dimension_names").and_then(Value::as_array);
        let own: Option<Vec<String>> = own.and_then(|names| names.iter().map(name).collect());
        if let Some(names) = own.filter(|names| !names.is_empty()) {
            return Self::of(array, &names, shape);
        }
        let usual: &[&str] = match shape.len() {
            2 => &["y", "x"],
            3 => &["c", "y", "x"],
            5 => &["t", "c", "z", "y", "x"],
            count => return Err(array.unsupported(format!("{count} axes, and nothing names them"))),
        };
        Self::of(array, &usual.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), shape)
    }

    fn of(document: &Document, names: &[String], shape: &[u64]) -> Result<Self, FormatError> {
        if names.len() != shape.len() {
            let (names, axes) = (names.len(), shape.len());
            return Err(document.corrupt(format!("{names} names of axes; the array has {axes}")));
        }
        let [outer @ .., y, x] = names else {
            return Err(document.unsupported(format!("an array of {} axes; pcb reads images", names.len())));
        };
        if (y.as_str(), x.as_str()) != ("y", "x") {
            let order = names.join(", ");
            return Err(document.unsupported(format!("axes {order}; pcb reads images whose last axes are y and x")));
        }
        for (name, len) in outer.iter().zip(shape).filter(|(name, _)| *name != "c") {
            if *len != 1 {
                return Err(document.unsupported(format!("axis {name} of {len}; pcb reads images of one plane")));
            }
        }
        let mut channels = outer.iter().enumerate().filter(|(_, name)| *name == "c");
        let channel = channels.next().map(|(index, _)| index);
        if channels.next().is_some() {
            return Err(document.corrupt("two channel axes"));
        }
        Ok(Self { channel })
    }
}

/// Names of the axes of the image whose dataset is `folder`; `None` where it does not name them (before version 0.3).
fn of_image(image: &Value, folder: &Path) -> Option<Vec<String>> {
    let dataset = folder.file_name()?.to_str()?;
    let holds = |scale: &&Value| {
        let datasets = scale.get("datasets").and_then(Value::as_array);
        datasets.is_some_and(|list| list.iter().any(|d| d.get("path").and_then(Value::as_str) == Some(dataset)))
    };
    let scale = image.get("multiscales")?.as_array()?.iter().find(holds)?;
    scale.get("axes")?.as_array()?.iter().map(name).collect()
}

/// Name of one axis, in small letters: `t`, `c`, `z`, `y`, `x`, or another. From 0.4 on an axis has a type.
fn name(axis: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_lowercase);
    if let Some("channel") = axis.get("type").and_then(Value::as_str) {
        return Some("c".to_owned());
    }
    text(axis).or_else(|| axis.get("name").and_then(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn axes(names: &Value, shape: &[u64]) -> Result<Option<usize>, String> {
        let document = Document { path: "zarr.json".into(), value: json!({ "dimension_names": names }) };
        let found = Axes::find(Path::new("/nowhere/0"), &document, shape);
        found.map(|axes| axes.channel).map_err(|e| e.to_string())
    }

    #[test]
    fn names_say_where_channels_are() {
        assert_eq!(axes(&json!(["t", "c", "z", "y", "x"]), &[1, 4, 1, 9, 9]), Ok(Some(1)));
        assert_eq!(axes(&json!(["C", "Y", "X"]), &[4, 9, 9]), Ok(Some(0)));
        assert_eq!(axes(&json!(["z", "y", "x"]), &[1, 9, 9]), Ok(None));
        assert_eq!(axes(&json!(["y", "x"]), &[9, 9]), Ok(None));
    }

    #[test]
    fn without_names_their_number_says_it() {
        assert_eq!(axes(&Value::Null, &[1, 4, 1, 9, 9]), Ok(Some(1)));
        assert_eq!(axes(&json!([null, null, null]), &[4, 9, 9]), Ok(Some(0)));
        assert_eq!(axes(&Value::Null, &[9, 9]), Ok(None));
        assert!(axes(&Value::Null, &[2, 4, 9, 9]).expect_err("four").contains("4 axes"));
    }

    #[test]
    fn images_of_more_planes_are_refused_by_name() {
        assert!(
            axes(&json!(["t", "c", "z", "y", "x"]), &[1, 4, 7, 9, 9]).expect_err("a stack").contains("axis z of 7")
        );
        assert!(axes(&Value::Null, &[3, 4, 1, 9, 9]).expect_err("a series").contains("axis t of 3"));
        assert!(axes(&json!(["y", "x", "c"]), &[9, 9, 3]).expect_err("colours last").contains("y, x, c"));
        assert!(axes(&json!(["c", "c", "y", "x"]), &[1, 1, 9, 9]).expect_err("twice").contains("two channel"));
        assert!(axes(&json!(["c", "y", "x"]), &[9, 9]).expect_err("too many").contains("3 names"));
    }
}

//! safetensors files of the format's Python library, from `$PCB_TEST_DATA`.

mod support;

use std::fs;

use pcb_formats::{Dataset, FormatError, Object, find, store};
use pcb_protocol::{Dtype, Layout, Pad};
use support::interop::{data, plate};
use support::{make, refused, spec};

#[test]
fn safetensors_files_have_the_digests_of_their_manifest() {
    let Some(interop) = data("interop") else { return };
    for (variant, file) in [("keys", "per-image-keys.safetensors"), ("stack", "stack.safetensors")] {
        let folder = support::folder();
        let plate = plate(folder.path(), &interop);
        let (format, variant) = find("safetensors", variant, Layout::Object).expect("known");
        plate.put(format, variant, &interop.join("safetensors").join(file), "crops.safetensors");
        assert_eq!(plate.digests(format, variant), plate.expected, "{file}");
        assert_eq!(store::verify(&plate.dataset, format, variant, &mut |_, _| {}).expect("verifies"), 4);
        for size in [(32, 40), (7, 9)] {
            let spec = spec(&plate.dataset, variant, &[2, 0, 1], size, Pad::Reflect);
            assert_eq!(store::check_objects(format, &spec, &[0, 1, 2, 3]).expect("reads"), None, "{file} {size:?}");
        }
    }
}

#[test]
fn a_header_that_lies_is_an_error_that_names_the_file() {
    let folder = support::folder();
    let dataset = make(folder.path(), Dtype::U16, 2, &[(40, 50)], (16, 16));
    let (format, variant) = find("safetensors", "stack", Layout::Object).expect("known");
    support::write(&dataset, format, variant);
    let file = (format.files)(&dataset, variant).expect("listed")[0].clone();
    let sound = fs::read(&file).expect("read");
    let header = u64::from_le_bytes(sound[..8].try_into().expect("eight")) as usize;
    let text = String::from_utf8(sound[8..8 + header].to_vec()).expect("JSON");
    let end = 9 * 2 * 16 * 16 * 2;
    assert!(text.contains(&format!("\"data_offsets\":[0,{end}]")), "{text}");
    for (from, to, word) in [
        ("images", "pixels", "no tensor \"images\""),
        ("[9,2,16,16]", "[9,2,8,32]", "[9, 2, 8, 32]"),
        ("[9,2,16,16]", "[9,2,99,16]", "invalid shape"),
        ("U16", "F16", "pcb reads U8, U16 and F32"),
        ("U16", "U99", "invalid JSON"),
        ("[0,", "[8,", "offset"),
        ("{", "[", "invalid JSON"),
    ] {
        let mut bytes = sound[..8].to_vec();
        bytes.extend(text.replacen(from, to, 1).trim_end().bytes());
        bytes.resize(8 + header, b' ');
        bytes.extend(&sound[8 + header..]);
        fs::write(&file, bytes).expect("written");
        let error = refused((format.open)(&spec(&dataset, variant, &[0], (16, 16), Pad::Reflect))).to_string();
        assert!(error.contains(word) && error.contains(&file.display().to_string()), "{from} -> {to}: {error}");
    }
    for claimed in [header as u64 + 8, 99_000_000, 1 << 40, u64::MAX] {
        let mut bytes = sound.clone();
        bytes[..8].copy_from_slice(&claimed.to_le_bytes());
        fs::write(&file, bytes).expect("written");
        let error = refused((format.open)(&spec(&dataset, variant, &[0], (16, 16), Pad::Reflect))).to_string();
        assert!(error.contains(&file.display().to_string()), "{claimed}: {error}");
    }
}

#[test]
fn ids_that_cannot_name_a_tensor_are_refused() {
    let folder = support::folder();
    let dataset = make(folder.path(), Dtype::U8, 1, &[(8, 8)], (4, 4));
    let (format, variant) = find("safetensors", "keys", Layout::Object).expect("known");
    for (row, id) in [(3, "__metadata__"), (5, "s0-1")] {
        let mut other = Dataset::clone(&dataset);
        other.objects.rows[row] = Object { id: id.to_owned(), ..other.objects.rows[row].clone() };
        let error = refused(store::write(&other, format, variant, &mut |_, _| {}));
        assert!(matches!(error, FormatError::Unsupported(_)) && error.to_string().contains(id), "{error}");
    }
    // Any other text is a name.
    let mut other = Dataset::clone(&dataset);
    other.objects.rows[0].id = "\"quoted\" \\ µ\n\0".to_owned();
    let other = std::sync::Arc::new(other);
    support::write(&other, format, variant);
    store::verify(&other, format, variant, &mut |_, _| {}).expect("verifies");
}

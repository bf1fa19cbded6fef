//! Damaged stored forms of every format: whatever is changed in one of its files, reading and verifying give an answer or
//! an error, never a panic. `PROPTEST_CASES=100000` makes a long search of it.

mod support;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pcb_formats::{Dataset, Format, Pixels, Probe, Variant, store};
use pcb_protocol::{Dtype, Pad};
use proptest::prelude::*;
use support::{filed_variants, files_below, make, spec, write};

/// A stored form, and the bytes of each of its files.
struct Form {
    dataset: Arc<Dataset>,
    format: &'static Format,
    variant: &'static Variant,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Every stored form of one small dataset. Its folder lives as long as the process.
fn forms() -> &'static [Form] {
    static FORMS: OnceLock<Vec<Form>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let folder = Box::leak(Box::new(support::folder()));
        let dataset = make(folder.path(), Dtype::U16, 2, &[(40, 50)], (16, 16));
        let mut forms: Vec<Form> = Vec::new();
        for (format, variant) in filed_variants() {
            let dir = dataset.stored_dir(format.name, variant);
            if forms.iter().any(|form| form.dataset.stored_dir(form.format.name, form.variant) == dir) {
                continue;
            }
            write(&dataset, format, variant);
            let files = files_below(&dir).into_iter().map(|file| (file.clone(), fs::read(&file).expect("read")));
            forms.push(Form { dataset: Arc::clone(&dataset), format, variant, files: files.collect() });
        }
        forms
    })
}

/// Reads every object, then verifies.
fn read_anyhow(form: &Form) {
    let Form { dataset, format, variant, .. } = form;
    let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
    let mut out = Pixels::zeros(dataset.info.dtype, spec.crop_bytes() / dataset.info.dtype.size());
    if let Ok(mut reader) = (format.open)(&spec) {
        for object in 0..dataset.objects.rows.len() {
            let _ = reader.read(object, out.bytes_mut(), &mut Probe::none());
        }
    }
    let _ = store::check_objects(format, &spec, &[0, dataset.objects.rows.len() - 1]);
    let _ = store::verify(dataset, format, variant, &mut |_, _| {});
}

/// What happens to a file.
#[derive(Debug, Clone)]
enum Damage {
    /// Bytes from the start or the end take another value.
    Bytes(Vec<(bool, usize, u8)>),
    /// It ends early.
    Cut(usize),
    /// A part of it stands twice.
    Again(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let value = prop_oneof![
        any::<u8>(),
        Just(0),
        Just(1),
        Just(0xff),
        Just(0x7f),
        Just(0x80),
        Just(b'0'),
        Just(b'9'),
        Just(b'"')
    ];
    let place = prop_oneof![4 => 0_usize..400, 1 => 0_usize..20_000];
    prop_oneof![
        6 => prop::collection::vec((any::<bool>(), place, value), 1..6).prop_map(Damage::Bytes),
        1 => (0_usize..20_000).prop_map(Damage::Cut),
        1 => (0_usize..2000, 1_usize..64).prop_map(|(place, length)| Damage::Again(place, length)),
    ]
}

impl Damage {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let n = bytes.len();
        match self {
            Self::Bytes(changes) => {
                for &(from_end, place, value) in changes.iter().filter(|(_, place, _)| *place < n) {
                    bytes[if from_end { n - 1 - place } else { place }] = value;
                }
            }
            Self::Cut(length) => bytes.truncate(length % (n + 1)),
            Self::Again(place, length) => {
                let start = place % (n + 1);
                let part = bytes[start..(start + length).min(n)].to_vec();
                bytes.splice(start..start, part);
            }
        }
        bytes
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn no_damage_panics_or_hangs(form in any::<prop::sample::Index>(), file in any::<prop::sample::Index>(), damage in damage()) {
        let form = form.get(forms());
        let (path, sound) = file.get(&form.files);
        fs::write(path, damage.apply(sound)).expect("written");
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read_anyhow(form)));
        fs::write(path, sound).expect("written");
        prop_assert!(outcome.is_ok(), "{}:{} panicked with {} damaged", form.format.name, form.variant.name, path.display());
    }
}

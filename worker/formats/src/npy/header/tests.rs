use proptest::prelude::*;

use super::*;

/// `numpy.save` of numpy 2.4.6, the bytes before the pixels.
fn by_numpy(text: &str) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00v\x00".to_vec();
    bytes.extend(format!("{text:<117}\n").into_bytes());
    bytes
}

#[test]
fn headers_are_those_of_numpy() {
    let text = "{'descr': '<u2', 'fortran_order': False, 'shape': (3, 96, 128), }";
    assert_eq!(encode(Dtype::U16, &[3, 96, 128]), by_numpy(text));
    let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }";
    assert_eq!(encode(Dtype::U8, &[7]), by_numpy(text));
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 5, 128, 128), }";
    assert_eq!(encode(Dtype::F32, &[10, 5, 128, 128]), by_numpy(text));
}

#[test]
fn every_version_order_and_quote_is_read() {
    let text = b"{\"shape\": (2L, 3L), \"fortran_order\":True ,\"descr\":\">f4\"}\n";
    for version in 1..=3 {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text);
        let header = parse(&bytes).expect("a sound header");
        let expected =
            Header { dtype: Dtype::F32, big_endian: true, fortran: true, shape: vec![2, 3], data: bytes.len() };
        assert_eq!(header, expected);
    }
}

#[test]
fn a_dtype_that_pcb_lacks_is_named() {
    for (descr, name) in [("'<i8'", "<i8"), ("'|b1'", "|b1"), ("[('a', '<u2')]", "structured")] {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3,), }}");
        match parse(&by_numpy(&text)) {
            Err(HeaderError::Unsupported(what)) => assert!(what.contains(name), "{what}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn lies_are_told() {
    let sound = by_numpy("{'descr': '<u2', 'fortran_order': False, 'shape': (3, 96, 128), }");
    assert!(parse(&sound).is_ok());
    for cut in 0..sound.len() {
        assert!(matches!(parse(&sound[..cut]), Err(HeaderError::Corrupt(_))), "{cut}");
    }
    let mut long = sound.clone();
    long[6] = 2;
    long[8..12].fill(0xff);
    assert!(matches!(parse(&long), Err(HeaderError::Corrupt(_))));
    let huge = by_numpy("{'descr': '<u2', 'fortran_order': False, 'shape': (9999999999, 9999999999), }");
    assert_eq!(parse(&huge).expect("sound in itself").file_len(), None);
    let negative = by_numpy("{'descr': '<u2', 'fortran_order': False, 'shape': (-3, 4), }");
    assert!(matches!(parse(&negative), Err(HeaderError::Corrupt(_))));
}

proptest! {
    #[test]
    fn what_was_encoded_is_read_back(shape in prop::collection::vec(0_usize..100_000, 0..6), kind in 0_usize..3) {
        let dtype = Dtype::ALL[kind];
        let bytes = encode(dtype, &shape);
        prop_assert_eq!(bytes.len() % ALIGNMENT, 0);
        let header = Header { dtype, big_endian: false, fortran: false, shape, data: bytes.len() };
        prop_assert_eq!(parse(&bytes), Ok(header));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
        let mut headed = by_numpy("");
        headed.splice(10.., bytes);
        let _ = parse(&headed);
    }

    #[test]
    fn no_changed_byte_makes_it_panic(at in 0_usize..128, byte: u8) {
        let mut bytes = encode(Dtype::U16, &[3, 96, 128]);
        bytes[at] = byte;
        let _ = parse(&bytes);
    }
}

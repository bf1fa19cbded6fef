use std::io::Write;

use proptest::prelude::*;

use super::super::page::Page;
use super::*;

/// Whatever the bytes are: an answer, no panic, no memory beyond what the file's length allows.
fn read_anyhow(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    let file_of = File::open(file.path()).expect("opened");
    for page in 0..3 {
        match Page::read(file.path(), &file_of, page) {
            Ok(page) => assert!(page.chunks.len() <= bytes.len()),
            Err(error) => {
                let name = file.path().display().to_string();
                assert!(error.to_string().contains(&name), "{error} does not name the file");
            }
        }
    }
    let _ = super::super::tiff_pages(file.path());
}

/// A sound page of 4x4 u8 in one strip: header, pixels, directory.
fn sound(big_endian: bool, big: bool) -> Vec<u8> {
    let number = |value: u64, size: usize| -> Vec<u8> {
        let bytes = value.to_le_bytes()[..size].to_vec();
        if big_endian { bytes.into_iter().rev().collect() } else { bytes }
    };
    let word = if big { 8 } else { 4 };
    let start = if big { 16 } else { 8 };
    let mut bytes = if big_endian { b"MM".to_vec() } else { b"II".to_vec() };
    if big {
        bytes.extend([number(43, 2), number(8, 2), number(0, 2)].concat());
    } else {
        bytes.extend(number(42, 2));
    }
    bytes.extend(number(start + 16, word));
    bytes.extend(0..16);
    let tags = [(256, 4), (257, 4), (258, 8), (259, 1), (262, 1), (273, start), (277, 1), (278, 4), (279, 16)];
    bytes.extend(number(tags.len() as u64, if big { 8 } else { 2 }));
    for (tag, value) in tags {
        bytes.extend([number(tag, 2), number(4, 2), number(1, word), number(value, 4)].concat());
        if big {
            bytes.extend([0; 4]);
        }
    }
    bytes.extend(number(0, word));
    bytes
}

#[test]
fn classic_and_big_tiff_in_both_orders_are_read() {
    for (big_endian, big) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(&sound(big_endian, big)).expect("written");
        let open = File::open(file.path()).expect("opened");
        let page = Page::read(file.path(), &open, 0).expect("a sound page");
        assert_eq!((page.info.height, page.info.width, page.chunk_height), (4, 4, 4));
        assert_eq!(page.chunks, [(if big { 16 } else { 8 }, 16)]);
        let missing = Page::read(file.path(), &open, 1).expect_err("there is one page");
        assert!(missing.to_string().contains("has 1 pages"), "{missing}");
    }
}

#[test]
fn a_chain_that_bites_its_tail_ends() {
    let mut bytes = sound(false, false);
    let at = bytes.len() - 4;
    bytes[at..].copy_from_slice(&24_u32.to_le_bytes());
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&bytes).expect("written");
    let error = super::super::tiff_pages(file.path()).expect_err("a circle");
    assert!(error.to_string().contains("circle"), "{error}");
}

#[test]
fn every_truncation_is_an_error() {
    for (big_endian, big) in [(false, false), (true, true)] {
        let bytes = sound(big_endian, big);
        for len in 0..bytes.len() {
            read_anyhow(&bytes[..len]);
            let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
            file.write_all(&bytes[..len]).expect("written");
            let open = File::open(file.path()).expect("opened");
            assert!(Page::read(file.path(), &open, 0).is_err(), "{len}");
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), big: bool, order: bool) {
        read_anyhow(&bytes);
        let mut headed = sound(order, big);
        headed.truncate(if big { 16 } else { 8 });
        headed.extend(bytes);
        read_anyhow(&headed);
    }

    #[test]
    fn no_changed_bytes_make_it_panic(
        changes in prop::collection::vec((0_usize..200, any::<u8>()), 1..4),
        big: bool,
        order: bool,
    ) {
        let mut bytes = sound(order, big);
        for (at, byte) in changes {
            let len = bytes.len();
            bytes[at % len] = byte;
        }
        read_anyhow(&bytes);
    }
}

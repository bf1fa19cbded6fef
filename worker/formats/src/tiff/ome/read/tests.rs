use proptest::prelude::*;

use super::super::describe;
use super::*;

/// Channels of a file `a.tif` of `pages` pages, by name and page.
fn of(pixels: &str, pages: usize) -> Result<Channels, String> {
    let text = format!(
        r#"<?xml version="1.0"?><!-- a comment --><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:1">
        <Plate ID="P"/><Image ID="Image:0">{pixels}</Image><Image ID="Image:1"/></OME>"#
    );
    channels(&text, "a.tif", pages).map(|found| found.expect("OME-XML"))
}

fn pages(pixels: &str, count: usize) -> Vec<u32> {
    of(pixels, count).expect("sound").into_iter().map(|(_, page)| page).collect()
}

#[test]
fn our_own_text_comes_back() {
    let names = ["DNA", "µ <&\"> ER", "ch3"].map(str::to_owned);
    let text = describe("a & b", &names, pcb_protocol::Dtype::U16, 5, 7);
    let found = channels(&text, "any.ome.tif", 3).expect("sound").expect("OME-XML");
    assert_eq!(found, names.into_iter().zip(0..).map(|(name, page)| (Some(name), page)).collect::<Vec<_>>());
}

#[test]
fn the_order_of_dimensions_decides_where_channels_lie() {
    let pixels = |order: &str, data: &str| {
        format!(r#"<Pixels DimensionOrder="{order}" SizeC="2" SizeZ="3" SizeT="4">{data}</Pixels>"#)
    };
    for data in ["<TiffData/>", "", "<TiffData IFD=\"0\" PlaneCount=\"24\"/>"] {
        for (order, expected) in [
            ("XYCZT", [0, 1]),
            ("XYCTZ", [0, 1]),
            ("XYZCT", [0, 3]),
            ("XYZTC", [0, 12]),
            ("XYTCZ", [0, 4]),
            ("XYTZC", [0, 12]),
        ] {
            assert_eq!(pages(&pixels(order, data), 24), expected, "{order} {data}");
        }
    }
    let shuffled = r#"<TiffData IFD="5" FirstC="0"/><TiffData FirstC="1" IFD="2"/><TiffData IFD="0" FirstZ="1"/>"#;
    assert_eq!(pages(&pixels("XYZCT", shuffled), 6), [5, 2]);
    // Planes from the second channel's last z plane on: the next is the first of the next time point.
    let wrapped = r#"<TiffData IFD="1" FirstC="1" PlaneCount="3"/><TiffData IFD="0"/>"#;
    assert_eq!(pages(&pixels("XYZCT", wrapped), 4), [0, 1]);
}

#[test]
fn names_are_those_of_the_channels_where_they_have_one() {
    let pixels = r#"<Pixels SizeC="4"><Channel Name=" DNA "/><Channel/><Channel Name=""/></Pixels>"#;
    let names: Vec<_> = of(pixels, 4).expect("sound").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [Some("DNA".to_owned()), None, None, None]);
}

#[test]
fn planes_of_other_files_are_told_from_those_of_renamed_ones() {
    let uuid =
        |file: &str, id: &str| format!(r#"<TiffData IFD="0"><UUID FileName="{file}">urn:uuid:{id}</UUID></TiffData>"#);
    let pixels = |data: String| format!("<Pixels SizeC=\"1\">{data}</Pixels>");
    assert_eq!(pages(&pixels(uuid("a.tif", "7")), 1), [0]);
    assert_eq!(pages(&pixels(uuid("renamed.tif", "1")), 1), [0]);
    let error = of(&pixels(uuid("b.tif", "7")), 1).expect_err("elsewhere");
    assert!(error.contains("OME-TIFFs of one file"), "{error}");
}

#[test]
fn texts_of_other_programs_are_not_ome_xml() {
    for text in
        ["", "ImageJ=1.53\nchannels=3", "<MetaData><prop id=\"OME\"/></MetaData>", "<OME", "< OME broken", "OME"]
    {
        assert_eq!(channels(text, "a.tif", 1), Ok(None), "{text:?}");
    }
}

#[test]
fn lies_are_errors() {
    for (pixels, word) in [
        (r#"<Pixels SizeC="3"/>"#, "3 channels; the file has 2 pages"),
        (r#"<Pixels SizeC="0"/>"#, "SizeC"),
        (r#"<Pixels SizeC="-1"/>"#, "whole number"),
        (r#"<Pixels SizeC="99999999999999999999"/>"#, "whole number"),
        (r#"<Pixels DimensionOrder="XYZZT"/>"#, "XYZZT"),
        (r#"<Pixels DimensionOrder="ZCT"/>"#, "ZCT"),
        (r#"<Pixels><TiffData IFD="2"/></Pixels>"#, "page 2"),
        (r#"<Pixels><TiffData IFD="0" PlaneCount="4294967295"/></Pixels>"#, "4294967295 planes"),
        (r#"<Pixels SizeZ="9"><TiffData/><TiffData/></Pixels>"#, "more planes"),
        (r#"<Pixels SizeC="2"><TiffData FirstC="2" IFD="0"/></Pixels>"#, "FirstC"),
        (r#"<Pixels SizeC="2"><TiffData FirstC="1" IFD="0"/></Pixels>"#, "channel 0"),
        (
            r#"<Pixels SizeZ="4294967295" SizeT="4294967295"><TiffData FirstZ="4294967294" FirstT="4294967294"/></Pixels>"#,
            "channel 0",
        ),
        ("<BinaryOnly/>", "no image"),
        ("<Pixels>", "broken"),
    ] {
        let error = of(pixels, 2).expect_err(pixels);
        assert!(error.contains(word), "{pixels}: {error}");
    }
    let bomb = r#"<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>
        <OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">&b;</OME>"#;
    assert!(channels(bomb, "a.tif", 1).is_err());
    let deep = format!("<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\">{}", "<a>".repeat(100_000));
    assert!(channels(&deep, "a.tif", 1).is_err());
    let deep = format!("<OME>{}{}</OME>", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert!(channels(&deep, "a.tif", 1).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), pages in 0_usize..5) {
        let _ = channels(&text, "a.tif", pages);
        let _ = channels(&format!("<OME>{text}</OME>"), "a.tif", pages);
    }

    #[test]
    fn no_changed_text_makes_it_panic(at in 0_usize..2000, with in any::<char>(), cut in 0_usize..4, pages in 0_usize..5) {
        let names = ["DNA", "ER"].map(str::to_owned);
        let mut text: Vec<char> = describe("a", &names, pcb_protocol::Dtype::U16, 5, 7).chars().collect();
        let at = at % text.len();
        text.splice(at..(at + cut).min(text.len()), [with]);
        let text: String = text.into_iter().collect();
        if let Ok(Some(found)) = channels(&text, "a.tif", pages) {
            prop_assert!(found.iter().all(|&(_, page)| (page as usize) < pages));
        }
    }
}

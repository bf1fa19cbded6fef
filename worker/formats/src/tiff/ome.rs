//! The OME-XML of an OME-TIFF: what the pages of one site or record are.

mod read;

use pcb_protocol::Dtype;

pub use read::channels;

/// OME-XML (2016-06) for one image of one page per channel, in ASCII, as TIFF wants its texts.
pub fn describe(name: &str, channels: &[String], dtype: Dtype, height: u32, width: u32) -> String {
    let kind = match dtype {
        Dtype::U8 => "uint8",
        Dtype::U16 => "uint16",
        Dtype::F32 => "float",
    };
    let count = channels.len();
    let named: String = channels
        .iter()
        .enumerate()
        .map(|(index, channel)| {
            format!(r#"<Channel ID="Channel:0:{index}" Name="{}" SamplesPerPixel="1"/>"#, escape(channel))
        })
        .collect();
    let pages: String = (0..count)
        .map(|index| format!(r#"<TiffData IFD="{index}" FirstC="{index}" FirstZ="0" FirstT="0" PlaneCount="1"/>"#))
        .collect();
    format!(
        concat!(
            r#"<?xml version="1.0" encoding="UTF-8"?>"#,
            r#"<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" "#,
            r#"xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" "#,
            r#"xsi:schemaLocation="http://www.openmicroscopy.org/Schemas/OME/2016-06 "#,
            r#"http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd" Creator="pcb">"#,
            r#"<Image ID="Image:0" Name="{name}">"#,
            r#"<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="{kind}" BigEndian="false" "#,
            r#"SizeX="{width}" SizeY="{height}" SizeZ="1" SizeC="{count}" SizeT="1">"#,
            r#"{named}{pages}</Pixels></Image></OME>"#,
        ),
        name = escape(name),
        kind = kind,
        width = width,
        height = height,
        count = count,
        named = named,
        pages = pages,
    )
}

/// Text for an XML attribute; what is not printable ASCII becomes a character reference.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            ' '..='~' => escaped.push(c),
            // XML 1.0 has no way to write the other control characters.
            '\t' | '\n' | '\r' | '\u{7f}'.. => escaped.push_str(&format!("&#x{:x};", c as u32)),
            _ => escaped.push('?'),
        }
    }
    escaped
}

//! What the OME-XML of a TIFF file says about its pages: which is the first z plane and time point of which channel.

use roxmltree::{Document, Node};

/// Name, where it has one, and page of each channel of an image.
pub type Channels = Vec<(Option<String>, u32)>;

/// Reads the OME-XML `text` of a file that is called `file` and has `pages` pages. `None` when it is no OME-XML.
pub fn channels(text: &str, file: &str, pages: usize) -> Result<Option<Channels>, String> {
    if !text.trim_start_matches('\u{feff}').trim_start().starts_with('<') || !text.contains("OME") {
        return Ok(None);
    }
    let document = match Document::parse(text) {
        Ok(document) => document,
        // Descriptions by other programs may look like XML.
        Err(_) if !text.contains("openmicroscopy.org/Schemas") => return Ok(None),
        Err(e) => return Err(format!("its OME-XML is broken: {e}")),
    };
    let root = document.root_element();
    if root.tag_name().name() != "OME" {
        return Ok(None);
    }
    let Some(pixels) = child(root, "Image").and_then(|image| child(image, "Pixels")) else {
        return Err("its OME-XML describes no image; pcb does not read companion files".to_owned());
    };
    let planes = Planes::of(pixels)?;
    let mut found = vec![None; planes.channels(pages)?];
    let own = |data: &Node<'_, '_>| is_own(*data, root.attribute("UUID"), file);
    let described: Vec<Node<'_, '_>> = children(pixels, "TiffData").collect();
    let mut left = pages;
    for &data in described.iter().filter(|data| own(data)) {
        let (first_page, count) = range(data, pages)?;
        left = left.checked_sub(count).ok_or_else(|| "its OME-XML lists more planes than it has pages".to_owned())?;
        let first = planes.first(data)?;
        for step in 0..count {
            match planes.place(first + step as u64) {
                Some((channel, 0, 0)) => found[channel] = Some((first_page + step) as u32),
                Some(_) => {}
                None => break,
            }
        }
    }
    if described.is_empty() {
        for page in 0..pages {
            if let Some((channel, 0, 0)) = planes.place(page as u64) {
                found[channel] = Some(page as u32);
            }
        }
    }
    let elsewhere = described.iter().any(|data| !own(data));
    let mut names = children(pixels, "Channel").map(|channel| channel.attribute("Name"));
    let mut channels = Vec::with_capacity(found.len());
    for (index, page) in found.into_iter().enumerate() {
        let Some(page) = page else {
            let hint = if elsewhere { "; pcb reads OME-TIFFs of one file" } else { "" };
            return Err(format!("its OME-XML puts no plane of channel {index} into this file{hint}"));
        };
        let name = names.next().flatten().map(str::trim).filter(|name| !name.is_empty());
        channels.push((name.map(str::to_owned), page));
    }
    Ok(Some(channels))
}

fn children<'a, 'b>(node: Node<'a, 'b>, name: &'static str) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

fn child<'a, 'b>(node: Node<'a, 'b>, name: &'static str) -> Option<Node<'a, 'b>> {
    children(node, name).next()
}

/// Whether the planes of a TiffData element lie in this file: it names no file, this one, or the identity that this one
/// has whatever it is called now.
fn is_own(data: Node<'_, '_>, identity: Option<&str>, file: &str) -> bool {
    child(data, "UUID").is_none_or(|uuid| {
        let same = identity.is_some_and(|identity| uuid.text().map(str::trim) == Some(identity.trim()));
        same || uuid.attribute("FileName") == Some(file)
    })
}

/// First page and number of planes of a TiffData element; all within the file.
fn range(data: Node<'_, '_>, pages: usize) -> Result<(usize, usize), String> {
    let first = number(data, "IFD")?;
    let count = match (number(data, "PlaneCount")?, first) {
        (Some(count), _) => count,
        (None, Some(_)) => 1,
        // Neither: all planes of the file in their order.
        (None, None) => pages as u64,
    };
    let first = first.unwrap_or(0);
    match first.checked_add(count) {
        Some(end) if end <= pages as u64 => Ok((first as usize, count as usize)),
        _ => Err(format!("its OME-XML puts {count} planes from page {first} on; the file has {pages} pages")),
    }
}

fn number(node: Node<'_, '_>, name: &str) -> Result<Option<u64>, String> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let number = text.trim().parse().ok().filter(|&number| number <= u64::from(u32::MAX));
    number.map(Some).ok_or_else(|| format!("its OME-XML says {name}={text:?}; expected a whole number"))
}

/// In which order the planes of an image follow each other.
struct Planes {
    /// Axis and length of each, that which runs fastest first.
    axes: [(char, u64); 3],
}

impl Planes {
    fn of(pixels: Node<'_, '_>) -> Result<Self, String> {
        let order = pixels.attribute("DimensionOrder").unwrap_or("XYZCT");
        let size = |axis: char| match number(pixels, &format!("Size{axis}"))? {
            Some(0) => Err(format!("its OME-XML says Size{axis}=\"0\"")),
            size => Ok((axis, size.unwrap_or(1))),
        };
        match order.strip_prefix("XY").map(|rest| rest.chars().collect::<Vec<_>>()).as_deref() {
            Some(&[a, b, c]) if ['Z', 'C', 'T'].iter().all(|axis| [a, b, c].contains(axis)) => {
                Ok(Self { axes: [size(a)?, size(b)?, size(c)?] })
            }
            _ => Err(format!("its OME-XML says DimensionOrder={order:?}; expected XY and then Z, C and T")),
        }
    }

    fn size(&self, wanted: char) -> u64 {
        self.axes.iter().find(|(axis, _)| *axis == wanted).map_or(1, |&(_, size)| size)
    }

    /// Number of channels, each of which has a page.
    fn channels(&self, pages: usize) -> Result<usize, String> {
        let channels = self.size('C');
        if channels > pages as u64 {
            return Err(format!("its OME-XML says {channels} channels; the file has {pages} pages"));
        }
        Ok(channels as usize)
    }

    /// Number of the first plane of a TiffData element.
    fn first(&self, data: Node<'_, '_>) -> Result<u64, String> {
        let (mut plane, mut stride) = (0_u64, 1_u64);
        for (axis, size) in self.axes {
            let at = number(data, &format!("First{axis}"))?.unwrap_or(0);
            if at >= size {
                return Err(format!("its OME-XML says First{axis}=\"{at}\" of {size}"));
            }
            plane = plane.saturating_add(at.saturating_mul(stride));
            stride = stride.saturating_mul(size);
        }
        // So that adding a number of pages cannot overflow; no file has that many planes.
        Ok(plane.min(u64::MAX / 2))
    }

    /// Channel, z and time of plane number `plane`; `None` past the last.
    fn place(&self, mut plane: u64) -> Option<(usize, u64, u64)> {
        let (mut channel, mut z, mut time) = (0, 0, 0);
        for (axis, size) in self.axes {
            let at = plane % size;
            plane /= size;
            match axis {
                'C' => channel = at as usize,
                'Z' => z = at,
                _ => time = at,
            }
        }
        (plane == 0).then_some((channel, z, time))
    }
}

#[cfg(test)]
mod tests;

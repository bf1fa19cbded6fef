//! Which pages of a TIFF file are the channels of its image.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use crate::FormatError;

use super::directory::TiffFile;
use super::ome;
use super::page::Page;

mod tag {
    pub const SUBFILE_TYPE: u16 = 254;
    pub const DESCRIPTION: u16 = 270;
}

/// Bits of a page's subfile type: a smaller copy of another page, a mask of one.
const COPY: u64 = 1;
const MASK: u64 = 4;

/// A page of a TIFF file that is a channel of its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiffChannel {
    /// The name that OME-XML gives it, else `ch` and its number from 1.
    pub name: String,
    /// Number of its page.
    pub page: u32,
}

/// The channels of the TIFF file at `path`, and the number of planes that it has in all. Where the file has OME-XML, the
/// channels are the first z plane and time point of each channel of its first image; else every page is one, but for
/// smaller copies and masks, which are no planes.
pub fn tiff_channels(path: &Path) -> Result<(Vec<TiffChannel>, usize), FormatError> {
    let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
    let tiff = TiffFile::open(path, &file)?;
    let directories = tiff.directories().collect::<Result<Vec<_>, _>>()?;
    let Some(first) = directories.first() else { return Err(tiff.missing(0, 0)) };
    // Colour and the like is told before what the XML says about it.
    Page::parse(&tiff, first)?;
    let text = tiff.text(first, tag::DESCRIPTION)?.unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let described = ome::channels(&text, &name, directories.len());
    let (pages, planes) = match described.map_err(|problem| FormatError::corrupt(path, problem))? {
        Some(pages) => (pages, directories.len()),
        None => {
            let mut pages = Vec::new();
            for (page, directory) in directories.iter().enumerate() {
                if tiff.number_or(directory, tag::SUBFILE_TYPE, 0)? & (COPY | MASK) == 0 {
                    pages.push((None, page as u32));
                }
            }
            let planes = pages.len();
            (pages, planes)
        }
    };
    for &(_, page) in &pages {
        Page::parse(&tiff, &directories[page as usize])?;
    }
    Ok((named(pages), planes))
}

/// Two channels of one name would be one: such names do not count.
fn named(pages: Vec<(Option<String>, u32)>) -> Vec<TiffChannel> {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for name in pages.iter().filter_map(|(name, _)| name.as_ref()) {
        *uses.entry(name.clone()).or_default() += 1;
    }
    let channel = |(index, (name, page)): (usize, (Option<String>, u32))| {
        let name = name.filter(|name| uses[name] == 1).unwrap_or_else(|| format!("ch{}", index + 1));
        TiffChannel { name, page }
    };
    pages.into_iter().enumerate().map(channel).collect()
}

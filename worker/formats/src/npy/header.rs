//! The header of a .npy file: versions 1 to 3, read; version 1 (or 2 when long), written as numpy writes it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use pcb_protocol::Dtype;

use crate::FormatError;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Headers of plain arrays are far shorter; a longer one is a lie or a structured type.
const LONGEST: usize = 64 * 1024;

/// Pixels begin at a multiple of this, as numpy has it: a mapping is aligned for every dtype.
const ALIGNMENT: usize = 64;

/// What a .npy file says about its array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Element type.
    pub dtype: Dtype,
    /// Whether elements are big-endian.
    pub big_endian: bool,
    /// Whether the first axis runs fastest.
    pub fortran: bool,
    /// Length of each axis, slowest first (as numpy shows it).
    pub shape: Vec<usize>,
    /// Offset of the first element in bytes.
    pub data: usize,
}

/// Why a header cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderError {
    /// Sound, but nothing that pcb reads.
    Unsupported(String),
    /// Not a header.
    Corrupt(String),
}

impl Header {
    /// Number of elements; `None` when it overflows.
    pub fn elements(&self) -> Option<usize> {
        self.shape.iter().try_fold(1_usize, |product, &axis| product.checked_mul(axis))
    }

    /// Length in bytes of a file with this header; `None` when it overflows.
    pub fn file_len(&self) -> Option<u64> {
        let bytes = self.elements()?.checked_mul(self.dtype.size())?;
        Some(bytes.checked_add(self.data)? as u64)
    }

    /// Reads the header of an open file and compares the file's length with it.
    pub fn read(path: &Path, file: &File) -> Result<Self, FormatError> {
        let len = file.metadata().map_err(|e| FormatError::io(path, e))?.len();
        let mut start = vec![0; len.min(512) as usize];
        let read = |buffer: &mut [u8]| file.read_exact_at(buffer, 0).map_err(|e| FormatError::io(path, e));
        read(&mut start)?;
        let refused = |error| match error {
            HeaderError::Unsupported(what) => FormatError::Unsupported(format!("{}: {what}", path.display())),
            HeaderError::Corrupt(problem) => FormatError::corrupt(path, problem),
        };
        let needed = header_len(&start).map_err(refused)?;
        if needed > start.len() && needed as u64 <= len {
            start.resize(needed, 0);
            read(&mut start)?;
        }
        let header = parse(&start).map_err(refused)?;
        match header.file_len() {
            Some(expected) if expected == len => Ok(header),
            Some(expected) => {
                let what = if len < expected { "truncated" } else { "too long" };
                Err(FormatError::corrupt(path, format!("{what}: {len} bytes, its header promises {expected}")))
            }
            None => Err(FormatError::corrupt(path, format!("impossible shape {:?}", header.shape))),
        }
    }
}

/// The header of a little-endian array in C order, with numpy's own bytes.
pub fn encode(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
    let descr = match dtype {
        Dtype::U8 => "|u1",
        Dtype::U16 => "<u2",
        Dtype::F32 => "<f4",
    };
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if axes.len() == 1 { "," } else { "" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", axes.join(", "));
    // numpy leaves room for the first axis to grow, so that a file can be appended to.
    let room = 21_usize.saturating_sub(axes.first().map_or(0, String::len));
    text.extend(std::iter::repeat_n(' ', if axes.is_empty() { 0 } else { room }));
    let prefix = 10;
    let total = (prefix + text.len() + 1).next_multiple_of(ALIGNMENT);
    text.extend(std::iter::repeat_n(' ', total - prefix - text.len() - 1));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    // Shapes have a few axes, so the text never outgrows the two bytes of version 1.
    bytes.extend([1, 0]);
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// Offset of the first element, from the first bytes of a file.
fn header_len(start: &[u8]) -> Result<usize, HeaderError> {
    if start.is_empty() {
        return Err(corrupt("empty file; expected a .npy array"));
    }
    if start.len() < 10 || &start[..6] != MAGIC {
        return Err(corrupt("not a .npy file"));
    }
    let (prefix, len) = match (start[6], start.get(8..12)) {
        (1, _) => (10, usize::from(u16::from_le_bytes([start[8], start[9]]))),
        (2 | 3, Some(&[a, b, c, d])) => (12, u32::from_le_bytes([a, b, c, d]) as usize),
        (2 | 3, _) => return Err(corrupt("truncated in its header")),
        (version, _) => return Err(HeaderError::Unsupported(format!(".npy version {version}; known: 1, 2, 3"))),
    };
    if len > LONGEST {
        return Err(corrupt(format!("a header of {len} bytes; expected {LONGEST} at most")));
    }
    Ok(prefix + len)
}

/// Reads a header from the first bytes of a file.
pub fn parse(start: &[u8]) -> Result<Header, HeaderError> {
    let data = header_len(start)?;
    let prefix = if start[6] == 1 { 10 } else { 12 };
    let Some(text) = start.get(prefix..data) else { return Err(corrupt("truncated in its header")) };
    let Ok(text) = str::from_utf8(text) else { return Err(corrupt("its header is not text")) };
    let mut literal = Literal { rest: text };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    literal.expect('{')?;
    while !literal.takes('}') {
        let key = literal.string()?;
        literal.expect(':')?;
        match key {
            "descr" => descr = Some(literal.string().map_err(|_| structured(text))?),
            "fortran_order" => fortran = Some(literal.boolean()?),
            "shape" => shape = Some(literal.shape()?),
            _ => return Err(corrupt(format!("unknown key {key:?} in its header"))),
        }
        if !literal.takes(',') {
            literal.expect('}')?;
            break;
        }
    }
    let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
        return Err(corrupt("its header lacks descr, fortran_order or shape"));
    };
    let (dtype, big_endian) = dtype(descr)?;
    Ok(Header { dtype, big_endian, fortran, shape, data })
}

fn dtype(descr: &str) -> Result<(Dtype, bool), HeaderError> {
    match descr {
        "|u1" | "<u1" | ">u1" | "u1" => Ok((Dtype::U8, false)),
        "<u2" => Ok((Dtype::U16, false)),
        ">u2" => Ok((Dtype::U16, true)),
        "<f4" => Ok((Dtype::F32, false)),
        ">f4" => Ok((Dtype::F32, true)),
        _ => Err(HeaderError::Unsupported(format!("dtype {descr:?}; pcb reads u1, u2 and f4 arrays"))),
    }
}

fn structured(text: &str) -> HeaderError {
    HeaderError::Unsupported(format!("a structured dtype; pcb reads u1, u2 and f4 arrays: {}", text.trim_end()))
}

fn corrupt(problem: impl Into<String>) -> HeaderError {
    HeaderError::Corrupt(problem.into())
}

/// Reads the few Python literals that a header is made of.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn takes(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), HeaderError> {
        if self.takes(wanted) { Ok(()) } else { Err(self.unexpected(&format!("{wanted:?}"))) }
    }

    fn unexpected(&self, wanted: &str) -> HeaderError {
        let found: String = self.rest.chars().take(20).collect();
        corrupt(format!("expected {wanted} in its header, found {found:?}"))
    }

    fn string(&mut self) -> Result<&'a str, HeaderError> {
        for quote in ['\'', '"'] {
            if self.takes(quote) {
                let Some((text, rest)) = self.rest.split_once(quote) else {
                    return Err(self.unexpected("a closing quote"));
                };
                self.rest = rest;
                return Ok(text);
            }
        }
        Err(self.unexpected("a string"))
    }

    fn boolean(&mut self) -> Result<bool, HeaderError> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<usize>, HeaderError> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.takes(')') {
            let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let Ok(axis) = self.rest[..digits].parse() else { return Err(self.unexpected("the length of an axis")) };
            shape.push(axis);
            self.rest = &self.rest[digits..];
            // Python 2 wrote long integers as `128L`.
            self.takes('L');
            if !self.takes(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests;

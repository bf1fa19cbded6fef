//! The words of a case that controller and workers share. Each is `Display` ⇄ `FromStr`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A word that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {got:?}; expected {expected}")]
pub struct ParseWordError {
    /// What was being read, for example `pattern`.
    pub what: &'static str,
    /// The text found.
    pub got: String,
    /// What would have been right.
    pub expected: &'static str,
}

/// Declares an enum whose values are words: `Display`, `FromStr`, serde, and `ALL`.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident ($what:literal, $expected:literal) { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// Every value, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word itself.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = ParseWordError;
            fn from_str(text: &str) -> Result<Self, ParseWordError> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(ParseWordError { what: $what, got: text.to_owned(), expected: $expected }),
                }
            }
        }
    };
}

words! {
    /// How pixels are laid out on disk.
    Layout("layout", "site or object") {
        /// Crops are cut from whole fields of view.
        Site = "site",
        /// One record per cell.
        Object = "object",
    }
}

words! {
    /// Which objects are read, and in what order.
    Pattern("pattern", "random, site, well, contiguous, paired-object or paired-well") {
        /// Objects in a shuffled order.
        Random = "random",
        /// All objects of a site together; sites shuffled.
        Site = "site",
        /// All objects of a well together; wells shuffled.
        Well = "well",
        /// Runs of neighbours in table order; runs shuffled.
        Contiguous = "contiguous",
        /// Two views of the same object a sample.
        PairedObject = "paired-object",
        /// Two different objects of the same well a sample.
        PairedWell = "paired-well",
    }
}

impl Pattern {
    /// Crops read for one sample: 1, or 2 for the paired patterns.
    pub fn views(self) -> usize {
        match self {
            Self::PairedObject | Self::PairedWell => 2,
            Self::Random | Self::Site | Self::Well | Self::Contiguous => 1,
        }
    }
}

words! {
    /// What happens to a crop after it was read.
    Tier("tier", "none, light or typical") {
        /// Nothing: the I/O ceiling.
        None = "none",
        /// Normalise per channel, resize.
        Light = "light",
        /// Random crop, flips, quarter turns, normalise per channel, then intensity jitter (normalising would undo it).
        Typical = "typical",
    }
}

words! {
    /// Element type of pixels.
    Dtype("dtype", "u8, u16 or f32") {
        /// 8-bit unsigned.
        U8 = "u8",
        /// 16-bit unsigned; handed to torch as the same bits in Int16.
        U16 = "u16",
        /// 32-bit float.
        F32 = "f32",
    }
}

impl Dtype {
    /// Bytes of one pixel.
    pub fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
        }
    }
}

words! {
    /// Where the data lies when a run starts.
    State("state", "cold, warm or asis") {
        /// Pages proven absent from the page cache before the run.
        Cold = "cold",
        /// Pages proven resident before and after the run.
        Warm = "warm",
        /// As found; nothing is claimed.
        AsIs = "asis",
    }
}

words! {
    /// What stands in a crop where it reaches past the edge of its site.
    Pad("padding", "reflect or zero") {
        /// The image mirrored at its edge; the edge pixel is not repeated (numpy's `reflect`).
        Reflect = "reflect",
        /// Zeros.
        Zero = "zero",
    }
}

/// Which channels a crop has, in which order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Channels {
    /// All channels of the dataset, in its order.
    All,
    /// These channels by index, in this order; written `0+2`.
    List(Vec<u16>),
}

impl Channels {
    /// The channel indices for a dataset with `count` channels.
    pub fn resolve(&self, count: usize) -> Vec<usize> {
        match self {
            Self::All => (0..count).collect(),
            Self::List(list) => list.iter().map(|&c| usize::from(c)).collect(),
        }
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::List(list) => {
                for (i, channel) in list.iter().enumerate() {
                    write!(f, "{}{channel}", if i == 0 { "" } else { "+" })?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Channels {
    type Err = ParseWordError;
    fn from_str(text: &str) -> Result<Self, ParseWordError> {
        if text == "all" {
            return Ok(Self::All);
        }
        let list: Result<Vec<u16>, _> = text.split('+').map(str::parse).collect();
        match list {
            Ok(list) => Ok(Self::List(list)),
            Err(_) => {
                Err(ParseWordError { what: "channels", got: text.to_owned(), expected: "all, or indices like 0+2" })
            }
        }
    }
}

/// The crop handed out for one view: channels, size in pixels, element type.
///
/// Written `all.128x96.u16`: channels, height x width, dtype.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crop {
    /// Channels, in order.
    pub channels: Channels,
    /// Height in pixels.
    pub height: u32,
    /// Width in pixels.
    pub width: u32,
    /// Element type handed out.
    pub dtype: Dtype,
}

impl fmt::Display for Crop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}x{}.{}", self.channels, self.height, self.width, self.dtype)
    }
}

impl FromStr for Crop {
    type Err = ParseWordError;
    fn from_str(text: &str) -> Result<Self, ParseWordError> {
        let error = || ParseWordError {
            what: "crop",
            got: text.to_owned(),
            expected: "channels.HEIGHTxWIDTH.dtype, like all.128x128.u16",
        };
        let mut parts = text.split('.');
        let (Some(channels), Some(size), Some(dtype), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(error());
        };
        let (height, width) = size.split_once('x').ok_or_else(error)?;
        Ok(Self {
            channels: channels.parse()?,
            height: height.parse().map_err(|_| error())?,
            width: width.parse().map_err(|_| error())?,
            dtype: dtype.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crop_reads_back_what_it_shows() {
        for text in ["all.128x128.u16", "0+2.64x96.f32", "1.1x1.u8"] {
            assert_eq!(text.parse::<Crop>().map(|c| c.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_wrong_word_names_the_right_ones() {
        let error = "shuffled".parse::<Pattern>().expect_err("no such pattern");
        assert!(error.to_string().contains("paired-well"), "{error}");
        for text in ["128x128", "all.128.u16", "all.axb.u16", "all.1x1.u16.x", "x.1x1.u16"] {
            assert!(text.parse::<Crop>().is_err(), "{text}");
        }
    }
}

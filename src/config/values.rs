//! Values of a sweep: one or a list, and crop sizes.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::case::{Host, Track};

/// One value or a list of them; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values<T>(Vec<T>);

impl<T> Values<T> {
    /// A single value.
    pub fn one(value: T) -> Self {
        Self(vec![value])
    }

    /// Several values.
    pub fn many<const N: usize>(values: [T; N]) -> Self {
        Self(values.into())
    }

    /// In the order written.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T: Serialize> Serialize for Values<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Values<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
            type Value = Values<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::StrDeserializer::new(text)).map(Values::one)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::I64Deserializer::new(number)).map(Values::one)
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::F64Deserializer::new(number)).map(Values::one)
            }
            fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::BoolDeserializer::new(flag)).map(Values::one)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Values::one)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                if values.is_empty() {
                    return Err(A::Error::custom(
                        "an empty list sweeps over nothing; leave the key out or give a value",
                    ));
                }
                Ok(Values(values))
            }
        }
        deserializer.deserialize_any(OneOrMany(PhantomData))
    }
}

/// Height and width of a crop in pixels, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Height.
    pub height: u32,
    /// Width.
    pub width: u32,
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("{text:?} is no crop size; write 128 or \"128x96\" (height x width), each at least 1");
        let (height, width) = text.split_once('x').unwrap_or((text, text));
        let (height, width) = (height.parse().map_err(|_| error())?, width.parse().map_err(|_| error())?);
        if height == 0 || width == 0 { Err(error()) } else { Ok(Self { height, width }) }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}x{}", self.height, self.width))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a crop size: 128 or \"128x96\" (height x width)")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, side: i64) -> Result<Size, E> {
                side.to_string().parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

/// Serde through `Display` and `FromStr`, for words whose table lives elsewhere.
macro_rules! serde_as_word {
    ($($name:ty),+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        }
    )+};
}
serde_as_word!(Track, Host);

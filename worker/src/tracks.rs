//! The tracks that need no tensor: one file each.

pub mod check;
pub mod null;

//! Comparing result files: verdicts through the library, the rest through the binary.

mod cli;
mod comparable;
mod render;
mod support;
mod verdicts;
mod view;

//! What people read of a result file: the renderers, the program `pcb-report`, and the documents made from the types.

mod check;
mod files;
mod picture;
mod program;
mod rows;
mod schema;
mod tables;

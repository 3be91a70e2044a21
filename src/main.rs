//! The program's door.

fn main() {}

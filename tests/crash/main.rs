//! Crashes.
fn main() {}

//! The rules that neither the compiler nor clippy can check, read off the tree itself.
//!
//! The house stands because lower floors know nothing of higher ones, and because one folder alone
//! speaks to RocksDB. Such a rule is never broken in one large step: a convenient `use` here, a
//! second place that opens the store there, a file that grows by twenty lines a week, one more
//! dependency for whoever embeds the core. So each rule is a function from a file to its breaches,
//! and each test first plants a breach and sees it caught, then holds the whole tree to the rule.
#![expect(clippy::arithmetic_side_effects, reason = "counts of lines and tokens in small files")]

mod imports;
mod packages;
mod source;
mod text;
mod tree;

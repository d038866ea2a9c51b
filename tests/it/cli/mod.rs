//! The command line, as a script meets it: the real program, on a directory of its own.
//!
//! A script rests on exit codes, on the one line an error takes, on JSON that loses no digit, and
//! on `apply` answering each line before it is sent the next. Each of these would break in silence.

mod apply;
mod exit_codes;
mod lines;
mod run;
mod verbs;

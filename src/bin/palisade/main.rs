//! The command line `palisade`.
//!
//! Parses the arguments, hands them to one command, and turns the result into an exit code.
//! Invariants: results go to standard output and errors to standard error; a reader that has gone
//! away ends the program quietly; nothing here decides anything, the library does.

mod apply;
mod args;
mod demo;
mod failure;
mod json;
mod output;
mod request;
mod store;
mod verbs;
mod wire;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use failure::{Exit, Failure};
use output::Output;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error),
    };
    match run(&cli) {
        Ok(code) => code,
        Err(failure) => {
            Output::of(&cli.global).failure(&failure);
            failure.exit().into()
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    let global = &cli.global;
    let output = Output::of(global);
    let exit = match &cli.command {
        Command::Demo(options) => return Ok(demo::run(options)),
        Command::DemoHolder(options) => return Ok(demo::holder::run(options)),
        Command::Init => store::init(global.data_dir()?, output)?,
        Command::Info => store::info(global.data_dir()?, output)?,
        Command::Verify => store::verify(global.data_dir()?, output)?,
        Command::Apply(apply) => apply::run(global.data_dir()?, apply)?,
        Command::Put(put) => verbs::put(global, put)?,
        Command::Get(get) => verbs::get(global, get)?,
        Command::Del(del) => verbs::del(global, del)?,
        Command::Add(add) => verbs::add(global, add)?,
        Command::Claim(on) => verbs::claim(global, on)?,
        Command::Read(read) => verbs::read(global, read)?,
        Command::Close(on) => verbs::close(global, on)?,
        Command::Retire(on) => verbs::retire(global, on)?,
        Command::Fence(on) => verbs::fence(global, on)?,
        Command::KeyState(of) => verbs::key_state(global, of)?,
    };
    Ok(exit.into())
}

/// Help that was asked for, or a usage error. A program that reads JSON gets that as JSON too.
fn unparsed(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        output::usage(error);
        return Exit::Usage.into();
    }
    // Whoever has stopped reading the help does not miss the rest.
    let _closed = error.print().is_err();
    Exit::Done.into()
}

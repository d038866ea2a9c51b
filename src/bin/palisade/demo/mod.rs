//! `palisade demo`: the whole story, with real processes and a real clock.
//!
//! The store is a child that runs `palisade apply`; lock holders are children too, whose lines the
//! demo carries; the lock is a small coordinator in a file, which knows nothing of the guard. All
//! that is seen goes into a [`log`], and at the end of each act [`claims`] judges that log: nothing
//! is claimed because it should be so. Invariants: every wait has a deadline; every child is dead
//! when the demo ends, however it ends; the exit code is 0 only if every claim was checked and held.

mod claims;
mod failure;
pub(crate) mod holder;
mod holding;
mod late_write;
mod lock;
mod log;
mod lost_answer;
#[cfg(test)]
mod planted;
mod process;
mod protocol;
mod sale;
mod sale_claims;
mod stage;
mod store;
mod time;
mod timeline;
mod wire;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use failure::{Doing, Failure, Result};
use stage::{COMPLAINTS, Stage};
use store::Store;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Work in this directory, which is made, and keep it. Default: a new one among the temporary
    /// files, removed at the end
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Keep the directory, with the store and the log of everything that happened
    #[arg(long)]
    keep: bool,
    /// Where to write the timeline
    #[arg(long, value_name = "FILE", default_value = "palisade-demo.svg")]
    svg: PathBuf,
}

pub(crate) fn run(options: &Options) -> ExitCode {
    match play(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) if failure.is_unheard() => ExitCode::FAILURE,
        Err(failure) => {
            let _unheard = writeln!(io::stderr(), "palisade demo: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Plays everything; says whether all claims held.
fn play(options: &Options) -> Result<bool> {
    let folder = Folder::make(options)?;
    let program = std::env::current_exe().doing("find its own program")?;
    let mut stage = Stage::new(&folder.path, program)?;
    let played = acts(&mut stage).and_then(|()| finish(&mut stage, &options.svg));
    match played {
        Ok(true) => {
            folder.remove_unless_kept()?;
            Ok(true)
        }
        Ok(false) => {
            stage.say(&format!("see {}", folder.path.display()))?;
            Ok(false)
        }
        Err(failure) if failure.is_unheard() => folder.remove_unless_kept().and(Err(failure)),
        Err(failure) => Err(folder.explain(&failure)),
    }
}

fn acts(stage: &mut Stage) -> Result<()> {
    for line in INTRODUCTION.lines() {
        stage.say(line)?;
    }
    late_write::without_guard(stage)?;
    let mut store = Store::create(stage)?;
    late_write::with_guard(stage, &mut store)?;
    lost_answer::play(stage, &mut store)?;
    sale::play(stage, store)
}

const INTRODUCTION: &str = "\
A lock is granted for a while, its lease, under a number that grows: the generation. A holder
that was paused may wake after its lease is over, and write over what its successor wrote. So
each write carries its generation as a fencing token. The guard keeps the highest token as its
fence, and refuses what is older. All processes, pauses and kills below are real.";

/// Draws the timeline and tells how it went.
fn finish(stage: &mut Stage, svg: &Path) -> Result<bool> {
    stage.flush_log()?;
    let held = stage.claims.iter().filter(|claim| claim.is_held).count();
    let all = stage.claims.len();
    stage.say("")?;
    stage.say(&format!("{held} of {all} claims held"))?;
    fs::write(svg, timeline::draw(&stage.log)).doing(format_args!("write {}", svg.display()))?;
    let elapsed = stage.start.elapsed().as_secs_f64();
    stage.say(&format!("timeline: {}  ({elapsed:.1} s)", svg.display()))?;
    Ok(all > 0 && held == all)
}

/// Where the demo works.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn make(options: &Options) -> Result<Self> {
        if let Some(path) = &options.dir {
            fs::create_dir_all(path).doing(format_args!("make {}", path.display()))?;
            let mut inside = fs::read_dir(path).doing(format_args!("read {}", path.display()))?;
            if inside.next().is_some() {
                return Err(Failure::new(format!("{} is not empty", path.display())));
            }
            return Ok(Self { path: path.clone(), is_kept: true });
        }
        let name = format!("palisade-demo-{}-{}", std::process::id(), time::unix_ms());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).doing(format_args!("make {}", path.display()))?;
        Ok(Self { path, is_kept: options.keep })
    }

    fn remove_unless_kept(self) -> Result<()> {
        if self.is_kept {
            return Ok(());
        }
        fs::remove_dir_all(&self.path).doing(format_args!("remove {}", self.path.display()))
    }

    /// Adds what the children complained of, and where to look.
    fn explain(&self, failure: &Failure) -> Failure {
        let complaints = fs::read_to_string(self.path.join(COMPLAINTS)).unwrap_or_default();
        let last = complaints.lines().last().map_or_else(String::new, |line| format!(" ({line})"));
        Failure::new(format!("{failure}{last}; see {}", self.path.display()))
    }
}

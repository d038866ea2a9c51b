//! A closed loop of writers, and the latencies it saw.

use std::fmt;
use std::time::{Duration, Instant};

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub mode: Mode,
    pub writers: usize,
    pub length: Duration,
}

/// Which resources are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// One of 10,000, at random.
    Many,
    /// Always the same one.
    Hot,
}

impl Mode {
    pub fn named(name: &str) -> Self {
        match name {
            "many" => Self::Many,
            "hot" => Self::Hot,
            other => {
                eprintln!("unknown mode {other:?}: many or hot");
                std::process::exit(2);
            }
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Many => "many",
            Self::Hot => "hot",
        })
    }
}

/// What one writer writes next.
#[derive(Clone, Debug)]
pub struct Write {
    pub resource: String,
    pub key: String,
}

/// What a run saw.
#[derive(Clone, Debug)]
pub struct Figures {
    pub per_second: f64,
    pub median: Duration,
    pub p99: Duration,
}

/// Runs `run.writers` tasks, each of which asks `write` again and again. A write that does not
/// succeed ends the bench: there is nothing to compare then.
pub async fn closed_loop<W, F>(run: Run, write: W) -> Figures
where
    W: Fn(Write) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let start = Instant::now() + WARM_UP;
    let end = start + run.length;
    let tasks: Vec<_> = (0..run.writers)
        .map(|writer| {
            let write = write.clone();
            tokio::spawn(async move {
                let mut source = Source::new(run.mode, writer);
                let mut latencies = Vec::new();
                loop {
                    let next = source.next();
                    let began = Instant::now();
                    if began >= end {
                        return latencies;
                    }
                    write(next).await;
                    let ended = Instant::now();
                    if began >= start && ended <= end {
                        latencies.push(ended - began);
                    }
                }
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    Figures::of(latencies, run.length)
}

impl Figures {
    fn of(mut latencies: Vec<Duration>, length: Duration) -> Self {
        assert!(!latencies.is_empty(), "no write fell into the measured time");
        latencies.sort_unstable();
        let at = |per_mille: usize| *latencies.get(latencies.len() * per_mille / 1_000).unwrap();
        Self {
            per_second: latencies.len() as f64 / length.as_secs_f64(),
            median: at(500),
            p99: at(990),
        }
    }
}

/// The writes of one writer: an own idempotency key each.
struct Source {
    mode: Mode,
    writer: usize,
    written: u64,
    random: u64,
}

impl Source {
    fn new(mode: Mode, writer: usize) -> Self {
        let random = 0x9e37_79b9_7f4a_7c15 ^ ((writer as u64 + 1) << 20);
        Self { mode, writer, written: 0, random }
    }

    fn next(&mut self) -> Write {
        self.written += 1;
        let resource = match self.mode {
            Mode::Hot => 0,
            Mode::Many => self.random() % RESOURCES,
        };
        Write {
            resource: format!("res-{resource:05}"),
            key: format!("idem-{:04}-{:016x}", self.writer, self.written),
        }
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }
}

const RESOURCES: u64 = 10_000;
const WARM_UP: Duration = Duration::from_millis(300);

//! What is measured.

use std::path::Path;
use std::sync::Arc;

use palisade::{FencingToken, Grant, Guard, WriteRequest};

use crate::load::{Figures, Run, closed_loop};
use crate::reference::{self, GroupCommit};

/// A system under measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum System {
    /// RocksDB, one synced write at a time on the caller's thread. For a lone writer only.
    Bare,
    /// Group commit by hand, without checks.
    ByHand,
    /// Palisade.
    Palisade,
    /// Palisade, while nine of ten writes are stale; what counts is the tenth.
    StaleStorm,
}

impl System {
    pub fn for_writers(writers: usize) -> Vec<Self> {
        if writers == 1 {
            vec![Self::Bare, Self::ByHand, Self::Palisade]
        } else {
            vec![Self::ByHand, Self::Palisade, Self::StaleStorm]
        }
    }

    pub fn named(name: &str) -> Self {
        match name {
            "bare" => Self::Bare,
            "byhand" => Self::ByHand,
            "palisade" => Self::Palisade,
            "stalestorm" => Self::StaleStorm,
            other => {
                eprintln!("unknown system {other:?}: bare, byhand, palisade or stalestorm");
                std::process::exit(2);
            }
        }
    }

    pub async fn measure(self, path: &Path, run: Run) -> Figures {
        match self {
            Self::Bare => {
                let db = reference::open(path);
                let figures = closed_loop(run, move |write| {
                    let db = Arc::clone(&db);
                    async move { reference::write_alone(&db, &write) }
                });
                figures.await
            }
            Self::ByHand => {
                let store = Arc::new(GroupCommit::open(path));
                let figures = closed_loop(run, move |write| {
                    let store = Arc::clone(&store);
                    async move { store.write(write).await }
                });
                figures.await
            }
            Self::Palisade => {
                let guard = Guard::create(path).await.unwrap();
                closed_loop(run, writer(guard)).await
            }
            Self::StaleStorm => {
                let guard = Guard::create(path).await.unwrap();
                let storm = tokio::spawn(storm(guard.clone(), run.writers * 9));
                let figures = closed_loop(run, writer(guard)).await;
                storm.abort();
                figures
            }
        }
    }
}

fn writer(guard: Guard) -> impl Fn(crate::load::Write) -> BoxFuture + Clone + Send + 'static {
    let token = FencingToken::generation(7).unwrap();
    move |write| {
        let guard = guard.clone();
        Box::pin(async move {
            let grant = Grant::new(write.resource, token).unwrap();
            let request = WriteRequest::under(&grant)
                .idempotency_key(write.key)
                .unwrap()
                .put("value", vec![b'v'; 100])
                .build()
                .unwrap();
            guard.write(request).await.unwrap();
        })
    }
}

type BoxFuture = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Stale writes to resources that the rightful holders write too, from as many tasks again.
async fn storm(guard: Guard, tasks: usize) {
    let old = FencingToken::generation(6).unwrap();
    let mut storm = tokio::task::JoinSet::new();
    for task in 0..tasks {
        let guard = guard.clone();
        storm.spawn(async move {
            for round in 0_usize.. {
                let resource = format!("res-{:05}", (task * 31 + round * 7) % 10_000);
                let grant = Grant::new(resource, old).unwrap();
                let request = WriteRequest::under(&grant).put("value", "late").build().unwrap();
                // Refused, or accepted where the rightful holder has not been yet.
                let _answer = guard.write(request).await.is_err();
            }
        });
    }
    while storm.join_next().await.is_some() {}
}

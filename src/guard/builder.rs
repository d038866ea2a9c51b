//! Building a guard from parts: settings, clock, hooks, engine.

use std::sync::Arc;

use crate::clock::Clock;
use crate::engine::{Engine, EngineContext, Hooks, MemoryEngine, MemoryStore};
use crate::error::OpenError;
use crate::guard::Guard;
use crate::settings::Settings;

/// Builds a [`Guard`] whose parts are not the default ones.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut settings = palisade::Settings::default();
/// settings.queue_requests_max = 1_000;
/// let guard = palisade::Guard::builder().settings(settings).in_memory()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until a store is opened"]
pub struct GuardBuilder {
    context: EngineContext,
}

impl GuardBuilder {
    /// Settings. Default: [`Settings::default`].
    pub fn settings(mut self, settings: Settings) -> Self {
        self.context.settings = settings;
        self
    }

    /// Where the time comes from. Default: the machine's clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.context.clock = clock;
        self
    }

    /// Where a test halts the engine. Default: nowhere.
    pub fn hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.context.hooks = hooks;
        self
    }

    /// Opens the store in the directory `path`. The work is done on a thread of its own.
    ///
    /// # Errors
    /// As [`Guard::open`].
    #[cfg(feature = "rocksdb")]
    pub async fn open(self, path: impl AsRef<std::path::Path>) -> Result<Guard, OpenError> {
        self.rocksdb(path.as_ref().to_owned(), Start::Existing).await
    }

    /// Makes an empty store in the directory `path` and opens it. The work is done on a thread of
    /// its own.
    ///
    /// # Errors
    /// As [`Guard::create`].
    #[cfg(feature = "rocksdb")]
    pub async fn create(self, path: impl AsRef<std::path::Path>) -> Result<Guard, OpenError> {
        self.rocksdb(path.as_ref().to_owned(), Start::New).await
    }

    /// A guard whose store lives in memory and ends with it.
    ///
    /// # Errors
    /// As [`Guard::in_memory`].
    pub fn in_memory(self) -> Result<Guard, OpenError> {
        let engine = MemoryEngine::open(&MemoryStore::new(), self.context.clone());
        self.on_engine(Arc::new(engine))
    }

    /// A guard on an engine of one's own. Clock and hooks are the engine's.
    ///
    /// # Errors
    /// [`OpenError`] if the machine has no thread left.
    pub fn on_engine(self, engine: Arc<dyn Engine>) -> Result<Guard, OpenError> {
        Guard::on(engine, self.context.settings)
    }

    #[cfg(feature = "rocksdb")]
    async fn rocksdb(self, path: std::path::PathBuf, start: Start) -> Result<Guard, OpenError> {
        use crate::engine::RocksEngine;

        let (tell, opened) = tokio::sync::oneshot::channel();
        let lost = path.clone();
        std::thread::Builder::new()
            .name("palisade-open".to_owned())
            .spawn(move || {
                let made = match start {
                    Start::New => RocksEngine::init(&path, &*self.context.clock),
                    Start::Existing => Ok(()),
                };
                let engine = made.and_then(|()| RocksEngine::open(&path, self.context.clone()));
                let guard = engine.and_then(|engine| self.on_engine(Arc::new(engine)));
                // Nobody waits any more: the store is closed again.
                let _unheard = tell.send(guard);
            })
            .map_err(|source| open_failed(&lost, source))?;
        opened.await.unwrap_or_else(|_| {
            Err(open_failed(&lost, std::io::Error::other("the opening thread broke down")))
        })
    }
}

#[cfg(feature = "rocksdb")]
enum Start {
    New,
    Existing,
}

#[cfg(feature = "rocksdb")]
fn open_failed(path: &std::path::Path, source: std::io::Error) -> OpenError {
    OpenError::Io { doing: "open", path: path.to_owned(), source }
}

//! The rule once more, from `semantics.md`, as plainly as it can be said.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use palisade::Condition;
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use super::answer::{Answer, Fenced, Refusal, Seen, State, Stored, Token, Written};
use super::plan::{self, Fate, RESOURCES, Step};
use super::system::Disk;

/// What is asked of a guard.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    Write { grant: Grant, key: Option<&'static str>, operations: Vec<Operation> },
    Claim(Grant),
    Close(Grant),
    Retire(Grant),
    ReadFenced(Grant, Vec<&'static str>),
    Read(&'static str, Vec<&'static str>),
    Fence(&'static str),
    KeyState(&'static str, &'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grant {
    pub(super) resource: &'static str,
    pub(super) token: Token,
    pub(super) holder: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operation {
    Put(&'static str, &'static str),
    PutCounter(&'static str, i64),
    Delete(&'static str),
    Add { key: &'static str, delta: i64, min: Option<i64>, max: Option<i64> },
    Check(&'static str, Condition),
}

impl Ask {
    pub(super) fn resource(&self) -> &'static str {
        match self {
            Self::Write { grant, .. }
            | Self::Claim(grant)
            | Self::Close(grant)
            | Self::Retire(grant)
            | Self::ReadFenced(grant, _) => grant.resource,
            Self::Read(resource, _) | Self::Fence(resource) | Self::KeyState(resource, _) => {
                resource
            }
        }
    }
}

/// The store, the disk it lies on, and what the last transition asked and was answered.
#[derive(Debug)]
pub(super) struct Model<D> {
    pub(super) inline_commits: bool,
    pub(super) head_cache_entries_max: usize,
    pub(super) resources: BTreeMap<&'static str, Resource>,
    /// The machine's clock, and the latest time the store has seen it at.
    pub(super) clock: u64,
    pub(super) now: u64,
    /// Every write that was ever asked, for retries.
    pub(super) writes: Vec<Ask>,
    pub(super) last: Last,
    disk: PhantomData<fn() -> D>,
}

/// By hand, because deriving it would ask for a disk that is.
impl<D> Clone for Model<D> {
    fn clone(&self) -> Self {
        Self {
            inline_commits: self.inline_commits,
            head_cache_entries_max: self.head_cache_entries_max,
            resources: self.resources.clone(),
            clock: self.clock,
            now: self.now,
            writes: self.writes.clone(),
            last: self.last.clone(),
            disk: PhantomData,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Last {
    /// In the order in which they are decided on.
    pub(super) exchanges: Vec<(Ask, Answer)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Resource {
    pub(super) fence: Option<Fenced>,
    pub(super) version: u64,
    pub(super) data: Data,
    pub(super) records: BTreeMap<&'static str, Record>,
}

type Data = BTreeMap<&'static str, (Stored, u64)>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    operations: Vec<Operation>,
    first: Written,
    pub(super) last_used: Token,
}

impl<D: Disk> ReferenceStateMachine for Model<D> {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        let heads = prop_oneof![Just(1_usize), Just(65_536)];
        (any::<bool>(), heads)
            .prop_map(|(inline_commits, head_cache_entries_max)| Self {
                inline_commits,
                head_cache_entries_max,
                resources: RESOURCES.map(|name| (name, Resource::default())).into(),
                clock: 1_000,
                now: 1_000,
                writes: Vec::new(),
                last: Last::default(),
                disk: PhantomData,
            })
            .boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        plan::steps(D::fates())
    }

    fn apply(mut model: Self, step: &Step) -> Self {
        model.last = Last::default();
        match step {
            Step::Ask(plan) => {
                let ask = plan.resolve(&model);
                model.exchange(ask);
            }
            Step::Together(plans) => {
                for plan in plans {
                    let ask = plan.resolve(&model);
                    model.exchange(ask);
                }
            }
            Step::Tick(clock) => model.clock = *clock,
            // A clock that was set back while the store was closed is another story.
            Step::Reopen => model.clock = model.clock.max(model.now),
            Step::Crash(plans, fate) => {
                model.clock = model.clock.max(model.now);
                model.crash(plans, *fate);
            }
        }
        model.now = model.now.max(model.clock);
        model
    }
}

impl<D: Disk> Model<D> {
    fn exchange(&mut self, ask: Ask) {
        if let Ask::Write { .. } = &ask {
            self.writes.push(ask.clone());
        }
        let answer = self.answer(&ask);
        self.last.exchanges.push((ask, answer));
    }

    fn answer(&mut self, ask: &Ask) -> Answer {
        self.now = self.now.max(self.clock);
        let resource = self.resources.get_mut(ask.resource()).unwrap();
        resource
            .decide(ask, self.now)
            .unwrap_or_else(|refusal| Answer::Refused(ask.resource().to_owned(), refusal))
    }

    /// All of `plans` in one commit, which fails as `fate` says.
    fn crash(&mut self, plans: &[plan::Plan], fate: Fate) {
        let before = self.resources.clone();
        for plan in plans {
            let ask = plan.resolve(self);
            self.exchange(ask);
        }
        if fate == Fate::Kill {
            return;
        }
        if self.resources == before {
            // A commit that writes nothing cannot fail; this one does write.
            let ask = Ask::Claim(plan::newest(self));
            self.exchange(ask);
        }
        for (_, answer) in &mut self.last.exchanges {
            *answer = Answer::InDoubt;
        }
        if fate != Fate::SyncFailsAndIsKept {
            self.resources = before;
        }
    }
}

impl Resource {
    /// What a read without a grant answers.
    pub(super) fn see(&self, ask: &Ask) -> Answer {
        self.clone().decide(ask, 0).unwrap()
    }

    fn decide(&mut self, ask: &Ask, now: u64) -> Result<Answer, Refusal> {
        match ask {
            Ask::Write { grant, key, operations } => {
                self.write(grant, *key, operations, now).map(Answer::Written)
            }
            Ask::Claim(grant) => {
                let previous = self.fence.clone();
                self.admit(grant, now).map_err(|why| self.refusal(why, grant, None, now))?;
                Ok(self.fenced(previous))
            }
            Ask::Close(grant) | Ask::Retire(grant) => {
                let previous = self.fence.clone();
                self.admit_end(grant, now).map_err(|why| self.refusal(why, grant, None, now))?;
                if matches!(ask, Ask::Retire(_)) && !self.data.is_empty() {
                    self.data.clear();
                    self.version += 1;
                }
                self.fence.as_mut().unwrap().closed = true;
                Ok(self.fenced(previous))
            }
            Ask::ReadFenced(grant, keys) => {
                self.admit(grant, now).map_err(|why| self.refusal(why, grant, None, now))?;
                Ok(self.seen(keys))
            }
            Ask::Read(_, keys) => Ok(self.seen(keys)),
            Ask::Fence(_) => Ok(Answer::Head { fence: self.fence.clone(), version: self.version }),
            Ask::KeyState(_, key) => Ok(Answer::KeyState(self.key_state(key))),
        }
    }

    fn write(
        &mut self,
        grant: &Grant,
        key: Option<&'static str>,
        operations: &[Operation],
        now: u64,
    ) -> Result<Written, Refusal> {
        if let Some(key) = key
            && let Some(record) = self.records.get(key).cloned()
        {
            let admitted = self.admit(grant, now).is_ok();
            if record.operations != operations {
                return Err(Refusal::Reused {
                    key: key.to_owned(),
                    first_version: record.first.version,
                    first_token: record.first.token,
                });
            }
            if admitted && grant.token > record.last_used {
                self.records.get_mut(key).unwrap().last_used = grant.token;
            }
            return Ok(Written { replayed: true, fence: self.fence.clone(), ..record.first });
        }
        self.admit(grant, now).map_err(|why| self.refusal(why, grant, key, now))?;
        let (mut data, mut results, mut changed) = (self.data.clone(), Vec::new(), false);
        for operation in operations {
            results.push(apply(operation, &mut data, self.version + 1, &mut changed)?);
        }
        self.data = data;
        self.version += u64::from(changed);
        let written = Written {
            replayed: false,
            version: self.version,
            token: grant.token,
            applied_at: now,
            results,
            fence: self.fence.clone(),
        };
        if let Some(key) = key {
            let (operations, first) = (operations.to_vec(), written.clone());
            self.records.insert(key, Record { operations, first, last_used: grant.token });
        }
        Ok(written)
    }

    fn admit(&mut self, grant: &Grant, now: u64) -> Result<(), Denied> {
        let holder = grant.holder.map(str::to_owned);
        match &mut self.fence {
            Some(fence) if grant.token < fence.token => Err(Denied::Stale),
            Some(fence) if grant.token == fence.token => {
                if fence.closed {
                    return Err(Denied::Closed);
                }
                if fence.holder.is_some() && holder.is_some() && fence.holder != holder {
                    return Err(Denied::Split);
                }
                fence.holder = fence.holder.take().or(holder);
                Ok(())
            }
            Some(_) | None => {
                let token = grant.token;
                self.fence = Some(Fenced { token, holder, closed: false, raised_at: now });
                Ok(())
            }
        }
    }

    /// The call that closed the generation may be repeated.
    fn admit_end(&mut self, grant: &Grant, now: u64) -> Result<(), Denied> {
        let denied = self.admit(grant, now);
        let bound = self.fence.as_ref().and_then(|fence| fence.holder.as_deref());
        let same = bound.is_none() || grant.holder.is_none() || bound == grant.holder;
        if matches!(denied, Err(Denied::Closed)) && same { Ok(()) } else { denied }
    }

    fn refusal(
        &self,
        denied: Denied,
        grant: &Grant,
        key: Option<&'static str>,
        now: u64,
    ) -> Refusal {
        let fence = self.fence.clone().unwrap();
        let key_state = key.map(|key| self.key_state(key));
        match denied {
            Denied::Stale => Refusal::Stale {
                presented: grant.token,
                current: fence.token,
                current_holder: fence.holder,
                raised_at: fence.raised_at,
                raised_ago: now - fence.raised_at,
                key_state,
            },
            Denied::Closed => Refusal::Closed { token: fence.token, key_state },
            Denied::Split => Refusal::Split {
                token: fence.token,
                first_holder: fence.holder.unwrap(),
                key_state,
            },
        }
    }

    fn key_state(&self, key: &str) -> State {
        let fence = self.fence.clone();
        let again = |record: &Record| {
            Box::new(Written { replayed: true, fence: fence.clone(), ..record.first.clone() })
        };
        State { applied: self.records.get(key).map(again), fence }
    }

    fn fenced(&self, previous: Option<Fenced>) -> Answer {
        Answer::Fenced { previous, fence: self.fence.clone().unwrap(), version: self.version }
    }

    fn seen(&self, keys: &[&'static str]) -> Answer {
        let entry = |key: &&'static str| {
            self.data.get(key).map(|(value, version)| Seen {
                key: (*key).to_owned(),
                value: value.clone(),
                version: *version,
            })
        };
        Answer::Seen {
            entries: keys.iter().map(entry).collect(),
            version: self.version,
            fence: self.fence.clone(),
        }
    }
}

#[derive(Clone, Copy)]
enum Denied {
    Stale,
    Closed,
    Split,
}

fn apply(
    operation: &Operation,
    data: &mut Data,
    version: u64,
    changed: &mut bool,
) -> Result<Option<i64>, Refusal> {
    match *operation {
        Operation::Put(key, value) => {
            data.insert(key, (Stored::Bytes(value.to_owned()), version));
        }
        Operation::PutCounter(key, value) => {
            data.insert(key, (Stored::Counter(value), version));
        }
        Operation::Delete(key) => {
            *changed |= data.remove(key).is_some();
            return Ok(None);
        }
        Operation::Add { key, delta, min, max } => {
            let value = match data.get(key) {
                None => 0,
                Some((Stored::Counter(value), _)) => *value,
                Some((Stored::Bytes(_), _)) => return Err(Refusal::Type { key: key.to_owned() }),
            };
            let sum = i128::from(value) + i128::from(delta);
            let least = i128::from(min.unwrap_or(i64::MIN));
            let greatest = i128::from(max.unwrap_or(i64::MAX));
            if sum < least || sum > greatest {
                return Err(Refusal::Bound { key: key.to_owned(), value, delta, min, max });
            }
            let sum = i64::try_from(sum).unwrap();
            data.insert(key, (Stored::Counter(sum), version));
            *changed = true;
            return Ok(Some(sum));
        }
        Operation::Check(key, expected) => {
            let found = data.get(key).map(|(_, version)| *version);
            let holds = match expected {
                Condition::Absent => found.is_none(),
                Condition::Present => found.is_some(),
                Condition::Version(version) => found == Some(version),
                other => panic!("a condition that the model does not know: {other:?}"),
            };
            if !holds {
                return Err(Refusal::Mismatch { key: key.to_owned(), expected, found });
            }
            return Ok(None);
        }
    }
    *changed = true;
    Ok(None)
}

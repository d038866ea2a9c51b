//! What happens in a history, drawn so that the rules meet.
//!
//! A plan speaks of "one below the fence" and "the third last write", not of numbers: whatever is
//! taken out of a history while it is made smaller, the rest keeps its sense.

use palisade::Condition;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::answer::Token;
use super::reference::{Ask, Grant, Model, Operation};
use super::system::Disk;

/// Names that begin alike, and a key that another key begins with.
pub(super) const RESOURCES: [&str; 3] = ["r1", "r10", "r1/x"];
pub(super) const KEYS: [&str; 4] = ["a", "b", "bb", "c"];
pub(super) const IDEMPOTENCY_KEYS: [&str; 4] = ["first", "second", "third", "fourth"];

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// One request, and its answer.
    Ask(Plan),
    /// Many requests at once; those of one resource are decided on in this order.
    Together(Vec<Plan>),
    /// The machine's clock is set, forwards or back.
    Tick(u64),
    /// Close the store and open it again.
    Reopen,
    /// All of the requests in one commit, which ends as the fate says; then the store is opened
    /// again.
    Crash(Vec<Plan>, Fate),
}

/// How a commit ends that is the last one before the store is opened again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    /// The write fails: nothing of it is there.
    WriteFails,
    /// The sync fails, and the data is there all the same.
    SyncFailsAndIsKept,
    /// The sync fails, and the power with it: nothing of it is there.
    SyncFailsAndIsLost,
    /// The process is killed after the answers left: all of it is there.
    Kill,
}

#[derive(Clone, Debug)]
pub(super) enum Plan {
    Write {
        by: By,
        key: Option<&'static str>,
        operations: Vec<Planned>,
    },
    /// An earlier write, just as it was sent.
    Again(Index),
    /// The operations and the idempotency key of an earlier write under another token, as a
    /// successor would send it.
    AgainBy(Index, By),
    Claim(By),
    Close(By),
    Retire(By),
    ReadFenced(By, Vec<&'static str>),
    Read(&'static str, Vec<&'static str>),
    Fence(&'static str),
    KeyState(&'static str, &'static str),
}

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct By {
    resource: &'static str,
    token: Pick,
    holder: Option<&'static str>,
}

/// A token beside the resource's fence.
#[derive(Clone, Copy, Debug)]
enum Pick {
    TheFence,
    Below(u64),
    Above(u64),
    FirstOfTheNextEpoch,
    HighInTheLastEpoch,
    Highest,
}

#[derive(Clone, Debug)]
pub(super) enum Planned {
    Fixed(Operation),
    /// Checks for the resource's version, less so much.
    CheckVersion(&'static str, u64),
}

impl Plan {
    pub(super) fn resolve<D: Disk>(&self, model: &Model<D>) -> Ask {
        match self {
            Self::Write { by, key, operations } => {
                let version = model.resources[by.resource].version;
                let operation = |planned: &Planned| match planned {
                    Planned::Fixed(operation) => operation.clone(),
                    Planned::CheckVersion(key, less) => {
                        let version = Condition::Version(version.saturating_sub(*less));
                        Operation::Check(key, version)
                    }
                };
                let operations = operations.iter().map(operation).collect();
                Ask::Write { grant: by.resolve(model), key: *key, operations }
            }
            Self::Again(index) => earlier(model, *index),
            Self::AgainBy(index, by) => {
                let mut ask = earlier(model, *index);
                let resource = ask.resource();
                if let Ask::Write { grant, .. } = &mut ask {
                    *grant = By { resource, ..by.clone() }.resolve(model);
                }
                ask
            }
            Self::Claim(by) => Ask::Claim(by.resolve(model)),
            Self::Close(by) => Ask::Close(by.resolve(model)),
            Self::Retire(by) => Ask::Retire(by.resolve(model)),
            Self::ReadFenced(by, keys) => Ask::ReadFenced(by.resolve(model), keys.clone()),
            Self::Read(resource, keys) => Ask::Read(resource, keys.clone()),
            Self::Fence(resource) => Ask::Fence(resource),
            Self::KeyState(resource, key) => Ask::KeyState(resource, key),
        }
    }
}

fn earlier<D: Disk>(model: &Model<D>, index: Index) -> Ask {
    match model.writes.len() {
        0 => Ask::Claim(newest(model)),
        writes => model.writes[index.index(writes)].clone(),
    }
}

impl By {
    fn resolve<D: Disk>(&self, model: &Model<D>) -> Grant {
        let fence = model.resources[self.resource].fence.as_ref();
        let token = self.token.beside(fence.map_or((2, 5), |fence| fence.token));
        Grant { resource: self.resource, token, holder: self.holder }
    }
}

impl Pick {
    fn beside(self, (epoch, generation): Token) -> Token {
        match self {
            Self::TheFence => (epoch, generation),
            Self::Below(less) => (epoch, generation.saturating_sub(less).max(1)),
            Self::Above(more) => (epoch, (generation + more).min(HIGHEST)),
            Self::FirstOfTheNextEpoch => ((epoch + 1).min(HIGHEST), 1),
            Self::HighInTheLastEpoch => (epoch.saturating_sub(1), HIGHEST),
            Self::Highest => (epoch, HIGHEST),
        }
    }
}

/// A claim that raises the fence of some resource.
pub(super) fn newest<D: Disk>(model: &Model<D>) -> Grant {
    let by = By { resource: RESOURCES[0], token: Pick::FirstOfTheNextEpoch, holder: None };
    by.resolve(model)
}

/// What happens next; `fates` are those that the disk can meet.
pub(super) fn steps(fates: Vec<Fate>) -> BoxedStrategy<Step> {
    let many = prop_oneof![
        // On one resource, where they have to share a commit and see each other.
        3 => resources().prop_flat_map(|name| vec(decided(select(vec![name])), 2..24)),
        1 => vec(decided(resources()), 2..24),
    ];
    prop_oneof![
        26 => decided(resources()).prop_map(Step::Ask),
        4 => looks().prop_map(Step::Ask),
        8 => many.prop_map(Step::Together),
        4 => (900_u64..3_000).prop_map(Step::Tick),
        2 => Just(Step::Reopen),
        3 => (vec(decided(resources()), 1..6), select(fates))
            .prop_map(|(plans, fate)| Step::Crash(plans, fate)),
    ]
    .boxed()
}

/// What is decided on in its turn.
fn decided(
    resources: impl Strategy<Value = &'static str> + Clone + 'static,
) -> BoxedStrategy<Plan> {
    let by = || bys(resources.clone());
    let some = || vec(keys(), 0..5);
    let write = (by(), proptest::option::of(idempotency_keys()), vec(operations(), 1..5));
    prop_oneof![
        16 => write.prop_map(|(by, key, operations)| Plan::Write { by, key, operations }),
        5 => any::<Index>().prop_map(Plan::Again),
        4 => (any::<Index>(), by()).prop_map(|(index, by)| Plan::AgainBy(index, by)),
        3 => by().prop_map(Plan::Claim),
        1 => by().prop_map(Plan::Close),
        1 => by().prop_map(Plan::Retire),
        2 => (by(), some()).prop_map(|(by, keys)| Plan::ReadFenced(by, keys)),
    ]
    .boxed()
}

/// Reads without a grant. They wait for no turn, so they are not asked together with others.
fn looks() -> impl Strategy<Value = Plan> {
    let some = vec(keys(), 0..5);
    prop_oneof![
        (resources(), some).prop_map(|(resource, keys)| Plan::Read(resource, keys)),
        resources().prop_map(Plan::Fence),
        (resources(), idempotency_keys()).prop_map(|(resource, key)| Plan::KeyState(resource, key)),
    ]
}

fn bys(
    resources: impl Strategy<Value = &'static str> + 'static,
) -> impl Strategy<Value = By> + 'static {
    let token = prop_oneof![
        12 => Just(Pick::TheFence),
        4 => (1_u64..3).prop_map(Pick::Below),
        4 => (1_u64..3).prop_map(Pick::Above),
        1 => Just(Pick::FirstOfTheNextEpoch),
        1 => Just(Pick::HighInTheLastEpoch),
        1 => Just(Pick::Highest),
    ];
    let holder = prop_oneof![6 => Just(None), 2 => Just(Some("a")), 1 => Just(Some("b"))];
    (resources, token, holder).prop_map(|(resource, token, holder)| By { resource, token, holder })
}

fn operations() -> impl Strategy<Value = Planned> {
    let value = select(vec!["", "x", "y"]);
    let small = prop_oneof![
        12 => -3_i64..4,
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
    ];
    let bounds = prop_oneof![
        3 => Just((None, None)),
        2 => (-2_i64..3).prop_map(|min| (Some(min), None)),
        1 => (-2_i64..5).prop_map(|max| (None, Some(max))),
        1 => (-2_i64..2, 0_i64..4).prop_map(|(min, more)| (Some(min), Some(min + more))),
    ];
    let condition = prop_oneof![
        2 => Just(Condition::Absent),
        3 => Just(Condition::Present),
        1 => (0_u64..4).prop_map(Condition::Version),
    ];
    prop_oneof![
        4 => (keys(), value).prop_map(|(key, value)| Planned::Fixed(Operation::Put(key, value))),
        2 => (keys(), small.clone())
            .prop_map(|(key, value)| Planned::Fixed(Operation::PutCounter(key, value))),
        3 => keys().prop_map(|key| Planned::Fixed(Operation::Delete(key))),
        5 => (keys(), small, bounds).prop_map(|(key, delta, (min, max))| {
            Planned::Fixed(Operation::Add { key, delta, min, max })
        }),
        2 => (keys(), condition)
            .prop_map(|(key, condition)| Planned::Fixed(Operation::Check(key, condition))),
        2 => (keys(), 0_u64..3).prop_map(|(key, less)| Planned::CheckVersion(key, less)),
    ]
}

fn resources() -> impl Strategy<Value = &'static str> + Clone + 'static {
    select(&RESOURCES[..])
}

fn keys() -> impl Strategy<Value = &'static str> {
    select(&KEYS[..])
}

fn idempotency_keys() -> impl Strategy<Value = &'static str> {
    select(&IDEMPOTENCY_KEYS[..])
}

/// The highest number of a token.
const HIGHEST: u64 = (1 << 63) - 1;

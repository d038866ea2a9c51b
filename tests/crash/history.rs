//! What was sent and what was answered, and whether the store still agrees.
//!
//! Every write adds 1 to the resource's counter, leaves a mark of its own and brings the next
//! version. So after each restart the versions of the marks say exactly which writes were applied,
//! when, and how often. Requests of one resource take effect in the order in which they were sent.

use std::collections::BTreeMap;

/// Epoch, generation.
pub(crate) type Token = (u64, u64);

/// What one resource has to agree with.
#[derive(Debug, Default)]
pub(crate) struct History {
    writes: BTreeMap<u64, Write>,
    /// Which write brought which version, and under which token where an answer said so.
    versions: BTreeMap<u64, (u64, Option<Token>)>,
    /// The process that is spoken to now, counted.
    process: u64,
    /// The highest token and version of any answer.
    highest: Option<Token>,
    version: u64,
    /// The highest token that was ever sent.
    sent: Option<Token>,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) id: u64,
    /// Under which it was first sent.
    pub(crate) token: Token,
    /// Whether it has an idempotency key.
    pub(crate) is_keyed: bool,
    pub(crate) fate: Fate,
    /// How often it was sent since its fate was last known, and to which process last.
    deliveries: u64,
    process: u64,
    /// Whether a token above its own had been sent before it.
    may_be_late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    /// Sent, and nothing heard.
    InDoubt,
    /// The store was seen without it, and it can still be sent again.
    Absent,
    /// It brought this version.
    Applied(u64),
    /// It was not applied and never will be.
    Refused,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// None for a claim; or else the write, and what its fate was when it was sent.
    write: Option<(u64, Fate)>,
    token: Token,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Done { replayed: bool, version: u64, token: Token, fence: Token, count: Option<u64> },
    Stale { presented: Token, current: Token },
}

/// What a read saw while no request was under way.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) version: u64,
    pub(crate) fence: Option<Token>,
    pub(crate) count: u64,
    /// For each write that was looked for, the version of its mark.
    pub(crate) marks: Vec<(u64, Option<u64>)>,
}

/// What the store broke.
pub(crate) type Breach = String;

impl History {
    /// Another process takes the requests from here.
    pub(crate) fn next_process(&mut self) {
        self.process += 1;
    }

    /// A new write, about to be sent.
    pub(crate) fn begin(&mut self, id: u64, token: Token, is_keyed: bool) -> Sent {
        let (fate, process) = (Fate::Absent, self.process);
        let write = Write { id, token, is_keyed, fate, deliveries: 0, process, may_be_late: false };
        self.writes.insert(id, write);
        self.send_again(id, token)
    }

    /// A write is sent, for the first time or once more; what is known of it stays known.
    pub(crate) fn send_again(&mut self, id: u64, token: Token) -> Sent {
        let write = self.writes.get_mut(&id).unwrap();
        let fate = write.fate;
        if fate == Fate::Absent {
            write.fate = Fate::InDoubt;
            write.deliveries = 0;
        }
        write.deliveries += 1;
        write.process = self.process;
        write.may_be_late = Some(token) < self.sent;
        self.send(Some((id, fate)), token)
    }

    pub(crate) fn claim(&mut self, token: Token) -> Sent {
        self.send(None, token)
    }

    fn send(&mut self, write: Option<(u64, Fate)>, token: Token) -> Sent {
        self.sent = self.sent.max(Some(token));
        Sent { write, token }
    }

    pub(crate) fn write(&self, id: u64) -> &Write {
        &self.writes[&id]
    }

    pub(crate) fn writes(&self) -> impl DoubleEndedIterator<Item = &Write> {
        self.writes.values()
    }

    /// The highest token in any answer.
    pub(crate) fn highest(&self) -> Option<Token> {
        self.highest
    }

    /// The highest token that was sent.
    pub(crate) fn sent(&self) -> Option<Token> {
        self.sent
    }

    /// Takes up an answer. Answers come in the order of the requests, which is the order in which
    /// they took effect.
    pub(crate) fn answered(&mut self, sent: Sent, answer: Answer) -> Result<(), Breach> {
        match answer {
            Answer::Stale { presented, current } => {
                require(presented == sent.token, || format!("refused {presented:?} for {sent:?}"))?;
                require(presented < current, || format!("{presented:?} stale beside {current:?}"))?;
                self.see_fence(current)?;
                let Some((write, _)) = sent.write else {
                    return Ok(());
                };
                let write = self.writes.get_mut(&write).unwrap();
                let applied = matches!(write.fate, Fate::Applied(_));
                require(!applied, || format!("refused, and applied before: {write:?}"))?;
                write.fate = Fate::Refused;
                Ok(())
            }
            Answer::Done { replayed, version, token, fence, count } => {
                self.see_fence(fence)?;
                if let (true, Some(write)) = (replayed, sent.write) {
                    return self.replayed(write, version, token);
                }
                let own = token == sent.token && fence == sent.token;
                require(own, || format!("{sent:?} was done under {token:?}, {fence:?}"))?;
                let Some((write, _)) = sent.write else {
                    return require(version >= self.version, || {
                        format!("version {version} after {}", self.version)
                    });
                };
                require(version > self.version, || {
                    format!("version {version} after {}: {sent:?}", self.version)
                })?;
                require(count == Some(version), || {
                    format!("write {version} of the resource made its counter {count:?}")
                })?;
                self.applied(write, version, Some(token))
            }
        }
    }

    fn see_fence(&mut self, fence: Token) -> Result<(), Breach> {
        require(Some(fence) >= self.highest, || {
            format!("the fence went back from {:?} to {fence:?}", self.highest)
        })?;
        require(Some(fence) <= self.sent, || format!("nobody ever sent {fence:?}"))?;
        self.highest = self.highest.max(Some(fence));
        Ok(())
    }

    /// A write was executed, and brought `version`.
    fn applied(&mut self, id: u64, version: u64, token: Option<Token>) -> Result<(), Breach> {
        let write = self.writes.get_mut(&id).unwrap();
        let open = matches!(write.fate, Fate::InDoubt | Fate::Absent);
        require(open, || format!("applied as version {version}, and it was not open: {write:?}"))?;
        write.fate = Fate::Applied(version);
        self.version = self.version.max(version);
        match self.versions.insert(version, (id, token)) {
            None => Ok(()),
            Some((other, _)) => {
                Err(format!("version {version} of {id} was that of {other} before"))
            }
        }
    }

    /// A write was recognised as the one that had brought `version` under `token`.
    fn replayed(
        &mut self,
        (id, was): (u64, Fate),
        version: u64,
        token: Token,
    ) -> Result<(), Breach> {
        let write = &self.writes[&id];
        match (was, write.fate) {
            (_, Fate::Applied(before)) => {
                require(before == version, || format!("replayed as version {version}: {write:?}"))?;
                self.versions.insert(version, (id, Some(token)));
                Ok(())
            }
            (Fate::InDoubt, Fate::InDoubt) if write.is_keyed => {
                self.applied(id, version, Some(token))
            }
            _ => Err(format!("replayed as version {version}, and not applied before: {write:?}")),
        }
    }

    /// Takes up what the store shows after a process has ended and before the next one is asked
    /// for more; what was in doubt and was looked for is so no longer.
    pub(crate) fn observed(&mut self, seen: &Observed) -> Result<(), Breach> {
        let Observed { version, fence, count, marks } = seen;
        require(*fence >= self.highest, || {
            format!("the fence went back from {:?} to {fence:?}", self.highest)
        })?;
        require(*fence <= self.sent, || format!("nobody ever sent {fence:?}"))?;
        require(*version >= self.version, || {
            format!("the version went back from {} to {version}", self.version)
        })?;
        require(count == version, || format!("{count} were counted in {version} writes"))?;
        let mut gone: Option<u64> = None;
        for (id, mark) in marks {
            let process = self.process;
            let write = self.writes.get_mut(id).unwrap();
            let is_in_order = write.deliveries == 1 && write.process == process;
            match (write.fate, mark) {
                (Fate::Applied(before), Some(now)) if before == *now => {}
                (Fate::Applied(_), _) => return Err(format!("now at {mark:?}: {write:?}")),
                (Fate::Absent | Fate::Refused, None) => {}
                (Fate::Absent | Fate::Refused, Some(_)) => {
                    return Err(format!("was not applied, and is there: {write:?}"));
                }
                (Fate::InDoubt, Some(now)) => {
                    let hole = is_in_order && gone.is_some();
                    require(!hole, || format!("{id} is there, and {gone:?} before it is not"))?;
                    require(now <= version, || format!("{id} is newer than its resource"))?;
                    self.applied(*id, *now, None)?;
                }
                (Fate::InDoubt, None) => {
                    write.fate = if write.is_keyed { Fate::Absent } else { Fate::Refused };
                    // One that was perhaps refused says nothing about those behind it.
                    gone = gone.or((is_in_order && !write.may_be_late).then_some(*id));
                }
            }
        }
        self.highest = self.highest.max(*fence);
        self.version = *version;
        Ok(())
    }

    /// Once nothing is in doubt: each version is that of exactly one write, and the accepted tokens
    /// never went down.
    pub(crate) fn settled(&self) -> Result<(), Breach> {
        let doubt = self.writes().find(|write| write.fate == Fate::InDoubt);
        require(doubt.is_none(), || format!("still in doubt: {doubt:?}"))?;
        let known = u64::try_from(self.versions.len()).unwrap();
        require(known == self.version, || {
            format!("version {}, and {known} writes are known", self.version)
        })?;
        let tokens: Vec<Token> = self.versions.values().filter_map(|(_, token)| *token).collect();
        let down = tokens.windows(2).find(|two| two[0] > two[1]);
        require(down.is_none(), || format!("an older token was accepted after a newer: {down:?}"))
    }
}

fn require(holds: bool, breach: impl FnOnce() -> Breach) -> Result<(), Breach> {
    if holds { Ok(()) } else { Err(breach()) }
}

#[cfg(test)]
mod lies {
    //! Stores that lie, each in one way: the history has to notice.

    use super::*;

    const OLD: Token = (0, 6);
    const TOKEN: Token = (0, 7);
    const NEW: Token = (0, 8);

    fn done(version: u64) -> Answer {
        let count = Some(version);
        Answer::Done { replayed: false, version, token: TOKEN, fence: TOKEN, count }
    }

    fn replay(version: u64) -> Answer {
        let count = Some(version);
        Answer::Done { replayed: true, version, token: TOKEN, fence: TOKEN, count }
    }

    fn seen(version: u64, marks: &[(u64, Option<u64>)]) -> Observed {
        Observed { version, fence: Some(TOKEN), count: version, marks: marks.to_vec() }
    }

    /// Two acknowledged writes, one in doubt, and one that was refused.
    fn history() -> History {
        let mut history = History::default();
        for (id, version) in [(1, 1), (2, 2)] {
            let sent = history.begin(id, TOKEN, true);
            history.answered(sent, done(version)).unwrap();
        }
        let late = history.begin(3, OLD, true);
        let refusal = Answer::Stale { presented: OLD, current: TOKEN };
        history.answered(late, refusal).unwrap();
        history.begin(4, TOKEN, true);
        history
    }

    fn see_breach(found: Result<(), Breach>, about: &str) {
        let breach = found.expect_err(about);
        assert!(breach.contains(about), "{breach}");
    }

    #[test]
    fn an_honest_store_is_believed() {
        let all = [(1, Some(1)), (2, Some(2)), (3, None)];
        let mut lost = history();
        lost.observed(&seen(2, &[all.as_slice(), &[(4, None)]].concat())).unwrap();
        let again = lost.send_again(4, TOKEN);
        lost.answered(again, done(3)).unwrap();
        lost.settled().unwrap();

        let mut kept = history();
        kept.observed(&seen(3, &[all.as_slice(), &[(4, Some(3))]].concat())).unwrap();
        let again = kept.send_again(4, TOKEN);
        kept.answered(again, replay(3)).unwrap();
        kept.settled().unwrap();
    }

    #[test]
    fn a_lost_acknowledged_write_is_noticed() {
        see_breach(history().observed(&seen(2, &[(2, None)])), "now at None");
        see_breach(history().observed(&seen(1, &[])), "the version went back from 2 to 1");
        see_breach(history().observed(&seen(3, &[(2, Some(3))])), "now at Some(3)");
        let mut history = history();
        history.observed(&seen(3, &[(4, None)])).unwrap();
        see_breach(history.settled(), "version 3, and 2 writes are known");
    }

    #[test]
    fn a_fence_that_went_back_is_noticed() {
        let mut older = seen(2, &[]);
        older.fence = Some(OLD);
        see_breach(history().observed(&older), "the fence went back");
        older.fence = None;
        see_breach(history().observed(&older), "the fence went back");

        // Raised only by a refusal: that, too, was a promise.
        let mut refused = history();
        refused.claim(NEW);
        let stale = refused.begin(5, TOKEN, true);
        refused.answered(stale, Answer::Stale { presented: TOKEN, current: NEW }).unwrap();
        see_breach(refused.observed(&seen(2, &[])), "the fence went back");
        let later = refused.claim(NEW);
        see_breach(refused.answered(later, replay(2)), "the fence went back");

        let mut invented = seen(2, &[]);
        invented.fence = Some(NEW);
        see_breach(history().observed(&invented), "nobody ever sent");
    }

    #[test]
    fn an_older_token_that_was_admitted_is_noticed() {
        let mut history = history();
        let late = history.begin(5, OLD, true);
        let count = Some(3);
        let admitted =
            Answer::Done { replayed: false, version: 3, token: OLD, fence: TOKEN, count };
        see_breach(history.answered(late, admitted), "was done under (0, 6), (0, 7)");
        let admitted = Answer::Done { replayed: false, version: 3, token: OLD, fence: OLD, count };
        see_breach(history.answered(late, admitted), "the fence went back");
    }

    #[test]
    fn an_older_token_that_was_admitted_behind_a_newer_one_is_noticed() {
        // None of the first answers came; what they were is heard from retries.
        let mut history = History::default();
        history.begin(1, NEW, true);
        history.begin(2, TOKEN, true);
        let mut marks = seen(2, &[(1, Some(1)), (2, Some(2))]);
        marks.fence = Some(NEW);
        history.observed(&marks).expect("nothing shows yet under which token they were applied");
        for (id, version, token) in [(1, 1, NEW), (2, 2, TOKEN)] {
            let again = history.send_again(id, token);
            let count = Some(version);
            let replay = Answer::Done { replayed: true, version, token, fence: NEW, count };
            history.answered(again, replay).unwrap();
        }
        see_breach(history.settled(), "an older token was accepted after a newer");
    }

    #[test]
    fn a_counter_that_was_applied_twice_is_noticed() {
        let mut twice = seen(3, &[]);
        twice.count = 4;
        see_breach(history().observed(&twice), "4 were counted in 3 writes");
        let mut history = history();
        let again = history.send_again(2, TOKEN);
        see_breach(history.answered(again, done(3)), "it was not open");
        let mut wrong = self::history();
        let sent = wrong.begin(5, TOKEN, true);
        let Answer::Done { token, fence, .. } = done(3) else { unreachable!("it is done") };
        let counted = Answer::Done { replayed: false, version: 3, token, fence, count: Some(4) };
        see_breach(wrong.answered(sent, counted), "made its counter");
    }

    #[test]
    fn a_version_that_was_used_twice_is_noticed() {
        let mut history = history();
        let one = history.begin(5, TOKEN, true);
        let other = history.begin(6, TOKEN, true);
        history.answered(one, done(3)).unwrap();
        see_breach(history.answered(other, done(3)), "version 3 after 3");
        let mut history = self::history();
        let in_doubt = history.begin(5, TOKEN, true);
        let marks = [(4, Some(3)), (5, Some(3))];
        see_breach(history.observed(&seen(4, &marks)), "version 3 of 5 was that of 4 before");
        see_breach(history.answered(in_doubt, done(2)), "version 2 after 3");
    }

    #[test]
    fn a_refused_write_with_an_effect_is_noticed() {
        see_breach(history().observed(&seen(3, &[(3, Some(3))])), "was not applied, and is there");
    }

    #[test]
    fn a_retry_that_is_answered_against_what_was_seen_is_noticed() {
        let mut absent = history();
        absent.observed(&seen(2, &[(4, None)])).unwrap();
        let first = absent.send_again(4, TOKEN);
        see_breach(absent.answered(first, replay(3)), "not applied before");
        let first = absent.begin(5, TOKEN, true);
        see_breach(absent.answered(first, replay(3)), "not applied before");
        let mut history = history();
        history.observed(&seen(3, &[(4, Some(3))])).unwrap();
        let again = history.send_again(4, NEW);
        see_breach(history.answered(again, replay(2)), "replayed as version 2");
        let again = history.send_again(4, OLD);
        let stale = Answer::Stale { presented: OLD, current: TOKEN };
        see_breach(history.answered(again, stale), "refused, and applied before");
        let late = history.send_again(3, OLD);
        see_breach(history.answered(late, replay(3)), "not applied before");
    }

    #[test]
    fn a_hole_in_what_was_in_doubt_is_noticed() {
        let mut history = history();
        history.begin(5, TOKEN, true);
        see_breach(history.observed(&seen(3, &[(4, None), (5, Some(3))])), "5 is there");
    }
}

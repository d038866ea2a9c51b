//! The loop: send, kill, start again, compare.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::child::{Child, Ended};
use crate::history::{Answer, Fate, History, Sent, Token, Write};
use crate::random::Random;
use crate::wire;

#[test]
fn after_hundreds_of_kills_every_answer_still_holds() {
    let started = Instant::now();
    let mut test = Test::new();
    for round in 0..ROUNDS_MAX {
        if test.tally.is_enough() {
            break;
        }
        test.kill_in_flight();
        if round % 20 == 0 {
            test.see_sound();
        }
        // What comes back up is itself killed, often more than once.
        for _ in 0..=test.random.below(3) {
            test.kill_in_opening();
        }
    }
    test.last_look();
    eprintln!("{:?} in {:?}", test.tally, started.elapsed());
    test.tally.see_minimal_load();
}

const RESOURCES: [&str; 4] = ["r1", "r10", "r1/x", "accounts/7"];
/// Three times what it usually takes: chance and a busy machine decide where a kill meets.
const ROUNDS_MAX: u64 = 600;
const CONCURRENCY: usize = 64;

/// What a run has met. One that met too little of it proves nothing, and fails.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    /// Before the first answer, with requests waiting.
    kills_in_opening: u64,
    /// In which a write was sent that had no answer yet.
    kills_in_flight: u64,
    answers: u64,
    applied: u64,
    replayed: u64,
    stale: u64,
    raised: u64,
    /// Writes of unknown outcome that were found in the store, or not.
    doubts_there: u64,
    doubts_gone: u64,
}

impl Tally {
    /// What was met, and the least of it that proves something.
    fn load(&self) -> [(&'static str, u64, u64); 10] {
        [
            ("kills", self.kills, 300),
            ("kills in the opening", self.kills_in_opening, 150),
            ("kills in flight", self.kills_in_flight, 150),
            ("answers", self.answers, 10_000),
            ("applied writes", self.applied, 5_000),
            ("replays", self.replayed, 500),
            ("stale writes refused", self.stale, 1_000),
            ("fences raised", self.raised, 300),
            ("writes in doubt that were there", self.doubts_there, 100),
            ("writes in doubt that were not", self.doubts_gone, 300),
        ]
    }

    fn is_enough(&self) -> bool {
        self.load().iter().all(|(_, met, least)| met >= least)
    }

    fn see_minimal_load(&self) {
        for (what, met, least) in self.load() {
            assert!(met >= least, "too little to prove anything: {what}: {met}, of {least}");
        }
    }
}

struct Test {
    random: Random,
    parent: TempDir,
    histories: [History; 4],
    tally: Tally,
    next_id: u64,
    /// From the start of the program to its first answer, as it was of late.
    opening: Duration,
}

/// A process with what was sent to it and not answered yet, in order.
struct Session {
    child: Child,
    waiting: VecDeque<(usize, Sent)>,
}

impl Test {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        let made = Child::start(&["init"], &parent.path().join("store")).end();
        assert!(made.status.success(), "{made:?}");
        Self {
            random: Random::new(),
            parent,
            histories: Default::default(),
            tally: Tally::default(),
            next_id: 1,
            opening: Duration::ZERO,
        }
    }

    fn directory(&self) -> PathBuf {
        self.parent.path().join("store")
    }

    fn start(&mut self) -> Session {
        for history in &mut self.histories {
            history.next_process();
        }
        let concurrency = CONCURRENCY.to_string();
        let child = Child::start(&["apply", "--concurrency", &concurrency], &self.directory());
        Session { child, waiting: VecDeque::new() }
    }

    /// Kills at any moment between the start of the process and a little after its opening.
    fn kill_in_opening(&mut self) {
        let mut session = self.start();
        self.send_again_what_is_in_doubt(&mut session, 100);
        for _ in 0..4 {
            self.send_something(&mut session);
        }
        self.random.wait_up_to(self.opening * 10 / 9);
        if self.kill(session) == 0 {
            self.tally.kills_in_opening += 1;
        }
    }

    /// Lets the store open, compares it, settles what is in doubt, and kills amid new writes.
    fn kill_in_flight(&mut self) {
        let started = Instant::now();
        let mut session = self.start();
        session.child.send(&wire::read(RESOURCES[0], &[]));
        session.child.receive();
        // Follows the machine, which is now more and now less busy.
        self.opening = (self.opening * 3 + started.elapsed()) / 4;
        self.compare(&mut session);
        self.send_again_what_is_in_doubt(&mut session, 50);
        if self.random.percent(80) {
            self.receive_all(&mut session);
        }
        let answers = self.random.below(200);
        for _ in 0..answers {
            self.fill(&mut session);
            self.receive(&mut session);
        }
        self.fill(&mut session);
        if self.random.percent(50) {
            self.random.wait_up_to(Duration::from_millis(2));
        }
        let waiting = session.waiting.len();
        if self.kill(session) < waiting {
            self.tally.kills_in_flight += 1;
        }
    }

    fn fill(&mut self, session: &mut Session) {
        while session.waiting.len() < CONCURRENCY {
            self.send_something(session);
        }
    }

    /// Kills the process, takes up what it had still answered, and says how much that was.
    fn kill(&mut self, mut session: Session) -> usize {
        self.tally.kills += 1;
        let Ended { status, output, errors } = session.child.kill();
        assert_eq!((status.code(), errors.as_str()), (None, ""), "it did not live until the kill");
        for line in &output {
            self.take_up(&mut session.waiting, line);
        }
        output.len()
    }

    fn receive_all(&mut self, session: &mut Session) {
        while !session.waiting.is_empty() {
            self.receive(session);
        }
    }

    fn receive(&mut self, session: &mut Session) {
        let line = session.child.receive();
        self.take_up(&mut session.waiting, &line);
    }

    fn take_up(&mut self, waiting: &mut VecDeque<(usize, Sent)>, line: &str) {
        let (at, sent) = waiting.pop_front().expect("an answer to nothing");
        let answer = wire::answer(line);
        self.tally.answers += 1;
        match answer {
            Answer::Stale { .. } => self.tally.stale += 1,
            Answer::Done { replayed: true, .. } => self.tally.replayed += 1,
            Answer::Done { count: Some(_), .. } => self.tally.applied += 1,
            Answer::Done { .. } => self.tally.raised += 1,
        }
        self.histories[at]
            .answered(sent, answer)
            .unwrap_or_else(|breach| panic!("{}: {breach}\n{line}", RESOURCES[at]));
    }

    fn send_something(&mut self, session: &mut Session) {
        let at = usize::try_from(self.random.below(4)).unwrap();
        let history = &mut self.histories[at];
        let current = history.sent().unwrap_or((0, 1));
        let kind = self.random.below(100);
        if kind < 6 {
            let token = newer(current, &mut self.random);
            session.send(at, history.claim(token), &wire::claim(RESOURCES[at], token));
            return;
        }
        if kind < 12 {
            // A duplicate of a write that was answered before.
            let applied = |write: &&Write| write.is_keyed && matches!(write.fate, Fate::Applied(_));
            let done: Vec<_> = history.writes().rev().take(200).filter(applied).cloned().collect();
            if !done.is_empty() {
                let write = self.random.pick(&done);
                let line = wire::write(RESOURCES[at], write, write.token);
                session.send(at, history.send_again(write.id, write.token), &line);
                return;
            }
        }
        let token = match kind {
            // Somebody who lost the lock, and does not know.
            12..26 => history.highest().map_or(current, |highest| older(highest, &mut self.random)),
            // A successor's first write.
            26..32 => newer(current, &mut self.random),
            _ => current,
        };
        let (id, is_keyed) = (self.next_id, self.random.percent(90));
        self.next_id += 1;
        let sent = history.begin(id, token, is_keyed);
        let line = wire::write(RESOURCES[at], history.write(id), token);
        session.send(at, sent, &line);
    }

    /// Writes with a key whose outcome is not known, just as they were sent, or under the newest
    /// token, as a successor sends them.
    fn send_again_what_is_in_doubt(&mut self, session: &mut Session, verbatim_percent: u64) {
        for (at, history) in self.histories.iter_mut().enumerate() {
            let open = |write: &&Write| {
                write.is_keyed && matches!(write.fate, Fate::InDoubt | Fate::Absent)
            };
            let again: Vec<_> = history.writes().filter(open).cloned().collect();
            for write in again {
                let verbatim = self.random.percent(verbatim_percent);
                let newest = history.sent().unwrap();
                let token = if verbatim { write.token } else { newest };
                let line = wire::write(RESOURCES[at], &write, token);
                session.send(at, history.send_again(write.id, token), &line);
            }
        }
    }

    /// Compares the store with the histories: all that is in doubt, and some of the rest.
    fn compare(&mut self, session: &mut Session) {
        for at in 0..RESOURCES.len() {
            let mut looked_for = Vec::new();
            for write in self.histories[at].writes() {
                let is_recent = write.id + 200 > self.next_id;
                if write.fate == Fate::InDoubt || is_recent || self.random.percent(2) {
                    looked_for.push(write.id);
                }
            }
            self.look(session, at, &looked_for);
        }
    }

    fn look_at_all(&mut self, session: &mut Session) {
        for at in 0..RESOURCES.len() {
            let all: Vec<u64> = self.histories[at].writes().map(|write| write.id).collect();
            self.look(session, at, &all);
        }
    }

    fn look(&mut self, session: &mut Session, at: usize, writes: &[u64]) {
        assert!(session.waiting.is_empty(), "nothing may be under way");
        // All in one go where they fit into one read, as they nearly always do.
        for some in writes.chunks(127) {
            session.child.send(&wire::read(RESOURCES[at], some));
            let seen = wire::observed(&session.child.receive(), some);
            let history = &mut self.histories[at];
            let doubt = |id: &&(u64, Option<u64>)| history.write(id.0).fate == Fate::InDoubt;
            let doubts: Vec<_> = seen.marks.iter().filter(doubt).collect();
            let there = doubts.iter().filter(|(_, mark)| mark.is_some()).count();
            self.tally.doubts_there += u64::try_from(there).unwrap();
            self.tally.doubts_gone += u64::try_from(doubts.len() - there).unwrap();
            history.observed(&seen).unwrap_or_else(|breach| panic!("{}: {breach}", RESOURCES[at]));
        }
    }

    /// Compares everything with everything, and lets `verify` read every record.
    fn last_look(&mut self) {
        let mut session = self.start();
        self.look_at_all(&mut session);
        self.send_again_what_is_in_doubt(&mut session, 50);
        self.receive_all(&mut session);
        self.look_at_all(&mut session);
        for (name, history) in RESOURCES.iter().zip(&self.histories) {
            history.settled().unwrap_or_else(|breach| panic!("{name}: {breach}"));
        }
        let ended = session.child.end();
        assert!(ended.status.success(), "{ended:?}");
        let found = self.see_sound();
        let applied = |is_counted: fn(&Write) -> bool| {
            let writes = self.histories.iter().flat_map(History::writes);
            let applied = writes.filter(|write| matches!(write.fate, Fate::Applied(_)));
            applied.filter(|write| is_counted(write)).count()
        };
        // Beside its writes' marks, each resource has its counter and what they all overwrite.
        let values = applied(|_| true) + 2 * RESOURCES.len();
        assert_eq!(found["values"], values.to_string().as_str());
        let records = applied(|write| write.is_keyed);
        assert_eq!(found["idempotency_records"], records.to_string().as_str());
    }

    /// Lets `verify` read every record, just as the kill has left them.
    fn see_sound(&self) -> serde_json::Value {
        let ended = Child::start(&["verify", "--output", "jsonl"], &self.directory()).end();
        assert!(ended.status.success(), "{ended:?}");
        let found: serde_json::Value = serde_json::from_str(&ended.output[0]).unwrap();
        assert_eq!(found["sound"], true, "{found}");
        found
    }
}

impl Session {
    fn send(&mut self, at: usize, sent: Sent, line: &str) {
        self.waiting.push_back((at, sent));
        self.child.send(line);
    }
}

fn newer((epoch, generation): Token, random: &mut Random) -> Token {
    if random.percent(5) { (epoch + 1, 1) } else { (epoch, generation + 1 + random.below(3)) }
}

fn older((epoch, generation): Token, random: &mut Random) -> Token {
    match (generation, epoch) {
        (1, 0) => (0, 1),
        (1, _) => (epoch - 1, 1_000_000 + random.below(1_000)),
        _ => (epoch, 1 + random.below(generation - 1)),
    }
}

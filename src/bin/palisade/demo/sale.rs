//! Act 4: a flash sale. More buyers than units, two generations of worker processes, a kill -9 of
//! the store in the middle, and late orders of the first generation after the second has begun.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::failure::{Doing, Failure, Result};
use super::holder::{STOCK_KEY, buyer, order};
use super::holding::{Holding, Role, out_of_turn};
use super::lock::LockFile;
use super::log::{Act, Delivery, What};
use super::process::{Line, PATIENCE, Process, ProcessId};
use super::protocol::{Said, Told};
use super::sale_claims::{self, BUYERS, UNITS, grouped};
use super::stage::{Stage, said, tell};
use super::store::Store;
use super::time::Deadline;
use super::wire::{self, Answer, BOUND_EXCEEDED, Grant, STALE_TOKEN};

pub(super) fn play(stage: &mut Stage, store: Store) -> Result<()> {
    stage.open(
        Act::FlashSale,
        "4. A flash sale: 100 units, 1,000 buyers, and a kill -9 in the middle",
    )?;
    LockFile::create(&stage.lock(SALE), 6).doing("make the lock's file")?;
    let mut sale = Sale::open(stage, store)?;
    sale.serve()?;
    sale.tell_result()?;
    sale.ask_again()?;
    sale.close()?;
    let claims = sale_claims::flash_sale(&stage.log);
    stage.judge(claims)
}

pub(super) const SALE: &str = "sale/sneaker";

/// Processes that sell under one grant; the first of them took the lock.
const WORKERS: usize = 4;
/// Orders that one worker has open at a time.
const OPEN_ORDERS_MAX: usize = 6;
/// Units sold when the store is killed.
const SOLD_AT_KILL: usize = 30;
const SOLD_AT_KILL_MAX: usize = 45;
/// Orders on their way when the store is killed.
const UNANSWERED_AT_KILL: usize = 8;
/// Units sold when the lock moves on.
const SOLD_AT_HANDOVER: usize = 57;
/// The one that is stopped when the lock moves on.
const LATE_WORKER: usize = WORKERS - 1;
/// Orders in its hands when the lock moves on.
const LATE_ORDERS: usize = 12;
/// Of the buyers who got nothing, every ninth asks again.
const ASK_AGAIN_EVERY: usize = 9;

struct Sale<'a> {
    stage: &'a mut Stage,
    store: Store,
    workers: Vec<Worker>,
    /// The generation that gets new orders.
    token: u64,
    /// Buyers whom nobody serves yet.
    waiting: VecDeque<u32>,
    /// What the store has not answered yet; its answers come in this order.
    flights: VecDeque<Flight>,
    sold: BTreeSet<u32>,
    has_told_refusal: bool,
    next: Step,
}

/// What is to happen in the middle of the sale.
#[derive(Clone, Copy, Debug)]
enum Step {
    Kill,
    Handover,
    /// The stopped worker goes on once the second generation has sold something.
    Wake,
    Done,
}

struct Worker {
    process: Process,
    holder: String,
    token: u64,
    open: BTreeSet<u32>,
}

struct Flight {
    worker: usize,
    buyer: u32,
}

impl<'a> Sale<'a> {
    fn open(stage: &'a mut Stage, mut store: Store) -> Result<Self> {
        let (token, workers) = hire(stage, "shop-a")?;
        let grant = Grant { resource: SALE.to_owned(), token, holder: "shop-a".to_owned() };
        let stock = grant.write(None, &json!([wire::put_counter(STOCK_KEY, UNITS.into())]));
        let answer = Answer::parse(&store.ask(stage, &stock)?)?;
        if answer.receipt().is_none() {
            return Err(Failure::new(format!("the shop was not stocked: {answer}")));
        }
        stage.tell(format_args!(
            "{WORKERS} worker processes sell under generation {token}; every order has its own \
             idempotency key"
        ))?;
        let mut sale = Self {
            stage,
            store,
            workers,
            token,
            waiting: (1..=BUYERS).collect(),
            flights: VecDeque::new(),
            sold: BTreeSet::new(),
            has_told_refusal: false,
            next: Step::Kill,
        };
        sale.look()?;
        Ok(sale)
    }

    /// Until every buyer has an answer.
    fn serve(&mut self) -> Result<()> {
        while !self.waiting.is_empty() || self.workers.iter().any(|worker| !worker.open.is_empty())
        {
            self.follow_plan()?;
            self.hand_out()?;
            let (from, line) = self.stage.hub.next(Deadline::after(PATIENCE))?;
            self.heard(from, line)?;
        }
        Ok(())
    }

    fn follow_plan(&mut self) -> Result<()> {
        match self.next {
            Step::Kill if self.is_time_to_kill() => {
                self.next = Step::Handover;
                self.kill_store()
            }
            Step::Handover if self.sold.len() >= SOLD_AT_HANDOVER => self.hand_over(),
            Step::Kill | Step::Handover | Step::Wake | Step::Done => Ok(()),
        }
    }

    /// In the middle: with orders on their way, of which there may be few on a busy machine.
    fn is_time_to_kill(&self) -> bool {
        let (sold, unanswered) = (self.sold.len(), self.flights.len());
        (sold >= SOLD_AT_KILL && unanswered >= UNANSWERED_AT_KILL)
            || (sold >= SOLD_AT_KILL_MAX && unanswered > 0)
    }

    /// Gives waiting buyers to the workers of the present generation.
    fn hand_out(&mut self) -> Result<()> {
        for worker in self.workers.iter_mut().filter(|worker| worker.token == self.token) {
            while worker.open.len() < OPEN_ORDERS_MAX {
                let Some(number) = self.waiting.pop_front() else {
                    return Ok(());
                };
                worker.serve(number)?;
            }
        }
        Ok(())
    }

    fn heard(&mut self, from: ProcessId, line: Line) -> Result<()> {
        if from == self.store.process().id() {
            return match line {
                Line::Text(answer) => self.answered(answer),
                Line::Garbled(text) => Err(Failure::new(format!("the store says {text:?}"))),
                Line::End => Err(self.store.process().has_ended("in the middle of the sale")),
            };
        }
        let worker = self.workers.iter().position(|worker| worker.process.id() == from);
        match worker {
            Some(index) => {
                let said = said(&self.worker(index)?.process, line)?;
                self.worker_said(index, said)
            }
            // The last words of a holder of an earlier act.
            None => Ok(()),
        }
    }

    fn worker_said(&mut self, index: usize, said: Said) -> Result<()> {
        let worker = self.worker(index)?;
        let (holder, token) = (worker.holder.clone(), worker.token);
        match said {
            Said::Request { name, request } => {
                let buyer = buyer(&name).ok_or_else(|| Failure::new("an order of nobody"))?;
                self.store.process().tell(&request)?;
                self.flights.push_back(Flight { worker: index, buyer });
                self.stage.note(What::Sent { holder, token, name })
            }
            Said::GaveUp { name } => {
                let buyer = buyer(&name).ok_or_else(|| Failure::new("an order of nobody"))?;
                self.put_back(index, buyer)
            }
            Said::LostLock => self.stage.note(What::LostLock { holder }),
            Said::Granted { .. } | Said::AsksShop | Said::WroteFile { .. } | Said::Released => {
                Err(out_of_turn(&said))
            }
        }
    }

    /// The worker does not serve this buyer any more; somebody else will, with the same key.
    fn put_back(&mut self, index: usize, buyer: u32) -> Result<()> {
        self.worker(index)?.open.remove(&buyer);
        self.waiting.push_front(buyer);
        Ok(())
    }

    fn answered(&mut self, line: Value) -> Result<()> {
        let flight = self.flights.pop_front().ok_or_else(|| Failure::new("an answer too many"))?;
        let answer = self.note_answer(&flight, &line, Delivery::Delivered)?;
        let worker = self.worker(flight.worker)?;
        let token = worker.token;
        tell(&mut worker.process, &Told::Answer { name: order(flight.buyer), answer: line })?;
        worker.open.remove(&flight.buyer);
        if answer.is_refused_for(STALE_TOKEN) {
            self.put_back(flight.worker, flight.buyer)?;
            if flight.worker == LATE_WORKER && !self.has_told_refusal {
                self.has_told_refusal = true;
                self.stage.add(format_args!("{answer}"))?;
            }
            return Ok(());
        }
        if answer.receipt().is_some() {
            self.sold.insert(flight.buyer);
        }
        if matches!(self.next, Step::Wake) && token == self.token {
            self.wake()?;
        }
        Ok(())
    }

    fn note_answer(&mut self, flight: &Flight, line: &Value, delivery: Delivery) -> Result<Answer> {
        let answer = Answer::parse(line)?;
        let worker = self.worker(flight.worker)?;
        let (holder, token) = (worker.holder.clone(), worker.token);
        let name = order(flight.buyer);
        let noted = answer.clone();
        self.stage.note(What::Answered { holder, token, name, answer: noted, delivery })?;
        Ok(answer)
    }

    /// Kills the store's process. What it has said and nobody has heard is lost, as on a broken
    /// connection; the workers learn that the outcome is unknown, and ask again.
    fn kill_store(&mut self) -> Result<()> {
        let unanswered = self.flights.len();
        let mut lost: Vec<Flight> = Vec::new();
        // One answer, at least, that its buyer never hears.
        self.lose_answer(&mut lost)?;
        self.store.process().kill()?;
        self.stage.note(What::StoreKilled { unanswered })?;
        self.stage.tell(format_args!(
            "{} sold: kill -9 of the store's process, with {unanswered} orders unanswered",
            self.sold.len()
        ))?;
        while self.lose_answer(&mut lost)? {}
        lost.extend(self.flights.drain(..));
        self.store.reopen(self.stage)?;
        self.look()?;
        self.stage.note(What::StoreOpened)?;
        self.stage
            .tell("the store is open again; the unanswered orders are sent again, same keys")?;
        for Flight { worker, buyer } in lost {
            let told = Told::Answer { name: order(buyer), answer: Answer::unknown() };
            tell(&mut self.worker(worker)?.process, &told)?;
        }
        Ok(())
    }

    /// Takes an answer off the store's pipe and does not carry it on; says whether there was one.
    fn lose_answer(&mut self, lost: &mut Vec<Flight>) -> Result<bool> {
        let deadline = Deadline::after(PATIENCE);
        let line = match self.stage.hub.next_from(self.store.process(), deadline)? {
            Line::Text(line) => line,
            Line::Garbled(text) => return Err(Failure::new(format!("the store says {text:?}"))),
            Line::End => return Ok(false),
        };
        let flight = self.flights.pop_front().ok_or_else(|| Failure::new("an answer too many"))?;
        self.note_answer(&flight, &line, Delivery::Lost)?;
        lost.push(flight);
        Ok(true)
    }

    /// Moves the lock to the next generation, while a worker of the present one is stopped with
    /// orders in its hands.
    fn hand_over(&mut self) -> Result<()> {
        let late = self.workers.get_mut(LATE_WORKER).ok_or_else(|| Failure::new("nobody sells"))?;
        late.process.pause()?;
        for number in self.waiting.drain(..LATE_ORDERS.min(self.waiting.len())) {
            late.serve(number)?;
        }
        let holder = late.holder.clone();
        self.stage.note(What::Paused { holder: holder.clone() })?;
        tell(&mut self.worker(0)?.process, &Told::Release)?;
        loop {
            let (stage, workers) = (&mut *self.stage, &self.workers);
            let leader = workers.first().ok_or_else(|| Failure::new("nobody sells"))?;
            let said = stage.hear(&leader.process)?;
            if matches!(said, Said::Released) {
                break;
            }
            // What it had already begun.
            self.worker_said(0, said)?;
        }
        self.stage.note(What::Released { holder })?;
        let (token, workers) = hire(self.stage, "shop-b")?;
        self.stage.tell(format_args!(
            "{} sold: the lock moves on to generation {token}, while a worker of {} is paused",
            self.sold.len(),
            self.token
        ))?;
        self.workers.extend(workers);
        self.token = token;
        self.next = Step::Wake;
        Ok(())
    }

    fn wake(&mut self) -> Result<()> {
        let worker = self.worker(LATE_WORKER)?;
        let (holder, open) = (worker.holder.clone(), worker.open.len());
        self.stage.tell(format_args!(
            "generation {} has sold; the paused worker wakes, and sends its {open} orders",
            self.token
        ))?;
        self.stage.note(What::Resumed { holder })?;
        self.next = Step::Done;
        self.worker(LATE_WORKER)?.process.resume()
    }

    fn tell_result(&self) -> Result<()> {
        let sold = self.sold.len();
        self.stage.tell(format_args!(
            "all {} buyers have an answer: {sold} bought, {} were refused ({BOUND_EXCEEDED}: sold out)",
            grouped(BUYERS),
            (1..=BUYERS).filter(|buyer| !self.sold.contains(buyer)).count(),
        ))
    }

    /// Buyers who have their answer ask again: all who bought, and some of the others.
    fn ask_again(&mut self) -> Result<()> {
        let others = (1..=BUYERS).filter(|buyer| !self.sold.contains(buyer));
        let again: Vec<u32> =
            self.sold.iter().copied().chain(others.step_by(ASK_AGAIN_EVERY)).collect();
        self.stage.tell(format_args!("{} of them ask again, with the same keys", again.len()))?;
        self.waiting.extend(again);
        self.serve()
    }

    /// Looks at what the store really holds, and closes everything.
    fn close(mut self) -> Result<()> {
        for worker in self.workers {
            worker.process.finish()?;
        }
        let orders: Vec<String> = (1..=BUYERS).map(order).collect();
        let mut keys = orders.clone();
        keys.push(STOCK_KEY.to_owned());
        self.store.look(self.stage, SALE, &keys)?;
        self.store.look_up(self.stage, SALE, &orders)?;
        self.store.close_and_verify(self.stage)
    }

    /// Notes the stock and the fence.
    fn look(&mut self) -> Result<()> {
        self.store.look(self.stage, SALE, &[STOCK_KEY.to_owned()]).map(drop)
    }

    fn worker(&mut self, index: usize) -> Result<&mut Worker> {
        self.workers.get_mut(index).ok_or_else(|| Failure::new("a worker that nobody hired"))
    }
}

impl Worker {
    fn serve(&mut self, number: u32) -> Result<()> {
        tell(&mut self.process, &Told::Buyer { number })?;
        self.open.insert(number);
        Ok(())
    }
}

/// Starts the processes of one generation.
fn hire(stage: &mut Stage, holder: &str) -> Result<(u64, Vec<Worker>)> {
    let role = Role { name: holder, resource: SALE, lease_ms: 60_000, work: &["sell"] };
    let leader = role.start(stage)?;
    let token = leader.token;
    let mut processes = Vec::new();
    for _ in 1..WORKERS {
        processes.push(role.join(stage, &leader)?);
    }
    let Holding { process, .. } = leader;
    processes.insert(0, process);
    let worker =
        |process| Worker { process, holder: holder.to_owned(), token, open: BTreeSet::new() };
    Ok((token, processes.into_iter().map(worker).collect()))
}

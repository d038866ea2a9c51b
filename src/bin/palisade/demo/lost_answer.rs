//! Act 3: the answer to a write is lost, and the write is sent again.

use super::claims;
use super::failure::{Doing, Result};
use super::holder::{BALANCE, BALANCE_KEY, CHARGE, CHARGED, CHARGED_BY_MISTAKE};
use super::holding::Role;
use super::lock::LockFile;
use super::log::{Act, Delivery};
use super::stage::Stage;
use super::store::Store;

pub(super) fn play(stage: &mut Stage, store: &mut Store) -> Result<()> {
    stage.open(Act::LostAnswer, "3. A lost answer: was the money charged, or not?")?;
    LockFile::create(&stage.lock(ACCOUNT), 11).doing("make the lock's file")?;
    let role = Role { name: "C", resource: ACCOUNT, lease_ms: 5_000, work: &["charge"] };
    let mut holding = role.start(stage)?;
    holding.carry(stage, store, Delivery::Delivered)?;
    stage.tell(format_args!(
        "C, generation {}, charges {CHARGED} of the {BALANCE} in an account; its idempotency key is {CHARGE}",
        holding.token
    ))?;
    let answer = holding.carry(stage, store, Delivery::Lost)?;
    stage.add(format_args!("{answer}; this answer is lost on its way back"))?;
    let answer = holding.carry(stage, store, Delivery::Delivered)?;
    stage.tell("C has heard nothing, and sends the same request again, with the same key")?;
    stage.add(answer)?;
    let answer = holding.carry(stage, store, Delivery::Delivered)?;
    stage.tell(format_args!(
        "by mistake, C sends another amount, {CHARGED_BY_MISTAKE}, with that key"
    ))?;
    stage.add(answer)?;
    holding.release(stage)?;
    holding.process.finish()?;
    store.look(stage, ACCOUNT, &[BALANCE_KEY.to_owned()])?;
    store.look_up(stage, ACCOUNT, &[CHARGE.to_owned()])?;
    stage.judge(claims::lost_answer(&stage.log))
}

const ACCOUNT: &str = "account/anna";

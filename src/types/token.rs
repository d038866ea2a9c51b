//! The fencing token: two numbers that order the holders of a lock.

use std::fmt;
use std::str::FromStr;

use crate::limits::TOKEN_NUMBER_MAX;
use crate::types::{Invalid, Problem};

/// What a lock coordinator issues with a grant: (epoch, generation), compared in that order.
///
/// The *generation* grows with every grant. The *epoch* is raised by an operator when the
/// coordinator's numbers start again (a restore, a migration, a wiped Redis); most tokens have
/// epoch 0. Text form: `42`, or `3:42` with an epoch.
///
/// Both numbers are at most 2^63 - 1; a generation is at least 1, because 0 is what a missing
/// field reads as.
///
/// ```
/// use palisade::FencingToken;
/// # fn main() -> Result<(), palisade::Invalid> {
/// let old = FencingToken::generation(41)?;
/// let new = FencingToken::generation(1)?.in_epoch(3)?;
/// assert!(old < new);
/// assert_eq!(new, "3:1".parse()?);
/// assert!(FencingToken::generation(0).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken {
    // Field order is comparison order.
    epoch: u64,
    generation: u64,
}

impl FencingToken {
    /// A token of epoch 0.
    ///
    /// # Errors
    /// [`Invalid`] unless the generation lies in 1 ..= 2^63 - 1.
    pub fn generation(generation: u64) -> Result<Self, Invalid> {
        if generation == 0 || generation > TOKEN_NUMBER_MAX {
            return Err(out_of_range(generation.to_string(), 1));
        }
        Ok(Self { epoch: 0, generation })
    }

    /// The same generation in `epoch`.
    ///
    /// # Errors
    /// [`Invalid`] if the epoch is above 2^63 - 1.
    pub fn in_epoch(self, epoch: u64) -> Result<Self, Invalid> {
        if epoch > TOKEN_NUMBER_MAX {
            return Err(out_of_range(epoch.to_string(), 0));
        }
        Ok(Self { epoch, ..self })
    }

    /// The epoch.
    #[must_use]
    pub fn epoch(self) -> u64 {
        self.epoch
    }

    /// The generation, as the coordinator issued it.
    #[must_use]
    pub fn generation_number(self) -> u64 {
        self.generation
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.epoch != 0 {
            write!(f, "{}:", self.epoch)?;
        }
        write!(f, "{}", self.generation)
    }
}

impl FromStr for FencingToken {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.split_once(':') {
            Some((epoch, generation)) => {
                Self::generation(number(generation)?)?.in_epoch(number(epoch)?)
            }
            None => Self::generation(number(text)?),
        }
    }
}

/// For coordinators that hand out signed numbers. A negative one is refused, never cast.
impl TryFrom<i64> for FencingToken {
    type Error = Invalid;

    fn try_from(generation: i64) -> Result<Self, Invalid> {
        let generation =
            u64::try_from(generation).map_err(|_| out_of_range(generation.to_string(), 1))?;
        Self::generation(generation)
    }
}

fn number(text: &str) -> Result<u64, Invalid> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        return Err(Invalid::malformed(
            "token",
            "a decimal generation such as 42, or epoch:generation such as 3:42",
        ));
    }
    text.parse().map_err(|_| out_of_range(text.to_owned(), 0))
}

fn out_of_range(found: String, min: i128) -> Invalid {
    Invalid::new("token", Problem::OutOfRange { found, min, max: i128::from(TOKEN_NUMBER_MAX) })
}

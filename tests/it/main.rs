//! Behaviour, through public interfaces.

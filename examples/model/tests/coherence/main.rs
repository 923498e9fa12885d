//! The coherence model from outside: against a brute-force one, by hand, with a clock, as a
//! picture.

mod by_hand;
mod heat_map;
mod oracle;
mod timing;

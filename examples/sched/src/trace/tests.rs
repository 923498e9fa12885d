//! The lists against lines counted by hand, and the model against itself.

use super::*;

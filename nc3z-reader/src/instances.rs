//! Reading into every number type, compiled here once. The compiler shares generic functions between crates at optimisation level 1: the crate's own
//! tests, its example and the crates above use these in place of their own. Builds for tests only: programs compile what they read.

use crate::Variable;
use std::hint::black_box;

/// Does nothing that matters: what it names is compiled.
pub fn of_all_types() {
    black_box(Variable::read_into::<i8> as *const ());
    black_box(Variable::read_into::<u8> as *const ());
    black_box(Variable::read_into::<i16> as *const ());
    black_box(Variable::read_into::<u16> as *const ());
    black_box(Variable::read_into::<i32> as *const ());
    black_box(Variable::read_into::<u32> as *const ());
    black_box(Variable::read_into::<i64> as *const ());
    black_box(Variable::read_into::<u64> as *const ());
    black_box(Variable::read_into::<f32> as *const ());
    black_box(Variable::read_into::<f64> as *const ());
}

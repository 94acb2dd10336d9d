//! Reads into every number type, compiled here once. At optimisation level 1 the compiler shares generic
//! functions between crates: the crate's own tests, its example and the dependent crates use these instead of
//! their own. For builds of tests only: programs compile what they read.

use crate::Variable;
use std::hint::black_box;

/// Names the functions, so that they are compiled. Its result is unused.
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

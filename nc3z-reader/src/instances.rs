//! Reads into every number type, compiled here once. At optimisation level 1 the compiler shares generic
//! functions between crates, so the crate's tests, its example and the dependent crates need not compile them again.
//! This is only for builds of tests. Programs compile the functions that they use.

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

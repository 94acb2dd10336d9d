//! The parts of a decision of `mix` that treat all contexts alike ([`crate::mix::model::Parts`]).

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of positive numbers")]

use crate::mix::model::{ADAPT, Found, Inputs, Lesson, OLDEST, Weights};
use std::arch::x86_64::{
    __m128i, _mm_add_epi16, _mm_add_epi32, _mm_adds_epi16, _mm_and_si128, _mm_cvtsi128_si32, _mm_madd_epi16,
    _mm_min_epi16, _mm_mulhrs_epi16, _mm_or_si128, _mm_set1_epi16, _mm_shuffle_epi8, _mm_shuffle_epi32,
    _mm_slli_epi16, _mm_srli_epi16, _mm_sub_epi16,
};
use zerocopy::transmute;

/// The lower or the higher bytes of [`ADAPT`], by age.
const fn adapt(shift: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    let mut age = 0;
    while age < bytes.len() {
        bytes[age] = (ADAPT[age] >> shift) as u8;
        age += 1;
    }
    bytes
}

const LOW: [u8; 16] = adapt(0);
const HIGH: [u8; 16] = adapt(8);

/// [`crate::mix::model::dot`].
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn dot([a, b]: [&Weights; 2], inputs: &Inputs) -> i32 {
    let (a, b, x): (__m128i, __m128i, __m128i) = (transmute!(*a), transmute!(*b), transmute!(*inputs));
    let sum = _mm_add_epi32(_mm_madd_epi16(a, x), _mm_madd_epi16(b, x));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
    _mm_cvtsi128_si32(sum)
}

/// [`crate::mix::model::learn`].
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn learn([a, b]: [&mut Weights; 2], inputs: &Inputs, found: &mut Found, lesson: Lesson) {
    let inputs: __m128i = transmute!(*inputs);
    let step = _mm_mulhrs_epi16(_mm_slli_epi16::<4>(inputs), _mm_set1_epi16(lesson.error));
    *a = transmute!(_mm_adds_epi16(transmute!(*a), step));
    *b = transmute!(_mm_adds_epi16(transmute!(*b), step));
    let old: __m128i = transmute!(*found);
    let (age, p) = (_mm_and_si128(old, _mm_set1_epi16(15)), _mm_srli_epi16::<4>(old));
    // The upper byte of each word selects no byte.
    let by_age = _mm_or_si128(age, _mm_set1_epi16(i16::MIN));
    let (low, high) = (_mm_shuffle_epi8(transmute!(LOW), by_age), _mm_shuffle_epi8(transmute!(HIGH), by_age));
    let adapt = _mm_or_si128(low, _mm_slli_epi16::<8>(high));
    let p = _mm_add_epi16(p, _mm_mulhrs_epi16(_mm_sub_epi16(_mm_set1_epi16(lesson.goal), p), adapt));
    let age = _mm_min_epi16(_mm_add_epi16(age, _mm_set1_epi16(1)), _mm_set1_epi16(OLDEST.cast_signed()));
    *found = transmute!(_mm_or_si128(_mm_slli_epi16::<4>(p), age));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::model;
    use multiversion::{multiversion, target::match_target};
    use proptest::prelude::*;

    /// Both parts, in vectors where the processor has them.
    #[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
    fn in_vectors(
        a: &mut Weights,
        b: &mut Weights,
        inputs: &Inputs,
        found: &mut Found,
        lesson: Lesson,
    ) -> i32 {
        match_target! {
            "x86_64+avx2" => {
                let sum = dot([a, b], inputs);
                learn([a, b], inputs, found, lesson);
                sum
            },
            _ => {
                let sum = model::dot([a, b], inputs);
                model::learn([a, b], inputs, found, lesson);
                sum
            },
        }
    }

    proptest! {
        #[test]
        fn vectors_are_as_the_plain_parts(
            a: Weights,
            b: Weights,
            inputs in proptest::array::uniform8(-2047i16..=2047),
            found: Found,
            error: i16,
            one: bool,
        ) {
            let lesson = Lesson { error, goal: if one { 4095 } else { 0 } };
            let (mut a1, mut b1, mut found1) = (a, b, found);
            let (mut a2, mut b2, mut found2) = (a, b, found);
            let sum = in_vectors(&mut a1, &mut b1, &inputs, &mut found1, lesson);
            prop_assert_eq!(sum, model::dot([&a, &b], &inputs));
            model::learn([&mut a2, &mut b2], &inputs, &mut found2, lesson);
            prop_assert_eq!((a1, b1, found1), (a2, b2, found2));
        }
    }
}

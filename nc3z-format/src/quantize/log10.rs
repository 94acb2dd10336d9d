//! The decimal logarithm of a significand, rounded to the nearest binary64 number. Mathematical libraries
//! differ in its last bit, and rounding depends on whole logarithms (`spec/quantize.md`): all machines must
//! round the same values alike.

use crate::double_double::DoubleDouble;

/// 2 / ln 10.
const TWO_OVER_LN_10: DoubleDouble = DoubleDouble(HIGH, LOW);
const HIGH: f64 = 0.868_588_963_806_503_6;
const LOW: f64 = 2.196_639_300_433_53e-17;
/// Terms of the series. Each reduces the remainder to at most a ninth.
const TERMS: u32 = 36;

/// For `significand` from 0.5 to 1.
pub(super) fn nearest_log10(significand: f64) -> f64 {
    // ln s = 2 artanh z = 2 (z + z^3 / 3 + z^5 / 5 + ...), and |z| is at most a third.
    let z = DoubleDouble(significand - 1.0, 0.0).over(DoubleDouble::sum(significand, 1.0));
    let square = z.times(z);
    let mut series = DoubleDouble(0.0, 0.0);
    for term in (0..TERMS).rev() {
        let divisor = f64::from(2 * term + 1);
        series = series.times(square).plus(DoubleDouble(1.0, 0.0).over(DoubleDouble(divisor, 0.0)));
    }
    series.times(z).times(TWO_OVER_LN_10).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "the nearest number is one number")]
    fn logarithms_are_the_nearest_numbers() {
        // Computed by Python's decimal module with 60 digits. The C library's last digit is wrong for several of them.
        let known: [(u64, u64); 24] = [
            (0x3FE0_0000_0000_0000, 0xBFD3_4413_509F_79FF),
            (0x3FEF_4000_0000_0000, 0xBF85_1824_C758_7EB0),
            (0x3FE9_0000_0000_0000, 0xBFBB_721C_D171_57E3),
            (0x3FE4_0000_0000_0000, 0xBFCA_209A_84FB_CFF8),
            (0x3FEF_FFFF_FFFF_FFFF, 0xBC8B_CB7B_1526_E50F),
            (0x3FE0_0000_0000_0001, 0xBFD3_4413_509F_79FD),
            (0x3FE8_B529_B442_C6C6, 0xBFBC_C0E3_2CFF_CE26),
            (0x3FED_6645_FAF0_3F38, 0xBFA2_D8C1_258D_3A29),
            (0x3FE4_2650_651A_0072, 0xBFC9_B681_BC12_CC31),
            (0x3FE7_8633_0714_FA87, 0xBFC1_1AF2_19B2_918C),
            (0x3FED_6225_6719_6942, 0xBFA2_F7FA_9ADF_014B),
            (0x3FEA_399F_83B8_D7E4, 0xBFB6_2078_E411_FAB9),
            (0x3FED_E383_79DA_071B, 0xBF9E_5AA0_90B7_020D),
            (0x3FE8_5EF3_42C7_A5C9, 0xBFBE_477E_A217_4651),
            (0x3FE1_0645_D451_9CDE, 0xBFD1_8A74_1D9F_7165),
            (0x3FE4_D1FE_098F_6630, 0xBFC7_E495_BFC2_05EF),
            (0x3FED_D933_1689_F2F2, 0xBF9E_F431_AEFF_723B),
            (0x3FE6_51C5_2574_CCED, 0xBFC4_071D_D966_7625),
            (0x3FE9_5918_6876_FB5C, 0xBFB9_E89F_5F27_1C4A),
            (0x3FEE_779C_46AC_6C76, 0xBF95_D421_BB54_661E),
            (0x3FEA_E966_19D4_DAAA, 0xBFB3_40DF_348B_2898),
            (0x3FED_B3D1_148F_32F6, 0xBFA0_9144_7DD0_61D8),
            (0x3FEE_79A2_7F24_D75D, 0xBF95_B696_7617_8CC8),
            (0x3FED_4E44_1DF9_E494, 0xBFA3_8E9E_C2A2_66B4),
        ];
        for (significand, logarithm) in known {
            assert_eq!(
                nearest_log10(f64::from_bits(significand)),
                f64::from_bits(logarithm),
                "{significand:#x}"
            );
        }
        assert_eq!(nearest_log10(1.0), 0.0);
    }

    #[test]
    fn they_are_near_those_of_the_library() {
        let mut seed = 7_u64;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let significand = f64::from_bits(0x3FE0_0000_0000_0000 | seed >> 12);
            let (ours, theirs) = (nearest_log10(significand), significand.log10());
            assert!((ours - theirs).abs() <= ours.abs() * 4.0 * f64::EPSILON, "{significand}");
        }
    }
}

//! Tails of the binomial distribution, for the worst case of random damage. Uses only `+ − × ÷`, so that all
//! machines agree.

/// The least `x` such that more than `x` hits in `n` trials have a probability below `odds`; each trial hits with
/// probability `num / den`.
pub(super) fn unlucky(n: u64, num: u64, den: u64, odds: f64) -> u64 {
    if num == 0 || n == 0 {
        return 0;
    }
    if num >= den {
        return n;
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of shards are far below 2^53")]
    let (count, p) = (n as f64, num as f64 / den as f64);
    let ratio = p / (1.0 - p);
    // Probabilities are relative to that of the mode. They are computed upwards until they vanish, and summed downwards.
    #[expect(clippy::cast_precision_loss, reason = "as above")]
    let step = |x: u64| (count - x as f64) / (x as f64 + 1.0) * ratio;
    let mode = u64::try_from(u128::from(n) * u128::from(num) / u128::from(den)).expect("at most n");
    let mut above = Vec::new();
    let mut weight = 1.0;
    let mut x = mode;
    while x < n && weight > 1e-30 {
        weight *= step(x);
        above.push(weight);
        x += 1;
    }
    let mut below = 1.0;
    weight = 1.0;
    x = mode;
    while x > 0 && weight > 1e-30 {
        weight /= step(x - 1);
        below += weight;
        x -= 1;
    }
    let total = below + above.iter().sum::<f64>();
    let mut tail = 0.0;
    for (i, weight) in above.iter().enumerate().rev() {
        tail += weight;
        if tail >= odds * total {
            return mode + i as u64 + 1;
        }
    }
    mode
}

#[cfg(test)]
mod tests {
    use super::unlucky;

    #[test]
    fn tails_are_those_of_the_tables() {
        // 10 trials at one half: more than 9 hits have 1/1024, more than 8 have 11/1024, more than 7 have 56/1024.
        assert_eq!(unlucky(10, 1, 2, 1.5 / 1024.0), 9);
        assert_eq!(unlucky(10, 1, 2, 11.5 / 1024.0), 8);
        assert_eq!(unlucky(10, 1, 2, 56.5 / 1024.0), 7);
        // One trial at 5%.
        assert_eq!((unlucky(1, 5, 100, 0.04), unlucky(1, 5, 100, 0.06)), (1, 0));
        assert_eq!((unlucky(9, 0, 1, 0.1), unlucky(9, 1, 1, 0.1), unlucky(0, 1, 2, 0.1)), (0, 9, 0));
    }

    #[test]
    fn large_numbers_are_near_the_normal_distribution() {
        // Mean 1638.4, deviation 39.97; 6 deviations have about 1e-9.
        let x = unlucky(65_536, 25, 1000, 1e-9);
        assert!((1870..=1900).contains(&x), "{x}");
        assert!(unlucky(65_536, 5, 10_000, 1e-9) < 80);
    }
}

//! The erasure code: Reed–Solomon over GF(2^16), `spec/parity.md`, "The code".
//!
//! A codeword is a row of shards `c[0], c[1], …` with `Σ c[i]·i^j = 0` for each `j` below the span. Parity is
//! at positions below the span, data from the span on. The transforms are those of the `reed-solomon-simd`
//! crate. This module uses the crate's engine directly, so that encoding holds one span of shards instead of
//! a whole group, and decoding also restores lost parity.

use crate::error::{Error, Result};
use reed_solomon_simd::engine::{DefaultEngine, Engine, GF_MODULUS, GF_ORDER, ShardsRefMut, utils};

/// Bytes of one lane: 32 symbols, their low bytes first.
const LANE: usize = 64;

/// Makes the parity of one group, over a stripe of its shards' bytes, a span of shards at a time.
pub struct Encoder {
    engine: DefaultEngine,
    parity: usize,
    lanes: usize,
    chunk: Vec<[u8; LANE]>,
    sum: Vec<[u8; LANE]>,
    taken: usize,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("parity", &self.parity)
            .field("lanes", &self.lanes)
            .finish_non_exhaustive()
    }
}

impl Encoder {
    /// For `parity` shards (1 to 32,768) of `width` bytes (a multiple of 64).
    pub fn new(parity: usize, width: usize) -> Self {
        assert!(
            parity > 0 && parity <= GF_ORDER / 2 && width.is_multiple_of(LANE),
            "checked by Interleave and layout"
        );
        let lanes = width / LANE;
        let room = parity.next_power_of_two() * lanes;
        Encoder {
            engine: DefaultEngine::new(),
            parity,
            lanes,
            chunk: vec![[0; LANE]; room],
            sum: vec![[0; LANE]; room],
            taken: 0,
        }
    }

    /// Shards that are taken at a time.
    pub fn span(&self) -> usize {
        self.parity.next_power_of_two()
    }

    /// The place for shard `i` of the open span, to be filled.
    pub fn shard_mut(&mut self, i: usize) -> &mut [u8] {
        self.chunk[i * self.lanes..(i + 1) * self.lanes].as_flattened_mut()
    }

    /// Takes the open span: its first `filled` shards, the others count as zeros. Only the last span may be short.
    pub fn take(&mut self, filled: usize) {
        let span = self.span();
        self.chunk[filled * self.lanes..].fill([0; LANE]);
        self.taken += 1;
        let mut shards = ShardsRefMut::new(span, self.lanes, &mut self.chunk);
        self.engine.ifft(&mut shards, 0, span, filled, self.taken * span);
        if self.taken == 1 {
            std::mem::swap(&mut self.sum, &mut self.chunk);
        } else {
            utils::xor(&mut self.sum, &self.chunk);
        }
    }

    /// All data are in: computes the parity.
    pub fn finish(&mut self) {
        let span = self.span();
        let mut shards = ShardsRefMut::new(span, self.lanes, &mut self.sum);
        self.engine.fft(&mut shards, 0, span, self.parity, 0);
    }

    /// Parity shard `row`, once finished.
    pub fn parity(&self, row: usize) -> &[u8] {
        self.sum[row * self.lanes..(row + 1) * self.lanes].as_flattened()
    }
}

/// The lost shards of a group. Restores them, stripe by stripe.
pub struct Erasures {
    engine: DefaultEngine,
    /// End of the data's positions.
    end: usize,
    /// Positions whose content is lost, in ascending order, without those of parity that was never made.
    lost: Vec<usize>,
    /// All that are not there.
    absent: Vec<bool>,
    factors: Box<[u16; GF_ORDER]>,
}

impl std::fmt::Debug for Erasures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Erasures")
            .field("end", &self.end)
            .field("lost", &self.lost.len())
            .finish_non_exhaustive()
    }
}

impl Erasures {
    /// Prepares to repair a group of `data` and `parity` shards that has lost the shards at these code positions. Parity
    /// shard `r` has position `r`, and data shard `s` has position `span + s`.
    ///
    /// # Errors
    /// More are lost than there is parity for.
    pub fn new(data: usize, parity: usize, mut lost: Vec<usize>) -> Result<Self> {
        let span = parity.next_power_of_two();
        let end = span + data;
        lost.sort_unstable();
        lost.dedup();
        assert!(
            end <= GF_ORDER && lost.last().is_none_or(|&p| p < end),
            "Interleave has at most 65,536 positions"
        );
        if lost.len() > parity {
            return Err(Error::corrupt(
                "parity group",
                None,
                "lost shards",
                format!("at most {parity}"),
                lost.len(),
            ));
        }
        let mut absent = vec![false; end];
        absent[parity..span].fill(true);
        lost.iter().for_each(|&p| absent[p] = true);
        let factors: Vec<u16> =
            absent.iter().map(|&a| u16::from(a)).chain(std::iter::repeat(0)).take(GF_ORDER).collect();
        let mut factors: Box<[u16; GF_ORDER]> = factors.try_into().expect("taken that many");
        DefaultEngine::eval_poly(&mut factors, end);
        Ok(Erasures { engine: DefaultEngine::new(), end, lost, absent, factors })
    }

    /// Lost positions, ascending.
    pub fn lost(&self) -> &[usize] {
        &self.lost
    }

    /// Shards that the work space of [`Erasures::reveal`] holds.
    pub fn work_len(&self) -> usize {
        self.end.next_power_of_two()
    }

    /// `work` has [`Erasures::work_len`] shards of `work.len() / work_len` lanes, with the present shards at
    /// their positions. Afterwards the lost shards are correct, and the others are overwritten.
    pub fn reveal(&self, work: &mut [[u8; LANE]]) {
        let n = self.work_len();
        let lanes = work.len() / n;
        for (position, shard) in work.chunks_exact_mut(lanes).enumerate() {
            if position < self.end && !self.absent[position] {
                self.engine.mul(shard, self.factors[position]);
            } else {
                shard.fill([0; LANE]);
            }
        }
        let mut shards = ShardsRefMut::new(n, lanes, work);
        self.engine.ifft(&mut shards, 0, n, self.end, 0);
        for i in 1..n {
            let width = 1 << i.trailing_zeros();
            utils::xor_within(&mut shards, i - width, i, width);
        }
        self.engine.fft(&mut shards, 0, n, self.end, 0);
        for &position in &self.lost {
            let shard = &mut work[position * lanes..(position + 1) * lanes];
            self.engine.mul(shard, GF_MODULUS - self.factors[position]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The field as the specification defines it, by shifts: bit `j` of a symbol is the coefficient of the
    /// `j`-th basis element.
    struct Field {
        log: Vec<u32>,
        exp: Vec<u16>,
    }

    const BASIS: [u16; 16] = [
        0x0001, 0xACCA, 0x3C0E, 0x163E, 0xC582, 0xED2E, 0x914C, 0x4012, 0x6C98, 0x10D8, 0x6A72, 0xB900,
        0xFDB8, 0xFB34, 0xFF38, 0x991E,
    ];

    impl Field {
        fn new() -> Self {
            let element =
                |s: usize| (0..16).filter(|j| s >> j & 1 == 1).fold(0, |e, j| e ^ usize::from(BASIS[j]));
            let mut symbol_of = vec![0u16; 65_536];
            (0..65_536).for_each(|s| symbol_of[element(s)] = u16::try_from(s).unwrap());
            let (mut log, mut exp) = (vec![0; 65_536], vec![0; 65_535]);
            let mut power = 1usize;
            for i in 0..65_535u32 {
                let symbol = symbol_of[power];
                (log[usize::from(symbol)], exp[i as usize]) = (i, symbol);
                power <<= 1;
                if power > 0xFFFF {
                    power ^= 0x1_002D;
                }
            }
            Field { log, exp }
        }

        fn mul(&self, a: u16, b: u16) -> u16 {
            if a == 0 || b == 0 {
                return 0;
            }
            self.exp[((self.log[usize::from(a)] + self.log[usize::from(b)]) % 65_535) as usize]
        }
    }

    fn symbol(lane: &[u8; LANE], i: usize) -> u16 {
        u16::from_le_bytes([lane[i], lane[i + 32]])
    }

    fn noise(seed: u64, len: usize) -> Vec<u8> {
        let mut x = seed.wrapping_mul(2).wrapping_add(1);
        (0..len)
            .map(|_| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                x.to_le_bytes()[3]
            })
            .collect()
    }

    /// Parity and data of a group of noise, in the order of the code's positions.
    fn codeword(data: usize, parity: usize, width: usize, seed: u64) -> Vec<Vec<u8>> {
        let shards: Vec<Vec<u8>> = (0..data).map(|i| noise(seed + i as u64, width)).collect();
        let mut encoder = Encoder::new(parity, width);
        let span = encoder.span();
        for part in shards.chunks(span) {
            part.iter().enumerate().for_each(|(i, s)| encoder.shard_mut(i).copy_from_slice(s));
            encoder.take(part.len());
        }
        encoder.finish();
        let mut word: Vec<Vec<u8>> =
            (0..span).map(|r| if r < parity { encoder.parity(r).to_vec() } else { Vec::new() }).collect();
        word.extend(shards);
        word
    }

    #[test]
    fn codewords_are_those_of_the_specification() {
        let field = Field::new();
        // All parity is made, so that the sums can be checked: parity is a power of two.
        for (data, parity) in [(1, 1), (3, 1), (1, 4), (5, 2), (37, 8), (100, 16), (16, 16)] {
            let word = codeword(data, parity, LANE, 7);
            let mut power: Vec<u16> = vec![1; word.len()];
            for _ in 0..parity {
                for i in 0..32 {
                    let sum = word.iter().zip(&power).fold(0, |sum, (shard, &p)| {
                        sum ^ field.mul(symbol(shard.as_slice().try_into().unwrap(), i), p)
                    });
                    assert_eq!(sum, 0, "{data} + {parity}");
                }
                power.iter_mut().enumerate().for_each(|(x, p)| *p = field.mul(*p, u16::try_from(x).unwrap()));
            }
        }
    }

    #[test]
    fn encoder_is_the_crates() {
        use reed_solomon_simd::rate::{HighRateEncoder, RateEncoder};
        for (data, parity) in [(1, 1), (1, 4), (5, 3), (300, 7), (70, 64), (65, 65)] {
            let word = codeword(data, parity, 128, 3);
            let mut other = HighRateEncoder::new(data, parity, 128, DefaultEngine::new(), None).unwrap();
            word[parity.next_power_of_two()..].iter().for_each(|s| other.add_original_shard(s).unwrap());
            for (row, shard) in other.encode().unwrap().recovery_iter().enumerate() {
                assert_eq!(shard, word[row], "{data} + {parity}");
            }
        }
    }

    fn repair(word: &[Vec<u8>], data: usize, parity: usize, lost: &[usize], width: usize) {
        let erasures = Erasures::new(data, parity, lost.to_vec()).unwrap();
        let lanes = width / LANE;
        let mut work = vec![[0xEE; LANE]; erasures.work_len() * lanes];
        for (i, shard) in word.iter().enumerate().filter(|(i, s)| !lost.contains(i) && !s.is_empty()) {
            work[i * lanes..(i + 1) * lanes].as_flattened_mut().copy_from_slice(shard);
        }
        erasures.reveal(&mut work);
        for &i in erasures.lost() {
            assert!(work[i * lanes..(i + 1) * lanes].as_flattened() == &word[i][..], "position {i}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn as_many_as_there_is_parity_are_repaired(
            data in 1usize..400, parity in 1usize..100, lanes in 1usize..4, seed: u64, share in 0usize..=100,
        ) {
            let width = lanes * LANE;
            let word = codeword(data, parity, width, seed % 1000);
            let span = parity.next_power_of_two();
            let mut places: Vec<usize> = (0..parity).chain(span..span + data).collect();
            let mut x = seed | 1;
            for i in (1..places.len()).rev() {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                places.swap(i, usize::try_from(x >> 33).unwrap() % (i + 1));
            }
            let count = if share > 80 { parity } else { parity * share / 80 };
            repair(&word, data, parity, &places[..count.min(places.len())], width);
        }
    }

    #[test]
    fn largest_group_is_repaired() {
        // 65,536 positions exactly, and lost shards at both of its ends.
        let (data, parity) = (65_536 - 64, 40);
        let word = codeword(data, parity, LANE, 11);
        repair(&word, data, parity, &[0, 39, 64, 65, 30_000, 65_534, 65_535], LANE);
    }

    #[test]
    fn more_lost_than_parity_is_an_error() {
        assert!(Erasures::new(10, 3, vec![0, 1, 4, 5]).unwrap_err().is_corrupt());
        assert!(Erasures::new(10, 3, vec![0, 1, 5, 5]).is_ok());
    }
}

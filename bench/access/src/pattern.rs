//! Access patterns: hyperslabs of a variable (time, lat, lon).

/// A hyperslab with positive strides.
#[derive(Clone, Debug)]
pub struct Slab {
    pub start: Vec<u64>,
    pub count: Vec<u64>,
    pub stride: Vec<u64>,
}

impl Slab {
    fn new(start: &[u64], count: &[u64]) -> Self {
        Slab { start: start.to_vec(), count: count.to_vec(), stride: vec![1; start.len()] }
    }

    /// The elements from an array in memory.
    pub fn pick<T: Copy>(&self, shape: &[u64], from: &[T]) -> Vec<T> {
        let [t, y, x] = [0, 1, 2].map(|d| (0..self.count[d]).map(move |i| self.start[d] + i * self.stride[d]));
        let at = |t: u64, y: u64, x: u64| ((t * shape[1] + y) * shape[2] + x) as usize;
        let mut out = Vec::new();
        for t in t {
            for y in y.clone() {
                out.extend(x.clone().map(|x| from[at(t, y, x)]));
            }
        }
        out
    }

    pub fn is_strided(&self) -> bool {
        self.stride.iter().any(|&s| s != 1)
    }
}

/// A named list of reads.
pub struct Pattern {
    pub name: &'static str,
    pub slabs: Vec<Slab>,
}

/// The patterns of the table.
pub fn all(shape: &[u64]) -> Vec<Pattern> {
    let [t, y, x] = [shape[0], shape[1], shape[2]];
    let (points, maps) = (neighbours(y, x), (0..t.min(24)).map(|i| Slab::new(&[i, 0, 0], &[1, y, x])).collect());
    let overview = Slab { start: vec![0; 3], count: vec![t.div_ceil(10), y.div_ceil(10), x.div_ceil(10)], stride: vec![10; 3] };
    vec![
        Pattern { name: "whole", slabs: vec![Slab::new(&[0, 0, 0], shape)] },
        Pattern { name: "map", slabs: vec![Slab::new(&[t / 2, 0, 0], &[1, y, x])] },
        Pattern { name: "series", slabs: vec![Slab::new(&[0, y / 3, x / 3], &[t, 1, 1])] },
        Pattern { name: "box", slabs: vec![Slab::new(&[t / 4, y / 4, x / 4], &[t / 4, y / 4, x / 4])] },
        Pattern { name: "overview", slabs: vec![overview] },
        Pattern { name: "1000 boxes", slabs: random_boxes(1000, shape, [4, 20, 20]) },
        Pattern { name: "element", slabs: vec![Slab::new(&[t / 2, y / 2, x / 2], &[1, 1, 1])] },
        Pattern { name: "24 maps", slabs: maps },
        Pattern { name: "100 series", slabs: points.iter().map(|&(j, i)| Slab::new(&[0, j, i], &[t, 1, 1])).collect() },
        Pattern { name: "1000 hot boxes", slabs: hot_boxes(1000, shape, [4, 20, 20]) },
    ]
}

/// A square of ten by ten points.
fn neighbours(y: u64, x: u64) -> Vec<(u64, u64)> {
    (0..100).map(|i| (y / 3 + i / 10, x / 3 + i % 10)).collect()
}

fn random_boxes(n: usize, shape: &[u64], size: [u64; 3]) -> Vec<Slab> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let size = [0, 1, 2].map(|d| size[d].min(shape[d]));
    (0..n).map(|_| Slab::new(&[0, 1, 2].map(|d| random.below(shape[d] - size[d] + 1)), &size)).collect()
}

/// Boxes, nine in ten of them in a tenth of the times.
fn hot_boxes(n: usize, shape: &[u64], size: [u64; 3]) -> Vec<Slab> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let hot = [(shape[0] / 10).max(size[0]), shape[1], shape[2]];
    let size = [0, 1, 2].map(|d| size[d].min(shape[d]));
    (0..n)
        .map(|_| {
            let within = if random.below(10) < 9 { &hot[..] } else { shape };
            Slab::new(&[0, 1, 2].map(|d| random.below(within[d] - size[d] + 1)), &size)
        })
        .collect()
}

/// xorshift64*: the same boxes for everyone, every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % n
    }
}

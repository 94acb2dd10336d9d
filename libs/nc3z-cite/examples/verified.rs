//! Measures the time of reading with checks against a root, compared with plain reading. Both are run
//! alternately, each time with an empty cache.
//!
//! `verified FILE VARIABLE BYTES TIMES [MILLISECONDS MEGABYTES]` reads slices of about BYTES bytes of the
//! variable, one after another. With the last two arguments, the file and its tree file are read as from a
//! server that answers each request after MILLISECONDS, and sends MEGABYTES in a second.

use nc3z_format::Hyperslab;
use nc3z_format::digest::Root;
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::{ByteSource, MemorySource, Reach, SharedSource};
use nc3z_reader::{Dataset, DigestRequest, OpenOptions, source};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Done<T> = Result<T, Box<dyn std::error::Error>>;

/// A source behind a network.
struct Slow {
    inner: SharedSource,
    wait: Duration,
    bytes_per_second: f64,
}

impl Slow {
    #[expect(clippy::cast_precision_loss, reason = "lengths below 2^53")]
    fn sleep(&self, len: usize) {
        std::thread::sleep(self.wait + Duration::from_secs_f64(len as f64 / self.bytes_per_second));
    }
}

impl ByteSource for Slow {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> nc3z_reader::Result<()> {
        self.sleep(buf.len());
        self.inner.read_into(offset, buf)
    }

    /// All requests run at once, and share the bandwidth.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> nc3z_reader::Result<Vec<bytes::Bytes>> {
        let parts = self.inner.read_ranges(ranges)?;
        self.sleep(parts.iter().map(bytes::Bytes::len).sum());
        Ok(parts)
    }

    fn reach(&self) -> Reach {
        Reach::REMOTE
    }
}

/// The file and its tree file, with the way they are read.
struct Place<'p> {
    file: &'p Path,
    tree: Vec<u8>,
    root: Root,
    slow: Option<(Duration, f64)>,
}

impl Place<'_> {
    fn behind(&self, inner: SharedSource) -> SharedSource {
        match self.slow {
            Some((wait, bytes_per_second)) => Arc::new(Slow { inner, wait, bytes_per_second }),
            None => inner,
        }
    }

    fn open(&self, checked: bool) -> Done<Dataset> {
        let options = OpenOptions::default().with_cache(TileCache::new(256 << 20));
        let dataset = Dataset::from_source(self.behind(source::open(self.file, false)?), &options)?;
        if !checked {
            return Ok(dataset);
        }
        let tree = self.behind(Arc::new(MemorySource::new(self.tree.clone())));
        Ok(dataset.verified(&self.root, Some(tree), &())?)
    }
}

/// Returns the processor seconds of this process so far, on systems that measure them for each thread.
fn processor() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

/// Returns the seconds of opening, and the seconds and processor seconds of reading one slice.
fn read(place: &Place<'_>, checked: bool, variable: &str, slab: &Hyperslab) -> Done<([f64; 3], Vec<u8>)> {
    let begin = Instant::now();
    let dataset = place.open(checked)?;
    let opened = begin.elapsed().as_secs_f64();
    let (begin, before) = (Instant::now(), processor());
    let bytes = dataset.variable(variable)?.read_bytes(slab)?;
    Ok(([opened, begin.elapsed().as_secs_f64(), processor() - before], bytes))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Done<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, variable, bytes, times, slow) = match &args[..] {
        [file, variable, bytes, times] => (file, variable, bytes, times, None),
        [file, variable, bytes, times, wait, speed] => {
            let slow = (Duration::from_millis(wait.parse()?), speed.parse::<f64>()? * 1e6);
            (file, variable, bytes, times, Some(slow))
        }
        _ => return Err("usage: verified FILE VARIABLE BYTES TIMES [MILLISECONDS MEGABYTES]".into()),
    };
    let (bytes, times): (u64, usize) = (bytes.parse()?, times.parse()?);
    let dataset = Dataset::open(file, &OpenOptions::default())?;
    let digests = dataset.digests(DigestRequest { content: true, sha256: false, tree: true }, &())?;
    let (root, tree) = (digests.root().expect("wanted"), digests.tree.expect("wanted"));
    let place = Place { file: Path::new(file), tree, root, slow };
    let own = dataset.variable(variable)?;
    let shape = own.shape().to_vec();
    let row = shape[1..].iter().product::<u64>() * own.ty().size() as u64;
    let rows = bytes.div_ceil(row).clamp(1, shape[0]);
    let mut seconds: [[Vec<f64>; 3]; 2] = Default::default();
    for n in 0..times as u64 {
        let mut slab = Hyperslab::all(&shape);
        (slab.start[0], slab.count[0]) = (n * 7919 % (shape[0] - rows + 1), rows);
        // Both ways alternately. The one that comes first alternates, too.
        for k in [n % 2, 1 - n % 2] {
            let (taken, values) = read(&place, k == 1, variable, &slab)?;
            assert_eq!(values.len() as u64, rows * row);
            let all = &mut seconds[usize::from(k == 1)];
            all.iter_mut().zip(taken).for_each(|(all, taken)| all.push(taken));
        }
    }
    let [[open, plain, work], [open_verified, verified, work_verified]] = seconds.map(|all| all.map(median));
    let percent = |plain: f64, checked: f64| (checked / plain - 1.0) * 100.0;
    println!(
        "{} bytes, medians of {times}: read {:.3} ms, verified {:.3} ms ({:+.1} %); processor {:.3} and {:.3} ms ({:+.1} %); open {:.3} and {:.3} ms; both {:+.1} %",
        rows * row,
        plain * 1e3,
        verified * 1e3,
        percent(plain, verified),
        work * 1e3,
        work_verified * 1e3,
        percent(work, work_verified),
        open * 1e3,
        open_verified * 1e3,
        percent(open + plain, open_verified + verified)
    );
    Ok(())
}

//! What reading against a root costs over plain reading, in turns, each time with an empty cache.
//!
//! `verified FILE TREE ROOT VARIABLE BYTES TIMES` reads slices of about so many bytes of the variable, one after another; FILE and TREE are
//! paths or URLs. It prints a line of JSON. `bench/verified.py` runs it.

use nc3z_format::Hyperslab;
use nc3z_format::digest::Root;
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Dataset, OpenOptions, source};
use nc3z_remote::{RemoteOptions, is_url};
use std::path::Path;
use std::time::Instant;

type Done<T> = Result<T, Box<dyn std::error::Error>>;

fn open_source(name: &str) -> Done<SharedSource> {
    Ok(if is_url(name) {
        nc3z_remote::open(name, &RemoteOptions::default())?
    } else {
        source::open(Path::new(name), false)?
    })
}

/// Seconds of opening and of reading one slice.
fn read(
    file: &str,
    against: Option<(&str, Root)>,
    variable: &str,
    slab: &Hyperslab,
) -> Done<(f64, f64, Vec<u8>)> {
    let begin = Instant::now();
    let options = OpenOptions::default().with_cache(TileCache::new(256 << 20));
    let options = match against {
        None => options,
        Some((tree, root)) => options.with_root(root).with_tree(open_source(tree)?),
    };
    let dataset = Dataset::from_source(open_source(file)?, &options)?;
    let opened = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let bytes = dataset.variable(variable)?.read_bytes(slab)?;
    Ok((opened, begin.elapsed().as_secs_f64(), bytes))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Done<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, tree, root, variable, bytes, times] = &args[..] else {
        return Err("usage: verified FILE TREE ROOT VARIABLE BYTES TIMES".into());
    };
    let (root, bytes, times): (Root, u64, usize) = (root.parse()?, bytes.parse()?, times.parse()?);
    let dataset = Dataset::from_source(open_source(file)?, &OpenOptions::default())?;
    let own = dataset.variable(variable)?;
    let shape = own.shape().to_vec();
    let row = shape[1..].iter().product::<u64>() * own.ty().size() as u64;
    let rows = bytes.div_ceil(row).clamp(1, shape[0]);
    let mut seconds: [Vec<f64>; 4] = Default::default();
    for n in 0..times as u64 {
        let mut slab = Hyperslab::all(&shape);
        (slab.start[0], slab.count[0]) = (n * 7919 % (shape[0] - rows + 1), rows);
        // In turns, and the first of each pair in turns, too.
        for k in [n % 2, 1 - n % 2] {
            let against = (k == 1).then_some((&**tree, root));
            let (opened, read, values) = read(file, against, variable, &slab)?;
            assert_eq!(values.len() as u64, rows * row);
            let k = usize::from(k == 1);
            seconds[k].push(opened);
            seconds[2 + k].push(read);
        }
    }
    let [open, open_verified, plain, verified] = seconds.map(median);
    println!(
        "{{\"bytes\": {}, \"times\": {times}, \"open\": {open}, \"open_verified\": {open_verified}, \"read\": {plain}, \"read_verified\": {verified}}}",
        rows * row
    );
    Ok(())
}

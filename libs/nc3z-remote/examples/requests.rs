//! Measures throughput by the maximal number of requests at once: for values of many records, and for a long
//! range.
//!
//! `bench/remote_requests.py` runs it against a server on this machine that waits before each answer:
//! `requests URL MOST...` prints a line of JSON for each number.

use nc3z_reader::source::{ByteSource, Reach};
use nc3z_remote::{ObjectSource, RemoteOptions};
use std::ops::Range;
use std::time::Instant;

/// The number of values that are read, each from a record of its own.
const VALUES: u64 = 2000;
const VALUE_LEN: u64 = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().ok_or("usage: requests URL MOST...")?;
    for most in args {
        let most: usize = most.parse()?;
        let time = |ranges: &[Range<u64>]| -> Result<f64, Box<dyn std::error::Error>> {
            let source = ObjectSource::open(&url, &RemoteOptions::default())?;
            let source = source.with_reach(Reach::REMOTE.with_requests(most));
            let begin = Instant::now();
            source.read_ranges(ranges)?;
            Ok(begin.elapsed().as_secs_f64())
        };
        let source = ObjectSource::open(&url, &RemoteOptions::default())?;
        // After the bytes that opening has read.
        let (begin, len) = (1 << 20, source.len() - (1 << 20));
        let stride = len / VALUES;
        let values: Vec<Range<u64>> =
            (0..VALUES).map(|n| begin + n * stride..begin + n * stride + VALUE_LEN).collect();
        let (values, whole) = (time(&values)?, time(std::slice::from_ref(&(begin..begin + len)))?);
        println!(
            "{{\"most\": {most}, \"values\": {VALUES}, \"values_seconds\": {values}, \"bytes\": {len}, \"whole_seconds\": {whole}}}"
        );
    }
    Ok(())
}

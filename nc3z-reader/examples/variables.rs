//! Measures the cost of reading one variable from a file that has not been read before.
//!
//! `cargo run --release -p nc3z-reader --example variables FILE...` opens each file anew for each of its
//! variables and reads the whole variable. Caches of tiles are empty, the operating system's cache is not. It
//! prints a line for each file: the number of variables, and microseconds to open the file and to read a
//! variable (median and maximum). Each time is the least of several runs.

use nc3z_reader::{Dataset, OpenOptions};
use std::error::Error;
use std::time::{Duration, Instant};

const TURNS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut medians, mut most) = (Vec::new(), (Duration::ZERO, String::new()));
    for file in std::env::args().skip(1) {
        let count = Dataset::open(&file, &OpenOptions::default())?.variables().count();
        let mut opening = Duration::MAX;
        let mut each = vec![(Duration::MAX, String::new()); count];
        for _ in 0..TURNS {
            for (at, (least, name)) in each.iter_mut().enumerate() {
                let start = Instant::now();
                let dataset = Dataset::open(&file, &OpenOptions::default())?;
                opening = opening.min(start.elapsed());
                let variable = dataset.variables().nth(at).expect("it was counted");
                let start = Instant::now();
                std::hint::black_box(variable.read_bytes(&variable.all())?);
                *least = (*least).min(start.elapsed());
                *name = variable.name().into_owned();
            }
        }
        each.sort();
        let (Some((median, _)), Some((slowest, name))) = (each.get(count / 2), each.last()) else { continue };
        let [opening, median, slowest] = [opening, *median, *slowest];
        println!(
            "{count} variables, opening {}, one of them {}, at most {} ({name}): {file}",
            us(opening),
            us(median),
            us(slowest)
        );
        medians.push(median);
        most = most.max((slowest, format!("{name} of {file}")));
    }
    medians.sort();
    if let Some(median) = medians.get(medians.len() / 2) {
        println!("median of the medians {}, at most {} ({})", us(*median), us(most.0), most.1);
    }
    Ok(())
}

fn us(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

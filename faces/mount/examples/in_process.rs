//! Reads the original of an archive in this process, without a mount: by the library, and by a view.
//!
//!     cargo run --release -p nc3z-mount --example in_process -- ARCHIVE...
//!
//! Prints one line of JSON: bytes, and seconds by the library's stream and by a view in requests of 1 MiB.
//! The caches of tiles are empty at the start.

use nc3z_mount::view::ROOT;
use nc3z_mount::{View, ViewOptions};
use nc3z_reader::{Archive, OpenOptions, source};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Bytes of a request.
const REQUEST: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut bytes, mut stream, mut view) = (0, 0.0, 0.0);
    for path in std::env::args_os().skip(1) {
        let path = Path::new(&path);
        let begin = Instant::now();
        let archive = Archive::from_source(source::open(path, false)?, &OpenOptions::default())?;
        archive.restore_into::<nc3z_reader::Error>(&(), &mut |_, window| {
            bytes += window.len() as u64;
            Ok(())
        })?;
        stream += begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let shown = View::new(path, ViewOptions::default())?;
        let entry = shown.list(ROOT)?.remove(0);
        let handle = shown.open(shown.lookup(ROOT, &entry.name)?.ino)?;
        let (mut at, mut buffer) = (0, vec![0; REQUEST]);
        loop {
            match handle.read(&shown, at, &mut buffer)? {
                0 => break,
                n => at += n as u64,
            }
        }
        view += begin.elapsed().as_secs_f64();
    }
    println!("{{\"bytes\": {bytes}, \"stream\": {stream}, \"view\": {view}}}");
    Ok(())
}

//! The same input and options give the same archive, whatever the threads and the memory.

use crate::classic::{Model, Var};
use crate::support::archive_bytes;
use nc3z_format::NcType;
use nc3z_format::classic::Version;
use nc3z_writer::WriterOptions;

#[test]
fn threads_and_memory_do_not_change_the_archive() {
    let vars = vec![
        Var::fixed(NcType::Float, &[300, 500]),
        Var::record(NcType::Short, &[333]),
        Var::record(NcType::Double, &[40, 10]),
    ];
    let original = Model { fill: 4, ..Model::new(Version::Cdf2, 300, vars) }.build().bytes;
    let mut first = None;
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for mebibytes in [1, 64, 256] {
            let options = WriterOptions::default().with_tile_len(50_000).with_memory(mebibytes << 20);
            let found = pool.install(|| archive_bytes(&original, &options));
            let expected = first.get_or_insert_with(|| found.clone());
            assert!(found == *expected, "{threads} threads, {mebibytes} MiB");
        }
    }
}

//! Trees of archives, and views of them.

use nc3z_mount::view::ROOT;
use nc3z_mount::{Attr, Event, View, ViewOptions};
use nc3z_writer::{WriterOptions, archive_file};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A classic file of `testdata`.
pub(crate) fn classic(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/classic");
    std::fs::read(directory.join(name)).unwrap()
}

pub(crate) struct Source(pub(crate) TempDir);

impl Source {
    pub(crate) fn new() -> Self {
        Source(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Writes the archive of these bytes, and replaces a file of this name.
    pub(crate) fn archive(&self, name: &str, original: &[u8]) {
        let other = tempfile::tempdir().unwrap();
        let input = other.path().join("a.nc");
        std::fs::write(&input, original).unwrap();
        let output = self.path(name);
        std::fs::create_dir_all(output.parent().unwrap()).unwrap();
        let options = WriterOptions::default().with_force(true);
        archive_file(&input, &output, &options, &()).unwrap();
    }

    pub(crate) fn view(&self) -> Seen {
        Seen::new(self.0.path(), false)
    }
}

/// A view and the events that it reported.
pub(crate) struct Seen {
    pub(crate) view: View,
    told: Arc<Mutex<Vec<String>>>,
}

impl Seen {
    pub(crate) fn new(source: &Path, is_file: bool) -> Self {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&told);
        let options = ViewOptions::default().with_file_root(is_file).with_log(move |event| {
            log.lock().unwrap().push(match event {
                Event::Damaged { place, .. } => {
                    let name = place.variable.as_deref().unwrap_or(b"?");
                    format!("damaged {} {:?}", String::from_utf8_lossy(name), place.tiles)
                }
                Event::Hidden { path } => format!("hidden {}", path.file_name().unwrap().display()),
                Event::Unopened { path, .. } => format!("unopened {}", path.file_name().unwrap().display()),
                Event::Unread { error, .. } => format!("unread {error}"),
                _ => "more".to_owned(),
            });
        });
        Seen { view: View::new(source, options).unwrap(), told }
    }

    pub(crate) fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    /// Looks a path up, name by name.
    pub(crate) fn find(&self, path: &str) -> io::Result<Attr> {
        let mut found = self.view.attr(ROOT)?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            found = self.view.lookup(found.ino, name.as_ref())?;
        }
        Ok(found)
    }

    pub(crate) fn list(&self, path: &str) -> Vec<String> {
        let entries = self.view.list(self.find(path).unwrap().ino).unwrap();
        entries.into_iter().map(|entry| entry.name.into_string().unwrap()).collect()
    }

    pub(crate) fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        let attr = self.find(path)?;
        let mut out = vec![0; usize::try_from(attr.size).unwrap() + 10];
        let n = self.view.open(attr.ino)?.read(&self.view, 0, &mut out)?;
        out.truncate(n);
        Ok(out)
    }
}

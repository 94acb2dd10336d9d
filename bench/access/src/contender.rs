//! Contenders: a file or folder, and the library that reads it.

use crate::pattern::Slab;
use crate::peers;
use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Bytes of decoded tiles that each library may keep, where it keeps any.
pub const CACHE_BYTES: usize = 64 << 20;

/// An open variable.
pub trait Handle: Send {
    /// Reads a hyperslab, row-major.
    fn read(&mut self, slab: &Slab, out: &mut [f32]) -> Result<()>;

    /// Another handle to the same open file, for another thread, if the library shares one among threads.
    fn fork(&self) -> Option<Result<Box<dyn Handle>>> {
        None
    }
}

/// One row of the tables.
pub struct Contender {
    pub name: String,
    pub bytes: u64,
    kind: String,
    path: String,
}

impl Contender {
    pub fn open(&self, threads: usize) -> Result<Box<dyn Handle>> {
        let path = &self.path;
        Ok(match self.kind.as_str() {
            "nc3z" => Box::new(peers::nc3z::Nc3z::open(path, CACHE_BYTES)?),
            "nc3z uncached" => Box::new(peers::nc3z::Nc3z::open(path, 0)?),
            "netcdf" => Box::new(peers::netcdf_c::NetcdfC::open(path)?),
            "netcdf-reader" => Box::new(peers::netcdf_rust::NetcdfRust::open(path, threads)?),
            "zarrs" => Box::new(peers::zarr::Zarrs::open(path)?),
            "blosc2" => Box::new(peers::blosc::Blosc::open(path)?),
            other => bail!("no library called {other}"),
        })
    }
}

/// The files that `access_prepare.py` made.
pub struct Manifest {
    pub shape: Vec<u64>,
    pub contenders: Vec<Contender>,
    raw: String,
}

impl Manifest {
    pub fn read(folder: &str) -> Result<Self> {
        let json: Value = serde_json::from_slice(&std::fs::read(format!("{folder}/manifest.json"))?)?;
        let text = |v: &Value, key: &str| v[key].as_str().map(str::to_owned).with_context(|| format!("no {key}"));
        let list = json["contenders"].as_array().context("no contenders")?;
        let contenders = list.iter().map(|c| {
            Ok(Contender {
                name: text(c, "name")?,
                kind: text(c, "kind")?,
                path: format!("{folder}/{}", text(c, "path")?),
                bytes: c["bytes"].as_u64().context("no bytes")?,
            })
        });
        let shape = json["shape"].as_array().context("no shape")?.iter().filter_map(Value::as_u64).collect();
        Ok(Manifest { shape, contenders: contenders.collect::<Result<_>>()?, raw: text(&json, "raw")? })
    }

    /// The variable in native order.
    pub fn raw(&self, folder: &str) -> Result<Vec<f32>> {
        let bytes = std::fs::read(format!("{folder}/{}", self.raw))?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect())
    }
}

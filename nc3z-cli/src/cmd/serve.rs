//! `nc3z serve`: serves originals by HTTP.

use super::view_log::Log;
use crate::args::ServeArgs;
use crate::cmd::subset::history::moment;
use crate::exit::Exit;
use crate::output::signals::interrupted;
use crate::output::streams::Stdout;
use crate::output::{set_quiet, text};
use anyhow::{Context, Result};
use nc3z_mount::{View, ViewOptions};
use nc3z_reader::OpenOptions;
use nc3z_reader::cache::TileCache;
use nc3z_serve::{Access, Options};
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// Serves until a signal arrives.
pub(crate) fn run(args: &ServeArgs) -> Result<Exit> {
    set_quiet(args.quiet);
    if let Some(cache) = args.cache {
        TileCache::process().set_budget(cache);
    }
    let open = OpenOptions::default().with_registry(crate::registry::registry());
    let log = Arc::new(Log::open(None, false)?);
    let options = ViewOptions::default()
        .with_open(open.clone())
        .with_archives(true)
        .with_confined(true)
        .with_dot_names(false)
        .with_log(move |event| log.event(event));
    let view = View::new(&args.dir, options).with_context(|| format!("serve `{}`", args.dir.display()))?;
    let lines = Lines::open(args)?;
    let options = Options {
        connections: usize::try_from(args.connections)?,
        timeout: Duration::from_secs(args.timeout),
        request_len: usize::try_from(args.max_request).context("--max-request")?,
        reply_len: args.max_reply,
        open,
        access: Arc::new(move |access| lines.write(access)),
        ..Options::default()
    };
    let listener = TcpListener::bind(args.listen).with_context(|| format!("listen at {}", args.listen))?;
    let mut out = Stdout::verdicts();
    writeln!(out, "http://{}/", listener.local_addr()?)?;
    out.flush()?;
    nc3z_serve::serve(Arc::new(view), listener, options, interrupted).context("serve")?;
    Ok(Exit::Done)
}

/// The destination and format of the request lines.
enum Lines {
    None,
    Terminal { json: bool },
    File { file: File, json: bool },
}

impl Lines {
    fn open(args: &ServeArgs) -> Result<Self> {
        let json = args.json;
        Ok(match &args.access_log {
            Some(path) => {
                let file = File::options().append(true).create(true).open(path);
                let file = file.with_context(|| format!("open the log `{}`", path.display()))?;
                Lines::File { file, json }
            }
            None if args.quiet => Lines::None,
            None => Lines::Terminal { json },
        })
    }

    /// Writes one line. A line that cannot be written is dropped.
    fn write(&self, access: &Access<'_>) {
        match self {
            Lines::None => {}
            Lines::Terminal { json } => note!("{}", line(access, *json)),
            Lines::File { file, json } => {
                let mut file = file;
                let _ = file.write_all(format!("{}\n", line(access, *json)).as_bytes());
            }
        }
    }
}

/// Returns the line for a request.
fn line(access: &Access<'_>, json: bool) -> String {
    let seconds = access.time.as_secs_f64();
    if json {
        return json!({
            "time": moment(), "peer": access.peer.to_string(), "method": access.method, "target": text::safe(access.target),
            "range": access.range.map(text::safe), "agent": access.agent.map(text::safe), "status": access.status,
            "bytes": access.sent, "seconds": seconds, "error": access.error.map(text::safe),
        })
        .to_string();
    }
    let range = access.range.map_or(String::new(), |range| format!(" [{}]", text::safe(range)));
    let error = access.error.map_or(String::new(), |error| format!("  {}", text::safe(error)));
    format!(
        "{} {} {} {}{range} {} {} bytes {seconds:.3} s{error}",
        moment(),
        access.peer.ip(),
        access.method,
        text::safe(access.target),
        access.status,
        access.sent,
    )
}

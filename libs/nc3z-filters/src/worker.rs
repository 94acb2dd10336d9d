//! The worker's side: opens libraries, calls them and answers, until its standard input ends.

use crate::ffi::{Opened, children_die_with_this_process, give_freed_memory_back, leave_now};
use crate::memory::{Left, Memory, limit_process};
use crate::wire::{MOST, Op, bytes, number, put_bytes, put_number, status};
use rustix::process::getpid;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The main function of a worker process. It reads requests from standard input and writes answers to
/// standard output. The program that calls plug-ins starts itself with this function ([`crate::Launcher`]).
///
/// # Errors
/// A pipe was closed in the middle of a message.
pub fn worker_main() -> io::Result<()> {
    limit_process();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    children_die_with_this_process();
    // Libraries may print or read. Their output must not get among the answers, and they must not read the
    // requests.
    let input = File::from(rustix::io::dup(rustix::stdio::stdin())?);
    let output = File::from(rustix::io::dup(rustix::stdio::stdout())?);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    serve(&mut BufReader::new(input), &mut BufWriter::new(output))
}

fn serve(input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let mut opened = HashMap::new();
    let begin = Memory::now();
    let own = getpid();
    loop {
        let request = match number(input) {
            Ok(request) => request,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(e) => return Err(e),
        };
        let op = number(input)?;
        let library = PathBuf::from(OsString::from_vec(bytes(input, 1 << 20)?));
        let codec = bytes(input, 1 << 20)?;
        let words = bytes(input, 1 << 20)?;
        let cd_values: Vec<u32> = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let most = number(input)?;
        let content = bytes(input, MOST)?;
        let codec = String::from_utf8_lossy(&codec);
        let handled = (content.len() as u64).saturating_add(most);
        if let Some(begin) = &begin {
            begin.limit_call(handled);
        }
        let before = Memory::now();
        let answer = answer(&mut opened, Op::from_number(op), &library, &codec, &cd_values, most, &content);
        if getpid() != own {
            // A plug-in forked, and this is the other process: it must not answer.
            leave_now();
        }
        Memory::lift_limit();
        let left = begin.zip(before).map(|(begin, before)| left(&begin, &before, handled));
        let (status, content) = match (answer, left) {
            (Ok(_), Some(Left::TooMuch(bytes))) => {
                let why = format!("it keeps {} MiB of memory after a call of {handled} bytes", bytes >> 20);
                (status::REFUSED, why.into_bytes())
            }
            (Ok(content), Some(Left::Much)) => (status::LAST, content),
            (Ok(content), _) => (status::DONE, content),
            (Err(why), _) => (status::REFUSED, why.into_bytes()),
        };
        put_number(request, output)?;
        put_number(status, output)?;
        put_bytes(&content, output)?;
        output.flush()?;
    }
}

/// Returns the memory that remains in use after a call. Freed memory that is only not yet returned to the
/// system does not count.
fn left(begin: &Memory, before: &Memory, bytes: u64) -> Left {
    let judge = || Memory::now().map_or(Left::Little, |after| begin.left(before, &after, bytes));
    if judge() == Left::Little {
        return Left::Little;
    }
    give_freed_memory_back();
    judge()
}

fn answer(
    opened: &mut HashMap<PathBuf, Opened>,
    op: Option<Op>,
    path: &Path,
    codec: &str,
    cd_values: &[u32],
    most: u64,
    content: &[u8],
) -> Result<Vec<u8>, String> {
    if !opened.contains_key(path) {
        opened.insert(path.to_owned(), Opened::open(path)?);
    }
    let library = &opened[path];
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    match op.ok_or("a request that this program does not know")? {
        Op::Interrogate => Ok(library.interrogate().to_string().into_bytes()),
        Op::Encode => library.call(false, cd_values, content, most),
        Op::Decode => library.call(true, cd_values, content, most),
        Op::ToHdf5 => {
            let words = library.to_hdf5(codec, &String::from_utf8_lossy(content))?;
            Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
        }
        Op::ToCodec => library.to_codec(codec, cd_values).map(String::into_bytes),
    }
}

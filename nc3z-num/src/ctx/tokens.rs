//! Decodes tokens from their stream: four lanes, whose tables depend on the tokens before.

use super::context::Model;
use super::decode::Header;
use super::lane::{Lane, split};
use super::limits::MAX_STATES;
use super::workspace::Workspace;
use crate::bits::{finish_bits, load};
use crate::error::{Error, Result, bad};
use crate::word::{index, low8, low16, low32};
use multiversion::multiversion;

/// Decodes `count` tokens from the padded stream in `work`. If elements are masked, `valid` marks the tile's
/// positions that have tokens.
pub(super) fn tokens(
    header: &Header,
    count: usize,
    valid: Option<&[u8]>,
    work: &mut Workspace,
) -> Result<()> {
    let Workspace { padded, tokens, grid, entries, .. } = work;
    let entries: &[u32; MAX_STATES] =
        entries.as_slice().try_into().map_err(|_| bad("ctx tables", MAX_STATES, 0))?;
    let mut stream = Stream { entries, padded, bit: 0, states: [0; 4] };
    stream.begin(header.log)?;
    tokens.clear();
    tokens.resize(count, 0);
    if header.model.stride == 0 {
        plain(&mut stream, tokens)?;
    } else {
        grid.clear();
        grid.resize(valid.map_or(0, <[u8]>::len), 0);
        let unit = low16(u32::try_from(header.model.kw()).unwrap_or(1) << header.log);
        let lanes = Lane::all(tokens, grid, valid);
        by_rows(&mut stream, (&header.model, unit), lanes)?;
    }
    if stream.states.iter().any(|s| s & ((1 << header.log) - 1) != 0) {
        return Err(bad("ctx final state", 0, format_args!("{:?}", stream.states)));
    }
    finish_bits(padded, stream.bit, "ctx stream 1")
}

fn short() -> Error {
    bad("ctx stream", "more bits", "none")
}

/// A stream of tokens and the reading position.
struct Stream<'a> {
    entries: &'a [u32; MAX_STATES],
    padded: &'a [u8],
    bit: u64,
    /// The state of each lane, which includes the class of its last token.
    states: [usize; 4],
}

impl Stream<'_> {
    fn begin(&mut self, log: u32) -> Result<()> {
        for state in &mut self.states {
            let w = load(self.padded, self.bit).ok_or_else(short)?;
            *state = index(w & ((1 << log) - 1));
            self.bit += u64::from(log);
        }
        Ok(())
    }

    /// Decodes the next token of one lane.
    fn one(&mut self, lane: usize, context: u16) -> Result<u8> {
        let state = &mut self.states[lane];
        let &e = self.entries.get(usize::from(context) + *state).ok_or_else(short)?;
        *state = next(e, load(self.padded, self.bit).ok_or_else(short)?);
        self.bit += u64::from(e & 63);
        Ok(low8(u64::from(e >> 8)))
    }
}

/// Decodes tokens whose tables do not depend on a previous row.
fn plain(stream: &mut Stream<'_>, tokens: &mut [u8]) -> Result<()> {
    let ranges = split(tokens.len());
    // The last lane is the shortest.
    let common = ranges[3].len();
    let longest = ranges[0].len();
    let mut rest = tokens;
    let mut lanes = ranges.map(|range| rest.split_off_mut(..range.len()).unwrap_or_default());
    if common > 0 {
        let [t0, t1, t2, t3] = &mut lanes;
        let together = [&mut t0[..common], &mut t1[..common], &mut t2[..common], &mut t3[..common]];
        if !four_alone(stream, together) {
            return Err(short());
        }
    }
    for i in common..longest {
        for (l, lane) in lanes.iter_mut().enumerate() {
            if let Some(token) = lane.get_mut(i) {
                *token = stream.one(l, 0)?;
            }
        }
    }
    Ok(())
}

/// Decodes tokens whose tables also depend on the previous row. Each step decodes the tokens for which the previous
/// row is known.
fn by_rows(stream: &mut Stream<'_>, (model, unit): (&Model, u16), mut lanes: Vec<Lane<'_>>) -> Result<()> {
    loop {
        for lane in &mut lanes {
            if lane.done == lane.ready_to && lane.done < lane.tokens.len() {
                lane.refill(model, unit);
            }
        }
        let common = lanes.iter().map(|l| l.ready_to - l.done).min().unwrap_or(0);
        if common > 0 {
            let Some([l0, l1, l2, l3]) = lanes.first_chunk_mut() else { return Ok(()) };
            if !four_in_context(stream, [l0.next(common), l1.next(common), l2.next(common), l3.next(common)])
            {
                return Err(short());
            }
        } else {
            // Lanes of unequal length, at the end: one value each.
            let mut any = false;
            for (l, lane) in lanes.iter_mut().enumerate() {
                if lane.done < lane.ready_to {
                    let context = lane.contexts[lane.done - lane.ready_from];
                    lane.tokens[lane.done] = stream.one(l, context)?;
                    lane.done += 1;
                    any = true;
                }
            }
            if !any {
                return Ok(());
            }
        }
    }
}

/// Decodes tokens of four lanes until their buffers are full; false if the stream ends before.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn four_alone(stream: &mut Stream<'_>, [t0, t1, t2, t3]: [&mut [u8]; 4]) -> bool {
    let Some(mut four) = Four::new(stream) else { return false };
    for (((t0, t1), t2), t3) in t0.iter_mut().zip(t1).zip(t2).zip(t3) {
        let Some(tokens) = four.step([0; 4]) else { return false };
        [*t0, *t1, *t2, *t3] = tokens;
    }
    (stream.bit, stream.states) = four.end();
    true
}

/// Decodes one token for each context of the four lanes; false if the stream ends before.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn four_in_context(stream: &mut Stream<'_>, lanes: [(&[u16], &mut [u8]); 4]) -> bool {
    let Some(mut four) = Four::new(stream) else { return false };
    let [(c0, t0), (c1, t1), (c2, t2), (c3, t3)] = lanes;
    let places = t0.iter_mut().zip(t1).zip(t2).zip(t3);
    for ((((t0, t1), t2), t3), (((c0, c1), c2), c3)) in places.zip(c0.iter().zip(c1).zip(c2).zip(c3)) {
        let Some(tokens) = four.step([*c0, *c1, *c2, *c3]) else { return false };
        [*t0, *t1, *t2, *t3] = tokens;
    }
    (stream.bit, stream.states) = four.end();
    true
}

/// Four lanes of a stream that are decoded at the same time.
struct Four<'a> {
    entries: &'a [u32; MAX_STATES],
    padded: &'a [u8],
    window: Window<'a>,
    states: [usize; 4],
}

impl<'a> Four<'a> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn new(stream: &Stream<'a>) -> Option<Self> {
        let Stream { entries, padded, bit, states } = *stream;
        Some(Self { entries, padded, window: Window::at(padded, bit)?, states })
    }

    /// Decodes the next token of each lane; `None` if the stream ends before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn step(&mut self, contexts: [u16; 4]) -> Option<[u8; 4]> {
        let [s0, s1, s2, s3] = self.states;
        // The four look-ups are independent; the position of each lane's bits follows from the entries before it.
        // Contexts and states of valid tables are together below MAX_STATES. Checking this takes less time than
        // reducing them to 16 bits.
        let &e0 = self.entries.get(usize::from(contexts[0]) + s0)?;
        let &e1 = self.entries.get(usize::from(contexts[1]) + s1)?;
        let &e2 = self.entries.get(usize::from(contexts[2]) + s2)?;
        let &e3 = self.entries.get(usize::from(contexts[3]) + s3)?;
        let w = self.window.bits;
        let s0 = next(e0, w);
        let w = w.wrapping_shr(e0);
        let s1 = next(e1, w);
        let w = w.wrapping_shr(e1);
        let s2 = next(e2, w);
        let w = w.wrapping_shr(e2);
        self.states = [s0, s1, s2, next(e3, w)];
        // The sum of four numbers of bits, at most 48, in the low byte.
        let used = e0.wrapping_add(e1).wrapping_add(e2.wrapping_add(e3));
        self.window.advance(used)?;
        Some([e0, e1, e2, e3].map(|e| low8(u64::from(e >> 8))))
    }

    /// Returns the next bit of the stream, and the states.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn end(self) -> (u64, [usize; 4]) {
        let Window { held, rest, .. } = self.window;
        (8 * (self.padded.len() - rest.len()) as u64 - u64::from(held & 63), self.states)
    }
}

/// The next bits of a stream, loaded before the number of used bits before them is known.
struct Window<'a> {
    /// At least 48 unused bits, the next one lowest. Those above `held` are valid too, but counted later.
    bits: u64,
    /// Modulo 64.
    held: u32,
    /// The bytes after those counted.
    rest: &'a [u8],
}

impl<'a> Window<'a> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn at(padded: &'a [u8], bit: u64) -> Option<Self> {
        let below = low32(bit & 7);
        Some(Self { bits: load(padded, bit)?, held: 56 - below, rest: padded.get(index(bit >> 3) + 7..)? })
    }

    /// Skips `used` modulo 64 bits, at most 48; `None` if the stream and its padding end.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn advance(&mut self, used: u32) -> Option<()> {
        let more = self.rest.first_chunk::<8>()?;
        self.held = self.held.wrapping_sub(used);
        self.bits = self.bits.wrapping_shr(used) | u64::from_le_bytes(*more).wrapping_shl(self.held);
        self.rest = self.rest.get(index(u64::from(!self.held >> 3 & 7))..)?;
        self.held |= 0b11_1000;
        Some(())
    }
}

/// Returns the state after an entry, which reads the lowest bits of `w`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn next(e: u32, w: u64) -> usize {
    index(u64::from(e >> 16) + (w & !(u64::MAX << (e & 63))))
}

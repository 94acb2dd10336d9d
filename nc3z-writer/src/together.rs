//! Arrays that are smaller in one text than each on its own.
//!
//! Stations, meshes and bookkeeping come as many short variables whose values recur, in themselves and from one to the next.
//! The numeric chains code variable by variable and see none of that; an LZ codec over all of them does. It decodes at a tenth
//! of their speed, so it is kept to arrays and containers of a size that does not matter.

use crate::choose::{ArrayPlan, ChainTable, Subject, numeric_chain, numeric_plans};
use crate::encode::{Form, encode_tile};
use crate::error::Result;
use crate::gather::{RawTile, gather, scan_pieces};
use crate::options::{CONTAINER_LEN, PACK_LEN, Preset, TOGETHER_ARRAY_LEN, WriterOptions, together_len};
use crate::pipeline::{fill_values, wanted_chain};
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, Role};
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::codec::{ChainSpec, Lzma, Scratch, StageSpec, encode_bytes, lzma_shares};
use nc3z_reader::ClassicFile;
use std::collections::BTreeMap;

/// Sources whose arrays are tried: so many bytes of arrays in all.
const SOURCE_LEN: u64 = 4 << 20;
/// More arrays than this are not tried: each costs some work, however short.
const MOST_ARRAYS: usize = 2048;
/// Arrays are tried in order until so many bytes of them were packed for comparison.
const fn trial_len(preset: Preset) -> u64 {
    match preset {
        Preset::Max => SOURCE_LEN,
        Preset::Fast | Preset::Default => 1 << 20,
    }
}
/// What a flush of the stream costs, which shares contain and the container will not; less what its directory needs.
const FLUSH_LEN: u64 = 6;
/// Kinds of elements with less than this are packed with the kind that has most.
const LEAST_POOL: u64 = 4 << 10;

/// An array that may go with others.
#[derive(Clone)]
struct Member<'a> {
    info: &'a ArrayInfo,
    /// Its tiles that are not constant, one after another.
    bytes: Vec<u8>,
    /// What they take by the array's own plan.
    alone: u64,
}

/// Looks for arrays that are smaller together, and gives those plans that say so. Short arrays whose numbers a numeric chain
/// describes better than a container's codec get that.
pub(crate) fn choose(
    classic: &ClassicFile,
    arrays: &Arrays,
    plans: &mut BTreeMap<ArrayId, ArrayPlan>,
    table: &mut ChainTable,
    scratch: &mut Scratch,
    options: &WriterOptions,
) -> Result<()> {
    let total = arrays.iter().fold(0u64, |sum, a| sum.saturating_add(a.total_bytes()));
    if options.preset == Preset::Fast || total > SOURCE_LEN || plans.len() > MOST_ARRAYS {
        return Ok(());
    }
    let mut tiles: BTreeMap<ArrayId, Vec<RawTile>> = BTreeMap::new();
    gather(classic, arrays, options.memory, &mut |raw| {
        tiles.entry(raw.array).or_default().push(raw);
        Ok(())
    })?;
    let mut members = Vec::new();
    let mut short: Vec<Short> = Vec::new();
    for (id, tiles) in tiles {
        let info = arrays.get(id).expect("tiles come from known arrays");
        let plan = plans.get_mut(&id).expect("every array with tiles has a plan");
        // One tile: who asked for small blocks gets them.
        if tiles.len() != 1
            || info.total_bytes() > TOGETHER_ARRAY_LEN
            || wanted_chain(classic, info, options)?.is_some()
        {
            continue;
        }
        if info.total_bytes() <= PACK_LEN {
            short.extend(as_numbers(classic, info, &tiles[0], plan, options, table, scratch)?);
        }
        let mut member = Member { info, bytes: Vec::new(), alone: 0 };
        if let Some(dictionary) = plan.dictionary() {
            member.alone = (dictionary.encode_definition(info.ty)?.len() + BLOCK_HEADER_LEN) as u64;
        }
        for raw in tiles {
            let bytes = raw.bytes.clone();
            let stored = match encode_tile(raw, info, plan, table.chains(), scratch)?.form {
                Form::Constant { .. } => continue,
                Form::Packed { bytes, .. } if plan.num.is_some() => bytes.len(),
                Form::Packed { bytes, .. } => packed_len(&bytes, scratch)?,
                Form::Block { payload, .. } => payload.len() + BLOCK_HEADER_LEN,
            };
            member.alone += stored as u64;
            member.bytes.extend(bytes);
        }
        if !member.bytes.is_empty() && may_win(&member, scratch)? {
            members.push(member);
        }
    }
    let dict = u32::try_from(together_len(options.preset)).expect("a MiB or two") * 2;
    for group in groups(members, trial_len(options.preset), dict)? {
        let chain = table.number(&ChainSpec(vec![StageSpec::Lzma(group.lzma)]));
        for id in group.ids {
            short.retain(|s| s.id != id);
            plans.insert(id, ArrayPlan { packer: Some(chain), ..ArrayPlan::default() });
        }
    }
    for (id, plan) in better_as_bytes(short, scratch)? {
        plans.insert(id, plan);
    }
    Ok(())
}

/// A short array that goes into a container of zstd.
struct Short {
    id: ArrayId,
    /// Its plan there, and what of it the container holds then.
    plan: ArrayPlan,
    bytes: Vec<u8>,
    /// What a numeric chain makes of it, where that is smaller by itself.
    numbers: Option<Vec<u8>>,
}

/// Numeric chains see one array, a container's codec sees what one array has of another: the plans of those arrays that had better
/// gone without, if all of them are smaller then.
fn better_as_bytes(short: Vec<Short>, scratch: &mut Scratch) -> Result<Vec<(ArrayId, ArrayPlan)>> {
    let all: Vec<u8> = short.iter().flat_map(|s| &s.bytes).copied().collect();
    if all.is_empty() || all.len() > CONTAINER_LEN {
        return Ok(Vec::new());
    }
    let mixed =
        short.iter().flat_map(|s| s.numbers.as_ref().unwrap_or(&s.bytes)).copied().collect::<Vec<u8>>();
    if packed_len(&all, scratch)? >= packed_len(&mixed, scratch)? {
        return Ok(Vec::new());
    }
    Ok(short.into_iter().filter(|s| s.numbers.is_some()).map(|s| (s.id, s.plan)).collect())
}

/// Gives a short array the numeric chain where that is smaller than what the codec of containers makes of it alone. Nothing for arrays
/// that no container of zstd would hold.
fn as_numbers(
    classic: &ClassicFile,
    info: &ArrayInfo,
    raw: &RawTile,
    plan: &mut ArrayPlan,
    options: &WriterOptions,
    table: &mut ChainTable,
    scratch: &mut Scratch,
) -> Result<Option<Short>> {
    let packed = |plan: &ArrayPlan, table: &ChainTable, scratch: &mut Scratch| -> Result<Option<Vec<u8>>> {
        let raw = RawTile { array: raw.array, tile: raw.tile, bytes: raw.bytes.clone() };
        Ok(match encode_tile(raw, info, plan, table.chains(), scratch)?.form {
            Form::Packed { bytes, .. } => Some(bytes),
            Form::Constant { .. } | Form::Block { .. } => None,
        })
    };
    let Some(bytes) = packed(plan, table, scratch)? else { return Ok(None) };
    let mut short = Short { id: info.id, plan: plan.clone(), bytes, numbers: None };
    if info.ty == NcType::Char {
        return Ok(Some(short));
    }
    let scan = |sink: &mut dyn FnMut(&[u8]) -> bool| scan_pieces(classic, info, sink);
    let subject = Subject {
        info,
        samples: vec![raw.bytes.clone()],
        fills: fill_values(classic, info),
        whole_len: raw.bytes.len(),
        scan: &scan,
    };
    let num = numeric_plans(&subject, options.preset, scratch)?.remove(0);
    if num.dictionary().is_some() {
        return Ok(Some(short));
    }
    let other = ArrayPlan { chain: table.number(&numeric_chain(&num)), num: Some(num), ..plan.clone() };
    if let Some(numbers) = packed(&other, table, scratch)?
        && numbers.len() < packed_len(&short.bytes, scratch)?
    {
        *plan = other;
        short.numbers = Some(numbers);
    }
    Ok(Some(short))
}

/// What a container's codec makes of a member, about.
fn packed_len(bytes: &[u8], scratch: &mut Scratch) -> Result<usize> {
    /// What a frame has besides its content.
    const FRAME: usize = 12;
    let mut out = Vec::new();
    encode_bytes(&ChainSpec(vec![StageSpec::Zstd { level: 19 }]), bytes, scratch, &mut out)?;
    Ok(out.len().saturating_sub(FRAME).clamp(1, bytes.len()))
}

/// A quick look: where zstd is far behind the array's plan, LZMA does not catch up.
fn may_win(member: &Member<'_>, scratch: &mut Scratch) -> Result<bool> {
    let mut out = Vec::new();
    encode_bytes(&ChainSpec(vec![StageSpec::Zstd { level: 3 }]), &member.bytes, scratch, &mut out)?;
    Ok((out.len() as u64) < member.alone * 7 / 4 + 64)
}

/// Arrays that go together.
struct Group {
    ids: Vec<ArrayId>,
    lzma: Lzma,
    /// Bytes less than alone.
    saved: u64,
}

/// The arrays that are best packed together, in their groups: of elements of one size each, or of all sizes, where the gap is among
/// them: what lies there often is an older copy of the arrays.
fn groups(members: Vec<Member<'_>>, most: u64, dict: u32) -> Result<Vec<Group>> {
    let pools = pools(members, most);
    let gap = |m: &Member<'_>| m.info.id.role() == Role::Gap && m.bytes.len() as u64 >= LEAST_POOL;
    let mut whole = None;
    if pools.len() > 1 && pools.iter().flatten().any(gap) {
        whole = Some(group(pools.concat(), dict)?);
    }
    let parts = pools.into_iter().map(|pool| group(pool, dict)).collect::<Result<Vec<_>>>()?;
    let saved: u64 = parts.iter().map(|g| g.saved).sum();
    let groups = match whole {
        Some(whole) if whole.saved > saved => vec![whole],
        _ => parts,
    };
    Ok(groups.into_iter().filter(|g| !g.ids.is_empty()).collect())
}

/// The best of one pool.
fn group(pool: Vec<Member<'_>>, dict: u32) -> Result<Group> {
    let size = pool.iter().map(|m| (m.bytes.len(), m.info.ty.size())).max().map_or(1, |(_, size)| size);
    let lzma = Lzma::for_elements(size, dict);
    let (ids, saved) = smaller_together(pool, lzma)?;
    Ok(Group { ids, lzma, saved })
}

/// Members by the size of their elements, as far as `most` bytes go.
fn pools(members: Vec<Member<'_>>, most: u64) -> Vec<Vec<Member<'_>>> {
    let mut by_size: BTreeMap<usize, Vec<Member<'_>>> = BTreeMap::new();
    let mut left = most;
    for member in members {
        let len = member.bytes.len() as u64;
        if len <= left {
            left -= len;
            by_size.entry(member.info.ty.size()).or_default().push(member);
        }
    }
    let len = |pool: &[Member<'_>]| pool.iter().map(|m| m.bytes.len() as u64).sum::<u64>();
    let (small, mut large): (Vec<_>, Vec<_>) = by_size.into_values().partition(|p| len(p) < LEAST_POOL);
    large.sort_by_key(|pool| std::cmp::Reverse(len(pool)));
    match large.first_mut() {
        Some(largest) => largest.extend(small.into_iter().flatten()),
        None => large.push(small.into_iter().flatten().collect()),
    }
    large
}

/// Who adds more to a stream of all than so many percent of what it takes alone leaves, in rounds. Noise, which gains a header at most,
/// stays alone.
const LEAVES_ABOVE: [u64; 2] = [150, 97];

/// Those members that are best packed together; nothing where they do not save a container's worth.
fn smaller_together(mut pool: Vec<Member<'_>>, lzma: Lzma) -> Result<(Vec<ArrayId>, u64)> {
    const LEAST: u64 = BLOCK_HEADER_LEN as u64 + 32;
    let (mut best, mut best_saved) = (Vec::new(), LEAST);
    // Who leaves takes with it what others referred to, so each round is measured, and the best of them serves.
    for percent in LEAVES_ABOVE.into_iter().map(Some).chain([None]) {
        let shares = lzma_shares(lzma, pool.iter().map(|m| &m.bytes[..]))?;
        let own: Vec<u64> = shares.into_iter().map(|share| share.saturating_sub(FLUSH_LEN)).collect();
        let alone: u64 = pool.iter().map(|m| m.alone).sum();
        let saved = alone.saturating_sub(own.iter().sum());
        if saved > best_saved {
            (best, best_saved) = (pool.iter().map(|m| m.info.id).collect(), saved);
        }
        let Some(percent) = percent else { break };
        let before = pool.len();
        let mut shares = own.iter();
        pool.retain(|m| shares.next().expect("one for each member") * 100 < m.alone * percent);
        if pool.is_empty() || (pool.len() == before && percent < 100) {
            break;
        }
    }
    Ok(if best.is_empty() { (best, 0) } else { (best, best_saved) })
}

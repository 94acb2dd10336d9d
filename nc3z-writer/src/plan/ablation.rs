//! Switches off the planner's rules one at a time, to measure the gain of each (`examples/ablation.rs`). Only
//! builds with the feature `ablation` contain it.

use super::Policy;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A rule that can be switched off.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The name of the rule.
    pub name: &'static str,
    /// The effect of switching the rule off.
    pub without: &'static str,
    change: fn(&mut Policy),
}

/// A rule that its own code looks up by name.
const fn switch(name: &'static str, without: &'static str) -> Rule {
    Rule { name, without, change: |_| {} }
}

/// All rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: "quicker",
        without: "plans of the quicker preset are not tried on the samples",
        change: |p| p.quicker = &[],
    },
    Rule { name: "text-columns", without: "text is stored by rows only", change: |p| p.text_columns = false },
    Rule {
        name: "short",
        without: "short arrays only as planes of bytes; nothing compared among arrays",
        change: |p| p.short = None,
    },
    Rule {
        name: "short-numbers",
        without: "short arrays only as planes of bytes",
        change: |p| {
            if let Some(short) = &mut p.short {
                short.source_len = 0;
            }
        },
    },
    Rule { name: "references", without: "no array refers to another", change: |p| p.references = false },
    Rule { name: "shared", without: "no shared containers of LZMA", change: |p| p.shared = None },
    Rule {
        name: "one-saved-of",
        without: "shared containers are looked for always",
        change: |p| {
            if let Some(shared) = &mut p.shared {
                shared.one_saved_of = None;
            }
        },
    },
    Rule {
        name: "fallback",
        without: "tiles larger than estimated are stored so",
        change: |p| p.estimate_percent = None,
    },
    Rule { name: "finer", without: "tiles of long arrays are not made shorter", change: |p| p.finer = None },
    Rule {
        name: "dictionary-scan",
        without: "no table of values of whole arrays",
        change: |p| p.samples.scan_len = 0,
    },
    Rule {
        name: "pieces",
        without: "short arrays are looked at whole",
        change: |p| p.samples.pieces_below = 0,
    },
    Rule {
        name: "two-planes",
        without: "samples need not hold two planes",
        change: |p| p.samples.planes = 0,
    },
    Rule { name: "zstd-level", without: "bytes at level 3", change: |p| p.zstd_level = 3 },
    Rule { name: "alternatives", without: "each tile by one plan", change: |p| p.alternatives.count = 0 },
    switch("argo-dictionary", "no second dictionary of heads (Argo, ERDDAP)"),
    switch("head-dictionary", "heads are packed without a dictionary"),
    switch("short-form", "small archives in the long form"),
    switch("short-whole", "no file is packed as a whole"),
    switch("mask-strides", "masks are not compared with the row or plane before"),
    switch("exceptions-marked", "exceptions are listed, not marked"),
    switch("neighbours-again", "neighbours are differenced once"),
    switch("rows-again", "rows are differenced once"),
    switch("by-value", "floats are predicted by differences of integers only"),
    switch("coder-mix", "no mixed predictions"),
    switch("without-neighbours", "rows and planes are differenced with neighbours only"),
    switch("axis-plane", "no differences along planes"),
    switch("axis-volume", "no differences along volumes"),
    switch("axis-two", "no differences along two of rows, planes, volumes"),
    switch("trim", "low zero bits stay"),
    switch("scale-offset", "no scale-offset"),
    switch("scale-offset-planes", "one scale-offset for a tile"),
    switch("scale-offset-division", "steps are multiplied, never divided"),
    switch("scale-offset-means", "means of floats are not recognised"),
    switch("dictionary", "no ranks in a dictionary of values"),
    switch("ctx-west", "no contexts by the token before"),
    switch("ctx-rows", "no contexts by the row before"),
    switch("coder-words", "words are not packed by zstd as they are"),
    switch("finer-scale-offset", "the finest scale-offset of the crops is not tried"),
    switch("categories", "categories are coded like other numbers"),
    switch("rows-shape", "contexts by rows are not tried where samples are long"),
    switch("shortlist-first", "not one plan of each transform is tried"),
    switch("dictionary-look-again", "dictionaries are judged by one crop"),
    switch("words-neighbours", "differences are not packed as words"),
    switch("dictionary-plain", "ranks without differences are not always tried"),
    switch("little-left-samples", "where little is left, a part of the samples is enough"),
    switch("finer-of-a-part", "higher levels are tried on all samples"),
    switch("without-dictionary", "the best plan without a dictionary is not tried beside it on samples"),
    switch("finals-close", "plans with other axes that are close are not tried on samples"),
    switch("little-left-finalists", "where little is left, no more plans are tried"),
    switch("dictionary-bound", "dictionaries far behind are tried too"),
];

static OFF: Mutex<Option<&'static Rule>> = Mutex::new(None);
static ALTERED: Mutex<BTreeMap<(&'static str, usize), &'static Policy>> = Mutex::new(BTreeMap::new());

/// Switches a rule off in this process, and all others on.
///
/// # Panics
/// Another thread panicked here.
pub fn switch_off(rule: Option<&'static Rule>) {
    nc3z_format::num::switch::switch_off(rule.map(|rule| rule.name));
    *OFF.lock().expect("nothing panics while it is held") = rule;
}

/// The policy without the rule that is switched off.
pub(super) fn altered(policy: &'static Policy) -> &'static Policy {
    let Some(rule) = *OFF.lock().expect("nothing panics while it is held") else { return policy };
    let mut known = ALTERED.lock().expect("nothing panics while it is held");
    known.entry((rule.name, std::ptr::from_ref(policy).addr())).or_insert_with(|| {
        let mut changed = policy.clone();
        (rule.change)(&mut changed);
        Box::leak(Box::new(changed))
    })
}

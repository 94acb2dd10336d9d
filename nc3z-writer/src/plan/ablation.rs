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
        name: "two-planes",
        without: "samples need not hold two planes",
        change: |p| p.samples.planes = 0,
    },
    Rule { name: "zstd-level", without: "bytes at level 3", change: |p| p.zstd_level = 3 },
    Rule { name: "alternatives", without: "each tile by one plan", change: |p| p.alternatives.count = 0 },
];

static OFF: Mutex<Option<&'static Rule>> = Mutex::new(None);
static ALTERED: Mutex<BTreeMap<(&'static str, usize), &'static Policy>> = Mutex::new(BTreeMap::new());

/// Switches a rule off in this process, and all others on.
///
/// # Panics
/// Another thread panicked here.
pub fn switch_off(rule: Option<&'static Rule>) {
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

//! Switches for measurements: the gain of each feature of the format and of each rule of the search
//! (`scripts/ablate.sh`). In all other builds they are all on and cost nothing.

#[cfg(feature = "ablation")]
static OFF: std::sync::RwLock<Option<&'static str>> = std::sync::RwLock::new(None);

/// True unless this feature or rule is switched off.
#[cfg(not(feature = "ablation"))]
#[inline]
pub const fn is_on(_: &str) -> bool {
    true
}

/// True unless this feature or rule is switched off.
///
/// # Panics
/// Another thread panicked here.
#[cfg(feature = "ablation")]
pub fn is_on(name: &str) -> bool {
    *OFF.read().expect("nothing panics while it is held") != Some(name)
}

/// Switches one feature or rule off in this process, and all others on.
///
/// # Panics
/// Another thread panicked here.
#[cfg(feature = "ablation")]
pub fn switch_off(name: Option<&'static str>) {
    *OFF.write().expect("nothing panics while it is held") = name;
}

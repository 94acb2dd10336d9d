//! Switches for measurements: what each feature of the format and each rule of the search gains (`scripts/ablate.sh`). In every
//! build but that one all of them are on, and asking costs nothing.

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

/// Switches one off in this process, and all others on.
///
/// # Panics
/// Another thread panicked here.
#[cfg(feature = "ablation")]
pub fn switch_off(name: Option<&'static str>) {
    *OFF.write().expect("nothing panics while it is held") = name;
}

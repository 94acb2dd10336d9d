//! The default memory budget of a cache.

/// The environment variable that sets the budget of the process's cache.
const VARIABLE: &str = "NC3Z_CACHE";
/// The default budget is this fraction of memory: an eighth.
const SHARE: u64 = 8;
/// Largest default budget in bytes, also used where the system does not report its memory.
const MOST: u64 = 1 << 30;

/// The budget that the environment variable sets, if it is set.
///
/// # Errors
/// The value is not a size.
pub fn budget_from_env() -> Result<Option<u64>, String> {
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let text = value.to_str().unwrap_or("?");
    parse(text).map(Some).ok_or_else(|| format!("{VARIABLE}=`{text}` is not a size such as 64MiB, 1GiB or 0"))
}

/// An eighth of the memory that this process may use, at most 1 GiB.
pub fn default_budget() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let total = read("/proc/meminfo").and_then(|text| total_of(&text));
    // Limits of a container, in both versions of control groups. `max`, or a number beyond all memory, is no
    // limit.
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit = limits.iter().filter_map(|p| read(p)?.trim().parse().ok()).min();
    total.into_iter().chain(limit).min().map_or(MOST / SHARE, |bytes: u64| (bytes / SHARE).min(MOST))
}

/// `MemTotal` in bytes.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// `0`, `4096`, `64KiB`, `64M`, `1GiB`: powers of 1024.
fn parse(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_the_environment() {
        assert_eq!(parse("0"), Some(0));
        assert_eq!(parse("64MiB"), Some(64 << 20));
        assert_eq!(parse("2g"), Some(2 << 30));
        for bad in ["", "x", "-1", "1MB", "1 MiB", "99999999999GiB", "1.5G"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn default_is_a_share_of_memory() {
        assert_eq!(total_of("MemFree: 1 kB\nMemTotal:       24000000 kB\n"), Some(24_000_000 * 1024));
        assert_eq!(total_of("MemTotal: many"), None);
        assert!((1..=MOST).contains(&default_budget()));
    }
}

//! Requests by variable name; `*` applies to all other variables.

use crate::error::{ErrorKind, Result};
use nc3z_format::classic::Header;

/// Rules in the order of the requests: a name, or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerVariable<T>(Vec<(String, T)>);

impl<T> Default for PerVariable<T> {
    fn default() -> Self {
        PerVariable(Vec::new())
    }
}

/// The name that means every variable.
const ALL: &str = "*";

impl<T> PerVariable<T> {
    /// Adds a rule; a later one replaces an earlier one for the same name.
    pub fn push(&mut self, name: impl Into<String>, what: T) {
        let name = name.into();
        self.0.retain(|(n, _)| *n != name);
        self.0.push((name, what));
    }

    /// True without rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the rule for a variable: by its name, otherwise the rule for `*`.
    pub(crate) fn of(&self, name: &[u8]) -> Option<&T> {
        self.named(name).or_else(|| self.named(ALL.as_bytes()))
    }

    /// Returns the rule that names a variable.
    pub(crate) fn named(&self, name: &[u8]) -> Option<&T> {
        self.0.iter().find(|(n, _)| n.as_bytes() == name).map(|(_, what)| what)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, what)| (name.as_str(), what))
    }

    /// Refuses names that no variable has.
    pub(crate) fn check_names(&self, header: &Header, option: &'static str) -> Result<()> {
        for (name, _) in &self.0 {
            if name != ALL && header.variable(name.as_bytes()).is_none() {
                let known =
                    nc3z_format::spelling::suggest(name, header.variables.iter().map(|v| v.name_lossy()));
                let why = format!("no variable `{name}`{known}, and * for all");
                return Err(ErrorKind::Option { option, why, advice: None }.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_before_the_star_and_the_last_word_counts() {
        let mut wanted = PerVariable::default();
        wanted.push("*", 1);
        wanted.push("t", 2);
        wanted.push("t", 3);
        assert_eq!((wanted.of(b"t"), wanted.of(b"u"), wanted.named(b"u")), (Some(&3), Some(&1), None));
        assert_eq!(PerVariable::<u8>::default().of(b"t"), None);
    }
}

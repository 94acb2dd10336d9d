//! Searches names and attributes of files: the pattern, and the parts that match it.

mod matches;

pub use matches::{Match, MatchedPart, known_by, matches, signature, to_json};

/// A part of a text, or a pattern for the whole text, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Term {
    /// A part of a text.
    Part(String),
    /// A pattern with `*` and `?` for the whole text.
    Whole(Vec<char>),
}

impl Term {
    fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        if text.contains(['*', '?']) { Term::Whole(text.chars().collect()) } else { Term::Part(text) }
    }

    fn fits(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        match self {
            Term::Part(part) => text.contains(part),
            Term::Whole(pattern) => fits(pattern, &text.chars().collect::<Vec<_>>()),
        }
    }
}

/// The match condition: anything, or attributes with given names by their value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// A name, or the name or the value of an attribute.
    Any(Term),
    /// An attribute.
    Attribute {
        /// The pattern of its name.
        name: Vec<char>,
        /// The pattern of its value.
        value: Vec<char>,
    },
}

impl Pattern {
    /// Parses `tas*`, `air_temp`, `units=K`. None if the text is empty.
    pub fn new(text: &str) -> Option<Self> {
        let chars = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Some(Pattern::Attribute { name: chars(name), value: chars(value) })
            }
            _ if text.is_empty() => None,
            _ => Some(Pattern::Any(Term::new(text))),
        }
    }

    /// Returns whether the name of a variable or a dimension matches.
    pub fn fits_name(&self, name: &str) -> bool {
        matches!(self, Pattern::Any(term) if term.fits(name))
    }

    /// Returns whether an attribute matches, by its name or its value.
    pub fn fits_attribute(&self, name: &str, value: &str) -> bool {
        match self {
            Pattern::Any(term) => term.fits(name) || term.fits(value),
            Pattern::Attribute { name: n, value: v } => {
                let chars = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
                fits(n, &chars(name)) && fits(v, &chars(value))
            }
        }
    }
}

/// Returns whether all of a text matches a pattern in which `*` means any letters and `?` one letter. The
/// number of steps is at most the product of both lengths.
fn fits(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    // The position to continue from after a mismatch: after the last star, one letter later.
    let mut back = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                back = Some((p + 1, t));
                p += 1;
            }
            Some('?') => (p, t) = (p + 1, t + 1),
            Some(c) if *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match back {
                Some((star, from)) => {
                    (p, t) = (star, from + 1);
                    back = Some((star, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_a_shell() {
        let whole = |pattern: &str, text: &str| {
            fits(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>())
        };
        for (pattern, text, is) in [
            ("tas*", "tas", true),
            ("tas*", "tasmax", true),
            ("t?s", "tas", true),
            ("t?s", "ts", false),
            ("*temp*", "air_temperature", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(whole(pattern, text), is, "{pattern} {text}");
        }
        let long = "a".repeat(5000);
        assert!(!whole(&format!("{}b", "*a".repeat(50)), &long));
    }

    #[test]
    fn names_and_values_are_told_apart() {
        let of = |text: &str| Pattern::new(text).unwrap();
        assert!(of("TAS").fits_name("tasmax") && !of("tas?").fits_name("tas"));
        assert!(of("air_temp").fits_attribute("standard_name", "air_temperature"));
        assert!(of("units=K").fits_attribute("units", "K") && !of("units=K").fits_attribute("units", "kg"));
        assert!(of("units=k*").fits_attribute("Units", "kg m-2") && !of("units=K").fits_name("units=K"));
        assert_eq!(Pattern::new(""), None);
        assert!(of("=x").fits_name("a=x"));
    }
}

//! Options for CDL text.

/// Options for writing CDL. The default is the output of `ncdump` without options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// Significant digits of floats, 1 to 20; takes precedence over `C_format`. Else 7.
    pub float_digits: Option<u32>,
    /// Significant digits of doubles, likewise. Else 15.
    pub double_digits: Option<u32>,
    /// Longest line of values, in bytes, at least 10.
    pub line_len: usize,
    /// A comment with the indices before each row of an array of two dimensions or more.
    pub brief: bool,
    /// A comment with the indices after each value (after each row of text).
    pub full: bool,
    /// The form of indices in comments.
    pub indices: Indices,
    /// Attributes that the file does not hold: its kind, and, in CDF-5, that variables are contiguous.
    pub special: bool,
    /// Dates instead of times since a date.
    pub dates: Option<Dates>,
}

/// The form of dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dates {
    /// `2000-01-02 06:30`.
    Blank,
    /// `2000-01-02T06:30`.
    Iso,
}

impl Dates {
    /// The character between date and time of day.
    pub(crate) fn separator(self) -> char {
        match self {
            Dates::Blank => ' ',
            Dates::Iso => 'T',
        }
    }
}

/// The form of indices in comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indices {
    /// From 0, slowest dimension first.
    C,
    /// From 1, fastest dimension first.
    Fortran,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            float_digits: None,
            double_digits: None,
            line_len: 80,
            brief: false,
            full: false,
            indices: Indices::C,
            special: false,
            dates: None,
        }
    }
}

impl Style {
    /// Digits of floats in force.
    pub(crate) fn float(&self) -> u32 {
        self.float_digits.unwrap_or(7)
    }

    /// Digits of doubles in force.
    pub(crate) fn double(&self) -> u32 {
        self.double_digits.unwrap_or(15)
    }
}

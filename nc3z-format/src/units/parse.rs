//! The grammar of UDUNITS-2: products of powers of names and numbers, with an origin after `@` or `from`.

use super::table::Table;
use super::{Unit, UnitError};

/// The largest depth of nested definitions and brackets.
const MAX_DEPTH: u32 = 40;
/// Length of the longest text that is parsed.
const MAX_LEN: usize = 512;
/// Largest power of a unit.
const MAX_POWER: i16 = 99;

pub(super) fn parse(text: &str) -> Result<Unit, UnitError> {
    if text.is_empty() {
        return Err(UnitError::unknown(text, "it is empty"));
    }
    if text.len() > MAX_LEN {
        return Err(UnitError::unknown(&text.chars().take(60).collect::<String>(), "it is too long"));
    }
    let whole = |why: String| UnitError::unknown(text, why);
    if let Some(trap) = trap(text) {
        return Err(whole(trap.to_owned()));
    }
    let mut parser = Parser { rest: text, depth: 0 };
    let unit = parser.shifted().map_err(whole)?;
    if !parser.rest.trim().is_empty() {
        return Err(whole(format!("unexpected `{}`", parser.rest.trim())));
    }
    if !(unit.factor.is_finite() && unit.factor != 0.0 && unit.offset.is_finite()) {
        return Err(whole("its factor is not a number".into()));
    }
    Ok(unit)
}

/// Returns the reason to refuse a text that the grammar reads in another way than its authors mean.
fn trap(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split([' ', '.', '_', '-', '*']).filter(|w| !w.is_empty()).collect();
    match words[..] {
        ["deg" | "degree" | "degrees" | "degs", "c" | "f"] if !lower.contains('_') => Some(
            "to UDUNITS it is an angle times a coulomb or a farad; where a temperature is meant, it is `degree_Celsius` or \
             `degree_Fahrenheit`",
        ),
        ["deg" | "degree" | "degrees" | "degs", "k" | "r"] if !lower.contains('_') => Some(
            "to UDUNITS it is an angle times another unit; where a temperature is meant, it is `K` or `degree_rankine`",
        ),
        ["mb" | "mbs"] => Some(
            "to UDUNITS it is a millibarn, an area; where the pressure is meant, it is `millibar`, `mbar` or `hPa`",
        ),
        ["c" | "f"] => Some(
            "it is the coulomb or the farad, and often meant as degrees; `degree_Celsius`, `coulomb`, `farad` are clear",
        ),
        _ => None,
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

type Parsed<T> = Result<T, String>;

impl Parser<'_> {
    fn shifted(&mut self) -> Parsed<Unit> {
        let mut unit = self.product()?;
        let rest = self.rest.trim_start();
        let word = |w: &str| {
            let after = rest.get(w.len()..)?;
            let begins =
                rest.get(..w.len())?.eq_ignore_ascii_case(w) && after.starts_with(char::is_whitespace);
            begins.then_some(after)
        };
        let after = rest.strip_prefix('@').or_else(|| word("from")).or_else(|| word("after"));
        if let Some(after) = after {
            self.rest = after.trim_start();
            let origin = self.number().ok_or("expected a number after `@`")?;
            unit.offset += unit.factor * origin;
        }
        Ok(unit)
    }

    fn product(&mut self) -> Parsed<Unit> {
        let mut left = self.power()?;
        loop {
            let trimmed = self.rest.trim_start();
            let divides = trimmed.strip_prefix('/').or_else(|| {
                let after = trimmed.strip_prefix("per").or_else(|| trimmed.strip_prefix("PER"))?;
                after.starts_with(char::is_whitespace).then_some(after)
            });
            if let Some(after) = divides {
                self.rest = after.trim_start();
                let right = self.power()?;
                left = divide(left, right)?;
                continue;
            }
            let dot = trimmed.strip_prefix(['.', '*', '·']).filter(|_| !trimmed.starts_with("**"));
            let dash = trimmed.strip_prefix('-').filter(|after| after.starts_with(is_letter));
            if let Some(after) = dot.or(dash) {
                self.rest = after.trim_start();
                left = multiply(left, self.power()?)?;
                continue;
            }
            // A product without a sign: a blank, or a letter or bracket after a number.
            let begins = trimmed.starts_with(|c: char| is_letter(c) || c.is_ascii_digit() || c == '(');
            if !begins || is_shift(trimmed) {
                return Ok(left);
            }
            self.rest = trimmed;
            left = multiply(left, self.power()?)?;
        }
    }

    fn power(&mut self) -> Parsed<Unit> {
        let (base, is_number) = self.basic()?;
        let raised = self.rest.strip_prefix("**").or_else(|| self.rest.strip_prefix('^'));
        let exponent = if let Some(after) = raised {
            self.rest = after;
            Some(self.integer().ok_or("an exponent is a whole number")?)
        } else if is_number {
            None
        } else {
            self.integer().or_else(|| self.superscript())
        };
        match exponent {
            None => Ok(base),
            Some(n) => power(base, n),
        }
    }

    /// A name, a number or a group in brackets. The flag is true for a number.
    fn basic(&mut self) -> Parsed<(Unit, bool)> {
        self.rest = self.rest.trim_start();
        if let Some(after) = self.rest.strip_prefix('(') {
            self.rest = after;
            self.deeper()?;
            let unit = self.shifted()?;
            self.depth -= 1;
            self.rest = self.rest.trim_start().strip_prefix(')').ok_or("a bracket is not closed")?;
            return Ok((unit, false));
        }
        if let Some(number) = self.number() {
            return Ok((Unit { factor: number, ..Unit::ONE }, true));
        }
        let id = self.identifier();
        if id.is_empty() {
            return Err(match self.rest.chars().next() {
                None => "it ends too early".into(),
                Some(c) => format!("unexpected `{c}`"),
            });
        }
        let id = id.to_owned();
        self.rest = &self.rest[id.len()..];
        Ok((self.named(&id)?, false))
    }

    /// A name, alone or after prefixes.
    fn named(&mut self, id: &str) -> Parsed<Unit> {
        let table = Table::get();
        let (mut rest, mut factor, mut symbol_seen) = (id, 1.0, false);
        loop {
            if let Some(definition) = table.definition(rest) {
                let unit = self.defined(definition)?;
                if rest.len() < id.len() && unit.offset != 0.0 {
                    return Err(format!("`{rest}` has an offset, and takes no prefix"));
                }
                return Ok(Unit { factor: unit.factor * factor, ..unit });
            }
            let prefix = match table.name_prefix(rest) {
                Some(prefix) => Some(prefix),
                None if symbol_seen => None,
                None => {
                    symbol_seen = true;
                    table.symbol_prefix(rest)
                }
            };
            let Some((len, value)) = prefix else { return Err(format!("unknown unit `{id}`")) };
            factor *= value;
            rest = &rest[len..];
            if rest.is_empty() {
                return Err(format!("`{id}` is a prefix, not a unit"));
            }
        }
    }

    fn defined(&mut self, definition: &str) -> Parsed<Unit> {
        if let Some(n) = Table::base(definition) {
            let mut unit = Unit::ONE;
            unit.powers[n] = 1;
            return Ok(unit);
        }
        if ["lg(", "ln(", "lb("].iter().any(|log| definition.starts_with(log)) {
            return Err("logarithmic units are not converted".into());
        }
        self.deeper()?;
        let mut inner = Parser { rest: definition, depth: self.depth };
        let unit = inner.shifted()?;
        self.depth -= 1;
        if inner.rest.is_empty() { Ok(unit) } else { Err(format!("`{definition}` is not understood")) }
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err("too many brackets inside each other".into()) } else { Ok(()) }
    }

    /// Letters, with digits between them but not at the end: `H2O`, `m` of `m2`.
    fn identifier(&self) -> &str {
        let text = self.rest;
        if let Some(c) = text.chars().next().filter(|c| matches!(c, '%' | '\'' | '"')) {
            return &text[..c.len_utf8()];
        }
        let mut end = 0;
        for (at, c) in text.char_indices() {
            match c {
                c if is_letter(c) => end = at + c.len_utf8(),
                c if c.is_ascii_digit() && at > 0 => {}
                _ => break,
            }
        }
        &text[..end]
    }

    /// A number: a sign, digits, a point, an exponent.
    fn number(&mut self) -> Option<f64> {
        let bytes = self.rest.as_bytes();
        let digits = |mut at: usize| {
            let from = at;
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            (at, at - from)
        };
        let begin = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
        let (mut end, mut count) = digits(begin);
        if bytes.get(end) == Some(&b'.') {
            let (after, more) = digits(end + 1);
            // `2.m` is a product.
            if more > 0 || !self.rest[end + 1..].starts_with(is_letter) {
                (end, count) = (after, count + more);
            }
        }
        if count == 0 {
            return None;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let (after, count) = digits(end + 1 + sign);
            if count > 0 {
                end = after;
            }
        }
        let value = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(value)
    }

    /// A whole number, with or without sign.
    fn integer(&mut self) -> Option<i16> {
        let bytes = self.rest.as_bytes();
        let begin = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
        let count = bytes[begin..].iter().take_while(|b| b.is_ascii_digit()).count();
        let value = self.rest[..begin + count].parse().ok().filter(|_| count > 0)?;
        self.rest = &self.rest[begin + count..];
        Some(value)
    }

    fn superscript(&mut self) -> Option<i16> {
        const DIGITS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
        let (negative, mut rest) = match self.rest.strip_prefix('⁻') {
            Some(after) => (true, after),
            None => (false, self.rest),
        };
        let mut value = None;
        while let Some(digit) = rest.chars().next().and_then(|c| DIGITS.chars().position(|d| d == c)) {
            value = Some(value.unwrap_or(0_i16).checked_mul(10)?.checked_add(i16::try_from(digit).ok()?)?);
            rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
        }
        let value = value?;
        self.rest = rest;
        Some(if negative { -value } else { value })
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '%' | '\'' | '"' | '°' | 'µ' | 'Ω')
}

fn is_shift(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    ["from", "after", "since", "ref"].iter().any(|w| word.eq_ignore_ascii_case(w))
}

/// A product has no origin: `degC m-1` is kelvin per metre. A number before degrees may be meant in two ways.
fn multiply(a: Unit, b: Unit) -> Parsed<Unit> {
    let is_number = |u: &Unit| u.powers == [0; 7];
    if (a.offset != 0.0 && is_number(&b)) || (b.offset != 0.0 && is_number(&a)) {
        return Err("a number times a unit with an offset".into());
    }
    combine(a, b, 1)
}

fn divide(a: Unit, b: Unit) -> Parsed<Unit> {
    combine(a, b, -1)
}

fn combine(a: Unit, b: Unit, sign: i16) -> Parsed<Unit> {
    let mut powers = a.powers;
    for (p, q) in powers.iter_mut().zip(b.powers) {
        *p += sign * q;
        if p.abs() > MAX_POWER {
            return Err("its powers are too large".into());
        }
    }
    let factor = if sign > 0 { a.factor * b.factor } else { a.factor / b.factor };
    Ok(Unit { powers, factor, offset: 0.0 })
}

fn power(base: Unit, n: i16) -> Parsed<Unit> {
    if n == 1 {
        return Ok(base);
    }
    let mut powers = base.powers;
    for p in &mut powers {
        *p = p.checked_mul(n).filter(|p| p.abs() <= MAX_POWER).ok_or("its powers are too large")?;
    }
    Ok(Unit { powers, factor: base.factor.powi(n.into()), offset: 0.0 })
}

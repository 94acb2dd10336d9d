//! The names of units and prefixes: a table made from the database of UDUNITS-2, read when the first unit is parsed.

use std::collections::HashMap;
use std::sync::OnceLock;

const TABLE: &str = include_str!("table.txt");

/// Names (in small letters) and symbols, with the definition of each.
pub(super) struct Table {
    names: HashMap<String, &'static str>,
    symbols: HashMap<&'static str, &'static str>,
    name_prefixes: Vec<(&'static str, f64)>,
    symbol_prefixes: Vec<(&'static str, f64)>,
}

impl Table {
    pub(super) fn get() -> &'static Table {
        static READ: OnceLock<Table> = OnceLock::new();
        READ.get_or_init(Table::read)
    }

    fn read() -> Self {
        let mut table = Table {
            names: HashMap::new(),
            symbols: HashMap::new(),
            name_prefixes: Vec::new(),
            symbol_prefixes: Vec::new(),
        };
        let list = |text: &'static str| text.split(',').filter(|name| !name.is_empty());
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split('\t');
            let (Some(definition), Some(names), Some(symbols)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if let Some(value) = definition.strip_prefix("prefix ") {
                let value: f64 = value.parse().unwrap_or(f64::NAN);
                table.name_prefixes.extend(list(names).map(|n| (n, value)));
                table.symbol_prefixes.extend(list(symbols).map(|n| (n, value)));
                continue;
            }
            // A base unit is defined by its own first name.
            let definition = if definition == "=" { list(names).next().unwrap_or("") } else { definition };
            for name in list(names) {
                table.names.entry(name.to_lowercase()).or_insert(definition);
            }
            for symbol in list(symbols) {
                table.symbols.entry(symbol).or_insert(definition);
            }
        }
        table
    }

    /// The definition of a name or symbol.
    pub(super) fn definition(&self, id: &str) -> Option<&'static str> {
        self.names.get(&id.to_lowercase()).or_else(|| self.symbols.get(id)).copied()
    }

    /// The longest prefix that a name begins with, in any case: its length and value.
    pub(super) fn name_prefix(&self, id: &str) -> Option<(usize, f64)> {
        let begins = |name: &str| id.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        longest(&self.name_prefixes, begins)
    }

    /// The longest prefix that a symbol begins with, in the given case: its length and value.
    pub(super) fn symbol_prefix(&self, id: &str) -> Option<(usize, f64)> {
        longest(&self.symbol_prefixes, |symbol| id.starts_with(symbol))
    }

    /// The place of a base unit among the powers.
    pub(super) fn base(id: &str) -> Option<usize> {
        ["meter", "kilogram", "second", "ampere", "kelvin", "mole", "candela"].iter().position(|b| *b == id)
    }
}

fn longest(prefixes: &[(&str, f64)], begins: impl Fn(&str) -> bool) -> Option<(usize, f64)> {
    prefixes.iter().filter(|(p, _)| begins(p)).map(|(p, value)| (p.len(), *value)).max_by_key(|(len, _)| *len)
}

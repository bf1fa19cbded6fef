//! Which case of one side is compared with which of the other.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use pcb_protocol::{ParseWordError, State};
use serde::{Serialize, Serializer};

use crate::case::{Case, KEYS};

/// A part of a case id: an index in [`KEYS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(usize);

/// A case by its index in the file's cases.
type Entry<'a> = (usize, &'a Case);

/// What stands in one row.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pair {
    /// Compared.
    Both(usize, usize),
    /// The new side has no such case.
    BaseOnly(usize),
    /// The base has no such case.
    NewOnly(usize),
    /// Both sides have it, in no state that both have: a case of each.
    States(usize, usize),
}

/// Several cases of a side match the same case of the other.
#[derive(Debug, thiserror::Error)]
#[error(
    "without {left_out}, several cases match each other: base {base}, new {new}; name one of each with --filter, or \
     leave fewer keys out with --across"
)]
pub struct Ambiguous {
    left_out: String,
    base: String,
    new: String,
}

/// Matches the cases of both sides on the parts of their ids without `across`.
///
/// `state` is part of the match as long as both sides have a case in the same one; what is left over on both sides
/// differs in `state` alone, and becomes [`Pair::States`].
pub(super) fn match_cases(base: &[Entry], new: &[Entry], across: &[Key]) -> Result<Vec<Pair>, Ambiguous> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for &entry in base {
        groups.entry(key(entry.1, across)).or_default().base.push(entry);
    }
    for &entry in new {
        groups.entry(key(entry.1, across)).or_default().new.push(entry);
    }
    let mut pairs = Vec::new();
    for group in groups.values() {
        group.pairs(across, &mut pairs)?;
    }
    Ok(pairs)
}

/// The cases of both sides that have one key.
#[derive(Default)]
struct Group<'a> {
    base: Vec<Entry<'a>>,
    new: Vec<Entry<'a>>,
}

impl Group<'_> {
    fn pairs(&self, across: &[Key], pairs: &mut Vec<Pair>) -> Result<(), Ambiguous> {
        let any_state = across.iter().any(Key::is_state);
        let (mut base_left, mut new_left) = (Vec::new(), Vec::new());
        for state in State::ALL {
            let of = |side: &[Entry]| -> Vec<usize> {
                let here = |entry: &&Entry| any_state || entry.1.state == *state;
                side.iter().filter(here).map(|entry| entry.0).collect()
            };
            match (&of(&self.base)[..], &of(&self.new)[..]) {
                ([base], [new]) => pairs.push(Pair::Both(*base, *new)),
                (base, []) => base_left.extend_from_slice(base),
                ([], new) => new_left.extend_from_slice(new),
                _ => return Err(self.ambiguous(across)),
            }
            if any_state {
                break;
            }
        }
        match (base_left.first(), new_left.first()) {
            (Some(&base), Some(&new)) => pairs.push(Pair::States(base, new)),
            _ => {
                pairs.extend(base_left.into_iter().map(Pair::BaseOnly));
                pairs.extend(new_left.into_iter().map(Pair::NewOnly));
            }
        }
        Ok(())
    }

    fn ambiguous(&self, across: &[Key]) -> Ambiguous {
        let names = |side: &[Entry]| {
            let shown: Vec<String> = side.iter().take(3).map(|(_, case)| case.to_string()).collect();
            let more = if side.len() > 3 { format!(" and {} more", side.len() - 3) } else { String::new() };
            format!("{}{more}", shown.join(", "))
        };
        let left_out: Vec<String> = across.iter().map(Key::to_string).collect();
        Ambiguous { left_out: left_out.join(" and "), base: names(&self.base), new: names(&self.new) }
    }
}

fn key(case: &Case, across: &[Key]) -> String {
    let parts = case.parts();
    let kept = parts.iter().enumerate().filter(|(i, _)| KEYS[*i] != "state" && !across.contains(&Key(*i)));
    kept.map(|(_, part)| part.as_str()).collect::<Vec<_>>().join("/")
}

impl Key {
    /// Its name.
    pub fn name(self) -> &'static str {
        KEYS[self.0]
    }

    /// This part of the id of a case.
    pub(super) fn of(self, case: &Case) -> String {
        let mut parts = case.parts();
        std::mem::take(&mut parts[self.0])
    }

    /// Whether it is `state`.
    pub fn is_state(&self) -> bool {
        self.name() == "state"
    }
}

impl FromStr for Key {
    type Err = ParseWordError;
    fn from_str(text: &str) -> Result<Self, ParseWordError> {
        let expected = "one of track, dataset, format, layout, pattern, crop, tier, host, state";
        let unknown = || ParseWordError { what: "key", got: text.to_owned(), expected };
        KEYS.iter().position(|key| *key == text).map(Self).ok_or_else(unknown)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(ids: &[&str]) -> Vec<Case> {
        let id = |short: &&str| {
            let (format, state) = short.split_once(' ').expect("format and state");
            format!("getitem/smoke/{format}/object/random/all.8x8.u16/none/native/{state}").parse().expect("an id")
        };
        ids.iter().map(id).collect()
    }

    fn matched(base: &[&str], new: &[&str], across: &[&str]) -> Result<Vec<Pair>, Ambiguous> {
        let (base, new) = (cases(base), cases(new));
        let across: Vec<Key> = across.iter().map(|key| key.parse().expect("a key")).collect();
        let entries = |cases: &'_ [Case]| cases.iter().cloned().enumerate().collect::<Vec<_>>();
        let (base, new) = (entries(&base), entries(&new));
        fn by_reference(side: &[(usize, Case)]) -> Vec<Entry<'_>> {
            side.iter().map(|(index, case)| (*index, case)).collect()
        }
        match_cases(&by_reference(&base), &by_reference(&new), &across)
    }

    #[test]
    fn cases_are_compared_state_by_state() {
        let pairs = matched(&["a:b warm", "a:b cold"], &["a:b cold", "a:b warm"], &[]).expect("unambiguous");
        assert_eq!(pairs, [Pair::Both(1, 0), Pair::Both(0, 1)]);
    }

    #[test]
    fn a_case_in_other_states_is_one_row() {
        assert_eq!(matched(&["a:b cold"], &["a:b warm"], &[]).expect("unambiguous"), [Pair::States(0, 0)]);
        let half = matched(&["a:b cold", "a:b warm"], &["a:b warm"], &[]).expect("unambiguous");
        assert_eq!(half, [Pair::Both(1, 0), Pair::BaseOnly(0)]);
        assert_eq!(matched(&["a:b cold"], &["a:b warm"], &["state"]).expect("unambiguous"), [Pair::Both(0, 0)]);
    }

    #[test]
    fn keys_left_out_match_only_one_case_of_a_side() {
        assert_eq!(matched(&["a:b cold"], &["c:d cold"], &["format"]).expect("unambiguous"), [Pair::Both(0, 0)]);
        let error = matched(&["a:b cold"], &["c:d cold", "e:f cold"], &["format"]).expect_err("two cases of new");
        assert!(
            error.to_string().starts_with("without format, several cases match each other: base getitem/smoke/a:b")
        );
        let one_side = matched(&["a:b cold"], &["c:d warm", "e:f warm"], &["format", "state"]);
        assert!(one_side.is_err());
    }

    #[test]
    fn a_case_of_one_side_is_missing_on_the_other() {
        let pairs = matched(&["a:b cold"], &["c:d cold"], &[]).expect("unambiguous");
        assert_eq!(pairs, [Pair::BaseOnly(0), Pair::NewOnly(0)]);
    }
}

//! Index files, as NVIDIA DALI's `wds2idx` writes them: a line `v1.2 SAMPLES`, then for each sample a line of
//! `EXTENSION OFFSET LENGTH NAME` for each of its files.

use std::fmt::Write as _;
use std::path::Path;

use super::scan::Member;
use crate::FormatError;

const VERSION: &str = "v1.2";

/// The text of the index of samples, each with its files.
pub fn encode(samples: &[Vec<Member>]) -> String {
    let mut text = format!("{VERSION} {}\n", samples.len());
    for sample in samples {
        let of_file = |member: &Member| {
            let extension = member.name.split_once('.').map_or("", |(_, extension)| extension);
            format!("{extension} {} {} {}", member.offset, member.len, member.name)
        };
        let files: Vec<String> = sample.iter().map(of_file).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", files.join(" "));
    }
    text
}

/// The samples that an index tells of.
pub fn parse(path: &Path, text: &str) -> Result<Vec<Vec<Member>>, FormatError> {
    let broken = |line: usize, problem: String| FormatError::corrupt(path, format!("line {line}: {problem}"));
    if text.is_empty() {
        return Err(FormatError::corrupt(path, "empty file; expected an index of a tar file"));
    }
    if !text.ends_with('\n') {
        return Err(FormatError::corrupt(path, "truncated: its last line does not end"));
    }
    let mut lines = text.lines().enumerate();
    let (_, head) = lines.next().unwrap_or_default();
    let count = match head.split_once(' ') {
        Some((VERSION, count)) => count.parse::<usize>().ok(),
        Some((version, _)) if version.starts_with('v') && version != VERSION => {
            let problem = format!("{}: index version {version}; pcb reads {VERSION}", path.display());
            return Err(FormatError::Unsupported(problem));
        }
        _ => None,
    };
    let count = count.ok_or_else(|| broken(1, format!("{head:?}; expected {VERSION:?} and the number of samples")))?;
    let mut samples = Vec::new();
    for (number, line) in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let member = |file: &[&str]| match file {
            [_, offset, len, name] => {
                Some(Member { name: (*name).to_owned(), offset: offset.parse().ok()?, len: len.parse().ok()? })
            }
            _ => None,
        };
        let files: Option<Vec<Member>> = words.chunks(4).map(member).collect();
        let expected = "expected EXTENSION OFFSET LENGTH NAME for each file of the sample";
        samples.push(files.ok_or_else(|| broken(number + 1, format!("{line:?}; {expected}")))?);
    }
    if samples.len() != count {
        let problem = format!("{} samples; its first line says {count}", samples.len());
        return Err(FormatError::corrupt(path, problem));
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn member(name: &str, offset: u64, len: u64) -> Member {
        Member { name: name.into(), offset, len }
    }

    #[test]
    fn the_text_is_what_wds2idx_writes() {
        let samples =
            [vec![member("a/0.npy", 512, 100), member("a/0.seg.json", 1536, 7)], vec![member("1.npy", 2560, 9)]];
        let text = encode(&samples);
        assert_eq!(text, "v1.2 2\nnpy 512 100 a/0.npy seg.json 1536 7 a/0.seg.json\nnpy 2560 9 1.npy\n");
        assert_eq!(parse(Path::new("i"), &text).expect("sound"), samples);
    }

    #[test]
    fn broken_ones_are_told_by_line() {
        for (text, words) in [
            ("", "empty file"),
            ("v1.2 1\nnpy 1 2 a", "does not end"),
            ("v1.3 0\n", "v1.3"),
            ("tar\n", "line 1"),
            ("v1.2 1\nnpy x 2 a\n", "line 2"),
            ("v1.2 1\nnpy 1 2\n", "line 2"),
            ("v1.2 2\nnpy 1 2 a\n", "says 2"),
        ] {
            let error = parse(Path::new("i.idx"), text).expect_err("broken").to_string();
            assert!(error.contains(words) && error.contains("i.idx"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[v12 npy.a\\n0-9]{0,80}") {
            let _ = parse(Path::new("i"), &text);
        }
    }
}

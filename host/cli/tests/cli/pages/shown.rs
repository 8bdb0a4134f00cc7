/// Whether a text is the one that a page shows: `...` stands for any lines, and times, speeds and numbers of threads are
/// not compared.
pub(super) fn is_shown(shown: &[String], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, _) => printed.is_empty(),
        (Some((first, shown)), _) if first.trim() == "..." => {
            (0..=printed.len()).any(|skipped| is_shown(shown, &printed[skipped..]))
        }
        (Some(_), None) => false,
        (Some((first, shown)), Some((line, printed))) => {
            timeless(first) == timeless(line) && is_shown(shown, printed)
        }
    }
}

/// A line with `_` for what is different each time: the number and the unit after `in`, `at` and `with`.
fn timeless(line: &str) -> String {
    let mut words: Vec<&str> = line.trim_end().split(' ').collect();
    for at in 0..words.len() {
        let is_number = |word: &&str| word.parse::<f64>().is_ok();
        if matches!(words[at], "in" | "at" | "with") && words.get(at + 1).is_some_and(is_number) {
            words[at + 1] = "_";
            if let Some(unit) = words.get_mut(at + 2) {
                *unit = "_";
            }
        }
    }
    words.join(" ")
}

#[test]
fn times_may_differ_and_nothing_else() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let page = shown("a\n...\nx: 22 chunks in 90 ms at 13.6 MB/s with 2 threads; verified: yes");
    let printed = "x: 22 chunks in 1.2 s at 9 kB/s with 1 thread; verified: yes";
    assert!(is_shown(&page, &["a", printed]));
    assert!(is_shown(&page, &["a", "b", "c", printed]));
    assert!(!is_shown(&page, &["b", printed]));
    assert!(!is_shown(&page, &["a", printed, "more"]));
    assert!(!is_shown(&page, &["a", "x: 23 chunks in 1.2 s at 9 kB/s with 1 thread; verified: yes"]));
    assert!(!is_shown(&page, &["a"]));
    assert!(is_shown(&shown("a\n..."), &["a"]) && is_shown(&[], &[]));
}

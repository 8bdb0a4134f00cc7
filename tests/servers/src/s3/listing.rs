use std::collections::BTreeMap;
use std::ops::Bound;

/// One page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) keys: Vec<String>,
    pub(crate) prefixes: Vec<String>,
    /// The last entry of the page if there are more.
    pub(crate) next: Option<String>,
}

/// The entries after `after` that start with `prefix`, in the order of their bytes, at most `limit`. What has
/// `delimiter` after the prefix is one entry, up to and with the delimiter.
pub(crate) fn page<T>(
    objects: &BTreeMap<String, T>,
    prefix: &str,
    delimiter: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> Page {
    let mut page = Page::default();
    let mut last: Option<String> = None;
    let start = after.filter(|after| *after >= prefix).map_or(Bound::Included(prefix), Bound::Excluded);
    for key in objects.range::<str, _>((start, Bound::Unbounded)).map(|(key, _)| key) {
        let Some(rest) = key.strip_prefix(prefix) else { break };
        let folded = delimiter
            .filter(|delimiter| !delimiter.is_empty())
            .and_then(|delimiter| rest.find(delimiter).map(|at| &key[..prefix.len() + at + delimiter.len()]));
        if let Some(folded) = folded
            && (last.as_deref() == Some(folded) || after.is_some_and(|after| after.starts_with(folded)))
        {
            continue;
        }
        if page.keys.len() + page.prefixes.len() == limit {
            page.next = last;
            break;
        }
        match folded {
            Some(folded) => page.prefixes.push(folded.to_owned()),
            None => page.keys.push(key.clone()),
        }
        last = Some(folded.unwrap_or(key).to_owned());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(keys: &[&str]) -> BTreeMap<String, ()> {
        keys.iter().map(|key| ((*key).to_owned(), ())).collect()
    }

    #[test]
    fn a_listing_in_pages_is_the_listing() {
        let objects = keys(&["a", "a/1", "a/2", "a0", "b/1", "b/c/1", "b/c/2", "c"]);
        for delimiter in [None, Some("/")] {
            for prefix in ["", "a", "b/", "x"] {
                let whole = page(&objects, prefix, delimiter, None, usize::MAX);
                for limit in 1..5 {
                    let mut all = Page::default();
                    let mut after = None;
                    loop {
                        let part = page(&objects, prefix, delimiter, after.as_deref(), limit);
                        assert!(part.keys.len() + part.prefixes.len() <= limit);
                        all.keys.extend(part.keys);
                        all.prefixes.extend(part.prefixes);
                        after = part.next;
                        if after.is_none() {
                            break;
                        }
                    }
                    assert_eq!(all, whole, "{delimiter:?} {prefix:?} {limit}");
                }
            }
        }
    }

    #[test]
    fn what_has_the_delimiter_is_one_entry() {
        let objects = keys(&["a", "a/1", "a/2", "a0", "b/c/1"]);
        let root = page(&objects, "", Some("/"), None, 10);
        assert_eq!(
            (root.keys, root.prefixes),
            (vec!["a".into(), "a0".into()], vec!["a/".into(), "b/".into()])
        );
        let below = page(&objects, "a/", Some("/"), None, 10);
        assert_eq!(below.keys, ["a/1", "a/2"]);
    }
}

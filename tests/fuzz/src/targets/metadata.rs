use std::collections::BTreeMap;
use std::fmt::Debug;

use fastrand::Rng;
use ncz::cdl::{CdlOptions, header};
use ncz::model::{Attribute, Format, Generation, Group, Hierarchy, Variable};
use ncz::zarr::metadata::{ConsolidatedPolicy, ReadOptions, read, write};

use super::{Target, explained};
use crate::fixtures::{Objects, datasets, document_name, documents};
use crate::{Case, mutate};

/// A dataset with one changed document: an error, or a sound dataset that is written so that it reads the same.
pub(super) struct Metadata {
    datasets: BTreeMap<String, Objects>,
    /// Which documents are changed.
    changed: fn(&str) -> bool,
}

impl Metadata {
    /// Documents of version 2 without attributes, of every generation.
    pub(super) fn version2() -> Self {
        Self::new(|name| [".zgroup", ".zarray"].contains(&name) || name.starts_with(".nc"))
    }

    /// Documents of version 3.
    pub(super) fn version3() -> Self {
        Self::new(|name| name == "zarr.json")
    }

    /// Attributes, and in NCZarr what they say of dimensions, groups and types.
    pub(super) fn attributes() -> Self {
        Self::new(|name| [".zattrs", ".nczattr"].contains(&name))
    }

    /// Consolidated metadata of both versions, made if the fixtures have none.
    pub(super) fn consolidated() -> Self {
        let mut all = Self::new(|name| [".zmetadata", "zarr.json"].contains(&name));
        for objects in all.datasets.values_mut() {
            let hierarchy = read(objects, &ReadOptions { nczarr3: true, ..ReadOptions::default() }).unwrap();
            if !objects.contains_key(".zmetadata")
                && let Ok(written) = write(&hierarchy, true)
            {
                let is_v3 = |key: &str| document_name(key) == "zarr.json";
                let root = written.into_iter().find(|(key, _)| key == ".zmetadata" || key == "zarr.json");
                objects.extend(root);
                // What is inside is in the root as well, and is not changed here.
                objects.retain(|key, _| !is_v3(key) || key == "zarr.json");
            }
        }
        all
    }

    fn new(changed: fn(&str) -> bool) -> Self {
        let datasets = datasets("").into_iter().map(|(name, objects)| (name, documents(&objects)));
        let has_any = |objects: &Objects| objects.keys().any(|key| changed(document_name(key)));
        Self { datasets: datasets.filter(|(_, objects)| has_any(objects)).collect(), changed }
    }
}

impl Target for Metadata {
    fn seeds(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (name, objects) in &self.datasets {
            let changed = objects.iter().filter(|(key, _)| (self.changed)(document_name(key)));
            cases.extend(changed.map(|(key, text)| Case::new(format!("{name}\t{key}"), text.clone())));
        }
        cases
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        mutate::json::mutate(&mut case.bytes, &other.bytes, rng);
    }

    fn run(&mut self, case: &Case) -> String {
        let (name, key) = case.context.split_once('\t').unwrap();
        let mut objects = self.datasets[name].clone();
        objects.insert(key.to_owned(), case.bytes.clone());
        let plain = ReadOptions::default();
        let ways = [
            ("", plain.clone()),
            ("only ", ReadOptions { consolidated: ConsolidatedPolicy::Only, nczarr3: true, ..plain.clone() }),
            ("pure ", ReadOptions { pure: true, ..plain }),
        ];
        let mut summary = String::new();
        for (way, options) in ways {
            summary.push_str(way);
            match read(&objects, &options) {
                Ok(hierarchy) => summary.push_str(&check(&hierarchy, &options)),
                Err(error) => summary.push_str(&explained(&error)),
            }
        }
        summary
    }
}

/// What holds for every dataset that was read; returns what is said of it.
fn check(hierarchy: &Hierarchy, options: &ReadOptions) -> String {
    sound(hierarchy);
    let mut text = Vec::new();
    header(&mut text, hierarchy, &CdlOptions { special: true, ..CdlOptions::new("x") }).unwrap();
    let text = String::from_utf8(text).expect("CDL is text");
    assert!(text.ends_with("}\n"), "{text}");

    let mut summary = format!("{:?} ", hierarchy.format);
    summary.extend(hierarchy.unreadable().map(|unreadable| explained(&unreadable.error())));
    summary.extend(hierarchy.warnings.iter().map(ToString::to_string));
    if hierarchy.root_array && hierarchy.variables().next().is_none() {
        // All there is cannot be read, and there is nothing to write.
        return summary;
    }
    for consolidated in [false, true] {
        let documents: Objects = match write(hierarchy, consolidated) {
            Ok(documents) => documents.into_iter().collect(),
            Err(error) => {
                summary.push_str(&explained(&error));
                continue;
            }
        };
        let policy = if consolidated { ConsolidatedPolicy::Only } else { ConsolidatedPolicy::Ignore };
        let options = ReadOptions { consolidated: policy, ..options.clone() };
        let back = read(&documents, &options).unwrap_or_else(|error| {
            panic!("cannot be read after writing: {}\n{}", explained(&error), shown(&documents))
        });
        same(hierarchy, &back, &documents);
    }
    summary
}

fn sound(hierarchy: &Hierarchy) {
    for variable in hierarchy.variables() {
        let rank = variable.shape.len();
        assert!(variable.dtype.is_variable_length() || variable.fill_bytes().len() == variable.dtype.size());
        assert_eq!(
            (variable.dimensions.len(), variable.chunk_shape.len()),
            (rank, rank),
            "{}",
            variable.path
        );
        assert!(!variable.chunk_shape.contains(&0));
        let mut axes = variable.order.axes(rank);
        axes.sort_unstable();
        assert!(axes.into_iter().eq(0..rank));
        if let Some(sharding) = &variable.sharding {
            let mut pairs = sharding.shape.iter().zip(&variable.chunk_shape);
            assert!(pairs.all(|(shard, chunk)| shard.is_multiple_of(*chunk)));
        }
        let shape = hierarchy.shape_of(variable);
        assert!(
            shape.len() == rank && shape.iter().zip(&variable.shape).all(|(shown, stored)| shown >= stored)
        );
        assert!(variable.dimensions.iter().all(|reference| hierarchy.dimension(reference).is_some()));
        assert_eq!(hierarchy.variable(&variable.path).unwrap().key, variable.key);
        let _ = (variable.chunk_elements(), variable.stored_shape(), variable.stored_chunk_shape());
    }
}

/// What a fact is about, and the fact.
type Fact = (String, String);

/// Compares all that has a meaning. What could not be read is not written in every format, and with it go the
/// dimensions that only it has.
fn same(old: &Hierarchy, new: &Hierarchy, documents: &Objects) {
    let whole = old.unreadable().next().is_none();
    let facts = |hierarchy: &Hierarchy| -> Vec<Fact> {
        let groups = hierarchy.groups().flat_map(|group| group_facts(group, whole));
        groups.chain(hierarchy.variables().flat_map(|v| variable_facts(hierarchy, v, whole))).collect()
    };
    let (before, after) = (facts(old), facts(new));
    for ((what, before), (what_now, after)) in before.iter().zip(&after) {
        let text = || shown(documents);
        assert!(what == what_now, "expected {what}, got {what_now} after writing\n{}", text());
        assert!(before == after, "{what} changed by writing\n{before}\n{after}\n{}", text());
    }
    assert_eq!(before.len(), after.len(), "something is missing after writing\n{}", shown(documents));
    let current = |format| match format {
        // Older generations are written as the current one, if at all.
        Format::Nczarr(_) => Format::Nczarr(Generation::Attributes),
        other => other,
    };
    assert_eq!(current(old.format), current(new.format), "{}", shown(documents));
}

fn group_facts(group: &Group, whole: bool) -> Vec<Fact> {
    // A dimension without a name gets one by being written in NCZarr.
    let dimensions = group.dimensions.iter().map(|d| (&d.name, d.len, d.unlimited)).collect::<Vec<_>>();
    let mut facts = vec![("group".to_owned(), group.path.clone())];
    if whole {
        facts.push((format!("dimensions of {:?}", group.path), format!("{dimensions:?}")));
    }
    facts.extend(attribute_facts(&group.path, &group.attributes));
    facts
}

fn variable_facts(hierarchy: &Hierarchy, v: &Variable, whole: bool) -> Vec<Fact> {
    let fact = |what: &str, value: &dyn Debug| (format!("{what} of {:?}", v.path), format!("{value:?}"));
    let mut facts = vec![
        ("variable".to_owned(), v.path.clone()),
        fact("shape", &v.shape),
        fact("dtype", &v.dtype),
        fact("type", &v.nc_type),
        fact("chunks", &(&v.chunk_shape, &v.sharding)),
        fact("order", &v.order),
        fact("keys", &(v.key_encoding, v.separator)),
        fact("storage", &(v.scalar, v.storage)),
        // Version 3 has no way to say that there is none.
        fact("fill", &(v.fill_bytes(), hierarchy.format.is_v3() || v.fill.is_some())),
        fact("filters", &v.filters),
    ];
    if whole {
        facts.push(fact("dimensions", &(&v.dimensions, hierarchy.shape_of(v))));
    }
    facts.extend(attribute_facts(&v.path, &v.attributes));
    facts
}

fn attribute_facts(path: &str, attributes: &[Attribute]) -> Vec<Fact> {
    attributes
        .iter()
        .map(|attribute| {
            (format!("attribute {:?} of {path:?}", attribute.name), format!("{:?}", attribute.value))
        })
        .collect()
}

fn shown(documents: &Objects) -> String {
    documents.iter().map(|(key, text)| format!("{key}: {}\n", String::from_utf8_lossy(text))).collect()
}

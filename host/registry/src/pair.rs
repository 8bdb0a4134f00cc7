//! Step four: which offers make a codec together, and which one is used. Pure: a function of its input.
//!
//! | HDF5 filter | NCZarr codec | state |
//! | --- | --- | --- |
//! | yes | no | incomplete: good for HDF5 data, not for NCZarr |
//! | no | yes | incomplete |
//! | yes | yes | usable, also when the two come from two libraries |
//!
//! A native codec and a built-in count as both. No candidate is dropped: those that are not used are
//! kept in order after the one that is.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use ncz_codec::{CodecInfo, Dialect};
use semver::Version;

use crate::search_path::Origin;

/// The largest filter id of HDF5. netcdf-c fails on it, so it is good for HDF5 data only.
pub const HDF5_ONLY_ID: u32 = 65_535;

/// The part of a codec that an offer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// A built-in or native codec: it runs, and it reads and writes JSON.
    Whole,
    /// An HDF5 filter: it runs.
    Hdf5,
    /// An NCZarr codec: it reads and writes JSON.
    Codec,
    /// An NCZarr codec from a list of defaults: used only if no other library has the codec.
    Default,
}

/// The origin of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OfferOrigin {
    /// Registered by the program as it runs.
    Registered,
    /// Linked into the program.
    Builtin,
    /// A library in a folder that was named thus.
    Plugin(Origin),
}

/// The preference if several candidates offer the same codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Prefer {
    /// Registered by the program, an explicit path, built-in, `HDF5_PLUGIN_PATH`, the default path. The variable is
    /// not always the user's choice: importing some Python packages sets it.
    #[default]
    Builtins,
    /// Registered by the program, an explicit path, `HDF5_PLUGIN_PATH`, built-in, the default path.
    Plugins,
}

/// One part of a codec, as offered by a library or by the program itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The part.
    pub part: Part,
    /// The HDF5 filter id, 1 to 65535, if the codec has one.
    pub id: Option<u32>,
    /// The names of the codec in JSON by dialect; the first is the one to write.
    pub names: Vec<(Dialect, String)>,
    /// The library's number in the order of the search; `None` if it is not from a library.
    pub library: Option<usize>,
    /// The number of the library's folder in the order of the search.
    pub folder: Option<usize>,
    /// The version that the library or the package of a built-in states.
    pub version: Option<Version>,
    ///    /// The origin.
    pub origin: OfferOrigin,
}

/// The parts of a candidate. Numbers are indices into the offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Body {
    /// A built-in or native codec.
    Whole(usize),
    /// A filter and an NCZarr codec. The JSON may be borrowed from a whole codec of the same id.
    Pair {
        /// The HDF5 filter.
        hdf5: usize,
        /// The NCZarr codec, or the whole codec that lends its JSON.
        codec: usize,
    },
    /// A filter without an NCZarr codec.
    Hdf5Only(usize),
    /// An NCZarr codec that no filter uses.
    CodecOnly(usize),
}

/// Whether a candidate is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It is the one that is used.
    Chosen,
    /// The candidate with this number in the same codec is used instead.
    Shadowed(usize),
    /// The NCZarr codec is missing: works for HDF5 data only.
    LacksCodec,
    /// The HDF5 filter is missing: not usable.
    LacksHdf5,
}

/// One way to get a codec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its parts.
    pub body: Body,
    /// Other faces of the same codec in the same library: not needed with the native one.
    pub other_faces: Vec<usize>,
    /// Whether it is used.
    pub state: State,
}

/// A codec with everything that offers it, in the order of preference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paired {
    /// Its HDF5 filter id, if it has one.
    pub id: Option<u32>,
    /// All candidates.
    pub candidates: Vec<Candidate>,
}

/// A name that two codecs claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The dialect in which both use it.
    pub dialect: Dialect,
    /// The name.
    pub name: String,
    /// Its owner: codec and candidate.
    pub holder: (usize, usize),
    /// The one that it does not reach: codec and candidate.
    pub loser: (usize, usize),
}

/// An offer that is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its index.
    pub offer: usize,
    /// Why.
    pub reason: String,
}

/// The result of pairing the offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairing {
    /// The codecs: by id, then those without one by name.
    pub codecs: Vec<Paired>,
    /// The target of a name in a dialect: codec and candidate.
    pub names: HashMap<(Dialect, String), (usize, usize)>,
    /// Names that two codecs claim.
    pub conflicts: Vec<Conflict>,
    /// Offers that are not taken.
    pub refused: Vec<Refused>,
}

/// Pairs the offers.
pub fn pair(offers: &[Offer], prefer: Prefer) -> Pairing {
    let mut pairing = Pairing { refused: refuse(offers), ..Pairing::default() };
    let mut order: Vec<usize> =
        (0..offers.len()).filter(|&i| pairing.refused.iter().all(|refused| refused.offer != i)).collect();
    order.sort_by_key(|&i| (prefer.rank(offers[i].origin), offers[i].library, i));
    let mut ranks = vec![usize::MAX; offers.len()];
    order.iter().enumerate().for_each(|(rank, &i)| ranks[i] = rank);
    let mut groups = group(offers, &order);
    for (_, members) in &mut groups {
        newer_first(offers, members, &mut ranks);
    }
    let paired = |(id, members): (Option<u32>, Vec<usize>)| Paired {
        id,
        candidates: candidates(offers, &members, id, &ranks),
    };
    pairing.codecs = groups.into_iter().map(paired).collect();
    take_names(&mut pairing, offers, &ranks);
    pairing
}

impl Offer {
    /// An offer without id, names and version.
    pub fn new(part: Part, origin: OfferOrigin) -> Self {
        Self { part, id: None, names: Vec::new(), library: None, folder: None, version: None, origin }
    }

    /// A codec of the program itself.
    pub fn whole(info: &CodecInfo, origin: OfferOrigin) -> Self {
        Self { id: info.filter_id, names: names_of(info), ..Self::new(Part::Whole, origin) }
    }
}

/// What a codec is called in JSON, by dialect, the name to write first.
pub fn names_of(info: &CodecInfo) -> Vec<(Dialect, String)> {
    [Dialect::Numcodecs, Dialect::ZarrV3]
        .into_iter()
        .flat_map(|dialect| info.names(dialect).iter().map(move |name| (dialect, name.to_string())))
        .collect()
}

impl Prefer {
    fn rank(self, origin: OfferOrigin) -> u8 {
        match (origin, self) {
            (OfferOrigin::Registered, _) => 0,
            (OfferOrigin::Plugin(Origin::Explicit), _) => 1,
            (OfferOrigin::Builtin, Self::Builtins)
            | (OfferOrigin::Plugin(Origin::Environment), Self::Plugins) => 2,
            (OfferOrigin::Builtin, Self::Plugins)
            | (OfferOrigin::Plugin(Origin::Environment), Self::Builtins) => 3,
            (OfferOrigin::Plugin(Origin::Default), _) => 4,
        }
    }
}

impl Body {
    /// The offer that runs, if any does.
    pub fn runs(self) -> Option<usize> {
        match self {
            Self::Whole(offer) | Self::Pair { hdf5: offer, .. } | Self::Hdf5Only(offer) => Some(offer),
            Self::CodecOnly(_) => None,
        }
    }

    /// The offer that reads and writes JSON, if any does.
    pub fn speaks(self) -> Option<usize> {
        match self {
            Self::Whole(offer) | Self::Pair { codec: offer, .. } | Self::CodecOnly(offer) => Some(offer),
            Self::Hdf5Only(_) => None,
        }
    }

    /// Returns the offer that determines the candidate's position in the order.
    pub fn main(self) -> usize {
        match self {
            Self::Whole(offer)
            | Self::Pair { hdf5: offer, .. }
            | Self::Hdf5Only(offer)
            | Self::CodecOnly(offer) => offer,
        }
    }

    /// Tests whether it both runs and has JSON.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Whole(_) | Self::Pair { .. })
    }
}

impl Paired {
    /// Returns the candidate for HDF5 data and look-up by number, if there is one.
    pub fn chosen(&self) -> Option<usize> {
        self.candidates.iter().position(|candidate| candidate.body.runs().is_some())
    }
}

/// Sorts the offers of one codec: newer libraries of a folder before older ones. Libraries that state no version keep
/// their positions.
fn newer_first(offers: &[Offer], members: &mut [usize], ranks: &mut [usize]) {
    let versioned = |&i: &usize| Some((offers[i].folder?, offers[i].version.as_ref()?));
    let folders: BTreeSet<usize> = members.iter().filter_map(versioned).map(|(folder, _)| folder).collect();
    for folder in folders {
        let is_in = |i: &usize| versioned(i).is_some_and(|(of, _)| of == folder);
        let mut newest: Vec<usize> = members.iter().copied().filter(is_in).collect();
        let taken: Vec<usize> = newest.iter().map(|&i| ranks[i]).collect();
        // Stable: equal versions stay in the order of the search.
        newest.sort_by(|&a, &b| versioned(&b).cmp(&versioned(&a)));
        newest.iter().zip(taken).for_each(|(&i, rank)| ranks[i] = rank);
    }
    members.sort_by_key(|&i| ranks[i]);
}

/// Returns the offers of libraries whose filter and NCZarr codec have different ids: such a library is refused as a
/// whole.
fn refuse(offers: &[Offer]) -> Vec<Refused> {
    let half = |library: usize, part: Part| {
        offers.iter().find(|offer| offer.library == Some(library) && offer.part == part)
    };
    let reason = |offer: &Offer| {
        let hdf5 = half(offer.library?, Part::Hdf5)?.id?;
        let codec = half(offer.library?, Part::Codec)?.id?;
        (hdf5 != codec).then(|| {
            format!("its two ids differ: the HDF5 filter is {hdf5}, the NCZarr codec is for {codec}")
        })
    };
    let refused = |(i, offer)| Some(Refused { offer: i, reason: reason(offer)? });
    offers.iter().enumerate().filter_map(refused).collect()
}

/// The offers of each codec, in the given order: by id, then those without one by their first name.
fn group(offers: &[Offer], order: &[usize]) -> Vec<(Option<u32>, Vec<usize>)> {
    let mut by_id: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut nameless: Vec<Vec<usize>> = Vec::new();
    for &i in order {
        match offers[i].id {
            Some(id) => by_id.entry(id).or_default().push(i),
            None => {
                // Without a number, a common name makes two offers the same codec.
                let shares = |members: &Vec<usize>| {
                    members.iter().any(|&m| offers[m].names.iter().any(|name| offers[i].names.contains(name)))
                };
                match nameless.iter_mut().find(|members| shares(members)) {
                    Some(members) => members.push(i),
                    None => nameless.push(vec![i]),
                }
            }
        }
    }
    nameless.sort_by(|a, b| {
        let name = |members: &[usize]| members.first().map(|&i| offers[i].names.clone());
        name(a).cmp(&name(b))
    });
    let with_id = by_id.into_iter().map(|(id, members)| (Some(id), members));
    with_id.chain(nameless.into_iter().map(|members| (None, members))).collect()
}

/// The candidates that the offers of one codec make, in the order of preference.
fn candidates(offers: &[Offer], members: &[usize], id: Option<u32>, ranks: &[usize]) -> Vec<Candidate> {
    let of = |part: Part| members.iter().copied().filter(move |&i| offers[i].part == part);
    let same_library =
        |a: usize, b: usize| offers[a].library.is_some() && offers[a].library == offers[b].library;
    // The C faces of a library with a native codec are the same codec.
    let natives: Vec<usize> = of(Part::Whole).collect();
    let native_of = |i: usize| natives.iter().copied().find(|&native| same_library(native, i));
    let is_other_face =
        |i: usize| matches!(offers[i].part, Part::Hdf5 | Part::Codec) && native_of(i).is_some();

    let mut bodies: Vec<Body> = natives.iter().copied().map(Body::Whole).collect();
    for hdf5 in of(Part::Hdf5).filter(|&i| !is_other_face(i)) {
        let own = of(Part::Codec).find(|&i| same_library(i, hdf5));
        let codec = own
            .or_else(|| of(Part::Codec).find(|&i| !is_other_face(i)))
            .or_else(|| natives.first().copied())
            .or_else(|| of(Part::Default).next())
            .filter(|_| id != Some(HDF5_ONLY_ID));
        bodies.push(match codec {
            Some(codec) => Body::Pair { hdf5, codec },
            None => Body::Hdf5Only(hdf5),
        });
    }
    let used: Vec<usize> = bodies.iter().filter_map(|body| body.speaks()).collect();
    let idle = of(Part::Codec).filter(|&i| !is_other_face(i)).chain(of(Part::Default));
    let idle: Vec<Body> = idle.filter(|i| !used.contains(i)).map(Body::CodecOnly).collect();
    bodies.extend(idle);
    // An NCZarr codec by itself is never better than a candidate that runs.
    bodies.sort_by_key(|body| (body.runs().is_none(), ranks[body.main()]));

    let chosen = bodies.iter().position(|body| body.is_complete());
    let state = |(i, body): (usize, &Body)| match (chosen, body) {
        (Some(chosen), _) if chosen == i => State::Chosen,
        (Some(chosen), _) => State::Shadowed(chosen),
        (None, Body::CodecOnly(_)) => State::LacksHdf5,
        (None, _) => State::LacksCodec,
    };
    let states: Vec<State> = bodies.iter().enumerate().map(state).collect();
    let faces = |body: &Body| match body {
        Body::Whole(native) => {
            members.iter().copied().filter(|&i| is_other_face(i) && native_of(i) == Some(*native)).collect()
        }
        _ => Vec::new(),
    };
    let candidate = |(body, state)| Candidate { other_faces: faces(&body), body, state };
    bodies.into_iter().zip(states).map(candidate).collect()
}

/// Gives the names to the complete candidates, in the order of preference over all codecs.
fn take_names(pairing: &mut Pairing, offers: &[Offer], ranks: &[usize]) {
    let mut order = Vec::new();
    for (codec, paired) in pairing.codecs.iter().enumerate() {
        for (number, candidate) in paired.candidates.iter().enumerate() {
            if let (true, Some(speaker)) = (candidate.body.is_complete(), candidate.body.speaks()) {
                order.push((ranks[candidate.body.main()], (codec, number), speaker));
            }
        }
    }
    order.sort();
    for (_, at, speaker) in order {
        for (dialect, name) in &offers[speaker].names {
            match pairing.names.entry((*dialect, name.clone())) {
                Slot::Vacant(slot) => {
                    slot.insert(at);
                }
                Slot::Occupied(slot) if slot.get().0 != at.0 => pairing.conflicts.push(Conflict {
                    dialect: *dialect,
                    name: name.clone(),
                    holder: *slot.get(),
                    loser: at,
                }),
                Slot::Occupied(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;

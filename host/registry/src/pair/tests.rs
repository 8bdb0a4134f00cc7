//! Every row of the pairing table, with synthetic offers.

use proptest::prelude::*;

use super::*;

const EXPLICIT: OfferOrigin = OfferOrigin::Plugin(Origin::Explicit);
const ENVIRONMENT: OfferOrigin = OfferOrigin::Plugin(Origin::Environment);
const DEFAULT: OfferOrigin = OfferOrigin::Plugin(Origin::Default);

fn offer(part: Part, id: impl Into<Option<u32>>, name: &str, library: usize, origin: OfferOrigin) -> Offer {
    let names = if name.is_empty() { vec![] } else { vec![(Dialect::Numcodecs, name.to_owned())] };
    let library = (origin != OfferOrigin::Builtin).then_some(library);
    Offer { part, id: id.into(), names, library, folder: None, version: None, origin }
}

fn hdf5(id: u32, library: usize, origin: OfferOrigin) -> Offer {
    offer(Part::Hdf5, id, "", library, origin)
}

fn codec(id: u32, library: usize, origin: OfferOrigin) -> Offer {
    offer(Part::Codec, id, &format!("codec{id}"), library, origin)
}

fn builtin(id: impl Into<Option<u32>>, name: &str) -> Offer {
    offer(Part::Whole, id, name, 0, OfferOrigin::Builtin)
}

fn bodies(pairing: &Pairing, codec: usize) -> Vec<(Body, State)> {
    pairing.codecs[codec].candidates.iter().map(|candidate| (candidate.body, candidate.state)).collect()
}

fn paired(offers: &[Offer]) -> Vec<(Body, State)> {
    let pairing = pair(offers, Prefer::Builtins);
    assert_eq!(pairing.codecs.len(), 1);
    bodies(&pairing, 0)
}

#[test]
fn nothing_makes_nothing() {
    assert_eq!(pair(&[], Prefer::Builtins), Pairing::default());
}

#[test]
fn both_halves_in_one_library_are_usable() {
    let found = paired(&[hdf5(307, 0, ENVIRONMENT), codec(307, 0, ENVIRONMENT)]);
    assert_eq!(found, [(Body::Pair { hdf5: 0, codec: 1 }, State::Chosen)]);
}

#[test]
fn halves_of_two_libraries_are_usable_whichever_comes_first() {
    let found = paired(&[codec(307, 0, ENVIRONMENT), hdf5(307, 1, ENVIRONMENT)]);
    assert_eq!(found, [(Body::Pair { hdf5: 1, codec: 0 }, State::Chosen)]);
}

#[test]
fn halves_of_one_library_stay_together() {
    let found = paired(&[
        codec(307, 0, ENVIRONMENT),
        hdf5(307, 1, ENVIRONMENT),
        codec(307, 1, ENVIRONMENT),
        hdf5(307, 2, ENVIRONMENT),
    ]);
    assert_eq!(
        found,
        [
            (Body::Pair { hdf5: 1, codec: 2 }, State::Chosen),
            (Body::Pair { hdf5: 3, codec: 0 }, State::Shadowed(0)),
        ]
    );
}

#[test]
fn a_filter_only_is_incomplete_and_works_for_hdf5_data() {
    let offers = [hdf5(32_004, 0, ENVIRONMENT)];
    let pairing = pair(&offers, Prefer::Builtins);
    assert_eq!(bodies(&pairing, 0), [(Body::Hdf5Only(0), State::LacksCodec)]);
    assert_eq!(pairing.codecs[0].chosen(), Some(0));
    assert!(pairing.names.is_empty());
}

#[test]
fn an_nczarr_codec_only_is_incomplete_and_has_no_name() {
    let pairing = pair(&[codec(307, 0, ENVIRONMENT)], Prefer::Builtins);
    assert_eq!(bodies(&pairing, 0), [(Body::CodecOnly(0), State::LacksHdf5)]);
    assert_eq!(pairing.codecs[0].chosen(), None);
    assert!(pairing.names.is_empty());
}

#[test]
fn defaults_are_used_only_if_no_other_library_has_the_codec() {
    let default = |id, library| offer(Part::Default, id, "bz2", library, ENVIRONMENT);
    let found = paired(&[default(307, 0), hdf5(307, 1, ENVIRONMENT)]);
    assert_eq!(found, [(Body::Pair { hdf5: 1, codec: 0 }, State::Chosen)]);

    let found = paired(&[default(307, 0), hdf5(307, 1, ENVIRONMENT), codec(307, 2, ENVIRONMENT)]);
    assert_eq!(
        found,
        [(Body::Pair { hdf5: 1, codec: 2 }, State::Chosen), (Body::CodecOnly(0), State::Shadowed(0))]
    );

    // A built-in of that id has the JSON, so the default is not needed.
    let found = paired(&[default(307, 0), hdf5(307, 1, EXPLICIT), builtin(307, "bz2")]);
    assert_eq!(
        found,
        [
            (Body::Pair { hdf5: 1, codec: 2 }, State::Chosen),
            (Body::Whole(2), State::Shadowed(0)),
            (Body::CodecOnly(0), State::Shadowed(0)),
        ]
    );
    assert_eq!(paired(&[default(307, 0)]), [(Body::CodecOnly(0), State::LacksHdf5)]);
}

#[test]
fn the_order_is_explicit_built_in_environment_default() {
    let both = |library, place| [hdf5(307, library, place), codec(307, library, place)];
    let mut offers: Vec<Offer> =
        [DEFAULT, ENVIRONMENT].into_iter().zip([3, 2]).flat_map(|(p, l)| both(l, p)).collect();
    offers.push(builtin(307, "bz2"));
    offers.extend(both(0, EXPLICIT));
    let main = |prefer| -> Vec<OfferOrigin> {
        let pairing = pair(&offers, prefer);
        assert_eq!(pairing.codecs[0].candidates[0].state, State::Chosen);
        assert!(pairing.codecs[0].candidates[1..].iter().all(|c| c.state == State::Shadowed(0)));
        pairing.codecs[0].candidates.iter().map(|candidate| offers[candidate.body.main()].origin).collect()
    };
    assert_eq!(main(Prefer::Builtins), [EXPLICIT, OfferOrigin::Builtin, ENVIRONMENT, DEFAULT]);
    assert_eq!(main(Prefer::Plugins), [EXPLICIT, ENVIRONMENT, OfferOrigin::Builtin, DEFAULT]);
}

#[test]
fn a_built_in_lends_its_json_to_a_filter_that_is_preferred() {
    let found = paired(&[builtin(32_015, "zstd"), hdf5(32_015, 0, EXPLICIT)]);
    assert_eq!(
        found,
        [(Body::Pair { hdf5: 1, codec: 0 }, State::Chosen), (Body::Whole(0), State::Shadowed(0))]
    );
    let found = paired(&[builtin(32_015, "zstd"), hdf5(32_015, 0, ENVIRONMENT)]);
    assert_eq!(
        found,
        [(Body::Whole(0), State::Chosen), (Body::Pair { hdf5: 1, codec: 0 }, State::Shadowed(0))]
    );
}

#[test]
fn a_native_half_counts_as_both_and_its_other_faces_stay_with_it() {
    let native = offer(Part::Whole, 307, "bz2", 0, ENVIRONMENT);
    let offers = [native, hdf5(307, 0, ENVIRONMENT), codec(307, 0, ENVIRONMENT), hdf5(307, 1, ENVIRONMENT)];
    let pairing = pair(&offers, Prefer::Builtins);
    let candidates = &pairing.codecs[0].candidates;
    assert_eq!((candidates[0].body, candidates[0].state), (Body::Whole(0), State::Chosen));
    assert_eq!(candidates[0].other_faces, [1, 2]);
    // The other library's filter borrows from the native codec.
    assert_eq!(candidates[1].body, Body::Pair { hdf5: 3, codec: 0 });
    assert_eq!(candidates.len(), 2);
}

#[test]
fn a_codec_name_with_another_id_is_a_conflict_and_the_number_still_leads_there() {
    let offers = [
        builtin(32_015, "zstd"),
        hdf5(40_000, 0, ENVIRONMENT),
        offer(Part::Codec, 40_000, "zstd", 0, ENVIRONMENT),
        builtin(None, "gzip"),
        offer(Part::Whole, None, "gzip", 1, ENVIRONMENT),
    ];
    let pairing = pair(&offers, Prefer::Builtins);
    let conflict =
        Conflict { dialect: Dialect::Numcodecs, name: "zstd".into(), holder: (0, 0), loser: (1, 0) };
    assert_eq!(pairing.conflicts, [conflict]);
    assert_eq!(pairing.codecs[1].chosen(), Some(0));
    // Without a number, the same name is the same codec.
    assert_eq!(bodies(&pairing, 2), [(Body::Whole(3), State::Chosen), (Body::Whole(4), State::Shadowed(0))]);
}

#[test]
fn the_same_name_in_two_dialects_may_be_two_codecs() {
    let mut v3 = builtin(None, "");
    v3.names = vec![(Dialect::ZarrV3, "packbits".into())];
    let pairing = pair(&[builtin(None, "packbits"), v3], Prefer::Builtins);
    assert_eq!(pairing.codecs.len(), 2);
    assert!(pairing.conflicts.is_empty());
    assert_eq!(pairing.names.len(), 2);
}

#[test]
fn a_name_leads_to_the_first_candidate_that_has_it() {
    let mut whole = builtin(32_015, "zstd");
    whole.names.push((Dialect::ZarrV3, "zstd".into()));
    let offers = [whole, hdf5(32_015, 0, EXPLICIT), offer(Part::Codec, 32_015, "zstd", 0, EXPLICIT)];
    let pairing = pair(&offers, Prefer::Builtins);
    assert_eq!(pairing.names[&(Dialect::Numcodecs, "zstd".into())], (0, 0));
    // The plugin has no Zarr v3 name.
    assert_eq!(pairing.names[&(Dialect::ZarrV3, "zstd".into())], (0, 1));
}

#[test]
fn a_library_with_two_different_ids_is_refused_and_others_are_used_instead() {
    let offers = [
        hdf5(307, 0, ENVIRONMENT),
        codec(32_015, 0, ENVIRONMENT),
        hdf5(307, 1, ENVIRONMENT),
        codec(307, 1, ENVIRONMENT),
    ];
    let pairing = pair(&offers, Prefer::Builtins);
    assert_eq!(pairing.refused.iter().map(|refused| refused.offer).collect::<Vec<_>>(), [0, 1]);
    assert!(pairing.refused[0].reason.contains("307") && pairing.refused[0].reason.contains("32015"));
    assert_eq!(pairing.codecs.len(), 1);
    assert_eq!(bodies(&pairing, 0), [(Body::Pair { hdf5: 2, codec: 3 }, State::Chosen)]);
}

#[test]
fn the_last_id_is_good_for_hdf5_data_only() {
    let found = paired(&[hdf5(HDF5_ONLY_ID, 0, EXPLICIT), codec(HDF5_ONLY_ID, 0, EXPLICIT)]);
    assert_eq!(found, [(Body::Hdf5Only(0), State::LacksCodec), (Body::CodecOnly(1), State::LacksHdf5)]);
}

fn any_offer() -> impl Strategy<Value = Offer> {
    let part = prop_oneof![Just(Part::Whole), Just(Part::Hdf5), Just(Part::Codec), Just(Part::Default)];
    let place = prop_oneof![Just(OfferOrigin::Builtin), Just(EXPLICIT), Just(ENVIRONMENT), Just(DEFAULT)];
    (part, 1..5u32, 0..4usize, place, "[abc]", any::<bool>()).prop_map(
        |(part, id, library, place, name, numbered)| match part {
            // Only whole codecs may lack a number, and only they and defaults may be built in.
            Part::Whole => offer(part, numbered.then_some(id), &name, library, place),
            Part::Default => offer(part, id, &name, library, place),
            Part::Hdf5 => {
                offer(part, id, "", library, if place == OfferOrigin::Builtin { EXPLICIT } else { place })
            }
            Part::Codec => {
                offer(part, id, &name, library, if place == OfferOrigin::Builtin { EXPLICIT } else { place })
            }
        },
    )
}

proptest! {
    #[test]
    fn no_offer_is_lost_and_none_runs_twice(
        offers in prop::collection::vec(any_offer(), 0..14),
        plugins: bool,
    ) {
        let prefer = if plugins { Prefer::Plugins } else { Prefer::Builtins };
        let pairing = pair(&offers, prefer);
        let all = || pairing.codecs.iter().flat_map(|codec| &codec.candidates);
        for i in 0..offers.len() {
            let runs = all().filter(|candidate| candidate.body.runs() == Some(i)).count();
            let speaks = all().filter(|candidate| candidate.body.speaks() == Some(i)).count();
            let faces = all().filter(|candidate| candidate.other_faces.contains(&i)).count();
            let refused = pairing.refused.iter().filter(|refused| refused.offer == i).count();
            prop_assert!(runs + speaks + faces + refused >= 1, "offer {} is lost", i);
            prop_assert!(runs <= 1 && refused <= 1 && faces <= 1);
            prop_assert!(refused == 0 || runs + speaks + faces == 0);
        }
    }

    #[test]
    fn the_chosen_one_is_complete_and_nothing_complete_is_preferred_to_it(
        offers in prop::collection::vec(any_offer(), 0..14),
    ) {
        let pairing = pair(&offers, Prefer::Builtins);
        for codec in &pairing.codecs {
            let chosen: Vec<_> = codec.candidates.iter().filter(|c| c.state == State::Chosen).collect();
            let complete: Vec<_> = codec.candidates.iter().filter(|c| c.body.is_complete()).collect();
            prop_assert_eq!(chosen.len(), usize::from(!complete.is_empty()));
            for winner in chosen {
                let rank = |c: &Candidate| {
                    let offer = &offers[c.body.main()];
                    (Prefer::Builtins.rank(offer.origin), offer.library, c.body.main())
                };
                prop_assert!(complete.iter().all(|other| rank(winner) <= rank(other)));
            }
        }
        for (name, (codec, candidate)) in &pairing.names {
            let speaker = pairing.codecs[*codec].candidates[*candidate].body.speaks().unwrap();
            prop_assert!(offers[speaker].names.contains(name));
        }
    }

    /// A codec that is found later, with lower preference, does not change what already works.
    #[test]
    fn a_later_offer_does_not_displace_what_runs(
        offers in prop::collection::vec(any_offer(), 0..10),
        mut later in any_offer(),
    ) {
        later.origin = DEFAULT;
        later.library = Some(99);
        let runs = |offers: &[Offer]| -> Vec<(Option<u32>, usize)> {
            let pairing = pair(offers, Prefer::Builtins);
            let runs = |codec: &Paired| {
                let chosen = codec.candidates.iter().find(|c| c.state == State::Chosen)?;
                Some((codec.id, chosen.body.runs()?))
            };
            pairing.codecs.iter().filter_map(runs).collect()
        };
        let before = runs(&offers);
        let mut more = offers.clone();
        more.push(later);
        let after = runs(&more);
        prop_assert!(before.iter().all(|found| after.contains(found)));
    }
}

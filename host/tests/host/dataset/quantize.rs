//! Quantizing on writing: by the position of a value in the slab, whatever the layout of the chunks.

use ncz::copy::{CopyOptions, VariablePlan, copy};
use ncz::model::{
    Attribute, ByteOrder, Elements, Format, Hierarchy, NcType, Order, Quantize, QuantizeMode, Quantizer,
    Sharding, Slab, Value, VariableBuilder,
};

use super::helpers::{contents, create, memory, session, values};

const FILL: f32 = 9.96921e36;

fn data(count: u64) -> Vec<f32> {
    (0..count).map(|i| if i % 7 == 3 { FILL } else { 1.234_567_8 * (i as f32 + 0.5) }).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// Two dimensions, `v` with chunks that do not divide them.
fn hierarchy(order: Order, byte_order: ByteOrder, attribute: Attribute) -> Hierarchy {
    // NCZarr has no other order than C.
    let format = if order == Order::C { Format::NCZARR } else { Format::Zarr2 };
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "y", 5, false).unwrap();
    hierarchy.add_dimension("/", "x", 7, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Float)
        .dimensions(["y", "x"])
        .chunks([2, 3])
        .order(order)
        .byte_order(byte_order)
        .attribute(attribute);
    hierarchy.add_variable("/", new).unwrap();
    hierarchy
}

#[test]
fn values_are_quantized_by_their_position_in_the_slab() {
    let slabs = [
        Slab::whole(&[5, 7]),
        Slab::new([0, 0], [2, 3]),
        Slab::new([2, 3], [2, 3]),
        Slab::new([1, 1], [3, 5]),
        Slab::new([4, 6], [1, 1]),
        Slab::new([1, 0], [2, 4]).with_stride([2, 2]),
    ];
    for mode in QuantizeMode::ALL {
        let quantize = Quantize::new(mode, 3, NcType::Float).unwrap();
        for (order, byte_order) in
            [(Order::C, ByteOrder::Little), (Order::C, ByteOrder::Big), (Order::F, ByteOrder::Big)]
        {
            for slab in &slabs {
                let count = slab.elements().unwrap();
                let mut expected = bytes(&data(count));
                Quantizer::float(quantize, FILL).apply(0, &mut expected);
                assert!(mode != QuantizeMode::BitGroom || expected != bytes(&data(count)));
                for threads in [0, 1, 3] {
                    let dataset = create(
                        hierarchy(order.clone(), byte_order, quantize.attribute()),
                        &session(threads.max(1)),
                    );
                    let array = dataset.array("/v").unwrap();
                    let given = bytes(&data(count));
                    if threads == 0 {
                        array.write_serial(&mut array.worker(), slab, Elements::Native, &given).unwrap();
                    } else {
                        array.write_bytes(slab, Elements::Native, &given).unwrap();
                    }
                    let mut read = vec![0; expected.len()];
                    array.read_bytes(slab, Elements::Native, &mut read).unwrap();
                    assert_eq!(read, expected, "{mode} {order:?} {byte_order:?} {slab:?}");
                    // Nothing else was touched.
                    let fills =
                        values(&array).chunks_exact(4).filter(|value| **value == FILL.to_ne_bytes()).count();
                    let given = data(count).iter().filter(|value| **value == FILL).count();
                    assert_eq!(fills as u64, 35 - count + given as u64);
                }
            }
        }
    }
}

#[test]
fn values_in_shards_are_quantized_by_their_position_in_the_slab_too() {
    let quantize = Quantize::new(QuantizeMode::BitGroom, 3, NcType::Float).unwrap();
    let mut hierarchy = Hierarchy::new(Format::Zarr3);
    hierarchy.add_dimension("/", "y", 5, false).unwrap();
    hierarchy.add_dimension("/", "x", 7, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Float)
        .dimensions(["y", "x"])
        .chunks([1, 3])
        .sharding(Sharding::new([2, 6]))
        .attribute(quantize.attribute());
    hierarchy.add_variable("/", new).unwrap();
    let dataset = create(hierarchy, &session(2));
    let array = dataset.array("/v").unwrap();
    for slab in [Slab::whole(&[5, 7]), Slab::new([1, 1], [3, 5])] {
        let mut expected = bytes(&data(slab.elements().unwrap()));
        array.write_bytes(&slab, Elements::Native, &expected).unwrap();
        Quantizer::float(quantize, FILL).apply(0, &mut expected);
        let mut read = vec![0; expected.len()];
        array.read_bytes(&slab, Elements::Native, &mut read).unwrap();
        assert_eq!(read, expected);
    }
}

#[test]
fn neighbours_that_were_written_before_are_not_quantized_again() {
    let quantize = Quantize::new(QuantizeMode::BitGroom, 2, NcType::Float).unwrap();
    let dataset = create(hierarchy(Order::C, ByteOrder::Big, quantize.attribute()), &session(1));
    let array = dataset.array("/v").unwrap();
    array.write_bytes(&Slab::whole(&[5, 7]), Elements::Native, &bytes(&data(35))).unwrap();
    let before = values(&array);
    // The second write has position 0 where the first had an odd one.
    array.write_bytes(&Slab::new([0, 1], [1, 1]), Elements::Native, &bytes(&[1.234_567_8])).unwrap();
    let after = values(&array);
    assert_eq!((&before[..4], &before[8..]), (&after[..4], &after[8..]));
    assert_ne!(before[4..8], after[4..8]);
}

#[test]
fn stored_elements_and_copies_are_as_they_were() {
    let quantize = Quantize::new(QuantizeMode::BitGroom, 3, NcType::Float).unwrap();
    let dataset = create(hierarchy(Order::C, ByteOrder::Little, quantize.attribute()), &session(2));
    let array = dataset.array("/v").unwrap();
    let slab = Slab::whole(&[5, 7]);
    let raw: Vec<u8> = data(35).iter().flat_map(|value| value.to_le_bytes()).collect();
    array.write_bytes(&slab, Elements::Stored, &raw).unwrap();
    assert_eq!(values(&array), bytes(&data(35)));
    array.write_bytes(&slab, Elements::Native, &bytes(&data(35))).unwrap();

    let target = memory();
    let mut options = CopyOptions::default();
    // Other chunks, so that all values are written anew and elsewhere in their slabs.
    let plan = VariablePlan { chunks: Some(vec![3, 5]), ..VariablePlan::default() };
    options.variables.insert("/v".to_owned(), plan);
    copy(&dataset, target.clone(), &options, &()).unwrap();
    let copied = super::helpers::open(target, &session(1));
    assert_eq!(contents(&copied), contents(&dataset));
    assert_eq!(Quantize::of(copied.hierarchy().variable("/v").unwrap()), Ok(Some(quantize)));
}

#[test]
fn invalid_quantization_attributes_stop_only_writing_values() {
    let name = QuantizeMode::BitGroom.attribute_name();
    for wrong in [Value::from(7i32), Value::from(0i32), Value::from("3")] {
        let dataset =
            create(hierarchy(Order::C, ByteOrder::Little, Attribute::new(name, wrong)), &session(1));
        let array = dataset.array("/v").unwrap();
        let slab = Slab::whole(&[5, 7]);
        let error = array.write_bytes(&slab, Elements::Native, &bytes(&data(35))).unwrap_err();
        assert_eq!(error.netcdf_code(), -36);
        assert!(error.to_string().contains("/v") && error.to_string().contains("quantized"), "{error}");
        let error = array.write_serial(&mut array.worker(), &slab, Elements::Native, &bytes(&data(35)));
        assert!(error.is_err());
        assert!(values(&array).chunks_exact(4).all(|value| *value == FILL.to_ne_bytes()));
        array.write_bytes(&slab, Elements::Stored, &bytes(&data(35))).unwrap();
    }
}

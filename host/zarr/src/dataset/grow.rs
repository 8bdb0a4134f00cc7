//! Variables that grow.
//!
//! A write beyond the end of an unlimited dimension makes it longer. Chunks are written at once, beyond the lengths in
//! the metadata; [`Dataset::flush`] then writes the new lengths. Until then, the dataset in the store has its old
//! lengths.

use std::collections::BTreeMap;
use std::ops::Range;

use ncz_model::{
    Consolidated, DataError, Dimension, DimensionRef, Elements, Slab, SlabError, Storage, Variable, product,
};
use ncz_store::Store;

use super::Dataset;
use super::grown_variable::GrownVariable;
use super::stale_tail::{self, StaleTail};
use crate::metadata;

/// A variable that is to grow.
struct Growth {
    path: String,
    shape: Vec<u64>,
    /// The dimensions that grow with it.
    longer: BTreeMap<DimensionRef, u64>,
    new: GrownVariable,
    tail: StaleTail,
    /// The axes along which there is only fill beyond the end afterwards.
    clean: Vec<usize>,
}

impl Dataset {
    /// Writes a hyperslab of a variable, like `Array::write`. If it reaches beyond the end of an unlimited dimension,
    /// that dimension grows; new elements that are not written read as fill, in every variable of the dimension. Chunks
    /// and padding that an interrupted or other program left beyond the old end are first replaced by fill.
    ///
    /// The new length is in the store after [`flush`](Self::flush) or [`finish`](Self::finish) has returned.
    ///
    /// # Errors
    /// [`DataError::FixedDimension`]; the metadata have an old generation, which cannot grow; a codec of this or of
    /// another variable of the dimension is not found, or would read old chunks differently; [`DataError::Changed`] if
    /// another program changed the length meanwhile; as for `Array::write`. After an error the variable has its old
    /// length.
    pub fn write(
        &mut self,
        path: &str,
        slab: &Slab,
        elements: Elements,
        data: &[u8],
    ) -> Result<(), DataError> {
        let variable = self.hierarchy.variable(path)?;
        match self.length_for(variable, slab)? {
            None => self.array(path)?.write_bytes(slab, elements, data).map(drop),
            Some(shape) => self.grow(path, &shape, Some(slab), |longer| {
                longer.array()?.write_bytes(slab, elements, data).map(drop)
            }),
        }?;
        self.catch_up(path)
    }

    /// Writes a hyperslab of a variable of strings, like `StringArray::write`; the variable grows as with
    /// [`write`](Self::write).
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_strings<T: AsRef<[u8]>>(
        &mut self,
        path: &str,
        slab: &Slab,
        strings: &[T],
    ) -> Result<(), DataError> {
        let variable = self.hierarchy.variable(path)?;
        match self.length_for(variable, slab)? {
            None => self.strings(path)?.write(slab, strings),
            Some(shape) => {
                self.grow(path, &shape, Some(slab), |longer| longer.strings()?.write(slab, strings))
            }
        }?;
        self.catch_up(path)
    }

    /// Appends `data` along a dimension of a variable, counted from 0, unlimited or not, and returns their range along
    /// it. All variables of the dimension get the new length.
    ///
    /// # Errors
    /// `data` are not whole records; as for [`write`](Self::write).
    pub fn append(
        &mut self,
        path: &str,
        dimension: usize,
        elements: Elements,
        data: &[u8],
    ) -> Result<Range<u64>, DataError> {
        let variable = self.hierarchy.variable(path)?;
        let mut shape = self.hierarchy.shape_of(variable);
        let wrong = |source| DataError::Slab { variable: variable.path.clone(), source };
        let Some(&start) = shape.get(dimension) else {
            return Err(wrong(SlabError::Rank { slab: dimension.saturating_add(1), array: shape.len() }));
        };
        shape[dimension] = 1;
        let record = product(shape.iter().copied().chain([variable.dtype.size() as u64]));
        let record =
            record.filter(|&record| record > 0 && (data.len() as u64).is_multiple_of(record)).ok_or_else(
                || wrong(SlabError::Buffer { want: record.unwrap_or(u64::MAX), got: data.len() as u64 }),
            )?;
        shape[dimension] = data.len() as u64 / record;
        let mut first = vec![0; shape.len()];
        first[dimension] = start;
        let slab = Slab::new(first, shape.as_slice());
        let end = start.checked_add(shape[dimension]).ok_or_else(|| too_long(variable))?;
        shape[dimension] = end;
        if end > start {
            self.grow(path, &shape, Some(&slab), |longer| {
                longer.array()?.write_bytes(&slab, elements, data).map(drop)
            })?;
        }
        Ok(start..end)
    }

    /// Grows a variable along any of its dimensions. All variables of a dimension get its new length; a dimension
    /// without a name belongs only to the variable. New elements read as fill.
    ///
    /// # Errors
    /// A length is below the current one: data are never discarded. As for [`write`](Self::write).
    pub fn resize(&mut self, path: &str, shape: &[u64]) -> Result<(), DataError> {
        let variable = self.hierarchy.variable(path)?;
        let shown = self.hierarchy.shape_of(variable);
        if shown.len() != shape.len() {
            let source = SlabError::Rank { slab: shape.len(), array: shown.len() };
            return Err(DataError::Slab { variable: variable.path.clone(), source });
        }
        if shown.iter().zip(shape).any(|(shown, new)| new < shown) {
            return Err(DataError::Unsupported {
                variable: variable.path.clone(),
                reason: format!(
                    "it has the shape {shown:?}, and {shape:?} is shorter; a variable cannot shrink, copy a part of \
                     it instead"
                ),
            });
        }
        if variable.shape == shape {
            return Ok(());
        }
        self.grow(path, shape, None, |_| Ok(()))
    }

    /// Gives every array of a dimension that grew the length of the dimension.
    pub(super) fn level(&mut self) -> Result<(), DataError> {
        let grown = &self.pending.grown;
        let is_short = |variable: &&Variable| {
            variable.dimensions.iter().any(|dimension| grown.contains(dimension))
                && self.hierarchy.shape_of(variable) != variable.shape
        };
        let short: Vec<String> =
            self.hierarchy.variables().filter(is_short).map(|variable| variable.path.clone()).collect();
        let mut growths = Vec::with_capacity(short.len());
        for path in short {
            let shape = self.hierarchy.shape_of(self.hierarchy.variable(&path)?);
            growths.push(self.growth(&path, &shape)?);
        }
        self.make_room(&growths, None)?;
        growths.into_iter().try_for_each(|growth| self.take(growth))
    }

    /// Completes growth that a stopped program left unfinished: if arrays of an unlimited dimension are shorter than
    /// the dimension, the next flush makes them longer, if possible. netcdf-c cannot open such a dataset.
    fn catch_up(&mut self, path: &str) -> Result<(), DataError> {
        self.pending.wrote = true;
        let dimensions = &self.hierarchy.variable(path)?.dimensions;
        let unseen: Vec<DimensionRef> =
            dimensions.iter().filter(|dimension| !self.pending.seen.contains(dimension)).cloned().collect();
        for reference in unseen {
            let unlimited = self.hierarchy.dimension(&reference).filter(|dimension| dimension.unlimited);
            if let Some(len) = unlimited.map(|dimension| dimension.len)
                && self.hierarchy.variables().any(|variable| is_shorter(variable, &reference, len))
                && metadata::group_documents(&self.hierarchy, &self.hierarchy.root).is_ok()
                && self.check_others(&reference, len, "").is_ok()
            {
                self.pending.grown.insert(reference.clone());
            }
            self.pending.seen.insert(reference);
        }
        Ok(())
    }

    /// # Errors
    /// The dataset is not open for changes.
    pub(super) fn check_writable(&self) -> Result<(), DataError> {
        let reason = if !self.store.capabilities().writable {
            "the store is open only for reading"
        } else if self.hierarchy.consolidated == Consolidated::Only {
            "only its consolidated metadata were read; open it by its documents"
        } else {
            return Ok(());
        };
        Err(DataError::NotWritable { store: self.store.to_string(), reason })
    }

    /// Returns the shape that the stored array needs for `slab`; `None` if it is large enough.
    fn length_for(&self, variable: &Variable, slab: &Slab) -> Result<Option<Vec<u64>>, DataError> {
        let mut shape = self.hierarchy.shape_of(variable);
        let (start, count, stride) = (slab.start(), slab.count(), slab.stride());
        let rank = shape.len();
        if [start.len(), count.len(), stride.len()] != [rank; 3] || count.contains(&0) || stride.contains(&0)
        {
            // Nothing to write, or the slab does not fit this variable, which the array will report.
            return Ok(None);
        }
        for dimension in 0..rank {
            let len = shape[dimension];
            let (start, count, stride) = (start[dimension], count[dimension], stride[dimension]);
            let last = (count - 1).checked_mul(stride).and_then(|far| far.checked_add(start));
            let Some(end) = last.and_then(|last| last.checked_add(1)) else {
                let source = SlabError::Bounds { dimension, len, start, count, stride };
                return Err(DataError::Slab { variable: variable.path.clone(), source });
            };
            let reference = &variable.dimensions[dimension];
            if end > len && !self.hierarchy.dimension(reference).is_some_and(|dimension| dimension.unlimited)
            {
                return Err(DataError::FixedDimension {
                    variable: variable.path.clone(),
                    dimension: reference.to_string(),
                    len,
                    start,
                    end,
                });
            }
            shape[dimension] = len.max(end);
        }
        let reaches = |dimension: usize| {
            start[dimension] + (count[dimension] - 1) * stride[dimension] >= variable.shape[dimension]
        };
        Ok((0..rank).any(reaches).then_some(shape))
    }

    /// Grows the stored array of a variable to `shape`, in memory: makes the new part read as fill, calls `write` to
    /// put data there, and only then sets the new lengths.
    fn grow(
        &mut self,
        path: &str,
        shape: &[u64],
        slab: Option<&Slab>,
        write: impl FnOnce(GrownVariable) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let growth = self.growth(path, shape)?;
        self.make_room(std::slice::from_ref(&growth), slab)?;
        write(growth.new.clone())?;
        self.take(growth)
    }

    /// Plans the growth of a variable to `shape`, and records that its documents change.
    fn growth(&mut self, path: &str, shape: &[u64]) -> Result<Growth, DataError> {
        self.check_writable()?;
        let variable = self.hierarchy.variable(path)?;
        let path = variable.path.clone();
        let shape = self.same_along_a_dimension(variable, shape);
        let longer = self.longer(variable, &shape);
        for dimension in longer.keys().filter(|dimension| !self.pending.grown.contains(dimension)) {
            self.check_others(dimension, longer[dimension], &path)?;
        }
        let new = self.grown(variable, &shape)?;
        let is_clean = |axis: usize| self.pending.clean.contains(&(path.clone(), axis));
        let clean: Vec<bool> = (0..shape.len()).map(is_clean).collect();
        let tail = StaleTail::new(variable, &shape, &clean)?;
        let kept = (0..shape.len()).filter(|&axis| clean[axis] || shape[axis] > variable.shape[axis]);
        let clean = kept.collect();
        let groups: Vec<String> = longer.keys().map(|dimension| dimension.group.clone()).collect();
        self.touch_variable(&path)?;
        groups.iter().try_for_each(|group| self.touch_group(group))?;
        Ok(Growth { path, shape, longer, new, tail, clean })
    }

    /// Fills the part that becomes visible, except the part that `slab` will cover.
    fn make_room(&mut self, growths: &[Growth], slab: Option<&Slab>) -> Result<(), DataError> {
        if growths.is_empty() {
            return Ok(());
        }
        // If another program grew a variable, its new part holds data.
        self.check_current(&growths.iter().map(|growth| growth.path.as_str()).collect::<Vec<_>>())?;
        // If this fails midway, chunks beyond the end may hold data again.
        self.pending.clean.retain(|(other, _)| growths.iter().all(|growth| growth.path != *other));
        let tails: Vec<_> = growths.iter().map(|growth| (&growth.tail, &growth.new)).collect();
        stale_tail::clear(&*self.store, &self.session.pool, &tails, slab)
    }

    /// Sets the lengths of a variable whose new part reads as fill.
    fn take(&mut self, growth: Growth) -> Result<(), DataError> {
        let Growth { path, shape, longer, clean, .. } = growth;
        self.pending.clean.extend(clean.into_iter().map(|axis| (path.clone(), axis)));
        self.take_lengths(&path, shape, longer)
    }

    /// Gives a dimension that a variable has twice the same length.
    fn same_along_a_dimension(&self, variable: &Variable, shape: &[u64]) -> Vec<u64> {
        let len = |axis: usize| {
            let same = |other: &usize| variable.dimensions[*other] == variable.dimensions[axis];
            (0..shape.len()).filter(same).map(|other| shape[other]).max().unwrap_or_default()
        };
        (0..shape.len()).map(len).collect()
    }

    /// Returns the named dimensions that must grow for a variable of this shape. A dimension without a name is not
    /// shared: the variable will get another one.
    fn longer(&self, variable: &Variable, shape: &[u64]) -> BTreeMap<DimensionRef, u64> {
        let dimensions = variable.dimensions.iter().zip(shape);
        let longer = dimensions.filter(|(reference, len)| {
            self.hierarchy
                .dimension(reference)
                .is_some_and(|dimension| !dimension.anonymous && dimension.len < **len)
        });
        longer.map(|(reference, &len)| (reference.clone(), len)).collect()
    }

    /// Checks that the other variables of a dimension can grow with it: all must have the new length, because netcdf-c
    /// cannot open the dataset otherwise.
    fn check_others(&self, dimension: &DimensionRef, len: u64, path: &str) -> Result<(), DataError> {
        for other in self.hierarchy.variables() {
            if other.path != path && other.dimensions.contains(dimension) {
                let lens = other.dimensions.iter().zip(self.hierarchy.shape_of(other));
                let shape: Vec<u64> =
                    lens.map(|(name, old)| if name == dimension { len } else { old }).collect();
                self.grown(other, &shape)?.check()?;
            }
        }
        Ok(())
    }

    /// Returns the variable with another shape, and its codecs.
    ///
    /// # Errors
    /// The codecs could not read the existing chunks: szip in NCZarr depends on the array's last length.
    fn grown(&self, variable: &Variable, shape: &[u64]) -> Result<GrownVariable, DataError> {
        let mut new = variable.clone();
        new.shape = shape.to_vec();
        // It is no longer one block of the whole shape.
        new.storage = Storage::Chunked;
        let (old_chain, chain) = (self.chain(variable)?, self.chain(&new)?);
        if old_chain.working() != chain.working() && !variable.shape.contains(&0) {
            return Err(DataError::Unsupported {
                variable: variable.path.clone(),
                reason: format!(
                    "its codecs ({old_chain}) depend on the array's shape: chunks written with the shape {:?} could \
                     not be read with {shape:?}; copy it with other codecs",
                    variable.shape
                ),
            });
        }
        let mut terms = self.lossy_terms(variable);
        for (fixed, (new, old)) in terms.fixed.iter_mut().zip(shape.iter().zip(&variable.shape)) {
            *fixed &= new == old;
        }
        let (store, pool) = (self.store.clone(), self.session.pool.clone());
        Ok(GrownVariable { store, variable: new, chain, terms, pool })
    }

    fn take_lengths(
        &mut self,
        path: &str,
        shape: Vec<u64>,
        longer: BTreeMap<DimensionRef, u64>,
    ) -> Result<(), DataError> {
        for (reference, len) in longer {
            if let Some(dimension) = self.hierarchy.dimension_mut(&reference) {
                dimension.len = len;
            }
            self.pending.grown.insert(reference);
        }
        let mut dimensions = self.hierarchy.variable(path)?.dimensions.clone();
        for (reference, &len) in dimensions.iter_mut().zip(&shape) {
            if self.hierarchy.dimension(reference).is_some_and(|old| old.anonymous && old.len < len) {
                *reference = self.anonymous(len);
            }
        }
        let variable = self.hierarchy.variable_mut(path)?;
        self.pending.longer |= variable.shape != shape;
        variable.dimensions = dimensions;
        variable.shape = shape;
        variable.storage = Storage::Chunked;
        Ok(())
    }

    /// Returns the dimension without a name of this length, as the reader does.
    fn anonymous(&mut self, len: u64) -> DimensionRef {
        let root = &mut self.hierarchy.root;
        let mut name = format!("_Anonymous_Dim_{len}");
        let taken = |dimension: &Dimension, name: &str| dimension.name == name && dimension.len != len;
        while root.dimensions.iter().any(|dimension| taken(dimension, &name)) {
            name.push('_');
        }
        if root.dimension(&name).is_none() {
            root.dimensions.push(Dimension { name: name.clone(), len, unlimited: false, anonymous: true });
        }
        DimensionRef { group: root.path.clone(), name }
    }
}

fn is_shorter(variable: &Variable, dimension: &DimensionRef, len: u64) -> bool {
    variable.dimensions.iter().zip(&variable.shape).any(|(name, &stored)| name == dimension && stored < len)
}

fn too_long(variable: &Variable) -> DataError {
    DataError::Unsupported {
        variable: variable.path.clone(),
        reason: "it would have more than 2^64 elements along a dimension".to_owned(),
    }
}

//! Checks that the records of a library describe one codec.

use ncz_codec::CodecType;

use crate::outcome::Ending;
use crate::subject::Subject;
use crate::trial::Trial;

pub(super) fn check(trial: &mut Trial) -> Result<(), Ending> {
    let subject = trial.subject()?;
    let own_codec = subject.codec.as_ref().and_then(|half| half.as_ref().ok());
    let parts = [subject.hdf5().is_some(), own_codec.is_some(), !subject.native().is_empty()];
    if parts.iter().filter(|there| **there).count() < 2 {
        return Err(Ending::skipped("there is one part only"));
    }
    if let (Some(filter), Some(codec)) = (subject.hdf5(), own_codec)
        && filter.id() != codec.filter_id()
    {
        return Err(Ending::failed(format!(
            "its filter has the id {}, its NCZarr codec {} says {}: hosts refuse the library",
            filter.id(),
            codec.codec_id(),
            codec.filter_id()
        )));
    }
    if subject.native().is_empty() {
        return Ok(());
    }
    let mut remarks = Vec::new();
    if let Some(filter) = subject.hdf5() {
        let native = native_of(subject, filter.id(), "filter")?;
        if native.name != filter.name() {
            remarks.push(format!(
                "its filter is called {:?}, its native codec {:?}: people will take them for two",
                filter.name(),
                native.name
            ));
        }
    }
    if let Some(codec) = own_codec {
        let native = native_of(subject, codec.filter_id(), "NCZarr codec")?;
        if !native.numcodecs.contains(codec.codec_id()) {
            return Err(Ending::failed(format!(
                "its NCZarr codec is called {:?} in JSON, its native codec {:?}: a dataset that one host writes names a codec that \
                 the other does not know",
                codec.codec_id(),
                native.numcodecs
            )));
        }
        if let Some(first) = native.numcodecs.first().filter(|first| *first != codec.codec_id()) {
            remarks.push(format!(
                "netcdf-c writes the name {:?}, ncz {first:?}, for the same codec",
                codec.codec_id()
            ));
        }
    }
    remarks.into_iter().for_each(|remark| trial.warn(remark));
    Ok(())
}

fn native_of<'a>(subject: &'a Subject, id: u32, part: &str) -> Result<&'a ncz_codec::CodecInfo, Ending> {
    subject.native_of(id).map(CodecType::info).ok_or_else(|| {
        let names: Vec<String> = subject
            .native()
            .iter()
            .map(CodecType::info)
            .map(|info| match info.filter_id {
                Some(id) => format!("{} with id {id}", info.name),
                None => format!("{} without an id", info.name),
            })
            .collect();
        Ending::failed(format!("its {part} has the id {id}, its native codecs are {}", names.join(", ")))
    })
}

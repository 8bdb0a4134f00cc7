//! Parses a path or a URL.

use std::path::{Path, PathBuf};

use super::fragment::Fragment;
use super::url::Url;
use super::{DatasetUrl, HttpLocation, Location, S3Location, Storage};

/// Parses a path or a URL; the error is the reason.
pub(super) fn parse(text: &str) -> Result<DatasetUrl, String> {
    let (before, rest) = bracketed(text)?;
    let Some((scheme, rest)) = rest.split_once("://") else { return of_path(text) };
    // In quotes, a backslash for the shell before # is kept by it.
    // The path of a file may have one, so that the last one counts.
    let is_file = scheme.eq_ignore_ascii_case("file");
    let split = if is_file { rest.rsplit_once('#') } else { rest.split_once('#') };
    let (body, after) = split.unwrap_or((rest, ""));
    let body = body.strip_suffix('\\').filter(|_| body.len() < rest.len()).unwrap_or(body);
    let items = before.into_iter().chain(after.split('&'));
    let fragment = Fragment::parse(items)?;
    let scheme = scheme.to_ascii_lowercase();
    let location = match scheme.as_str() {
        "file" => return local(body, fragment),
        "s3" | "gs3" | "http" | "https" => of_url(&Url::parse(&scheme, body)?, &fragment)?,
        "dods" | "dap4" => {
            return Err(
                "OPeNDAP is not supported yet; ncz reads Zarr and netCDF files over http:// and https://"
                    .to_owned(),
            );
        }
        _ => {
            return Err(format!(
                "{scheme:?} is not a supported scheme; expected a path, or file:// s3:// gs3:// http:// https://"
            ));
        }
    };
    Ok(DatasetUrl { location, mode: fragment.mode })
}

/// `[key=value][key=value]URL`: keys as in old URLs of OPeNDAP.
fn bracketed(text: &str) -> Result<(Vec<&str>, &str), String> {
    let mut items = Vec::new();
    let mut rest = text;
    // A file may be called so.
    if !text.contains("://") {
        return Ok((items, rest));
    }
    while let Some(inside) = rest.strip_prefix('[') {
        let (keys, after) = inside.split_once(']').ok_or("the [ before the URL has no ]")?;
        items.extend(keys.split('&'));
        rest = after;
    }
    Ok((items, rest))
}

fn of_path(text: &str) -> Result<DatasetUrl, String> {
    if let Some((scheme, rest)) = text.split_once(':')
        && ["s3", "gs3", "http", "https", "file"].contains(&scheme.to_ascii_lowercase().as_str())
        && !Path::new(text).exists()
    {
        let root = if scheme.eq_ignore_ascii_case("file") { "/" } else { "" };
        let rest = rest.trim_start_matches('/');
        return Err(format!(
            "a URL has two slashes after its scheme; write {scheme}://{root}{rest}, or ./{text} for a path"
        ));
    }
    // A file may have such a name.
    match text.rsplit_once('#') {
        Some((path, after)) if Fragment::is_meant(after) && !Path::new(text).exists() => {
            let fragment = Fragment::parse(after.split('&'))?;
            local(path.strip_suffix('\\').unwrap_or(path), fragment)
        }
        _ => local(text, Fragment::default()),
    }
}

fn local(path: &str, fragment: Fragment) -> Result<DatasetUrl, String> {
    if path.is_empty() {
        return Err(
            "the path is empty; expected a netCDF file, or the directory or zip file of a dataset".to_owned()
        );
    }
    if fragment.mode.storage == Some(Storage::S3) {
        return Err(
            "a path is not in S3; write s3://BUCKET/KEY, or https://HOST/BUCKET/KEY#mode=s3".to_owned()
        );
    }
    if fragment.s3 != Default::default() {
        return Err("the keys aws.* are for S3, this is a path; leave them out".to_owned());
    }
    Ok(DatasetUrl { location: Location::Path(PathBuf::from(path)), mode: fragment.mode })
}

fn of_url(url: &Url, fragment: &Fragment) -> Result<Location, String> {
    let storage = fragment.mode.storage;
    let is_s3 = matches!(url.scheme.as_str(), "s3" | "gs3")
        || storage == Some(Storage::S3)
        || S3Location::is_known_host(url);
    match storage {
        Some(Storage::Zip) => {
            return Err(
                "a zip file is read and written on this machine only; fetch it first, or leave zip out for \
                        a dataset of one object each"
                    .to_owned(),
            );
        }
        Some(Storage::Directory) => {
            return Err(
                "mode=file is for a directory on this machine, and this is a URL; leave file out".to_owned()
            );
        }
        _ => {}
    }
    if is_s3 {
        let s3 = S3Location::of(url, fragment.s3.clone(), fragment.is_google)?;
        return Ok(Location::S3(Box::new(s3)));
    }
    if fragment.s3 != Default::default() {
        return Err("the keys aws.* are for S3; add mode=s3 if this host speaks its protocol".to_owned());
    }
    Ok(Location::Http(Box::new(HttpLocation::of(url.clone()))))
}

//! The jenkins_lookup3 codec as a plugin for ncz.
ncz_codec::export!(native: ncz_jenkins_lookup3::JenkinsLookup3);

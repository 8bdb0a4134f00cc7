//! Who wins: the URL, the rc files, the environment, the profile.

use std::time::Duration;

use super::super::environment::testing::Fake;
use super::super::{DatasetUrl, Location};

fn location(text: &str) -> Location {
    DatasetUrl::parse(text).unwrap().location
}

#[cfg(feature = "s3")]
mod s3 {
    use ncz_store::s3::{Addressing, Checksums, Credentials, S3Config};

    use super::*;

    fn configured(text: &str, environment: &Fake) -> Result<S3Config, String> {
        let Location::S3(location) = self::location(text) else { panic!("{text}") };
        super::super::s3(&location, environment).map_err(|error| error.to_string())
    }

    fn ok(text: &str, environment: &Fake) -> S3Config {
        configured(text, environment).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn keys(config: &S3Config) -> (&str, &str) {
        match &config.credentials {
            Credentials::Keys { id, secret, .. } => (id, secret.reveal()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_form_is_asked_for_where_its_url_says() {
        let environment = Fake::new();
        let path = |endpoint, region| (endpoint, region, Addressing::Path);
        let host = |endpoint, region| (endpoint, region, Addressing::Virtual);
        for (text, wanted) in [
            ("https://bucket.s3.us-west-2.amazonaws.com/key", host(None, Some("us-west-2"))),
            ("https://bucket.s3.amazonaws.com/key", host(None, None)),
            ("https://s3.us-west-2.amazonaws.com/bucket/key", path(None, Some("us-west-2"))),
            ("https://s3.amazonaws.com/bucket/key", path(None, None)),
            ("s3://bucket/key", path(None, None)),
            ("https://storage.googleapis.com/bucket/key", path(Some("https://storage.googleapis.com"), None)),
            ("gs3://bucket/key", path(Some("https://storage.googleapis.com"), None)),
            ("http://localhost:9000/bucket/key#mode=s3", path(Some("http://localhost:9000"), None)),
            (
                "https://bucket.s3.fr-par.scw.cloud/key#mode=s3",
                host(Some("https://s3.fr-par.scw.cloud"), Some("fr-par")),
            ),
            (
                "https://s3.fr-par.scw.cloud/bucket/key#mode=s3",
                path(Some("https://s3.fr-par.scw.cloud"), Some("fr-par")),
            ),
        ] {
            let config = ok(text, &environment);
            let found = (config.endpoint.as_deref(), config.region.as_deref(), config.addressing);
            assert_eq!(found, wanted, "{text}");
            assert_eq!((config.bucket.as_str(), config.prefix.as_str()), ("bucket", "key"), "{text}");
            assert_eq!(config.credentials, Credentials::Chain, "{text}");
            let is_google = text.contains("google") || text.starts_with("gs3");
            let checksums = if is_google { Checksums::WhenRequired } else { Checksums::WhenSupported };
            assert_eq!(config.checksums, checksums, "{text}");
        }
    }

    #[test]
    fn the_region_is_the_urls_before_that_of_the_rc_files() {
        let environment =
            Fake::new().file("/home/me/.ncrc", "AWS.REGION=by-rc").with("AWS_REGION", "by-environment");
        let region = |text: &str| ok(text, &environment).region;
        assert_eq!(region("s3://b/k#aws.region=by-url").as_deref(), Some("by-url"));
        assert_eq!(region("https://s3.by-host.amazonaws.com/b/k").as_deref(), Some("by-host"));
        assert_eq!(region("https://s3.x-1.h/b/k#mode=s3&aws.region=by-url").as_deref(), Some("by-url"));
        assert_eq!(region("s3://b/k").as_deref(), Some("by-rc"));
        // The environment is the SDK's.
        assert_eq!(ok("s3://b/k", &Fake::new().with("AWS_REGION", "by-environment")).region, None);
    }

    #[test]
    fn the_endpoint_is_the_urls_then_of_rc_files_environment_and_profile() {
        let files = |environment: Fake| {
            environment.file("/home/me/.aws/config", "[default]\nendpoint_url = http://profile\n[profile p]\nendpoint_url=http://p:1\ns3 =\n  endpoint_url = http://nested\n")
        };
        let environment =
            files(Fake::new()).with("AWS_ENDPOINT_URL", "http://all:1/").with("AWS_PROFILE", "p");
        let s3_alone = files(Fake::new())
            .with("AWS_ENDPOINT_URL", "http://all")
            .with("AWS_ENDPOINT_URL_S3", "https://s3:2");
        let rc = files(Fake::new())
            .file(".dodsrc", "AWS.ENDPOINT=http://rc")
            .with("AWS_ENDPOINT_URL", "http://all");
        let off = files(Fake::new())
            .with("AWS_ENDPOINT_URL", "http://all")
            .with("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "True");
        let of_profile = files(Fake::new()).with("AWS_PROFILE", "p");
        for (environment, wanted) in [
            (&environment, Some("http://all:1")),
            (&s3_alone, Some("https://s3:2")),
            (&rc, Some("http://rc")),
            (&off, None),
            (&of_profile, Some("http://p:1")),
            (&files(Fake::new()), Some("http://profile")),
            (&Fake::new(), None),
        ] {
            assert_eq!(ok("s3://b/k", environment).endpoint.as_deref(), wanted, "{environment:?}");
            let by_url = ok("s3://b/k#aws.endpoint=http://url:7", environment);
            assert_eq!(by_url.endpoint.as_deref(), Some("http://url:7"));
            assert_eq!(ok("https://s3.amazonaws.com/b/k", environment).endpoint, None, "the URL says Amazon");
        }
        assert_eq!(ok("s3://b/k#aws.profile=p", &files(Fake::new())).endpoint.as_deref(), Some("http://p:1"));
        assert_eq!(ok("s3://b/k#aws.profile=no", &files(Fake::new())).endpoint, None);
        let error =
            configured("s3://b/k", &Fake::new().with("AWS_ENDPOINT_URL", "localhost:9000")).unwrap_err();
        assert!(error.contains("AWS_ENDPOINT_URL: an endpoint is http://HOST"), "{error}");
    }

    #[test]
    fn credentials_are_the_urls_then_those_of_rc_files_then_the_chains() {
        let credentials = |text: &str, environment: &Fake| ok(text, environment).credentials;
        let rc =
            Fake::new().file("/home/me/.ncrc", "AWS.PROFILE=by-rc").with("AWS_PROFILE", "by-environment");
        assert_eq!(
            credentials("s3://b/k#aws.profile=by-url", &rc),
            Credentials::Profile("by-url".to_owned())
        );
        assert_eq!(credentials("s3://b/k", &rc), Credentials::Profile("by-rc".to_owned()));
        assert_eq!(credentials("s3://b/k#aws.profile=no", &rc), Credentials::Anonymous);
        assert_eq!(credentials("s3://b/k#awsprofile=None", &rc), Credentials::Anonymous);
        let environment = Fake::new().with("AWS_PROFILE", "x").with("AWS_ACCESS_KEY_ID", "id");
        assert_eq!(credentials("s3://b/k", &environment), Credentials::Chain);
        let by_url = ok("s3://b/k#aws.access_key_id=id&aws.secret_access_key=a/b+c&AWS.SESSION_TOKEN=t", &rc);
        assert_eq!(keys(&by_url), ("id", "a/b+c"));
        let rc = Fake::new().file(".ncrc", "AWS.ACCESS_KEY_ID = rc-id\nAWS.SECRET_ACCESS_KEY = rc-secret\n");
        assert_eq!(keys(&ok("s3://b/k", &rc)), ("rc-id", "rc-secret"));
        assert_eq!(credentials("s3://b/k#aws.profile=p", &rc), Credentials::Profile("p".to_owned()));
        for text in ["s3://b/k#aws.access_key_id=id", "s3://b/k#aws.secret_access_key=geheim"] {
            let error = configured(text, &Fake::new()).unwrap_err();
            assert!(error.contains("beside it") && !error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn a_file_of_ones_own_may_hold_the_profile() {
        let text = "# mine\n[default]\naws_access_key_id=d\naws_secret_access_key=ds\n[profile lab]\n\
                    aws_access_key_id = id\naws_secret_access_key = secret\nregion = eu-north-1\n[sso]\nrole_arn=x\n";
        let environment = Fake::new().file("/etc/lab", text);
        let config = ok("s3://b/k#aws.config_file=/etc/lab&aws.profile=lab", &environment);
        assert_eq!(keys(&config), ("id", "secret"));
        assert_eq!(config.region.as_deref(), Some("eu-north-1"));
        assert_eq!(keys(&ok("s3://b/k#aws.config_file=/etc/lab", &environment)), ("d", "ds"));
        let rc = environment.file(".ncrc", "AWS.CONFIG_FILE=/etc/lab");
        assert_eq!(keys(&ok("s3://b/k#aws.profile=lab", &rc)), ("id", "secret"));
        for (profile, wanted) in [
            ("lap", "/etc/lab has no profile \"lap\"; did you mean \"lab\"? there are: default, lab, sso"),
            ("sso", "has no aws_access_key_id"),
        ] {
            let error = configured(&format!("s3://b/k#aws.profile={profile}"), &rc).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
        let error = configured("s3://b/k#aws.config_file=/none", &rc).unwrap_err();
        assert!(error.contains("/none, which does not exist"), "{error}");
    }

    #[test]
    fn checksums_and_the_position_of_the_bucket_can_be_chosen() {
        let config = ok(
            "s3://b/k#aws.request_checksum_calculation=when_required&aws.addressing_style=virtual&aws.endpoint=https://h",
            &Fake::new(),
        );
        assert_eq!((config.checksums, config.addressing), (Checksums::WhenRequired, Addressing::Virtual));
        let environment = Fake::new().with("AWS_REQUEST_CHECKSUM_CALCULATION", "WHEN_REQUIRED");
        assert_eq!(ok("s3://b/k", &environment).checksums, Checksums::WhenRequired);
    }

    #[test]
    fn rc_files_are_found_and_their_lines_weighed_as_netcdf_does() {
        let region = |environment: &Fake| {
            ok("s3://b/k#aws.endpoint=http://h:9000", environment).region.unwrap_or_default()
        };
        let home = || Fake::new().file("/home/me/.ncrc", "AWS.REGION=home-ncrc");
        assert_eq!(region(&home()), "home-ncrc");
        assert_eq!(region(&home().file("/home/me/.dodsrc", "aws.region=home-dodsrc")), "home-dodsrc");
        let here = home().file(".daprc", "AWS.REGION = here\n\n# AWS.REGION=commented\n");
        assert_eq!(region(&here), "here");
        assert_eq!(region(&here.with("NCRCENV_IGNORE", "1")), "");
        let other = home().with("NCRCENV_HOME", "/other").file("/other/.ncrc", "AWS.REGION=other");
        assert_eq!(region(&other), "other");
        let named = home().with("NCRCENV_RC", "/rc").file("/rc", "AWS.REGION=named");
        assert_eq!(region(&named), "named");
        // A line for this host is stronger than a later one for all.
        let bound =
            "[h:9000]AWS.REGION=bound\n[h:9001]AWS.REGION=port\n[other]AWS.REGION=host\nAWS.REGION=all";
        assert_eq!(region(&Fake::new().file(".ncrc", bound)), "bound");
        let below = "[https://h/b/k]AWS.REGION=path\n[h/b/kk]AWS.REGION=no\n";
        assert_eq!(region(&Fake::new().file(".ncrc", below)), "path");
    }

    #[test]
    fn what_is_wrong_in_an_rc_file_is_reported_with_file_and_line() {
        for (text, wanted) in [
            ("AWS.REGION=x\nnonsense geheim\n", "/home/me/.ncrc:2: this line is not KEY=VALUE"),
            ("[h AWS.REGION=x", ".ncrc:1: the [ has no ]"),
            ("=x", ".ncrc:1: expected a key before ="),
            ("AWS.REGION=a b", ".ncrc:1: \"a b\" is not a region"),
            ("HTTP.TIMEOUT=soon", ".ncrc:1: TIMEOUT is not a whole number of seconds"),
            ("HTTP.SSL.VALIDATE=0", ".ncrc:1: SSL.VALIDATE=0 would trust anybody"),
            ("\nHTTP.SSL.VERIFYPEER=0", ".ncrc:2: SSL.VERIFYPEER=0 would trust anybody"),
        ] {
            let error = configured("s3://b/k", &Fake::new().file("/home/me/.ncrc", text)).unwrap_err();
            assert!(error.contains(wanted) && !error.contains("geheim"), "{text}: {error}");
        }
        let error = configured("s3://b/k", &Fake::new().with("NCRCENV_RC", "/none")).unwrap_err();
        assert!(error.contains("NCRCENV_RC names /none, which does not exist"), "{error}");
    }

    #[test]
    fn every_key_of_netcdf_is_taken() {
        let text = "HTTP.VERBOSE=1\nHTTP.TIMEOUT=7\nHTTP.CONNECTTIMEOUT=3\nHTTP.USERAGENT=me\nHTTP.COOKIEFILE=c\n\
            HTTP.COOKIE_FILE=c\nHTTP.COOKIEJAR=c\nHTTP.COOKIE_JAR=c\nHTTP.PROXY.SERVER=http://p\nHTTP.PROXY_SERVER=http://p\n\
            HTTP.KEEPALIVE=60/60\nHTTP.READ.BUFFERSIZE=max\nHTTP.ENCODE=1\nHTTP.NETRC=/none\nHTTP.SSL.CERTIFICATE=c\n\
            HTTP.SSL.KEY=k\nHTTP.SSL.KEYPASSWORD=p\nHTTP.SSL.CAINFO=/ca.pem\nHTTP.SSL.CAPATH=/ca\nHTTP.SSL.VERIFYPEER=1\n\
            HTTP.SSL.VERIFYHOST=2\nHTTP.SSL.VALIDATE=1\nHTTP.CREDENTIALS.USER=u\nHTTP.CREDENTIALS.USERNAME=u\n\
            HTTP.CREDENTIALS.PASSWORD=p\nHTTP.CREDENTIALS.USERPASSWORD=u:p\nZARR.DIMENSION_SEPARATOR=/\nSOMETHING.ELSE=1\n";
        let config = ok("s3://b/k", &Fake::new().file(".ncrc", text));
        assert_eq!(config.remote.idle_timeout, Duration::from_secs(7));
        assert_eq!(config.remote.connect_timeout, Duration::from_secs(3));
        assert_eq!(config.remote.user_agent.as_deref(), Some("me"));
        assert_eq!(config.remote.ca_file.as_deref(), Some(std::path::Path::new("/ca.pem")));
        let environment = Fake::new().with("AWS_CA_BUNDLE", "/bundle.pem");
        assert_eq!(
            ok("s3://b/k", &environment).remote.ca_file.as_deref(),
            Some(std::path::Path::new("/bundle.pem"))
        );
    }
}

#[cfg(feature = "http")]
mod http {
    use ncz_store::http::HttpConfig;

    use super::*;

    fn configured(text: &str, environment: &Fake) -> Result<HttpConfig, String> {
        let Location::Http(location) = self::location(text) else { panic!("{text}") };
        super::super::http(&location, environment).map_err(|error| error.to_string())
    }

    fn user(text: &str, environment: &Fake) -> Option<(String, String)> {
        let config = configured(text, environment).unwrap();
        config.user.map(|(user, password)| (user, password.reveal().to_owned()))
    }

    fn is(user: &str, password: &str) -> Option<(String, String)> {
        Some((user.to_owned(), password.to_owned()))
    }

    #[test]
    fn a_url_is_sent_with_its_query_and_without_what_is_after_the_hash() {
        let config = configured("https://H:8443/a%20b/c/?sig=x&y=%23#mode=zarr", &Fake::new()).unwrap();
        assert_eq!(config.url, "https://h:8443/a%20b/c?sig=x&y=%23");
        assert_eq!((config.user, config.proxy), (None, None));
    }

    #[test]
    fn users_are_the_urls_then_those_of_rc_files_then_of_netrc() {
        let rc = "[h]HTTP.CREDENTIALS.USERNAME=rc\n[h]HTTP.CREDENTIALS.PASSWORD=rcpw\nHTTP.PROXY.SERVER=http://p:1\n";
        let environment = Fake::new().file(".ncrc", rc);
        assert_eq!(user("https://me:p%40w@h/a", &environment), is("me", "p@w"));
        assert_eq!(user("https://h/a", &environment), is("rc", "rcpw"));
        assert_eq!(user("https://other/a", &environment), None);
        assert_eq!(configured("https://other/a", &environment).unwrap().proxy.as_deref(), Some("http://p:1"));
        let both = Fake::new().file(".ncrc", "HTTP.CREDENTIALS.USERPASSWORD=u:p:w");
        assert_eq!(user("https://h/a", &both), is("u", "p:w"));
        let netrc = "machine other login no password no\nmachine h\n  login me\n  password pw\ndefault login any password x\n";
        let environment = Fake::new().file(".ncrc", "HTTP.NETRC=/netrc").file("/netrc", netrc);
        assert_eq!(user("https://h:8443/a", &environment), is("me", "pw"));
        assert_eq!(user("https://elsewhere/a", &environment), is("any", "x"));
        let error = configured("https://h/a", &Fake::new().file(".ncrc", "HTTP.NETRC=/none")).unwrap_err();
        assert!(error.contains(".ncrc:1: NETRC names a file that does not exist"), "{error}");
    }

    #[test]
    fn passwords_of_rc_files_are_not_shown() {
        for text in
            ["HTTP.CREDENTIALS.USERPASSWORD=geheim", "HTTP.CREDENTIALS.PASSWORD=geheim\nHTTP.TIMEOUT=x"]
        {
            let error = configured("https://h/a", &Fake::new().file(".ncrc", text)).unwrap_err();
            assert!(error.contains(".ncrc:") && !error.contains("geheim"), "{error}");
        }
        let text = "HTTP.CREDENTIALS.USERNAME=u\nHTTP.CREDENTIALS.PASSWORD=geheim\nHTTP.TIMEOUT=9";
        let config = configured("https://h/a?geheim", &Fake::new().file(".ncrc", text)).unwrap();
        assert_eq!(config.remote.idle_timeout, Duration::from_secs(9));
        assert!(!format!("{:?}", config.user).contains("geheim"));
    }
}

use aws_sdk_s3::Client;
use aws_sdk_s3::config::Credentials;
use aws_sdk_s3::config::Region;
use ncz_test_servers::{Authority, S3Options, S3Server};

use crate::client::{anonymous, block, client, config, http_client, outcome};

fn ask(client: &Client) -> String {
    outcome(&block(client.get_object().bucket("air").key("a").send()))
}

fn server(options: S3Options) -> S3Server {
    let server = S3Server::start(S3Options { buckets: vec!["air".into()], ..options }).unwrap();
    server.put("air", "a", "1");
    server
}

#[test]
fn only_the_right_key_secret_and_token_are_let_in() {
    let with_token = |token: Option<&str>| ncz_test_servers::Credentials {
        token: token.map(str::to_owned),
        ..ncz_test_servers::Credentials::default()
    };
    let open = server(S3Options::default());
    let tokened = server(S3Options { credentials: with_token(Some("token")), ..S3Options::default() });
    let as_who = |server: &S3Server, key: &str, secret: &str, token: Option<&str>| {
        let credentials = Credentials::new(key, secret, token.map(str::to_owned), None, "test");
        ask(&Client::from_conf(config(&server.endpoint()).credentials_provider(credentials).build()))
    };
    assert_eq!(as_who(&open, "test", "testtest", None), "ok");
    assert_eq!(as_who(&open, "test", "wrong", None), "403 SignatureDoesNotMatch");
    assert_eq!(as_who(&open, "nobody", "testtest", None), "403 InvalidAccessKeyId");
    assert_eq!(as_who(&open, "test", "testtest", Some("token")), "400 InvalidToken");
    assert_eq!(as_who(&tokened, "test", "testtest", Some("token")), "ok");
    assert_eq!(as_who(&tokened, "test", "testtest", Some("other")), "400 InvalidToken");
    assert_eq!(as_who(&tokened, "test", "testtest", None), "400 InvalidToken");
}

#[test]
fn everybody_reads_public_buckets_and_nothing_else() {
    let server = server(S3Options::default());
    let anonymous = Client::from_conf(anonymous(&server.endpoint()).allow_no_auth().build());
    assert_eq!(ask(&anonymous), "403 AccessDenied");
    server.make_public("air");
    assert_eq!(ask(&anonymous), "ok");
    let listed = block(anonymous.list_objects_v2().bucket("air").send());
    assert_eq!(listed.unwrap().contents().len(), 1);
    let delete = block(anonymous.delete_object().bucket("air").key("a").send());
    assert_eq!(outcome(&delete), "403 AccessDenied");
}

#[test]
fn a_missing_key_can_look_like_a_denied_one() {
    let server = server(S3Options::default());
    let client = client(&server);
    let missing = || outcome(&block(client.get_object().bucket("air").key("none").send()));
    assert_eq!(missing(), "404 NoSuchKey");
    server.hide_missing(true);
    assert_eq!(missing(), "403 AccessDenied");
    assert_eq!(ask(&client), "ok");
}

#[test]
fn a_request_signed_for_another_region_is_refused_with_the_right_one() {
    let server = server(S3Options { region: Some("eu-west-1".into()), ..S3Options::default() });
    let error = block(client(&server).get_object().bucket("air").key("a").send()).unwrap_err();
    let answer = error.raw_response().unwrap();
    assert_eq!(answer.headers().get("x-amz-bucket-region"), Some("eu-west-1"));
    assert_eq!(outcome::<(), _>(&Err(error)), "400 AuthorizationHeaderMalformed");
    let there = config(&server.endpoint()).region(Region::new("eu-west-1"));
    assert_eq!(ask(&Client::from_conf(there.build())), "ok");
}

#[test]
fn a_bucket_can_be_in_the_host_name() {
    let server = server(S3Options::default());
    // as a proxy, the server takes requests for names that this machine does not resolve
    let proxied = http_client(None, Some(server.endpoint()));
    let virtual_host =
        config(&server.localhost_endpoint()).force_path_style(false).http_client(proxied.clone());
    assert_eq!(ask(&Client::from_conf(virtual_host.build())), "ok");
    let host = server.requests()[0].host.clone().unwrap();
    assert!(host.starts_with("air.localhost:"), "{host}");
    let service = config("http://s3.us-east-1.amazonaws.com").force_path_style(false).http_client(proxied);
    assert_eq!(ask(&Client::from_conf(service.build())), "ok");
    assert_eq!(server.requests()[1].host.as_deref(), Some("air.s3.us-east-1.amazonaws.com"));
    assert_eq!(server.requests()[1].key.as_deref(), Some("a"));
}

#[test]
fn https_is_for_those_who_trust_the_authority() {
    let authority = Authority::new().unwrap();
    let server = server(S3Options { authority: Some(authority.clone()), ..S3Options::default() });
    assert!(server.endpoint().starts_with("https://"));
    let trusting = config(&server.endpoint()).http_client(http_client(Some(authority.pem()), None));
    assert_eq!(ask(&Client::from_conf(trusting.build())), "ok");
    let other = Authority::new().unwrap();
    let strange = config(&server.endpoint()).http_client(http_client(Some(other.pem()), None));
    assert_eq!(ask(&Client::from_conf(strange.build())), "lost");
}

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    CompletedMultipartUpload, CompletedPart, Delete, EncodingType, MetadataDirective, ObjectIdentifier,
};
use ncz_test_servers::{S3Options, S3Server};
use ncz_test_support::python;

use crate::client::{block, config, outcome};

/// A question to which moto answers otherwise.
///
/// Ours is what S3 does according to its documentation, unless the comment says otherwise.
struct Known {
    question: &'static str,
    ours: &'static str,
    theirs: &'static str,
}

const KNOWN: &[Known] = &[
    // moto checks no signatures
    Known { question: "a wrong secret", ours: "403 SignatureDoesNotMatch", theirs: "0123456789" },
    // moto checks no checksums, no length of a key, and no condition of this kind
    Known { question: "put with a wrong Content-MD5", ours: "400 BadDigest", theirs: "ok" },
    Known { question: "put with a wrong checksum", ours: "400 BadDigest", theirs: "ok" },
    Known { question: "put a key of 1025 bytes", ours: "400 KeyTooLongError", theirs: "ok" },
    Known { question: "copy if it is what it is not", ours: "412 PreconditionFailed", theirs: "ok" },
    // S3 reports only errors to who asks for quiet
    Known { question: "delete several quietly", ours: "0", theirs: "1" },
    // moto takes parts in any order, and here stumbles over the size of the last one
    Known {
        question: "complete in the wrong order",
        ours: "400 InvalidPartOrder",
        theirs: "400 EntityTooSmall",
    },
    // moto's document begins with an element that the client does not know
    Known { question: "list parts", ours: "[Some(5242880), Some(5242880), Some(3)]", theirs: "200 -" },
    // moto falls over its own missing entry
    Known { question: "part of an upload that is complete", ours: "404 NoSuchUpload", theirs: "500 -" },
    // S3 ignores what is not a range, as moto does; here s3s refuses it before the service is called
    Known {
        question: "range that ends before it begins",
        ours: "400 InvalidArgument",
        theirs: "None \"0123456789\"",
    },
];

#[test]
fn this_service_answers_as_moto_does() {
    let Ok(python) = python() else { return };
    let moto = Moto::start(&python);
    let ours = S3Server::start(S3Options::default()).unwrap();
    let (ours, theirs) = (block(answers(&ours.endpoint())), block(answers(&moto.endpoint)));
    assert!(ours.len() >= 50, "only {} questions", ours.len());
    let mut differences = Vec::new();
    for (question, our) in &ours {
        let their = &theirs[question];
        let as_expected = match KNOWN.iter().find(|known| known.question == *question) {
            Some(known) => our == known.ours && their == known.theirs,
            None => our == their,
        };
        if !as_expected {
            differences.push(format!("{question}: ours {our}, theirs {their}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(ours.len(), theirs.len());
}

/// A moto server on a free port, killed when dropped.
struct Moto {
    child: Child,
    endpoint: String,
}

impl Moto {
    fn start(python: &ncz_test_support::Python) -> Self {
        let mut command = python.command(&[]);
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("Running on ")).unwrap();
        let endpoint = line.split("Running on ").nth(1).unwrap().trim().to_owned();
        // it writes a line for each request: someone has to read them
        std::thread::spawn(move || lines.count());
        Self { child, endpoint }
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What a service answered to each question.
#[derive(Default)]
struct Answers(BTreeMap<&'static str, String>);

impl Answers {
    fn note(&mut self, question: &'static str, answer: impl Into<String>) {
        let before = self.0.insert(question, answer.into());
        assert!(before.is_none(), "{question} is asked twice");
    }
}

async fn answers(endpoint: &str) -> BTreeMap<&'static str, String> {
    let client = Client::from_conf(config(endpoint).build());
    let mut answers = Answers::default();
    buckets(&client, &mut answers).await;
    objects(&client, &mut answers).await;
    ranges(&client, &mut answers).await;
    conditions(&client, &mut answers).await;
    copies(&client, &mut answers).await;
    listings(&client, &mut answers).await;
    deletions(&client, &mut answers).await;
    uploads(&client, &mut answers).await;
    signatures(endpoint, &mut answers).await;
    answers.0
}

fn bytes(text: &'static str) -> ByteStream {
    ByteStream::from_static(text.as_bytes())
}

async fn put(client: &Client, bucket: &str, key: &str, text: &'static str) -> String {
    let put = client.put_object().bucket(bucket).key(key).body(bytes(text)).send().await;
    put.unwrap().e_tag().unwrap().to_owned()
}

/// The body of an object, or how the question ended.
async fn get(client: &Client, bucket: &str, key: &str) -> String {
    let got = client.get_object().bucket(bucket).key(key).send().await;
    match got {
        Ok(got) => String::from_utf8(got.body.collect().await.unwrap().to_vec()).unwrap(),
        error => outcome(&error),
    }
}

async fn buckets(client: &Client, answers: &mut Answers) {
    answers.note("head a bucket that is missing", outcome(&client.head_bucket().bucket("none").send().await));
    answers.note("create a bucket", outcome(&client.create_bucket().bucket("made").send().await));
    answers.note("head a bucket", outcome(&client.head_bucket().bucket("made").send().await));
    let names = client.list_buckets().send().await.unwrap();
    let names: Vec<_> = names.buckets().iter().filter_map(|bucket| bucket.name()).collect();
    answers.note("list buckets", format!("{names:?}"));
    put(client, "made", "a", "1").await;
    answers
        .note("delete a bucket with objects", outcome(&client.delete_bucket().bucket("made").send().await));
    client.delete_object().bucket("made").key("a").send().await.unwrap();
    answers.note("delete a bucket", outcome(&client.delete_bucket().bucket("made").send().await));
    answers.note("delete a bucket again", outcome(&client.delete_bucket().bucket("made").send().await));
    answers.note("get from a bucket that is missing", get(client, "none", "a").await);
    let put = client.put_object().bucket("none").key("a").body(bytes("1")).send().await;
    answers.note("put to a bucket that is missing", outcome(&put));
    let list = client.list_objects_v2().bucket("none").send().await;
    answers.note("list a bucket that is missing", outcome(&list));
    let delete = client.delete_object().bucket("none").key("a").send().await;
    answers.note("delete from a bucket that is missing", outcome(&delete));
}

async fn objects(client: &Client, answers: &mut Answers) {
    client.create_bucket().bucket("objects").send().await.unwrap();
    answers.note("etag of an object", put(client, "objects", "a", "0123456789").await);
    answers.note("etag of nothing", put(client, "objects", "empty", "").await);
    answers.note("get an object", get(client, "objects", "a").await);
    answers.note("get an empty object", get(client, "objects", "empty").await);
    answers.note("get an object that is missing", get(client, "objects", "none").await);
    let head = client.head_object().bucket("objects").key("none").send().await;
    answers.note("head an object that is missing", outcome(&head));
    let head = client.head_object().bucket("objects").key("a").send().await.unwrap();
    answers.note("head an object", format!("{:?} {:?}", head.content_length(), head.e_tag()));
    for key in ["with space", "with+plus", "100%", "schön/für", "a//b", "a=b&c?d#e", "'(!*)~"] {
        put(client, "objects", key, "odd").await;
        assert_eq!(get(client, "objects", key).await, "odd", "{key}");
    }
    let listed = client.list_objects_v2().bucket("objects").send().await.unwrap();
    answers.note("list odd keys", keys(&listed));
    put(client, "objects", "x", "file").await;
    put(client, "objects", "x/y", "below").await;
    answers.note("a key that is also a prefix of keys", get(client, "objects", "x").await);
    let described = client
        .put_object()
        .bucket("objects")
        .key("described")
        .content_type("application/json")
        .metadata("writer", "ncz")
        .body(bytes("{}"));
    described.send().await.unwrap();
    let head = client.head_object().bucket("objects").key("described").send().await.unwrap();
    answers.note("what was said of an object", format!("{:?} {:?}", head.content_type(), head.metadata()));
    let long = client.put_object().bucket("objects").key("k".repeat(1025)).body(bytes("1")).send().await;
    answers.note("put a key of 1025 bytes", outcome(&long));
    let long = client.put_object().bucket("objects").key("k".repeat(1024)).body(bytes("1")).send().await;
    answers.note("put a key of 1024 bytes", outcome(&long));
    let wrong = client
        .put_object()
        .bucket("objects")
        .key("md5")
        .content_md5("AAAAAAAAAAAAAAAAAAAAAA==")
        .body(bytes("1"));
    answers.note("put with a wrong Content-MD5", outcome(&wrong.send().await));
    let wrong = client.put_object().bucket("objects").key("crc").checksum_crc32("AAAAAA==").body(bytes("1"));
    answers.note("put with a wrong checksum", outcome(&wrong.send().await));
}

async fn ranges(client: &Client, answers: &mut Answers) {
    client.create_bucket().bucket("ranges").send().await.unwrap();
    put(client, "ranges", "a", "0123456789").await;
    put(client, "ranges", "empty", "").await;
    let range = async |key: &str, range: &str| {
        let got = client.get_object().bucket("ranges").key(key).range(range).send().await;
        match got {
            Ok(got) => {
                let named = got.content_range().map(str::to_owned);
                let body = got.body.collect().await.unwrap().to_vec();
                format!("{named:?} {:?}", String::from_utf8_lossy(&body))
            }
            error => outcome(&error),
        }
    };
    answers.note("range within", range("a", "bytes=2-4").await);
    answers.note("range past the end", range("a", "bytes=7-99").await);
    answers.note("range without end", range("a", "bytes=7-").await);
    answers.note("range of the last bytes", range("a", "bytes=-3").await);
    answers.note("range of more than all last bytes", range("a", "bytes=-99").await);
    answers.note("range after the end", range("a", "bytes=10-").await);
    answers.note("range of no bytes at the end", range("a", "bytes=-0").await);
    answers.note("range of an empty object", range("empty", "bytes=0-0").await);
    answers.note("last bytes of an empty object", range("empty", "bytes=-4").await);
    answers.note("range that ends before it begins", range("a", "bytes=4-2").await);
    answers.note("range of a missing object", range("none", "bytes=0-3").await);
}

async fn conditions(client: &Client, answers: &mut Answers) {
    client.create_bucket().bucket("conditions").send().await.unwrap();
    let create = || client.put_object().bucket("conditions").key("a").if_none_match("*").body(bytes("1"));
    answers.note("create", outcome(&create().send().await));
    answers.note("create what exists", outcome(&create().send().await));
    let etag = put(client, "conditions", "a", "2").await;
    let replace = |key: &str, etag: &str| {
        client.put_object().bucket("conditions").key(key).if_match(etag).body(bytes("3"))
    };
    answers.note("replace what is as known", outcome(&replace("a", &etag).send().await));
    answers.note("replace what has changed", outcome(&replace("a", &etag).send().await));
    answers.note("replace what is missing", outcome(&replace("none", &etag).send().await));
    answers.note("after conditional puts", get(client, "conditions", "a").await);
    let etag = put(client, "conditions", "b", "4").await;
    let read = || client.get_object().bucket("conditions").key("b");
    answers.note("get if it has changed", outcome(&read().if_none_match(&etag).send().await));
    answers.note("get if it is another", outcome(&read().if_none_match("\"0\"").send().await));
    answers.note("get if it is as known", outcome(&read().if_match(&etag).send().await));
    answers.note("get if it is what it is not", outcome(&read().if_match("\"0\"").send().await));
    let head = client.head_object().bucket("conditions").key("b");
    answers.note("head if it has changed", outcome(&head.if_none_match(&etag).send().await));
}

async fn copies(client: &Client, answers: &mut Answers) {
    client.create_bucket().bucket("copies").send().await.unwrap();
    client.create_bucket().bucket("elsewhere").send().await.unwrap();
    put(client, "copies", "a b/ü", "copied").await;
    let copy =
        |from: &str, bucket: &str, key: &str| client.copy_object().copy_source(from).bucket(bucket).key(key);
    let done = copy("copies/a%20b/%C3%BC", "copies", "b").send().await;
    answers.note("copy", outcome(&done));
    let etag = done.unwrap().copy_object_result().unwrap().e_tag().map(str::to_owned);
    answers.note("etag of a copy", format!("{etag:?}"));
    answers.note("get a copy", get(client, "copies", "b").await);
    copy("copies/b", "elsewhere", "c").send().await.unwrap();
    answers.note("get a copy from another bucket", get(client, "elsewhere", "c").await);
    answers.note("copy what is missing", outcome(&copy("copies/none", "copies", "d").send().await));
    answers.note("copy to a bucket that is missing", outcome(&copy("copies/b", "none", "d").send().await));
    answers.note("copy from a bucket that is missing", outcome(&copy("none/b", "copies", "d").send().await));
    answers.note("copy onto itself", outcome(&copy("copies/b", "copies", "b").send().await));
    let replace = copy("copies/b", "copies", "b")
        .metadata_directive(MetadataDirective::Replace)
        .content_type("text/plain");
    answers.note("copy onto itself with other words", outcome(&replace.send().await));
    let head = client.head_object().bucket("copies").key("b").send().await.unwrap();
    answers.note("the other words", format!("{:?}", head.content_type()));
    let other = copy("copies/b", "copies", "e").copy_source_if_match("\"0\"");
    answers.note("copy if it is what it is not", outcome(&other.send().await));
}

/// Keys, then prefixes in brackets.
fn keys(listed: &ListObjectsV2Output) -> String {
    let keys: Vec<_> = listed.contents().iter().filter_map(|object| object.key()).collect();
    let prefixes: Vec<_> = listed.common_prefixes().iter().filter_map(|prefix| prefix.prefix()).collect();
    format!("{} [{}]", keys.join(" "), prefixes.join(" "))
}

async fn listings(client: &Client, answers: &mut Answers) {
    client.create_bucket().bucket("lists").send().await.unwrap();
    let list = || client.list_objects_v2().bucket("lists");
    answers.note("list an empty bucket", keys(&list().send().await.unwrap()));
    for key in ["Z", "a", "a/1", "a/2/x", "a/2/y", "a0", "b/c/d", "ä", "with space"] {
        put(client, "lists", key, "12").await;
    }
    let all = list().send().await.unwrap();
    answers.note("list all", keys(&all));
    answers.note("count all", format!("{:?} {:?} {:?}", all.key_count(), all.is_truncated(), all.max_keys()));
    let first = &all.contents()[0];
    answers.note("size and etag in a listing", format!("{:?} {:?}", first.size(), first.e_tag()));
    answers.note("list a prefix", keys(&list().prefix("a/").send().await.unwrap()));
    answers.note("list a prefix without a slash", keys(&list().prefix("a").send().await.unwrap()));
    answers.note("list a prefix that is missing", keys(&list().prefix("q/").send().await.unwrap()));
    answers.note("list the root", keys(&list().delimiter("/").send().await.unwrap()));
    answers.note("list a folder", keys(&list().delimiter("/").prefix("a/").send().await.unwrap()));
    answers.note(
        "list a folder without its slash",
        keys(&list().delimiter("/").prefix("a").send().await.unwrap()),
    );
    answers.note("list after a key", keys(&list().start_after("a/2/x").send().await.unwrap()));
    answers.note("list after no key", keys(&list().start_after("a/15").send().await.unwrap()));
    let inside = list().delimiter("/").start_after("a/1").send().await.unwrap();
    answers.note("list the root after a key in a folder", keys(&inside));
    let url = list().encoding_type(EncodingType::Url).send().await.unwrap();
    answers.note("list keys encoded", keys(&url));
    let none = list().max_keys(0).send().await.unwrap();
    answers.note("list none", format!("{} {:?}", keys(&none), none.is_truncated()));
    for (question, delimiter) in [("pages of two", None), ("pages of two of the root", Some("/"))] {
        let mut pages = Vec::new();
        let mut token = None;
        loop {
            let page = list()
                .max_keys(2)
                .set_delimiter(delimiter.map(str::to_owned))
                .set_continuation_token(token)
                .send()
                .await
                .unwrap();
            pages.push(format!("{}, {:?}", keys(&page), page.key_count()));
            token = page.next_continuation_token().map(str::to_owned);
            assert_eq!(token.is_some(), page.is_truncated() == Some(true));
            if token.is_none() {
                break;
            }
        }
        answers.note(question, pages.join(" | "));
    }
    let old = client.list_objects().bucket("lists").prefix("a/").max_keys(2).send().await.unwrap();
    let old_keys: Vec<_> = old.contents().iter().filter_map(|object| object.key()).collect();
    answers.note("list in the old way", format!("{old_keys:?} {:?}", old.is_truncated()));
    let marked = client.list_objects().bucket("lists").marker("a0").send().await.unwrap();
    let marked_keys: Vec<_> = marked.contents().iter().filter_map(|object| object.key()).collect();
    answers.note("list in the old way after a key", format!("{marked_keys:?}"));
}

async fn deletions(client: &Client, answers: &mut Answers) {
    client.create_bucket().bucket("deletions").send().await.unwrap();
    for key in ["a", "b", "c", "d e"] {
        put(client, "deletions", key, "1").await;
    }
    let delete = |key: &str| client.delete_object().bucket("deletions").key(key);
    answers.note("delete", outcome(&delete("a").send().await));
    answers.note("delete again", outcome(&delete("a").send().await));
    answers.note("get what was deleted", get(client, "deletions", "a").await);
    let objects = ["b", "none", "d e"].map(|key| ObjectIdentifier::builder().key(key).build().unwrap());
    let batch = Delete::builder().set_objects(Some(objects.to_vec())).build().unwrap();
    let done = client.delete_objects().bucket("deletions").delete(batch).send().await.unwrap();
    let mut deleted: Vec<_> = done.deleted().iter().filter_map(|object| object.key()).collect();
    deleted.sort_unstable();
    answers.note("delete several", format!("{deleted:?} {}", done.errors().len()));
    let left = client.list_objects_v2().bucket("deletions").send().await.unwrap();
    answers.note("what is left", keys(&left));
    let quiet = Delete::builder().objects(ObjectIdentifier::builder().key("c").build().unwrap()).quiet(true);
    let done =
        client.delete_objects().bucket("deletions").delete(quiet.build().unwrap()).send().await.unwrap();
    answers.note("delete several quietly", format!("{}", done.deleted().len()));
}

async fn uploads(client: &Client, answers: &mut Answers) {
    const PART: usize = 5 << 20;
    client.create_bucket().bucket("uploads").send().await.unwrap();
    let begin = async |key: &str| {
        let begun = client.create_multipart_upload().bucket("uploads").key(key).send().await.unwrap();
        begun.upload_id().unwrap().to_owned()
    };
    let part = async |key: &str, id: &str, number: i32, body: Vec<u8>| {
        client
            .upload_part()
            .bucket("uploads")
            .key(key)
            .upload_id(id)
            .part_number(number)
            .body(body.into())
            .send()
            .await
    };
    let complete = async |key: &str, id: &str, parts: &[(i32, String)]| {
        let parts = parts
            .iter()
            .map(|(number, etag)| CompletedPart::builder().part_number(*number).e_tag(etag).build());
        let parts = CompletedMultipartUpload::builder().set_parts(Some(parts.collect())).build();
        client
            .complete_multipart_upload()
            .bucket("uploads")
            .key(key)
            .upload_id(id)
            .multipart_upload(parts)
            .send()
            .await
    };
    let id = begin("big").await;
    let mut parts = Vec::new();
    for (number, byte, length) in [(1, b'1', PART), (2, b'2', PART), (7, b'7', 3)] {
        let sent = part("big", &id, number, vec![byte; length]).await.unwrap();
        parts.push((number, sent.e_tag().unwrap().to_owned()));
    }
    answers.note("an upload before it is complete", get(client, "uploads", "big").await);
    let listed = client.list_multipart_uploads().bucket("uploads").send().await.unwrap();
    let listed: Vec<_> = listed.uploads().iter().filter_map(|upload| upload.key()).collect();
    answers.note("list uploads", format!("{listed:?}"));
    let listed = client.list_parts().bucket("uploads").key("big").upload_id(&id).send().await;
    let listed = listed.map(|listed| listed.parts().iter().map(|part| part.size()).collect::<Vec<_>>());
    answers
        .note("list parts", listed.as_ref().map_or_else(|_| outcome(&listed), |sizes| format!("{sizes:?}")));
    let reversed: Vec<_> = parts.iter().rev().cloned().collect();
    answers.note("complete in the wrong order", outcome(&complete("big", &id, &reversed).await));
    let unknown = [(1, parts[0].1.clone()), (3, parts[1].1.clone())];
    answers.note("complete with a part that is missing", outcome(&complete("big", &id, &unknown).await));
    let done = complete("big", &id, &parts).await.unwrap();
    answers.note("etag of an upload", format!("{:?}", done.e_tag()));
    let head = client.head_object().bucket("uploads").key("big").send().await.unwrap();
    answers.note("size of an upload", format!("{:?} {:?}", head.content_length(), head.e_tag()));
    let across =
        client.get_object().bucket("uploads").key("big").range(format!("bytes={}-{}", PART - 2, PART + 1));
    let across = across.send().await.unwrap().body.collect().await.unwrap().to_vec();
    answers.note("a range across parts", String::from_utf8(across).unwrap());
    answers.note("part of an upload that is complete", outcome(&part("big", &id, 1, vec![1]).await));

    let id = begin("small").await;
    let mut parts = Vec::new();
    for number in [1, 2] {
        let sent = part("small", &id, number, vec![b'x'; 10]).await.unwrap();
        parts.push((number, sent.e_tag().unwrap().to_owned()));
    }
    answers.note("complete with small parts", outcome(&complete("small", &id, &parts).await));
    let abort = || client.abort_multipart_upload().bucket("uploads").key("small").upload_id(&id);
    answers.note("abort an upload", outcome(&abort().send().await));
    answers.note("abort an upload again", outcome(&abort().send().await));
    answers.note("after the abort", get(client, "uploads", "small").await);

    let id = begin("copied").await;
    let copied = client.upload_part_copy().bucket("uploads").key("copied").upload_id(&id).part_number(1);
    let copied = copied
        .copy_source("uploads/big")
        .copy_source_range(format!("bytes=0-{}", PART - 1))
        .send()
        .await
        .unwrap();
    let first = copied.copy_part_result().unwrap().e_tag().unwrap().to_owned();
    let last = part("copied", &id, 2, b"end".to_vec()).await.unwrap();
    let parts = [(1, first), (2, last.e_tag().unwrap().to_owned())];
    answers.note("etag of a copied part", parts[0].1.clone());
    answers.note("complete with a copied part", outcome(&complete("copied", &id, &parts).await));
    let ranged = client.get_object().bucket("uploads").key("copied").range("bytes=-5").send().await.unwrap();
    let ranged = ranged.body.collect().await.unwrap().to_vec();
    answers.note("the end of it", String::from_utf8(ranged).unwrap());
    let id = begin("once").await;
    let sent = part("once", &id, 1, b"only".to_vec()).await.unwrap();
    let only = CompletedPart::builder().part_number(1).e_tag(sent.e_tag().unwrap()).build();
    put(client, "uploads", "once", "before").await;
    let conditional = client
        .complete_multipart_upload()
        .bucket("uploads")
        .key("once")
        .upload_id(&id)
        .if_none_match("*")
        .multipart_upload(CompletedMultipartUpload::builder().parts(only).build());
    answers.note("complete onto what exists", outcome(&conditional.send().await));
    answers.note("what existed", get(client, "uploads", "once").await);
}

async fn signatures(endpoint: &str, answers: &mut Answers) {
    let credentials = aws_sdk_s3::config::Credentials::new("test", "wrong", None, None, "test");
    let client = Client::from_conf(config(endpoint).credentials_provider(credentials).build());
    answers.note("a wrong secret", get(&client, "objects", "a").await);
}

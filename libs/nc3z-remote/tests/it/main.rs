//! Reads an object from a correct server, and from faulty ones. The result must be the right bytes, or an
//! error that names URL and range.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod server;

use nc3z_format::Hyperslab;
use nc3z_reader::source::ByteSource;
use nc3z_reader::{Dataset, Error, OpenOptions, verify};
use nc3z_remote::{ObjectSource, RemoteOptions};
use server::{Bad, Server};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn options() -> RemoteOptions {
    RemoteOptions::default().with_retries(8, Duration::from_secs(60))
}

/// Makes bytes from which their offset can be recognized.
fn object(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

/// A random number generator that is good enough for ranges.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }

    fn range(&mut self, len: u64) -> Range<u64> {
        let start = self.below(len + 1);
        start..start + self.below((len - start).min(9000) + 1)
    }
}

/// Reads a thousand random ranges, twenty at a time. Returns the number of calls with the right bytes, and
/// the errors of the others.
fn thousand_reads(source: &dyn ByteSource, bytes: &[u8]) -> (u32, Vec<Error>) {
    let mut numbers = Numbers(7);
    let (mut right, mut errors) = (0, Vec::new());
    for _ in 0..50 {
        let ranges: Vec<_> = (0..20).map(|_| numbers.range(bytes.len() as u64)).collect();
        match source.read_ranges(&ranges) {
            Ok(found) => {
                assert_eq!(found.len(), ranges.len());
                for (range, found) in ranges.iter().zip(found) {
                    let expected = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
                    assert!(found == bytes[expected], "{range:?}");
                }
                right += 1;
            }
            Err(e) => errors.push(e),
        }
    }
    (right, errors)
}

#[test]
fn good_servers_and_those_that_can_be_borne_give_the_right_bytes() {
    let bytes = object(300_000);
    for bad in [Bad::Nothing, Bad::Cuts(11), Bad::Busy(25), Bad::Nameless] {
        let server = Server::new(bytes.clone(), bad);
        let source = ObjectSource::open(&server.url, &options()).unwrap();
        assert_eq!(source.len(), 300_000);
        let (right, errors) = thousand_reads(&source, &bytes);
        assert_eq!(right, 50, "{bad:?}: {errors:?}");
        assert!(server.ranges().iter().all(|r| r.starts_with("bytes=") && !r.starts_with("bytes=-")));
    }
}

#[test]
fn wrong_answers_are_errors_that_name_url_and_range() {
    let bytes = object(300_000);
    for bad in [Bad::Shifts, Bad::Short, Bad::Endless] {
        let server = Server::new(bytes.clone(), bad);
        let source =
            ObjectSource::open(&server.url, &options().with_retries(0, Duration::from_secs(1))).unwrap();
        let (right, errors) = thousand_reads(&source, &bytes);
        assert_eq!((right, errors.len()), (0, 50), "{bad:?}");
        for e in errors {
            let words = e.with_causes();
            assert!(words.contains(&server.url) && words.contains("bytes "), "{bad:?}: {words}");
        }
    }
}

#[test]
fn servers_that_cannot_be_read_say_why() {
    let open = |bad, url: Option<&str>| {
        let server = Server::new(object(100_000), bad);
        let few = RemoteOptions::default().with_retries(1, Duration::from_secs(2));
        ObjectSource::open(url.unwrap_or(&server.url), &few).err().unwrap().with_causes()
    };
    let words = open(Bad::Whole, None);
    assert!(
        words.contains("the server does not serve byte ranges") && words.contains("/folder/object.nc3z"),
        "{words}"
    );
    for bad in [Bad::Forbids, Bad::Busy(1), Bad::Cuts(1)] {
        let words = open(bad, None);
        assert!(words.contains("/folder/object.nc3z") && words.contains("bytes 0-65535"), "{bad:?}: {words}");
    }
    for (bad, expected) in [
        (Bad::NoLength, "the server does not say how long the object is"),
        (Bad::NoContentLength, "the server does not say how many bytes it sends"),
        (Bad::AsksForKey, "401"),
    ] {
        let words = open(bad, None);
        assert!(words.contains(expected) && !words.contains("Who are you?"), "{words}");
    }
    let server = Server::new(object(10), Bad::Nothing);
    let missing = server.url.replace("object", "nothing");
    let error = ObjectSource::open(&missing, &options()).err().unwrap();
    let nc3z_reader::ErrorKind::Io { source, .. } = error.kind() else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
    assert_eq!(source.to_string(), "object not found (404)");
}

#[test]
fn keys_are_sent_and_never_shown() {
    let bytes = object(300_000);
    let server = Server::new(bytes.clone(), Bad::AsksForKey);
    let few = || RemoteOptions::default().with_retries(0, Duration::from_secs(2));
    let with_password = server.url.replace("http://", "http://me:hush@");
    for (url, options) in [
        (&server.url, few().with_setting("header.X-Key", "open sesame")),
        (&server.url, few().with_setting("bearer_token", "sesame")),
        (&with_password, few()),
    ] {
        let source = ObjectSource::open(url, &options).unwrap();
        assert_eq!(source.read_at(200_000, 1000).unwrap(), bytes[200_000..201_000]);
        assert!(!format!("{options:?}").contains("sesame"));
    }
    let wrong = few().with_setting("header.X-Key", "s3cr3t-word");
    let error = ObjectSource::open(&server.url, &wrong).err().unwrap();
    assert!(error.with_causes().contains("401") && !format!("{error:?}").contains("s3cr3t"), "{error:?}");
    let forbidden = Server::new(bytes, Bad::Forbids);
    let error = ObjectSource::open(&forbidden.url, &wrong).err().unwrap();
    assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
}

#[test]
fn secrets_of_a_url_are_in_no_error() {
    let few = || RemoteOptions::default().with_retries(0, Duration::from_secs(2));
    let check = |error: &Error, bad: Bad| {
        for words in [error.with_causes(), format!("{error:?}")] {
            for secret in ["hush", "signature", "s3cr3t"] {
                assert!(!words.contains(secret), "{bad:?}: {words}");
            }
        }
    };
    let signed = |server: &Server| {
        server.url.replace("http://", "http://me:hush@") + "?signature=s3cr3t%2Fs3cr3t&X-Expires=100"
    };
    for bad in [Bad::Forbids, Bad::Whole, Bad::Busy(1), Bad::Cuts(1)] {
        let server = Server::new(object(100_000), bad);
        check(&ObjectSource::open(&signed(&server), &few()).err().unwrap(), bad);
    }
    let unserved = Server::new(object(100_000), Bad::Nothing);
    let missing = signed(&unserved).replace("object.nc3z", "nothing");
    check(&ObjectSource::open(&missing, &few()).err().unwrap(), Bad::Nothing);
    for bad in [
        Bad::Shifts,
        Bad::Short,
        Bad::Endless,
        Bad::Busy(2),
        Bad::Cuts(2),
        Bad::Changes(1, true),
        Bad::Changes(1, false),
    ] {
        let server = Server::new(object(100_000), bad);
        let source = ObjectSource::open(&signed(&server), &few()).unwrap();
        let error = source.read_at(70_000, 100).unwrap_err();
        check(&error, bad);
        let (words, url) = (error.with_causes(), &server.url);
        assert!(words.contains(url.as_str()) && words.contains("bytes 70000-70099"), "{bad:?}: {words}");
    }
    // No server listens there; text that is not a URL; settings that a store does not have.
    for url in [
        "http://me:hush@127.0.0.1:9/a.nc3z?signature=s3cr3t",
        "http://me:hush@host:port/a.nc3z?signature=s3cr3t",
        "https://me:hush@host/a//b.nc3z?signature=s3cr3t",
        "ftp://me:hush@host/a.nc3z?signature=s3cr3t",
        "az://?signature=s3cr3t",
    ] {
        check(&ObjectSource::open(url, &few()).err().unwrap(), Bad::Nothing);
    }
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let server = Server::new(object(1 << 20), Bad::Endless);
    let source = ObjectSource::open(&server.url, &options()).unwrap();
    let begin = Instant::now();
    let words = source.read_at(500_000, 1000).unwrap_err().with_causes();
    assert!(words.contains("bytes 500000-500999: the server sent more than 1000 bytes"), "{words}");
    assert!(begin.elapsed() < Duration::from_secs(5));
    // Not much more than the buffers of both ends of the connection.
    assert!(server.sent() < 64 << 20, "{}", server.sent());
}

#[test]
fn an_object_that_is_replaced_while_an_answer_comes_is_never_mixed() {
    let bytes = object(300_000);
    for heeds in [true, false] {
        let server = Server::new(bytes.clone(), Bad::Swaps(3, heeds));
        let source = ObjectSource::open(&server.url, &options()).unwrap();
        assert!(source.read_at(100_000, 50_000).unwrap() == bytes[100_000..150_000]);
        let error = source.read_at(100_000, 50_000).unwrap_err();
        let words = error.with_causes();
        assert!(words.contains(&server.url) && words.contains("bytes 100000-149999"), "{words}");
        assert!(source.read_at(100_000, 50_000).unwrap_err().is_replaced());
    }
}

#[test]
fn an_object_that_is_replaced_is_an_error_and_never_mixed() {
    let bytes = object(300_000);
    for bad in
        [Bad::Changes(30, true), Bad::Changes(30, false), Bad::NamelessChanges(30), Bad::WeakChanges(30)]
    {
        let server = Server::new(bytes.clone(), bad);
        let source = ObjectSource::open(&server.url, &options()).unwrap();
        let (right, errors) = thousand_reads(&source, &bytes);
        assert!(right >= 1 && errors.len() >= 40, "{bad:?}: {right} right");
        assert!(errors.iter().all(Error::is_replaced), "{bad:?}: {errors:?}");
        let names = |e: &Error| e.to_string().contains(&server.url) && e.to_string().contains("bytes ");
        assert!(errors.iter().all(names), "{bad:?}: {errors:?}");
    }
}

#[test]
fn short_objects_and_empty_ranges() {
    for len in [1, 5, 16 << 10, (16 << 10) + 1, 70_000] {
        let bytes = object(len);
        let server = Server::new(bytes.clone(), Bad::Nothing);
        let source = ObjectSource::open(&server.url, &options()).unwrap();
        let (head, tail) = source.ends(4096, 65536).unwrap();
        assert!(bytes.starts_with(&head) && bytes.ends_with(&tail));
        assert!(server.ranges().len() <= 2);
        let end = len as u64;
        let found = source.read_ranges(&[0..0, end..end, 0..1, end - 1..end, 0..end]).unwrap();
        assert!(found[0].is_empty() && found[1].is_empty());
        assert_eq!((found[2][0], found[3][0]), (bytes[0], bytes[len - 1]));
        assert!(found[4] == bytes);
        let error = source.read_at(end, 1).unwrap_err();
        assert!(error.is_corrupt(), "{error}");
    }
}

#[test]
fn long_ranges_come_in_several_requests_at_once() {
    let bytes = object(1_000_000);
    let server = Server::slow(bytes.clone(), Bad::Nothing, Duration::from_millis(100));
    let source = ObjectSource::open(&server.url, &options()).unwrap();
    let source = source.with_reach(nc3z_reader::source::Reach::REMOTE.with_request_len(100_000));
    let begin = Instant::now();
    assert!(source.read_at(0, 1_000_000).unwrap() == bytes);
    assert!(begin.elapsed() < Duration::from_millis(900), "ten requests of 100 ms each");
    assert_eq!(server.ranges().len(), 11);
}

#[test]
fn archives_open_in_two_requests_and_classic_files_are_read_too() {
    let folder = std::path::Path::new("../../testdata");
    for (name, requests) in [
        ("archives/v1_0_0/esku_heat_budget.max.nc3z", 2),
        ("archives/v1_0_0/record_padding.default.parity.nc3z", 2),
        ("classic/coads_climatology.cdf", 2),
    ] {
        let Ok(bytes) = std::fs::read(folder.join(name)) else { panic!("{name} is missing") };
        let server = Server::new(bytes, Bad::Nothing);
        let source = Arc::new(ObjectSource::open(&server.url, &options()).unwrap());
        let remote = Dataset::from_source(source.clone(), &OpenOptions::default()).unwrap();
        assert!(source.requests() <= requests, "{name}: {:?}", server.ranges());
        let local = Dataset::open(folder.join(name), &OpenOptions::default()).unwrap();
        for (there, here) in remote.variables().zip(local.variables()) {
            assert_eq!(there.read_bytes(&there.all()).unwrap(), here.read_bytes(&here.all()).unwrap());
        }
        if remote.archive().is_some() {
            let shared: nc3z_reader::source::SharedSource = source;
            assert!(verify::deep(&shared, &OpenOptions::default(), &()).unwrap().is_sound());
        }
    }
}

#[test]
fn a_series_of_a_classic_file_takes_few_requests_at_once() {
    let path = "../../testdata/classic/coads_climatology.cdf";
    let local = Dataset::open(path, &OpenOptions::default()).unwrap();
    let sst = local.variable("SST").unwrap();
    let series = Hyperslab::new([0, 45, 20], [sst.shape()[0], 1, 1], [1, 1, 1]).unwrap();
    let expected = sst.read::<f32>(&series).unwrap();
    // Records are 450 KB apart. The whole file is fetched in one request if that costs no more, otherwise in
    // eleven at once: the first record is in the head.
    for (gap, requests) in [(8 << 20, 1), (2 << 20, 11), (4 << 10, 11)] {
        let server = Server::slow(std::fs::read(path).unwrap(), Bad::Nothing, Duration::from_millis(300));
        let source = ObjectSource::open(&server.url, &options()).unwrap();
        let source = Arc::new(source.with_reach(nc3z_reader::source::Reach::REMOTE.with_gap(gap)));
        let dataset = Dataset::from_source(source.clone(), &OpenOptions::default()).unwrap();
        let (before, begin) = (source.requests(), Instant::now());
        let found = dataset.variable("SST").unwrap().read::<f32>(&series).unwrap();
        assert_eq!(found, expected);
        assert_eq!(source.requests() - before, requests, "{:?}", server.ranges());
        let limit = Duration::from_secs(3);
        assert!(begin.elapsed() < limit, "one after another they take {requests} times 300 ms");
    }
}

#[test]
fn threads_of_other_runtimes_may_wait_too() {
    let bytes = object(50_000);
    let server = Server::new(bytes.clone(), Bad::Nothing);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let found = runtime.block_on(async {
        ObjectSource::open(&server.url, &options()).and_then(|source| source.read_at(20_000, 20_000))
    });
    assert!(found.unwrap() == bytes[20_000..40_000]);
}

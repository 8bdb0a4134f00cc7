use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::http::request::Parts;

use crate::operation::Target;
use crate::{Fault, Operation, Rule};

/// A request that reached a server.
#[derive(Debug, Clone)]
pub struct Request {
    /// The number of the request since the counts were last reset, from 1.
    pub number: u64,
    /// The requested object.
    pub operation: Operation,
    /// The bucket; `None` for a file server.
    pub bucket: Option<String>,
    /// The key, or the path without the leading slash.
    pub key: Option<String>,
    /// The header `Range`.
    pub range: Option<String>,
    /// The header `Host`.
    pub host: Option<String>,
    /// The query, as it was sent.
    pub query: Option<String>,
    /// The size of the request's body.
    pub received: u64,
    /// How many bytes of the answer's body have been sent.
    pub sent: u64,
    /// The status of the answer; `None` without one.
    pub status: Option<u16>,
    /// The fault that befell it.
    pub fault: Option<Fault>,
    /// When it arrived, since the server started.
    pub arrived: Duration,
    /// When the last byte of the answer was sent or the connection was lost.
    pub ended: Option<Duration>,
}

/// What tests see and decide while a server runs: its log, its latency, its faults. Clones are views of the same.
#[derive(Debug, Clone)]
pub struct Control(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    started: Instant,
    latency: Duration,
    rules: Vec<Rule>,
    keep_log: bool,
    log: Vec<Request>,
    counts: BTreeMap<Operation, u64>,
    /// How many requests came before the log was last emptied.
    forgotten: u64,
    arrived: u64,
    in_flight: u64,
    max_in_flight: u64,
}

impl Control {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            started: Instant::now(),
            latency: Duration::ZERO,
            rules: Vec::new(),
            keep_log: true,
            log: Vec::new(),
            counts: BTreeMap::new(),
            forgotten: 0,
            arrived: 0,
            in_flight: 0,
            max_in_flight: 0,
        })))
    }

    /// The requests since the counts were last reset, in the order of their arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state().log.clone()
    }

    /// How many requests of this operation arrived since the counts were last reset.
    #[must_use]
    pub fn count(&self, operation: Operation) -> u64 {
        self.state().counts.get(&operation).copied().unwrap_or(0)
    }

    /// How many requests of each operation arrived since the counts were last reset.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Operation, u64> {
        self.state().counts.clone()
    }

    /// How many requests arrived since the counts were last reset.
    #[must_use]
    pub fn total(&self) -> u64 {
        let state = self.state();
        state.arrived - state.forgotten
    }

    /// How many faults befell requests since the counts were last reset.
    #[must_use]
    pub fn faults(&self) -> usize {
        self.state().log.iter().filter(|request| request.fault.is_some()).count()
    }

    /// The most requests that waited for their answer at the same time since the counts were last reset.
    #[must_use]
    pub fn max_in_flight(&self) -> u64 {
        self.state().max_in_flight
    }

    /// How many requests wait for their answer now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.state().in_flight
    }

    /// The longest sequence of requests of which each arrived after the one before had ended: how many times the
    /// latency was waited for. Reliable with a latency well above what a request takes without.
    #[must_use]
    pub fn round_trips(&self) -> usize {
        let state = self.state();
        let mut spans: Vec<_> = state.log.iter().filter_map(|r| Some((r.ended?, r.arrived))).collect();
        spans.sort_unstable();
        let mut last = None;
        let mut trips = 0;
        for (ended, arrived) in spans {
            if last.is_none_or(|last| arrived >= last) {
                trips += 1;
                last = Some(ended);
            }
        }
        trips
    }

    /// Empties the log, and starts all counts at 0 (the most in flight: at what is in flight now).
    pub fn reset_counts(&self) {
        let mut state = self.state();
        state.log.clear();
        state.counts.clear();
        state.forgotten = state.arrived;
        state.max_in_flight = state.in_flight;
    }

    /// Keeps no log from now on, only counts: for long runs.
    pub fn keep_no_log(&self) {
        self.state().keep_log = false;
    }

    /// Answers come this much later from now on. Requests wait side by side.
    pub fn set_latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Adds a rule. Of several rules that match a request, the first added that befalls it does.
    pub fn fail(&self, rule: Rule) {
        self.state().rules.push(rule);
    }

    /// From the `n`-th request from now on (from 1), every connection is reset before anything is done: the client is
    /// as good as dead. [`Control::heal`] ends it.
    pub fn stop_at(&self, n: u64) {
        self.fail(Rule::new(Fault::Reset).from(n));
    }

    /// As [`Control::stop_at`], but the `n`-th request itself is carried out; only its answer is lost.
    pub fn stop_after(&self, n: u64) {
        self.fail(Rule::new(Fault::LoseAnswer).nth(n));
        self.fail(Rule::new(Fault::Reset).from(n + 1));
    }

    /// Removes all rules: nothing fails on demand any more.
    pub fn heal(&self) {
        self.state().rules.clear();
    }

    /// Notes the arrival of a request, and decides about its fault and latency.
    pub(crate) fn arrive(&self, target: &Target, parts: &Parts) -> Arrival {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let mut state = self.state();
        let state = &mut *state;
        let mut fault = None;
        for rule in &mut state.rules {
            // each rule counts what matches it, also what another one befalls
            let befalls = rule.fault(target.operation, target.key.as_deref());
            fault = fault.or_else(|| befalls.cloned());
        }
        let id = state.arrived;
        state.arrived += 1;
        state.in_flight += 1;
        state.max_in_flight = state.max_in_flight.max(state.in_flight);
        *state.counts.entry(target.operation).or_default() += 1;
        if state.keep_log {
            state.log.push(Request {
                number: state.arrived - state.forgotten,
                operation: target.operation,
                bucket: target.bucket.clone(),
                key: target.key.clone(),
                range: header("range").map(str::to_owned),
                host: header("host").map(str::to_owned),
                query: parts.uri.query().map(str::to_owned),
                received: header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0),
                sent: 0,
                status: None,
                fault: fault.clone(),
                arrived: state.started.elapsed(),
                ended: None,
            });
        }
        let tracker = Tracker { control: self.clone(), id, ended: false };
        Arrival { tracker, fault, latency: state.latency }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was decided when a request arrived.
pub(crate) struct Arrival {
    pub(crate) tracker: Tracker,
    pub(crate) fault: Option<Fault>,
    pub(crate) latency: Duration,
}

/// Follows one request to its end; a request whose tracker is dropped has ended.
pub(crate) struct Tracker {
    control: Control,
    id: u64,
    ended: bool,
}

impl Tracker {
    pub(crate) fn answered(&self, status: u16) {
        self.update(|request| request.status = Some(status));
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.update(|request| request.sent += bytes as u64);
    }

    /// The last byte is on its way. What comes later from the same client is a new round trip.
    pub(crate) fn end(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        let now = self.control.state().started.elapsed();
        self.update(|request| request.ended = Some(now));
        self.control.state().in_flight -= 1;
    }

    fn update(&self, change: impl FnOnce(&mut Request)) {
        let mut state = self.control.state();
        let Some(number) = (self.id + 1).checked_sub(state.forgotten) else { return };
        // the log may lack the oldest requests if it was switched off, but it is in the order of arrival
        if let Ok(at) = state.log.binary_search_by_key(&number, |request| request.number) {
            change(&mut state.log[at]);
        }
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.end();
    }
}

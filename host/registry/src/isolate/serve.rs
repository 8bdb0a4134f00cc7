//! The inside of a worker: a process that opens one library and serves its C faces until its host ends.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ncz_codec::CodecError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;
use rustix::process::{
    Resource, Rlimit, Signal, getpgrp, getpid, getppid, kill_current_process_group, setrlimit,
};
use rustix::time::Timespec;
use serde_json::Value;

use super::MARK;
use super::channel::{Channel, Received};
use super::memory::Shared;
use super::message::{PROTOCOL, Plain, Records, Reply, Request, Run};
use crate::allow_list::AllowList;
use crate::error::with_sources;
use crate::load::{self, FilterFunction, Hdf5Filter, JsonTranslator, Library, LoadError, NczarrCodec};

/// Plugins that close or write to descriptors use low numbers; a worker's own are moved above this number, if the
/// limit allows it.
const HIGH: i32 = 700;
/// The state of the thread that watches the host.
const WATCHER_STACK: usize = 64 << 10;
/// Between two looks at the parent.
const LOOK: Duration = Duration::from_secs(1);
/// The time that it gets.
const WATCHING: Duration = Duration::from_millis(200);

/// Whether this process was started as a worker. A program without `ncz-worker` next to it can name itself as the
/// worker program and call this first in its `main`.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use ncz_registry::isolate;
///
/// fn main() -> ExitCode {
///     if isolate::is_worker() {
///         return isolate::worker_main();
///     }
///     // The program's own work, with `Isolation { worker: std::env::current_exe().ok(), .. }`.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn is_worker() -> bool {
    std::env::args_os().nth(1).is_some_and(|first| first == MARK)
}

/// The `main` of the worker program: serves the host that started it. Started by hand, it prints what it is and
/// exits with status 2.
pub fn worker_main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let is_asked = matches!(&arguments[..], [only] if only.as_os_str() == OsStr::new(MARK));
    let is_socket = || {
        rustix::fs::fstat(rustix::stdio::stdin())
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_socket())
    };
    if !is_asked || !is_socket() {
        eprintln!(
            "{} {}: runs a codec plugin for ncz in a separate process; ncz starts it to isolate plugins",
            super::WORKER_PROGRAM,
            env!("CARGO_PKG_VERSION")
        );
        return ExitCode::from(2);
    }
    // Nothing is dropped: a plugin may have closed or reused its descriptors.
    let worker = Worker::take_over().map(ManuallyDrop::new);
    match worker.and_then(|mut worker| worker.serve()) {
        // The watcher ends the process if the host is gone. If it is not, a plugin has meddled with the channel.
        Ok(()) => {
            std::thread::sleep(WATCHING);
            exit(0)
        }
        Err(error) => {
            eprintln!("worker: {error}");
            exit(1)
        }
    }
}

struct Worker {
    channel: Channel,
    shared: Shared,
    limits: Limits,
    served: Option<Served>,
}

/// The filter and the codecs of the library.
struct Served {
    /// Held, because the filter and the codecs belong to the library.
    _library: Arc<Library>,
    filter: Option<Hdf5Filter>,
    json: Vec<NczarrCodec>,
}

/// The limit on address space.
struct Limits {
    /// The address space of the process before it opened anything.
    base: u64,
    /// The additional address space for the library.
    memory: u64,
}

impl Worker {
    /// Moves the channel and the shared memory to descriptors that plugins do not use, and starts to watch the host.
    fn take_over() -> io::Result<Self> {
        // Descriptors that the host left open by mistake are closed: a socket would stay in use. glibc has a function for
        // it only since 2.34, and kernels before 5.9 leave them open.
        // SAFETY: nothing here owns a descriptor above the standard ones yet.
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
        let channel = UnixStream::from(move_up(rustix::stdio::stdin())?);
        let shared = Shared::of(move_up(rustix::stdio::stdout())?);
        let null = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        keep_memory();
        let limits = Limits { base: address_space()?, memory: u64::MAX };
        watch(move_up(channel.as_fd())?)?;
        Ok(Self { channel: Channel::new(channel), shared, limits, served: None })
    }

    /// Answers until the host closes the channel.
    fn serve(&mut self) -> io::Result<()> {
        let hello =
            Reply::Hello { protocol: PROTOCOL.to_string(), version: env!("CARGO_PKG_VERSION").to_owned() };
        self.channel.send(0, &hello.to_bytes())?;
        let mut received = self.channel.next();
        loop {
            received = match received {
                Received::Message(call, message) => {
                    let request = Request::from_bytes(&message).map_err(|_| nonsense())?;
                    let reply = self.answer(request)?;
                    self.channel.send(call, &reply.to_bytes())?;
                    self.channel.next()
                }
                Received::Part => {
                    self.channel.linger();
                    self.channel.read()?
                }
                Received::End => return Ok(()),
                Received::Nonsense => return Err(nonsense()),
            }
        }
    }

    fn answer(&mut self, request: Request) -> io::Result<Reply> {
        let Some(served) = &self.served else {
            let Request::Open { path, memory, allow_list } = request else { return Err(nonsense()) };
            self.limits.memory = memory;
            self.limits.set(self.shared.len())?;
            let opened = Served::open(&path, allow_list.as_deref());
            return Ok(match opened {
                Ok((served, records)) => {
                    self.served = Some(served);
                    Reply::Opened(records)
                }
                Err(reason) => Reply::Refused(reason),
            });
        };
        let answer = match request {
            Request::Open { .. } => return Err(nonsense()),
            Request::Exit => std::process::exit(0),
            Request::Run(run) => {
                if run.shared > self.shared.len() {
                    self.limits.set(run.shared)?;
                    self.shared.map(run.shared)?;
                }
                served.run(&run, &mut self.shared)
            }
            Request::SetLocal { given, variable } => {
                served.filter().and_then(|filter| filter.set_local(&given, &variable)).map(Reply::Params)
            }
            Request::ToParams { half, json } => {
                let config = ncz_codec::wire::parse_object(json.as_bytes());
                config.and_then(|config| served.json(half)?.to_params(&config)).map(Reply::Params)
            }
            Request::ToJson { half, params } => served
                .json(half)
                .and_then(|half| half.to_json(&params))
                .map(|json| Reply::Json(Value::Object(json).to_string())),
            Request::Modify { half, visible, variable } => served
                .json(half)
                .and_then(|half| half.modify_parameters(&visible, &variable))
                .map(Reply::Modified),
        };
        Ok(answer.unwrap_or_else(Reply::Failed))
    }
}

impl Served {
    fn open(path: &Path, allow_list: Option<&str>) -> Result<(Self, Records), String> {
        let allow_list = allow_list.map(AllowList::from_text).transpose()?;
        let library = load::open_allowed(path, allow_list.as_ref()).map_err(|error| match error {
            LoadError::Unreadable(source) => format!("cannot be read: {source}"),
            other => with_sources(&other),
        })?;
        let mut records = Records {
            version: library.version().cloned(),
            interface: library.interface().cloned(),
            hdf5_provider: Some(library.hdf5_provider().clone()),
            ..Records::default()
        };
        match library.native() {
            Ok(codecs) => records.natives = codecs.len(),
            Err(error) => records.refused.push(Plain(format!("native face: {error}"))),
        }
        let mut keep = |part: &str, error| records.refused.push(Plain(format!("{part}: {error}")));
        let filter = library.hdf5().and_then(|half| half.map_err(|error| keep("HDF5 filter", error)).ok());
        let own = library
            .codecs()
            .into_iter()
            .filter_map(|half| half.map_err(|error| keep("NCZarr codec", error)).ok());
        let mut json: Vec<NczarrCodec> = own.collect();
        records.own = json.len();
        let mut keep = |error| records.refused.push(Plain(format!("default NCZarr codec: {error}")));
        json.extend(library.default_codecs().into_iter().filter_map(|half| half.map_err(&mut keep).ok()));
        records.filter = filter.as_ref().map(|half| FilterFunction::facts(half).clone());
        records.json = json.iter().map(|half| JsonTranslator::facts(half).clone()).collect();
        Ok((Self { _library: library, filter, json }, records))
    }

    /// The filter, ready to run.
    fn filter(&self) -> Result<&Hdf5Filter, CodecError> {
        let filter = self.filter.as_ref().ok_or_else(|| CodecError::unsupported("it has no HDF5 filter"))?;
        filter.prepare()?;
        Ok(filter)
    }

    fn json(&self, half: usize) -> Result<&NczarrCodec, CodecError> {
        let half =
            self.json.get(half).ok_or_else(|| CodecError::unsupported("it has no such NCZarr codec"))?;
        half.prepare()?;
        Ok(half)
    }

    fn run(&self, run: &Run, shared: &mut Shared) -> Result<Reply, CodecError> {
        let filter = self.filter()?;
        let regions = shared.regions(run.input, run.output);
        let (input, output) =
            regions.ok_or_else(|| CodecError::unsupported("a chunk outside the shared memory"))?;
        filter.run(run.direction, &run.params, input, output).map(Reply::Ran)
    }
}

impl Limits {
    /// Sets the limit for this much shared memory, which does not count.
    fn set(&self, shared: usize) -> io::Result<()> {
        let most = self.base.saturating_add(self.memory).saturating_add(shared as u64);
        let Rlimit { current: _, maximum } = rustix::process::getrlimit(Resource::As);
        let current = Some(maximum.map_or(most, |maximum| most.min(maximum)));
        setrlimit(Resource::As, Rlimit { current, maximum })?;
        Ok(())
    }
}

/// A copy of a descriptor with a high number, that no child process gets.
fn move_up(descriptor: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let copy = rustix::io::fcntl_dupfd_cloexec(descriptor, HIGH);
    Ok(copy.or_else(|_| rustix::io::fcntl_dupfd_cloexec(descriptor, 3))?)
}

/// The address space of this process.
fn address_space() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').next().and_then(|pages| pages.parse::<u64>().ok()).ok_or_else(nonsense)?;
    Ok(pages * rustix::param::page_size() as u64)
}

/// Ends the process when the host ends, whatever a plugin does meanwhile. The channel shows this at once; but a fork of
/// the host may hold it, or a plugin may have closed it. Without a host the process has another parent.
fn watch(channel: OwnedFd) -> io::Result<()> {
    let host = getppid();
    let watch = move || {
        while getppid() == host {
            let mut polled = [PollFd::new(&channel, PollFlags::empty())];
            let ready = poll(&mut polled, Timespec::try_from(LOOK).ok().as_ref());
            if polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
                break;
            }
            if ready != Ok(0) {
                std::thread::sleep(LOOK);
            }
        }
        end()
    };
    std::thread::Builder::new().stack_size(WATCHER_STACK).spawn(watch)?;
    Ok(())
}

/// Ends this process and what plugins have started in its group.
fn end() -> ! {
    if getpgrp() == getpid() {
        let _ = kill_current_process_group(Signal::KILL);
    }
    exit(0)
}

/// Ends this process; nothing of a plugin runs any more.
fn exit(status: i32) -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(status) }
}

/// Keeps the memory of one call for the next: chunks come in one size, and fresh pages cost as much as fast codecs.
fn keep_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets two numbers of malloc before anything depends on them.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
    }
}

fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the host sent an invalid message")
}

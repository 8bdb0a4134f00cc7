//! The names of signals.

use rustix::process::Signal;

/// What a signal is called, with what it mostly means.
pub(crate) fn name(number: i32) -> String {
    let known = [
        (Signal::SEGV, "SIGSEGV, a bad memory access"),
        (Signal::BUS, "SIGBUS, a bad memory access"),
        (Signal::ABORT, "SIGABRT, as abort() and the C library's checks of the heap send"),
        (Signal::FPE, "SIGFPE, a bad division"),
        (Signal::ILL, "SIGILL, an instruction that the processor does not know"),
        (Signal::TRAP, "SIGTRAP, a trap"),
        (Signal::SYS, "SIGSYS, a bad system call"),
        (Signal::KILL, "SIGKILL, as the system sends for want of memory"),
        (Signal::TERM, "SIGTERM"),
        (Signal::INT, "SIGINT"),
        (Signal::HUP, "SIGHUP"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM, an alarm"),
        (Signal::XCPU, "SIGXCPU, too much processor time"),
        (Signal::XFSZ, "SIGXFSZ, a file longer than 256 MiB"),
    ];
    let found = known.into_iter().find(|(signal, _)| signal.as_raw() == number);
    found.map_or_else(|| format!("signal {number}"), |(_, name)| name.to_owned())
}

//! Messages on a socket: a head with a mark, the number of the call and the length, then the message.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

/// At the start of every message.
const MARK: u32 = 0x4e5a_6377;
const HEAD: usize = 12;
/// The longest message: JSON may be 16 MiB.
const MESSAGE_MAX: usize = 20 << 20;
/// The number of bytes to read at once.
const ROOM: usize = 16 << 10;
/// The time to wait without sleeping.
const LINGERING: Duration = Duration::from_micros(200);

/// One end of the socket.
pub(super) struct Channel {
    socket: UnixStream,
    /// Bytes that were read and are not yet a whole message.
    received: Vec<u8>,
}

/// The result of a read.
pub(super) enum Received {
    /// The number of a call and its message.
    Message(u32, Vec<u8>),
    /// Nothing more at present.
    Part,
    /// The other side is gone.
    End,
    /// These are not bytes of the other side's program.
    Nonsense,
}

impl Channel {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self { socket, received: Vec::new() }
    }

    /// Sends a message, and waits while the socket is full.
    pub(super) fn send(&mut self, call: u32, message: &[u8]) -> io::Result<()> {
        let len = u32::try_from(message.len()).ok().filter(|_| message.len() <= MESSAGE_MAX);
        let len =
            len.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a message of over 20 MiB"))?;
        let mut bytes = Vec::with_capacity(HEAD + message.len());
        [MARK, call, len].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(message);
        self.socket.write_all(&bytes)
    }

    /// The next message, if it is all there.
    pub(super) fn next(&mut self) -> Received {
        let Some((head, rest)) = self.received.split_first_chunk::<HEAD>() else { return Received::Part };
        let (numbers, _) = head.as_chunks::<4>();
        let number = |at: usize| numbers.get(at).map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let (mark, call, len) = (number(0), number(1), number(2) as usize);
        if mark != MARK || len > MESSAGE_MAX {
            return Received::Nonsense;
        }
        let Some(message) = rest.get(..len).map(<[u8]>::to_vec) else { return Received::Part };
        self.received.drain(..HEAD + len);
        Received::Message(call, message)
    }

    /// Reads once, waits if there is nothing, and returns the available bytes.
    pub(super) fn read(&mut self) -> io::Result<Received> {
        let start = self.received.len();
        self.received.resize(start + ROOM, 0);
        let read = loop {
            match self.socket.read(&mut self.received[start..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.received.truncate(start + *read.as_ref().unwrap_or(&0));
        Ok(if read? == 0 { Received::End } else { self.next() })
    }

    /// Waits for something to read without sleeping, for a short time: waking up takes as long as a small chunk does.
    /// The thread yields the processor meanwhile.
    pub(super) fn linger(&self) {
        let begin = Instant::now();
        while begin.elapsed() < LINGERING {
            let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
            if poll(&mut polled, Some(&Timespec::default())) != Ok(0) {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Whether the other side is still there and silent, as it should be between calls.
    pub(super) fn is_idle(&self) -> bool {
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        self.received.is_empty() && poll(&mut polled, Some(&Timespec::default())) == Ok(0)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_in_order_and_nonsense_is_reported() {
        let (near, far) = UnixStream::pair().unwrap();
        let (mut near, mut far) = (Channel::new(near), Channel::new(far));
        let long = vec![7; 100_000];
        near.send(1, b"one").unwrap();
        near.send(2, &long).unwrap();
        let mut seen = Vec::new();
        let mut received = far.read().unwrap();
        while seen.len() < 2 {
            received = match received {
                Received::Message(call, message) => {
                    seen.push((call, message));
                    far.next()
                }
                Received::Part => far.read().unwrap(),
                Received::End | Received::Nonsense => panic!(),
            };
        }
        assert_eq!(seen, [(1, b"one".to_vec()), (2, long)]);
        assert!(far.is_idle());
        near.socket.write_all(b"printed by a plugin").unwrap();
        assert!(!far.is_idle());
        assert!(matches!(far.read().unwrap(), Received::Nonsense));
        drop(near);
        assert!(matches!(far.read().unwrap(), Received::End));
        assert!(!far.is_idle());
    }
}

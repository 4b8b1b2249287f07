//! The cost of a message: TCP over the loopback of this host.
//!
//! A client sends a message of some size and waits for an answer of one byte. Each side measures
//! the CPU time of its own thread. A round of a side costs one message plus one byte the other way.
//! The cost of one byte is taken as a quarter of the CPU time of both sides in rounds of one byte
//! both ways; it is subtracted. Loopback has no adapter, no interrupt and no line. Part of the
//! receiver's work is done in the sender's time, so the sum of both costs is more reliable than
//! either.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use cpu_time::ThreadTime;
use foretell_core::calibrate::cost::Point;
use foretell_units::Bytes;

use super::codecs::SIZES;
use super::stopwatch::{RUNS, Stopwatch, median};
use crate::failure::Failure;

/// Timeout of a message over loopback.
const PATIENCE: Duration = Duration::from_secs(10);

/// Cost of messages for the sending and the receiving side, by size.
pub(crate) struct MessageCosts {
    pub(crate) send: Vec<Point>,
    pub(crate) receive: Vec<Point>,
}

/// Measures messages. The inner error is the reason why this host has no loopback.
pub(crate) fn message_costs(
    stopwatch: &Stopwatch,
) -> Result<Result<MessageCosts, io::Error>, Failure> {
    stopwatch.announce("messages over loopback")?;
    Ok(rounds(stopwatch.operations()).map(|rounds| {
        // the first entry is of rounds of one byte
        let (client, server) = rounds[0];
        let one_byte = (client + server) / 4.0;
        let sizes = SIZES.iter().map(|size| size.get() as f64);
        let rounds = sizes.zip(&rounds[1..]);
        let (send, receive) = rounds
            .map(|(size, (client, server))| {
                let less = |ns: f64| (size, (ns - one_byte).max(0.0));
                (less(*client), less(*server))
            })
            .unzip();
        MessageCosts { send, receive }
    }))
}

/// CPU time of a round in nanoseconds, for client and server, by size; one byte comes first.
fn rounds(count: u32) -> Result<Vec<(f64, f64)>, io::Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (mut stream, _) = listener.accept()?;
            side(&mut stream, count, |stream, message| {
                stream.read_exact(message)?;
                stream.write_all(&[1])
            })
        });
        let mut stream = TcpStream::connect(address)?;
        let client = side(&mut stream, count, |stream, message| {
            stream.write_all(message)?;
            stream.read_exact(&mut [0])
        });
        drop(stream); // so that a server left alone ends
        let server = server.join().expect("the server does not panic")?;
        Ok(client?.into_iter().zip(server).collect())
    })
}

/// The rounds of one side: the median of several runs of `count` rounds, by size.
fn side(
    stream: &mut TcpStream,
    count: u32,
    round: impl Fn(&mut TcpStream, &mut [u8]) -> io::Result<()>,
) -> io::Result<Vec<f64>> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut message = vec![0; SIZES[SIZES.len() - 1].get() as usize];
    let mut medians = Vec::new();
    for size in std::iter::once(Bytes(1)).chain(SIZES) {
        let message = &mut message[..size.get() as usize];
        let mut runs = Vec::new();
        // the first run opens the TCP window and does not count
        for _ in 0..=RUNS {
            let start = ThreadTime::now();
            for _ in 0..count {
                round(stream, message)?;
            }
            runs.push(start.elapsed().as_nanos() as f64 / f64::from(count));
        }
        medians.push(median(&mut runs[1..]));
    }
    Ok(medians)
}

//! The program that an agent's CLI starts as its MCP server: diffsan itself, as a pipe between the CLI and the running
//! diffsan. It knows nothing but the way there, and ends with its input.

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use super::serve::{NONCE, SOCKET};
use crate::config::Environment;

/// Time for the last answer after the input has ended.
const GRACE: Duration = Duration::from_millis(300);
const CHUNK: usize = 64 * 1024;

/// Pipes until either side ends; the exit code.
pub fn run(env: &Environment) -> u8 {
    match pipe(env) {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "diffsan: the reading tools cannot be reached: {error}");
            1
        }
    }
}

fn pipe(env: &Environment) -> io::Result<()> {
    let (Some(socket), Some(nonce)) = (env.get(SOCKET), env.get(NONCE)) else {
        return Err(io::Error::other("this command is started by an agent that diffsan has started"));
    };
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(format!("{nonce}\n").as_bytes())?;
    let input = stream.try_clone()?;
    thread::spawn(move || {
        let _ = copy(&mut io::stdin().lock(), &mut &input);
        let _ = input.shutdown(Shutdown::Write);
        thread::sleep(GRACE);
        let _ = input.shutdown(Shutdown::Both);
    });
    copy(&mut stream, &mut io::stdout().lock())
}

/// Everything as it comes: nobody waits for a buffer to fill.
fn copy(from: &mut impl io::Read, to: &mut impl io::Write) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&buffer[..count])?;
                to.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

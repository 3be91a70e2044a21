//! The contents of git's objects, many at a time: one `cat-file --batch` that stays for as long as it is asked.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::ChildStdout;

use super::git::{Git, GitError, Staying};

/// Most questions that are on their way: together they fit into a pipe, so that neither side waits for the other.
const AHEAD: usize = 400;
const BUFFER: usize = 256 * 1024;

/// A git that hands out objects.
#[derive(Debug)]
pub struct Objects {
    git: Staying,
    answers: BufReader<ChildStdout>,
    object: Vec<u8>,
}

impl Objects {
    pub fn open(git: &Git) -> Result<Self, GitError> {
        let (git, answers) = git.stay(&["--no-replace-objects", "cat-file", "--batch"])?;
        Ok(Self { git, answers: BufReader::with_capacity(BUFFER, answers), object: Vec::new() })
    }

    /// Hands each object of `ids` to `take`, in their order, with its place there: `None` for one that is not here or
    /// has more than `most` bytes. `take` says whether to go on.
    pub fn each(
        &mut self,
        ids: &[&str],
        most: u64,
        mut take: impl FnMut(usize, Option<&[u8]>) -> bool,
    ) -> io::Result<()> {
        let mut wanted = true;
        for (chunk, ids) in ids.chunks(AHEAD).enumerate() {
            if !wanted {
                break;
            }
            let mut questions = String::with_capacity(ids.len() * 65);
            for id in ids {
                questions.push_str(id);
                questions.push('\n');
            }
            self.git.stdin.write_all(questions.as_bytes())?;
            self.git.stdin.flush()?;
            for place in 0..ids.len() {
                // What was asked for is read even when nobody wants it, so that the next answer is the next object's.
                let found = self.read(most)?;
                if wanted {
                    let object = found.then_some(self.object.as_slice());
                    wanted = take(chunk * AHEAD + place, object);
                }
            }
        }
        Ok(())
    }

    /// One object.
    pub fn get(&mut self, id: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let mut found = None;
        self.each(&[id], most, |_, object| {
            found = object.map(<[u8]>::to_vec);
            true
        })?;
        Ok(found)
    }

    /// `ID TYPE SIZE`, the bytes and a line break; or `ID missing`.
    fn read(&mut self, most: u64) -> io::Result<bool> {
        let mut head = Vec::with_capacity(96);
        self.answers.by_ref().take(4096).read_until(b'\n', &mut head)?;
        let head = String::from_utf8_lossy(&head);
        if head.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut words = head.trim_end().rsplit(' ');
        let Some(size) = words.next().and_then(|word| word.parse::<u64>().ok()) else { return Ok(false) };
        let fits = size <= most && words.next() == Some("blob");
        self.object.clear();
        if fits {
            self.answers.by_ref().take(size).read_to_end(&mut self.object)?;
        } else {
            io::copy(&mut self.answers.by_ref().take(size), &mut io::sink())?;
        }
        let mut end = [0];
        self.answers.read_exact(&mut end)?;
        if (fits && self.object.len() as u64 != size) || end != *b"\n" {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(fits)
    }
}

//! Which part of a review a job takes: `--shard I/N`, or GitLab's own numbers of a parallel job.

use std::str::FromStr;

use crate::config::Environment;
use crate::error::{Error, Failure, Result};

/// GitLab starts no more jobs in parallel.
pub const MOST_PARTS: u32 = 200;

/// One part of several; counts from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: u32,
    of: u32,
}

impl Shard {
    /// The part, or why there is none such.
    pub fn new(part: u32, of: u32) -> Result<Self, String> {
        match (part, of) {
            (_, 0) => Err("a review has at least one part".into()),
            (_, of) if of > MOST_PARTS => Err(format!("a review has at most {MOST_PARTS} parts")),
            (0, of) => Err(format!("parts count from 1: the first one is 1/{of}")),
            (part, of) if part > of => Err(format!("there is no part {part} of {of}: the last one is {of}/{of}")),
            (part, of) => Ok(Self { part, of }),
        }
    }

    pub fn part(self) -> u32 {
        self.part
    }

    pub fn of(self) -> u32 {
        self.of
    }

    /// The part's folder: artifacts of parallel jobs are unpacked side by side.
    pub fn folder(self) -> String {
        format!("part-{}-of-{}", self.part, self.of)
    }

    /// The part whose folder has this name.
    pub fn of_folder(name: &str) -> Option<Self> {
        let (part, of) = name.strip_prefix("part-")?.split_once("-of-")?;
        let shard = Self::new(number(part)?, number(of)?).ok()?;
        (shard.folder() == name).then_some(shard)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

/// A part as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The one that GitLab's variables name.
    Auto,
    Of(Shard),
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        let numbers = text.split_once('/').and_then(|(part, of)| Some((number(part)?, number(of)?)));
        let (part, of) = numbers.ok_or("it is neither `auto` nor two numbers such as 2/4")?;
        Shard::new(part, of).map(Self::Of)
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Of(shard) => shard.fmt(f),
        }
    }
}

impl Share {
    /// The part itself. A job without `parallel` is the only part.
    pub fn resolve(self, env: &Environment) -> Result<Shard> {
        if let Self::Of(shard) = self {
            return Ok(shard);
        }
        let (index, total) = (env.get("CI_NODE_INDEX"), env.get("CI_NODE_TOTAL"));
        let shard = match (index, total) {
            (None, Some("1")) => Shard::new(1, 1),
            (Some(index), Some(total)) => match number(index).zip(number(total)) {
                Some((part, of)) => Shard::new(part, of),
                None => Err(format!("CI_NODE_INDEX is `{index}` and CI_NODE_TOTAL is `{total}`")),
            },
            _ => Err("CI_NODE_INDEX and CI_NODE_TOTAL are not set".into()),
        };
        shard.map_err(|why| {
            Error::Config(
                Failure::new(format!("--shard auto: it is not known which part this job takes: {why}"))
                    .help("give the job `parallel: N`, or name the part: `--shard 2/4`"),
            )
        })
    }
}

/// Digits only: no sign, no spaces.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_typed_as_two_numbers_or_auto() {
        let of = |part, of| Share::Of(Shard { part, of });
        for (text, meant) in [("2/4", of(2, 4)), ("1/1", of(1, 1)), ("200/200", of(200, 200)), ("AUTO", Share::Auto)] {
            assert_eq!(text.parse(), Ok(meant), "{text}");
        }
        for text in
            ["", "x", "4", "0/4", "5/4", "1/0", "0/0", "-1/4", "+1/4", " 1/4", "1/4/4", "1/201", "1/99999999999"]
        {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_folder_names_its_part_and_no_other_folder_does() {
        let shard = Shard { part: 3, of: 12 };
        assert_eq!(Shard::of_folder(&shard.folder()), Some(shard));
        for name in ["part-0-of-4", "part-5-of-4", "part-01-of-4", "part-1-of-", "part-1", "xpart-1-of-4", ".diffsan"] {
            assert_eq!(Shard::of_folder(name), None, "{name}");
        }
    }
}

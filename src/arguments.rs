//! The command line as people type it: a command's flags may stand before its name too.

use std::ffi::OsString;

use clap::CommandFactory as _;

use crate::cli::Cli;

/// The arguments with the flags that stand before a command moved behind its name.
pub fn ordered(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let args: Vec<OsString> = args.into_iter().collect();
    let command = Cli::command();
    let is_command = |word: &str| command.get_subcommands().any(|known| known.get_name() == word) || word == "help";
    let mut at = 1;
    while let Some(word) = args.get(at).and_then(|word| word.to_str()) {
        if is_command(word) {
            let mut moved = vec![args[0].clone(), args[at].clone()];
            moved.extend_from_slice(&args[1..at]);
            moved.extend_from_slice(&args[at + 1..]);
            return moved;
        }
        if word == "--" || !word.starts_with('-') || word == "-" {
            break;
        }
        at += if takes_next(&command, word) { 2 } else { 1 };
    }
    args
}

/// Whether the flag's value is the next word.
fn takes_next(command: &clap::Command, word: &str) -> bool {
    let takes = |arg: &&clap::Arg| arg.get_action().takes_values();
    match word.strip_prefix("--") {
        Some(long) if long.contains('=') => false,
        Some(long) => command.get_arguments().filter(takes).any(|arg| arg.get_long() == Some(long)),
        None => {
            let last = word.chars().last();
            command.get_arguments().filter(takes).any(|arg| arg.get_short().is_some() && arg.get_short() == last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_before_a_command_belong_to_it() {
        for (typed, meant) in [
            ("diffsan -q inspect", "diffsan inspect -q"),
            ("diffsan --config x.toml config", "diffsan config --config x.toml"),
            ("diffsan --config config config", "diffsan config --config config"),
            ("diffsan --workdir=w -v post w", "diffsan post --workdir=w -v w"),
            ("diffsan --ci --agent builtin", "diffsan --ci --agent builtin"),
            ("diffsan inspect -q", "diffsan inspect -q"),
            ("diffsan --base inspect", "diffsan --base inspect"),
            ("diffsan -- inspect", "diffsan -- inspect"),
            ("diffsan", "diffsan"),
        ] {
            let words = ordered(typed.split(' ').map(OsString::from));
            assert_eq!(words, meant.split(' ').map(OsString::from).collect::<Vec<_>>(), "{typed}");
        }
    }
}

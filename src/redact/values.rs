//! Whether a value keeps what its name promises: a secret, or something that only stands where one could.

use super::assign::Form;
use super::chance::{entropy, is_ragged, is_random, surprise};
use super::names::{PASSWORD_WORDS, Promise};
use super::words::Words;
use super::{filter, steps};

/// More than this of a value says nothing new about it.
const ENOUGH: usize = 1024;

/// Whether a value given to such a name is a secret.
pub(super) fn keeps(promise: Promise, form: Form, name: &[u8], value: &[u8]) -> bool {
    let value = &value[..value.len().min(ENOUGH)];
    steps::add(value.len());
    if value.len() < 3
        || filter::is_placeholder(value)
        || filter::is_sequence(value)
        || filter::is_version(value)
        || filter::is_regex(value)
        || filter::contains(value, b"@sha256:")
        || filter::is_escaped(value) && !has_substance(value)
        || promise != Promise::Password && filter::is_labelled_digest(value)
    {
        return false;
    }
    if form != Form::Quoted && filter::is_expression(value) {
        return false;
    }
    if value.eq_ignore_ascii_case(name) || is_hash_of(name) && filter::is_hex_digest(value) {
        return false;
    }
    match promise {
        Promise::Password => is_password(form, value),
        Promise::Secret | Promise::Key => is_key(form, value, promise),
        Promise::Weak => is_strong(form, value),
    }
}

/// More than signs, when the escapes are undone.
fn has_substance(value: &[u8]) -> bool {
    percent_encoding::percent_decode(value).filter(u8::is_ascii_alphanumeric).count() >= 4
}

/// `hashed_secret`: what a scanner's own records keep of a secret.
fn is_hash_of(name: &[u8]) -> bool {
    let words = Words::of(name);
    words.slices().iter().any(|word| matches!(*word, b"hashed" | b"hash" | b"digest"))
}

fn is_password(form: Form, value: &[u8]) -> bool {
    let traits = Traits::of(value);
    if value.len() < 4 || traits.spaces > 0 && !(matches!(form, Form::Quoted | Form::Element) && is_phrase(value)) {
        return false;
    }
    if traits.spaces > 0 {
        return true;
    }
    if filter::is_written(value) && (traits.digits < 4 || value.iter().any(|b| !b.is_ascii_digit())) {
        return false;
    }
    let simple = traits.digits == 0 && traits.symbols == 0;
    // Labels in other scripts, and calls that a bare value runs into.
    let foreign = value.iter().filter(|b| !b.is_ascii()).count();
    if foreign * 2 > value.len() && traits.digits == 0 && traits.symbols == foreign
        || form != Form::Quoted
            && memchr::memchr(b'(', value).is_some()
            && value[0].is_ascii_alphabetic()
            && memchr::memchr(b'.', value).is_some()
    {
        return false;
    }
    let hex = value.len() >= 16 && traits.only_hex(value) && traits.digits > 0;
    match form {
        Form::Doubtful => {
            traits.digits == 0 && traits.symbols > 0 && is_drawn_mix(value)
                || (!is_name_like(value) || is_ragged(value))
                    && (traits.digits > 0
                        && traits.letters() > 0
                        && (traits.symbols > 0 || hex || is_random(value))
                        && value.len() >= 6)
        }
        Form::Spoken => is_said(value, &traits),
        Form::Bare if simple => value.len() >= 5 && !is_word_list(value) && !is_type_like(value),
        Form::Quoted | Form::Element if simple => {
            let identifier = traits.upper > 0 && traits.lower > 0 && is_camel(value) && surprise(value) < 4.4;
            value.len() >= 5 && !is_word_list(value) && !is_type_like(value) && !identifier
        }
        _ => (!is_dotted_name(value) || is_ragged(value)) && !is_word_list(value) && !is_versioned_label(value),
    }
}

/// In a sentence most words are words: a password has figures and letters, or letters that no word has.
fn is_said(value: &[u8], traits: &Traits) -> bool {
    const SHORTEST: usize = 6;
    const FIGURES: usize = 2;
    if value.len() < SHORTEST || is_standard(value) || value.iter().any(|b| matches!(b, b'(' | b'/' | b'{' | b'<')) {
        return false;
    }
    if traits.letters() == 0 {
        return value.iter().all(u8::is_ascii_digit);
    }
    if traits.digits == 0 {
        let drawn = value.split(|b| !b.is_ascii_alphabetic()).any(is_drawn) || is_drawn_mix(value);
        return drawn && !is_word_list(value);
    }
    let signs = value.iter().filter(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'-' | b'.' | b':')).count();
    let joints = value.iter().filter(|b| matches!(b, b'-' | b'_')).count();
    let phrase = joints >= FIGURES && value.len() >= 10;
    signs > 0 || phrase || is_ragged(value) || is_random(value) || traits.digits >= FIGURES && value.len() >= 8
}

/// `SHA-256`, `RFC7617`, `HTTP/1.1`, `PBKDF2-HMAC-SHA512`: capitals and numbers that name a standard.
fn is_standard(value: &[u8]) -> bool {
    let word = |word: &[u8]| {
        let letters = word.iter().take_while(|b| b.is_ascii_uppercase()).count();
        (2..=7).contains(&letters) && word[letters..].iter().all(|b| b.is_ascii_digit()) && word.len() <= letters + 5
            || word.iter().all(|b| b.is_ascii_digit() || *b == b'.')
    };
    value.first().is_some_and(u8::is_ascii_uppercase) && value.split(|b| matches!(b, b'-' | b'/' | b'_')).all(word)
}

/// `user.password.v2`: a label with a number in it.
fn is_versioned_label(value: &[u8]) -> bool {
    let letters: Vec<u8> = value.iter().copied().filter(|b| !b.is_ascii_digit()).collect();
    is_versioned_name(value) && is_word_list(&letters)
}

fn is_key(form: Form, value: &[u8], promise: Promise) -> bool {
    let traits = Traits::of(value);
    if traits.spaces > 0 || value.len() < 8 {
        return false;
    }
    if filter::is_written(value) || is_dotted_name(value) || is_word_list(value) {
        return false;
    }
    if matches!(form, Form::Doubtful | Form::Spoken) && (value.len() < 16 || is_name_like(value)) {
        return false;
    }
    if traits.only_hex(value) && value.len() >= 16 && traits.digits > 0 {
        return entropy(value) >= 2.5;
    }
    if filter::is_uuid(value) {
        return true;
    }
    if value.len() >= 12 && is_random(value) {
        return true;
    }
    let mixed = traits.digits > 0 && traits.letters() > 0;
    match promise {
        Promise::Secret if traits.digits == 0 => form == Form::Quoted && traits.symbols > 0 && is_drawn_mix(value),
        Promise::Secret => {
            mixed
                && (value.len() >= 8)
                && (traits.symbols > 0
                    || traits.upper > 0 && traits.lower > 0
                    || traits.digits >= 2
                    || value.len() >= 12)
                && !is_versioned_name(value)
        }
        _ => mixed && value.len() >= 12 && traits.digits >= 2 && !is_versioned_name(value),
    }
}

fn is_strong(form: Form, value: &[u8]) -> bool {
    let traits = Traits::of(value);
    if traits.spaces > 0 || value.len() < 16 || matches!(form, Form::Doubtful | Form::Spoken) && is_name_like(value) {
        return false;
    }
    if filter::is_written(value)
        || is_dotted_name(value)
        || filter::is_hex_digest(value)
        || filter::is_uuid(value)
        || traits.only_hex(value)
    {
        return false;
    }
    (traits.digits > 0 || value.len() >= 20)
        && traits.letters() > 0
        && is_random(value)
        && entropy(value) >= 3.3
        && traits.symbols * 5 <= value.len()
}

/// Several words that are a passphrase rather than a sentence about one.
fn is_phrase(value: &[u8]) -> bool {
    const SENTENCE: [&[u8]; 34] = [
        b"the",
        b"a",
        b"an",
        b"is",
        b"are",
        b"be",
        b"to",
        b"of",
        b"for",
        b"your",
        b"you",
        b"must",
        b"not",
        b"and",
        b"or",
        b"in",
        b"with",
        b"please",
        b"enter",
        b"at",
        b"least",
        b"de",
        b"passe",
        b"no",
        b"new",
        b"has",
        b"was",
        b"will",
        b"this",
        b"that",
        b"if",
        b"on",
        b"password",
        b"characters",
    ];
    let lower = value.to_ascii_lowercase();
    let words: Vec<&[u8]> = lower.split(|b| *b == b' ').filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| SENTENCE.contains(word)) || value.ends_with(b":") || value.ends_with(b".") {
        return false;
    }
    let is_mixed = |word: &&[u8]| {
        word.iter().any(u8::is_ascii_digit)
            && word.iter().any(u8::is_ascii_alphabetic)
            && word.iter().all(u8::is_ascii_graphic)
    };
    let drawn = words.iter().any(is_mixed) && words.len() <= 8;
    let plain = words.len() >= 4 && words.len() <= 8 && value.iter().all(|b| b.is_ascii_lowercase() || *b == b' ');
    (drawn || plain) && !is_word_list(value)
}

/// `some_name2`, `SomeName`: an identifier rather than a drawn value.
fn is_name_like(value: &[u8]) -> bool {
    let hex = value.len() >= 16
        && value.iter().all(u8::is_ascii_hexdigit)
        && value.iter().filter(|b| b.is_ascii_digit()).count() >= 3;
    !hex && value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$')) && !is_random(value)
}

/// `auth.login.title`, `user-token`, `a/b/c`: written words with separators.
fn is_dotted_name(value: &[u8]) -> bool {
    let separators = value.iter().filter(|b| matches!(b, b'.' | b'-' | b'_' | b'/' | b':')).count();
    separators > 0
        && value.iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'.' | b'-' | b'_' | b'/' | b':'))
        && !(value.len() >= 16 && is_random(value))
        && !value.split(|b| !b.is_ascii_alphabetic()).any(is_drawn)
        && !is_drawn_mix(value)
}

/// Letters that nobody writes as a word: `hPxLu`, `xkqzv`.
fn is_drawn(word: &[u8]) -> bool {
    const SURPRISING: f32 = 5.3;
    word.len() >= 5
        && (is_ragged(word)
            || has_odd_case(word)
            || surprise(word) >= SURPRISING && !word.iter().all(u8::is_ascii_uppercase))
}

/// Capitals where no notation of names puts them: `BrmizW`, `EyPLda`. `userID`, `HTTPServer` and `getById` are written.
fn has_odd_case(word: &[u8]) -> bool {
    let (mut at, mut odd) = (0, 0);
    while at < word.len() {
        let upper = word[at..].iter().take_while(|b| b.is_ascii_uppercase()).count();
        let lower = word[at + upper..].iter().take_while(|b| b.is_ascii_lowercase()).count();
        let ends = at + upper + lower >= word.len();
        odd += match (upper, lower) {
            (0, 0) => return false,
            (1, 0) => 2 * usize::from(at > 0),
            // Short words are written, too; not many of them.
            (1, 1) => usize::from(at > 0 || !ends),
            (0 | 1, _) | (_, 0) => 0,
            // An acronym is followed by a word.
            (_, 1 | 2) => 2,
            _ => 2 * usize::from(at > 0 && upper > 3),
        };
        at += upper + lower;
    }
    odd > 1
}

/// Letters and signs without a figure, drawn as a whole: no word of it need be long enough to tell.
fn is_drawn_mix(value: &[u8]) -> bool {
    const LETTERS: usize = 9;
    const SURPRISING: f32 = 4.9;
    let letters: Vec<u8> = value.iter().filter(|b| b.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect();
    let both = value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    letters.len() >= LETTERS && both && surprise(&letters) >= SURPRISING
}

/// `token-v2`, `oauth2/access-token`, `api_key_1`: a written name with a number in it.
fn is_versioned_name(value: &[u8]) -> bool {
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let separators = value.iter().filter(|b| matches!(b, b'.' | b'-' | b'_' | b'/' | b':')).count();
    digits <= 2
        && separators > 0
        && value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b':'))
        && !is_random(value)
}

/// Words with nothing else but separators, one of which is a word of this trade: a label, an identifier, a message key.
fn is_word_list(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    if lower.iter().any(u8::is_ascii_digit) {
        return false;
    }
    const TRADE: [&[u8]; 14] = [
        b"password",
        b"passwd",
        b"passphrase",
        b"token",
        b"secret",
        b"credential",
        b"auth",
        b"login",
        b"user",
        b"example",
        b"please",
        b"enter",
        b"invalid",
        b"placeholder",
    ];
    value
        .iter()
        .all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b'.' | b' ' | b':' | b'?' | b'!' | b'/' | b','))
        && TRADE.iter().any(|word| filter::contains(&lower, word))
}

fn is_camel(value: &[u8]) -> bool {
    value.windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()).count() > 0
}

fn is_type_like(value: &[u8]) -> bool {
    const TYPES: [&[u8]; 52] = [
        b"string",
        b"text",
        b"varchar",
        b"bytes",
        b"integer",
        b"number",
        b"boolean",
        b"object",
        b"array",
        b"optional",
        b"required",
        b"forbidden",
        b"hidden",
        b"plain",
        b"plaintext",
        b"basic",
        b"digest",
        b"bearer",
        b"oauth",
        b"oauth2",
        b"none",
        b"null",
        b"undefined",
        b"false",
        b"disabled",
        b"enabled",
        b"default",
        b"inherit",
        b"always",
        b"never",
        b"prompt",
        b"stdin",
        b"keyring",
        b"vault",
        b"write",
        b"readonly",
        b"nullable",
        b"secret",
        b"static",
        b"const",
        b"return",
        b"props",
        b"input",
        b"value",
        b"fields",
        b"email",
        b"username",
        b"admin",
        b"strict",
        b"unless",
        b"method",
        b"latest",
    ];
    let lower = value.to_ascii_lowercase();
    TYPES.contains(&lower.as_slice()) || PASSWORD_WORDS.contains(&lower.as_slice())
}

#[derive(Default)]
struct Traits {
    digits: usize,
    lower: usize,
    upper: usize,
    spaces: usize,
    symbols: usize,
}

impl Traits {
    fn of(value: &[u8]) -> Self {
        let mut traits = Self::default();
        for byte in value {
            match byte {
                b'0'..=b'9' => traits.digits += 1,
                b'a'..=b'z' => traits.lower += 1,
                b'A'..=b'Z' => traits.upper += 1,
                b' ' | b'\t' => traits.spaces += 1,
                _ => traits.symbols += 1,
            }
        }
        traits
    }

    fn letters(&self) -> usize {
        self.lower + self.upper
    }

    fn only_hex(&self, value: &[u8]) -> bool {
        value.iter().all(u8::is_ascii_hexdigit)
    }
}

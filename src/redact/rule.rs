//! What a rule is: a name, a shape to look for, and the samples that prove it.

/// One kind of secret. `rules.rs` holds them all, as data.
#[derive(Debug)]
pub(super) struct Rule {
    /// Upper-snake and stable: it appears in `redaction.json`.
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// The least Shannon entropy (bits per character) of the secret; 0.0 asks for none.
    pub(super) entropy: f32,
    /// Patterns on the secret's value: one that matches says "not a secret".
    pub(super) allow: &'static [&'static str],
    /// Lines that hold a secret, with the secret that must go. Like the misses, no part of the program.
    #[cfg(test)]
    pub(super) hits: &'static [(&'static str, &'static str)],
    /// Lines that must stay as they are.
    #[cfg(test)]
    pub(super) misses: &'static [&'static str],
}

/// How a secret is recognised, cheapest first.
#[derive(Debug)]
pub(super) enum Shape {
    /// A literal, case-sensitive prefix and a run of characters after it. The secret is both. The byte
    /// before the prefix is not a letter or digit; the whole run of `body` characters is taken and must be
    /// within `len` (which counts the run, without the prefix).
    Prefixed { prefixes: &'static [&'static str], body: Charset, len: (usize, usize) },
    /// A value with nothing to recognise it by but the name it is assigned to: the identifier holds one of
    /// the lower-case `keywords` (compared without `_`, `-`, `.` and case) and the value has this shape.
    Assigned { keywords: &'static [&'static str], value: Charset, len: (usize, usize) },
    /// Anything else. Capture group 1, if there is one, is the secret, else the whole match is.
    Pattern {
        /// Lower-case literals of at least 3 bytes; one of them must be on the line.
        keywords: &'static [&'static str],
        /// Byte semantics, no Unicode: `\w` is ASCII. Bounded repeats only.
        regex: &'static str,
        /// The keyword may stand up to two lines away.
        near: bool,
    },
}

/// The characters a secret is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charset {
    /// `0-9a-f`
    HexLower,
    /// `0-9A-F`
    HexUpper,
    /// `0-9a-fA-F`
    Hex,
    /// `a-z0-9`
    Lower,
    /// `A-Z0-9`
    Upper,
    /// `A-Z2-7`
    Base32,
    /// `A-Za-z0-9`
    Alnum,
    /// `A-Za-z0-9_`
    Word,
    /// `A-Za-z0-9_-`
    Token,
    /// `A-Za-z0-9_.-`; trailing dots are not taken.
    Dotted,
    /// `A-Za-z0-9+/=`
    Base64,
    /// `A-Za-z0-9+/=_-`
    AnyBase64,
    /// 8-4-4-4-12 hex digits; `len` is (36, 36).
    Uuid,
    /// Every visible ASCII character but quotes, backslash and back-tick.
    Visible,
}

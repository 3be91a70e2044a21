//! The last steps of a text on its way to GitLab: secrets go, then whatever could act is defused.

use super::sanitize::{self, Own, Sanitised};
use crate::redact::{Engine, Output};

/// The body as it is sent. A redaction can tear open what was closed (it may eat a backtick), so it never comes last.
pub fn body(engine: &Engine, text: &str, own: &Own) -> Sanitised {
    let redact = |text: &str| own.rewritten(text, |prose| engine.redact(Output::GitLab, prose).into_string());
    let mut body = sanitize::body(&redact(text), own);
    for _ in 0..MOST_ROUNDS {
        // Sanitising shows what was hidden, which may be a secret.
        let redacted = redact(body.as_str());
        if redacted == body.as_str() {
            break;
        }
        body = sanitize::body(&redacted, own);
    }
    body
}

const MOST_ROUNDS: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::post::oracle;
    use crate::post::sanitize::tests::hostile;

    /// A body that diffsan composed itself, in this process.
    fn composed(engine: &Engine, text: &str) -> Sanitised {
        body(engine, text, &Own::written_in(text, |_| true))
    }

    /// Secrets of every form that the engine knows from its text alone, whole and torn.
    fn secret() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "glpat-Zx81kQm3Lw09vTb7Rn5c",
            "password=`hunter2Hunter2xQ9`",
            "password = 'kQ8vTb7Rn5cZx81",
            "api_key: \"Zx81kQm3Lw09vTb7Rn5cAA",
            "token=Zx81kQm3Lw09vTb7Rn5c`",
            "-----BEGIN RSA PRIVATE KEY-----\n",
            "-----END RSA PRIVATE KEY-----",
            "MIIEowIBAAKCAQEAx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm\n",
            "https://user:Zx81kQm3Lw09vTb7@h.example/",
            "Authorization: Bearer Zx81kQm3Lw09vTb7Rn5c",
            "<!-- diffsan:finding:f-1 -->",
            "```suggestion:-0+0\n",
        ])
    }

    /// Any order of secrets and what Markdown is made of.
    fn with_secrets() -> impl Strategy<Value = String> {
        prop::collection::vec((hostile(), secret()), 1..6)
            .prop_map(|parts| parts.into_iter().flat_map(|(text, secret)| [text, secret.to_owned()]).collect())
    }

    /// A body as diffsan composes it from somebody's text.
    fn composed_of(text: &str) -> String {
        format!(
            "**[correctness/high]**\n\n{}\n\n<details><summary><b>low</b> style: <code>a.rs</code>:3</summary>\n\n{}\n\n\
             </details>\n\n```suggestion:-1+0\nlet a = 1;\n```\n\n<!-- diffsan:finding:f-1 -->",
            sanitize::markdown(text).text,
            sanitize::line(text).text
        )
    }

    #[test]
    fn a_redaction_that_eats_a_backtick_makes_nothing_live() {
        let engine = Engine::builtin([]);
        for text in [
            "`token=Zx81kQm3Lw09vTb7Rn5c` and `@all`",
            "`x -----BEGIN RSA PRIVATE KEY-----`\n\n```\n@all ![x](https://e.example/p.png)\n```\n/close",
            "```\n-----BEGIN RSA PRIVATE KEY-----\nabc\n```\n\n```\n/close\n@all\n```",
        ] {
            let composed = composed_of(text);
            let sent = composed_and_checked(&engine, &composed);
            assert!(sent.ends_with("\n\n<!-- diffsan:finding:f-1 -->"), "{sent}");
        }
        let torn = engine.redact(Output::GitLab, &sanitize::markdown(TORN).text).into_string();
        assert!(!oracle::live(&torn).is_empty(), "the attack works where redaction comes last: {torn}");
        assert_eq!(oracle::live(composed(&engine, TORN).as_str()), Vec::<String>::new());
    }

    const TORN: &str = "password=`hunter2Hunter2xQ9` and `@all`";

    fn composed_and_checked(engine: &Engine, text: &str) -> String {
        let sent = composed(engine, text);
        assert_eq!(oracle::live(sent.as_str()), Vec::<String>::new(), "{text:?} -> {:?}", sent.as_str());
        assert_eq!(composed(engine, sent.as_str()), sent, "{text:?}");
        sent.into_string()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_sent_holds_still_and_does_nothing_whatever_was_redacted(text in with_secrets()) {
            let engine = Engine::builtin([]);
            let sent = composed_and_checked(&engine, &composed_of(&text));
            prop_assert!(sent.ends_with("<!-- diffsan:finding:f-1 -->"), "{:?}", sent);
            prop_assert_eq!(sent.matches("<!-- diffsan:").count(), 1, "{:?}", sent);
        }

        #[test]
        fn a_body_from_anywhere_holds_still_and_does_nothing(text in with_secrets()) {
            let engine = Engine::builtin([]);
            let own = Own::written_in(&text, |value| value == "finding:f-1");
            let sent = body(&engine, &text, &own);
            prop_assert_eq!(oracle::live(sent.as_str()), Vec::<String>::new(), "{:?}", sent.as_str());
            prop_assert_eq!(sanitize::body(sent.as_str(), &own), sent);
        }
    }
}

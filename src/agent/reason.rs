//! Why a program failed, as far as its user can do something about it: known by the words that the programs and their
//! servers use.

/// What is in the user's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    NotLoggedIn,
    KeyRefused,
    UnknownModel,
    QuotaUsedUp,
    Unreachable,
    OutOfBudget,
}

/// Words that tell a reason, the most telling first.
const WORDS: &[(Reason, &[&str])] = &[
    (
        Reason::NotLoggedIn,
        &[
            "not logged in",
            "please run /login",
            "missing environment variable",
            "auth method",
            "manual authorization is required",
            "must specify the gemini_api_key",
            "when using vertex ai, you must specify",
            "api key is missing",
            "no api key",
            "could not resolve authentication",
            "missing bearer",
            "you didn't provide an api key",
            "agent login",
            "not authenticated",
        ],
    ),
    (
        Reason::UnknownModel,
        &[
            "model_not_found",
            "does not exist or you do not have access",
            "issue with the selected model",
            "is not found for api version",
            "model not found",
            "modelnotfound",
            "unknown model",
            "provider that it does not know",
            "invalid model",
        ],
    ),
    (Reason::OutOfBudget, &["error_max_budget_usd", "maximum budget"]),
    (
        Reason::QuotaUsedUp,
        &[
            "quota",
            "credit balance",
            "usage limit",
            "rate limit",
            "rate_limit",
            "status: 429",
            "status 429",
            "too many requests",
            "resource_exhausted",
        ],
    ),
    (
        Reason::KeyRefused,
        &[
            "invalid x-api-key",
            "api key not valid",
            "invalid api key",
            "incorrect api key",
            "api_key_invalid",
            "authentication_error",
            "unauthorized",
            "status 401",
            "status 403",
            "failed to authenticate",
            "token has expired",
            "refresh token",
        ],
    ),
    (
        Reason::Unreachable,
        &[
            "econnrefused",
            "connection refused",
            "connectionrefused",
            "enotfound",
            "eai_again",
            "etimedout",
            "econnreset",
            "fetch failed",
            "unable to connect",
            "cannot connect to api",
            "error sending request",
            "connection error",
            "stream disconnected",
            "could not resolve host",
            "network error",
            "self signed certificate",
            "self-signed certificate",
            "unable to verify the first certificate",
        ],
    ),
];

/// The reason behind a program's words; none when they tell nothing that is in the user's hands.
pub(super) fn find(said: &str) -> Option<Reason> {
    let said = said.to_lowercase();
    WORDS.iter().find(|(_, words)| words.iter().any(|word| said.contains(word))).map(|(reason, _)| *reason)
}

impl Reason {
    /// What happened, as the end of "agent `codex` …".
    pub(super) fn what(self, model: Option<&str>) -> String {
        match (self, model) {
            (Self::NotLoggedIn, _) => "is not logged in".into(),
            (Self::KeyRefused, _) => "was turned away by its model server: the key or the login is not valid".into(),
            (Self::UnknownModel, Some(model)) => format!("cannot use the model `{model}`: its server does not have it"),
            (Self::UnknownModel, None) => "cannot use its model: its server does not have it".into(),
            (Self::QuotaUsedUp, _) => "was turned away by its model server: the quota or the credit is used up".into(),
            (Self::Unreachable, _) => "cannot reach its model server".into(),
            (Self::OutOfBudget, _) => "has spent what agent.max_cost_usd allows".into(),
        }
    }

    /// What to do about it.
    pub(super) fn help(self, keys: &[&str]) -> String {
        let keys = keys.join(" or ");
        match self {
            Self::NotLoggedIn => format!(
                "set {keys}; in CI as a masked variable (a protected one is empty in pipelines of unprotected branches)"
            ),
            Self::KeyRefused => format!("check the value of {keys}, and the address it is sent to"),
            Self::UnknownModel => "set agent.model (--model) to a name that the server has".into(),
            Self::QuotaUsedUp => "wait, or raise the limit at the provider; agent.model can name a cheaper model".into(),
            Self::Unreachable => {
                "check the address, HTTPS_PROXY and NO_PROXY; for a private certificate authority set NODE_EXTRA_CA_CERTS \
                 and SSL_CERT_FILE"
                    .into()
            }
            Self::OutOfBudget => "raise agent.max_cost_usd, or show the agent less (limits.max_diff_chars)".into(),
        }
    }

    /// The same run may succeed later without any change.
    pub(super) fn passes(self) -> bool {
        matches!(self, Self::QuotaUsedUp | Self::Unreachable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the programs themselves were seen to print: codex 0.166.0, claude 2.1.197, gemini 0.61.0, opencode 1.18.33.
    #[test]
    fn the_programs_own_words_tell_what_the_user_can_do() {
        use Reason::{KeyRefused, NotLoggedIn, OutOfBudget, QuotaUsedUp, UnknownModel, Unreachable};
        let cases = [
            ("Missing environment variable: `DIFFSAN_OPENAI_API_KEY`.", NotLoggedIn),
            ("unexpected status 401 Unauthorized: Missing bearer or basic authentication in header", NotLoggedIn),
            ("Not logged in \u{b7} Please run /login", NotLoggedIn),
            ("When using Gemini API, you must specify the GEMINI_API_KEY environment variable.", NotLoggedIn),
            ("Manual authorization is required but the current session is non-interactive.", NotLoggedIn),
            ("Please set an Auth method in your settings.json or specify one of the following", NotLoggedIn),
            ("The model `no-such` does not exist or you do not have access to it.", UnknownModel),
            (
                "There's an issue with the selected model (no-such). It may not exist or you may not have access to it.",
                UnknownModel,
            ),
            (
                "models/no-such is not found for API version v1beta, or is not supported for generateContent.",
                UnknownModel,
            ),
            ("Quota exceeded. Check your plan and billing details.", QuotaUsedUp),
            ("Credit balance is too low", QuotaUsedUp),
            ("You have exhausted your daily quota on this model.", QuotaUsedUp),
            ("You exceeded your current quota, please check your plan and billing details.", QuotaUsedUp),
            ("exceeded retry limit, last status: 429 Too Many Requests", QuotaUsedUp),
            ("unexpected status 401 Unauthorized: Incorrect API key provided: s.", KeyRefused),
            ("Invalid API key \u{b7} Fix external API key", KeyRefused),
            (r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}"#, KeyRefused),
            ("Connection failed: error sending request", Unreachable),
            ("API Error: Unable to connect to API (ConnectionRefused)", Unreachable),
            ("exception TypeError: fetch failed sending request", Unreachable),
            ("Cannot connect to API: Unable to connect. Is the computer able to access the url?", Unreachable),
            ("error_max_budget_usd", OutOfBudget),
        ];
        for (said, want) in cases {
            assert_eq!(find(said), Some(want), "{said}");
        }
        for said in ["", "segmentation fault", "We're currently experiencing high demand"] {
            assert_eq!(find(said), None, "{said}");
        }
    }
}

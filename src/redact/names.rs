//! What a name promises about its value; `values` tells whether the value keeps it.

use super::words::Words;

/// The rules of generic assignments, by what the name says.
pub(super) const PASSWORD: &str = "GENERIC_PASSWORD_ASSIGNMENT";
pub(super) const SECRET: &str = "GENERIC_SECRET_ASSIGNMENT";
pub(super) const API_KEY: &str = "GENERIC_API_KEY_ASSIGNMENT";
pub(super) const WEAK: &str = "GENERIC_CREDENTIAL_ASSIGNMENT";

/// How much a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Promise {
    /// `key`, `auth`, `salt`, `session`: often something else.
    Weak,
    /// `api_key`, `access_key`, `encryption_key`: a drawn value.
    Key,
    /// `secret`, `token`, `credentials`: a drawn value, most often.
    Secret,
    /// `password`: any value, however simple.
    Password,
}

impl Promise {
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::Weak => WEAK,
            Self::Key => API_KEY,
            Self::Secret => SECRET,
            Self::Password => PASSWORD,
        }
    }
}

/// The words whose presence makes a line worth reading for assignments. Lower-case, at least 3 bytes.
#[rustfmt::skip]
pub(super) static TRIGGERS: &[&str] = &[
    "pass", "pw:", "pw=", "pw ", "pwd", "secret", "token", "key", "auth", "cred", "psk", "salt", "signature",
    "session", "cookie", "bearer", "jwt", "hmac", "passcode", "senha", "contrase", "kennwort",
    "dsn", "webhook", "seed", "pin_code", "otp", "_pat", "pat_", "_pw", "pw_", "dbpw", "userpw",
    "account_sid", "connectionstring", "connection_string", "license", "-pw", "pepper", "cipher",
    "sas", "encrypt", "signing", "consumer", "wpa", "community", "storepass", "nonce", "private",
    "root_pw", "mdp", "haslo", "passe", "\u{be44}\u{bc00}\u{bc88}\u{d638}", "密码", "口令", "пароль",
    "パスワード", "wachtwoord", "parola", "heslo", "salasana", "hasło",
];

/// What `name` promises, or nothing. Names are compared by their words: `valkey` is no key.
pub(super) fn promise(name: &[u8]) -> Option<Promise> {
    // `-Dpassword=` of Java, `-PrepoPassword=` of Gradle.
    let is_define = matches!(name, [b'-', b'D' | b'P', next, ..] if next.is_ascii_lowercase());
    let name = if is_define { &name[2..] } else { name };
    let mut words = Words::of(name);
    words.drop_suffixes();
    let words = words.slices();
    let last = *words.last()?;
    let has = |word: &[u8]| words.contains(&word);
    if words.ends_with(&[b"secret", b"id"]) || words.len() > 1 && last == b"salt" {
        return Some(Promise::Secret);
    }
    if last == b"code" && words.iter().any(|word| CODE_WORDS.contains(word)) {
        return Some(Promise::Secret);
    }
    if is_about(last) {
        return None;
    }
    if last == b"auth" && words.iter().any(|word| matches!(*word, b"redis" | b"rediscli" | b"npm" | b"registry")) {
        return Some(Promise::Secret);
    }
    let is_password = |word: &&[u8]| PASSWORD_WORDS.contains(word) && (!is_short(word) || *word == last);
    if words.iter().rev().take(3).any(is_password) {
        const RULES: [&[u8]; 8] = [b"public", b"min", b"max", b"length", b"policy", b"regex", b"pattern", b"validator"];
        return (!words.iter().any(|word| RULES.contains(word))).then_some(Promise::Password);
    }
    // A secret word beats a public one.
    if words.iter().any(|word| SECRET_WORDS.contains(word)) {
        return Some(Promise::Secret);
    }
    let open = words.iter().any(|word| OPEN_WORDS.contains(word));
    if words.iter().any(|word| TOKEN_WORDS.contains(word)) {
        return (!open && !words.iter().any(|word| PAGE_WORDS.contains(word))).then_some(Promise::Secret);
    }
    let of_key = |word: &&[u8]| {
        word.strip_suffix(b"key").or(word.strip_suffix(b"keys")).is_some_and(|head| KEY_WORDS.contains(&head))
    };
    if has(b"key") || has(b"keys") || words.iter().any(&of_key) {
        let qualified = words.iter().any(|word| KEY_WORDS.contains(word) || of_key(word));
        return match (open, qualified) {
            (true, _) => None,
            (false, true) => Some(Promise::Key),
            (false, false) if words.iter().any(|word| PUBLIC_WORDS.contains(word)) => None,
            (false, false) => Some(if words.len() > 1 && last == b"key" { Promise::Key } else { Promise::Weak }),
        };
    }
    if open || words.iter().any(|word| PUBLIC_WORDS.contains(word) || PAGE_WORDS.contains(word)) {
        return None;
    }
    let weak = |word: &&[u8]| WEAK_WORDS.contains(word) || *word == b"cookie" && words.len() > 1 && !has(b"set");
    words.iter().any(weak).then_some(Promise::Weak)
}

/// Words that are also others: they say something only at the end of a name (`db_pass`, not `pass_by_value`).
fn is_short(word: &[u8]) -> bool {
    matches!(word, b"pass" | b"pw" | b"psk" | b"mdp" | b"passe" | b"passw")
}

/// Last words that make the name one about a secret, not of it.
#[rustfmt::skip]
fn is_about(word: &[u8]) -> bool {
    matches!(
        word,
        b"id" | b"ids" | b"name" | b"names" | b"url" | b"uri" | b"path" | b"paths" | b"file" |
        b"files" | b"filename" | b"dir" | b"length" | b"len" | b"size" | b"type" | b"types" |
        b"field" | b"fields" | b"label" | b"hint" | b"prompt" | b"message" | b"msg" | b"title" |
        b"error" | b"errors" | b"policy" | b"regex" | b"regexp" | b"pattern" | b"placeholder" |
        b"expiry" | b"expires" | b"expiration" | b"expire" | b"ttl" | b"timeout" | b"enabled" |
        b"disabled" | b"required" | b"count" | b"min" | b"max" | b"limit" | b"limits" | b"input" |
        b"form" | b"column" | b"header" | b"headers" | b"prefix" | b"suffix" | b"param" |
        b"params" | b"strength" | b"link" | b"endpoint" | b"provider" | b"manager" | b"service" |
        b"class" | b"format" | b"version" | b"algorithm" | b"alg" | b"status" | b"index" |
        b"store" | b"storage" | b"mode" | b"method" | b"ref" | b"arn" | b"at" | b"ms" |
        b"seconds" | b"days" | b"hours" | b"age" | b"date" | b"time" | b"issuer" | b"audience" |
        b"scope" | b"scopes" | b"bits" | b"env" | b"var" | b"board" | b"code" | b"codes" |
        b"down" | b"up" | b"press" | b"event" | b"frame" | b"frames" | b"map" | b"list" | b"set" |
        b"view" | b"page" | b"button" | b"icon" | b"color" | b"selector" |
        b"component" | b"usage" | b"words" | b"word" | b"map_name" | b"group" | b"role" |
        b"fingerprint" | b"checksum" | b"sha" | b"sha256" | b"sha1" | b"md5" | b"digest" |
        b"integrity" | b"etag" | b"uuid" | b"guid" | b"manager_name" | b"validator" | b"reset" |
        b"rotation" | b"source" | b"backend" | b"engine" | b"kind" | b"description" | b"example" |
        b"docs" | b"help" | b"attempts" | b"retries" | b"check" | b"checker" | b"changed"
    )
}

#[rustfmt::skip]
pub(super) static PASSWORD_WORDS: &[&[u8]] = &[
    b"password", b"passwd", b"pwd", b"passwort", b"passphrase", b"pass", b"pw", b"passcode",
    b"senha", b"contrasena", b"kennwort", b"passwords", b"requirepass", b"masterauth",
    b"userpass", b"dbpass", b"dbpassword", b"dbpwd", b"userpassword", b"rootpassword",
    b"adminpassword", b"mypassword", b"storepass", b"keypass", b"storepassword", b"keypassword",
    b"mdp", b"haslo", "\u{be44}\u{bc00}\u{bc88}\u{d638}".as_bytes(), "密码".as_bytes(),
    "口令".as_bytes(), "пароль".as_bytes(), "パスワード".as_bytes(), "contraseña".as_bytes(),
    "hasło".as_bytes(), b"wachtwoord", b"parola", b"heslo", b"salasana", b"passe", b"psk",
    b"wpapsk", b"passw", b"pswd", b"pssword", b"userpwd", b"bindpw", b"rootpw", b"dbpw",
    b"sshpass", b"smtppass", b"ldappassword", b"pgpassword", b"authpassword", b"loginpassword",
];

#[rustfmt::skip]
pub(super) static SECRET_WORDS: &[&[u8]] = &[
    b"secret", b"secrets", b"credential", b"credentials", b"creds", b"cred",
    b"apisecret", b"clientsecret", b"appsecret", b"authtoken", b"accesstoken", b"apitoken",
    b"bottoken", b"secretkey", b"refreshtoken", b"bearertoken", b"usertoken", b"sessiontoken",
    b"secretaccesskey", b"hmac", b"sharedsecret", b"jwtsecret",
    b"tokensecret", b"pepper", b"authtok", b"bindtok",
];

/// Words that are secrets unless the name is one of paging or of something open.
#[rustfmt::skip]
static TOKEN_WORDS: &[&[u8]] = &[b"token", b"jwt", b"bearer", b"pat", b"community"];

/// Tokens that everybody may see: where a list goes on, which form was sent.
#[rustfmt::skip]
static PAGE_WORDS: &[&[u8]] = &[
    b"page", b"pagination", b"continuation", b"next", b"previous", b"sync", b"csrf", b"xsrf",
    b"syntax", b"lexer", b"parser", b"grammar", b"num", b"max", b"min",
];

/// What says that a value is meant to be seen.
#[rustfmt::skip]
static OPEN_WORDS: &[&[u8]] = &[b"public", b"pub", b"publishable", b"pubkey", b"pubkeys", b"publickey", b"pubkeyhash"];

/// `auth_code`, `pin_code`: codes that let somebody in.
#[rustfmt::skip]
static CODE_WORDS: &[&[u8]] = &[b"auth", b"access", b"pin", b"security", b"verification", b"authorization"];

/// Words that make a `key` one to keep.
#[rustfmt::skip]
pub(super) static KEY_WORDS: &[&[u8]] = &[
    b"api", b"access", b"secret", b"private", b"auth", b"encryption", b"encrypt", b"signing",
    b"sign", b"master", b"shared", b"account", b"app", b"client", b"service", b"admin",
    b"license", b"storage", b"session", b"cookie", b"cipher", b"aes", b"hmac", b"jwt", b"crypto",
    b"deploy", b"subscription", b"consumer", b"server", b"write", b"read", b"integration",
    b"instrumentation", b"user", b"security", b"stripe", b"sendgrid", b"mailgun", b"openai",
    b"webhook", b"ssh", b"host", b"pre", b"root", b"data", b"ingest", b"function", b"functions",
    b"x", b"merchant",
];

#[rustfmt::skip]
static WEAK_WORDS: &[&[u8]] = &[
    b"auth", b"salt", b"signature", b"session", b"sessionid", b"sid", b"webhook", b"seed", b"otp",
    b"license", b"cipher", b"sas", b"sig", b"signing", b"nonce", b"apikeys", b"encryption",
    b"dsn", b"private", b"consumer", b"encrypt", b"sessid", b"passkey", b"hash", b"hook", b"tokens",
];

/// Words that say the value may be seen.
#[rustfmt::skip]
static PUBLIC_WORDS: &[&[u8]] = &[
    b"keyboard", b"keyword", b"keywords", b"keypress",
    b"hotkey", b"shortcut", b"foreign", b"primary", b"partition", b"sort", b"cache", b"lookup",
    b"translation", b"i18n", b"checksum", b"integrity", b"digest", b"sha", b"sha1", b"sha256",
    b"sha512", b"md5", b"commit", b"revision", b"etag", b"fingerprint", b"thumbprint",
    b"keystore", b"truststore", b"bucket", b"object", b"cursor", b"websocket", b"idempotency",
    b"dedup", b"deduplication", b"metadata", b"dictionary", b"resource",
];

/// Whether the last word of the name says that the value is about a secret, whatever else the name holds.
pub(super) fn is_about_only(name: &[u8]) -> bool {
    let words = Words::of(name);
    let words = words.slices();
    is_public_id(name)
        || words.last().is_some_and(|last| {
            matches!(*last, b"commit" | b"rev" | b"revision" | b"hash")
                || is_about(last) && !matches!(*last, b"id" | b"code" | b"url" | b"sid" | b"uuid" | b"guid")
        })
}

/// `client_id`, `projectId`: the half of a pair that everybody may know.
fn is_public_id(name: &[u8]) -> bool {
    const IDS: [&[u8]; 18] = [
        b"clientid",
        b"appid",
        b"applicationid",
        b"projectid",
        b"accountid",
        b"zoneid",
        b"orgid",
        b"organizationid",
        b"tenantid",
        b"teamid",
        b"workspaceid",
        b"siteid",
        b"serviceid",
        b"environmentid",
        b"subscriptionid",
        b"portalid",
        b"userid",
        b"channelid",
    ];
    let compact: Vec<u8> =
        name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    IDS.iter().any(|id| compact.ends_with(id))
}

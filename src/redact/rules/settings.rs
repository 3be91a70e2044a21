//! Settings and calls that hold a secret under a name of their own.

use super::super::rule::Charset::{AnyBase64, HexLower, Uuid};
use super::super::rule::Rule;
use super::{assigned, nearby, pattern};

pub(super) static RULES: &[Rule] = &[
    // Framework settings.

    pattern(
        "ASPNET_MACHINE_KEY",
        &["validationkey", "decryptionkey"],
        r#"(?i)(?:validation|decryption)key\s{0,3}=\s{0,3}["\x27]([0-9A-F]{32,128})["\x27]"#,
    )
        .hits(&[
            (r#"<machineKey validationKey="9D052D72916E861369E84855B74E78843A4BA59DC57320E0A8C92BB083DB465D1509193AFCB4BB3B71445EC8EA3BCC2D58C9B561DBB0AA032C79AC6FE6500D69" validation="HMACSHA256" />"#, "9D052D72916E861369E84855B74E78843A4BA59DC57320E0A8C92BB083DB465D1509193AFCB4BB3B71445EC8EA3BCC2D58C9B561DBB0AA032C79AC6FE6500D69"),
            (r#"  decryptionKey="51A6F214CDBC50214C062D25AE5EE0CA7B41E29533D0B5744794FD8EE2314256""#, "51A6F214CDBC50214C062D25AE5EE0CA7B41E29533D0B5744794FD8EE2314256"),
        ])
        .misses(&[r#"<machineKey validationKey="AutoGenerate,IsolateApps" />"#]),
    pattern(
        "JENKINS_STORED_SECRET",
        &["{aqaaab"],
        r"\{AQAAAB[0-9A-Za-z+/]{20,}={0,2}\}",
    )
        .hits(&[
            ("  <password>{AQAAABAAAAAQ0USBe08j7ncIfLtA7dluapcWylTBOuYfgEvM5nRZW8zUW8tr+inlxBWzkwH/B1b=}</password>", "{AQAAABAAAAAQ0USBe08j7ncIfLtA7dluapcWylTBOuYfgEvM5nRZW8zUW8tr+inlxBWzkwH/B1b=}"),
            ("<secret>{AQAAABAAAAAgTD921ThxNuTLAaD4FGBd6XACFr2LtiO7p00JBhpm9h67/qjNrxjYYzaRWJVVSs1=}</secret>", "{AQAAABAAAAAgTD921ThxNuTLAaD4FGBd6XACFr2LtiO7p00JBhpm9h67/qjNrxjYYzaRWJVVSs1=}"),
        ])
        .misses(&["<password>{AQAAAB}</password>"]),
    pattern(
        "MAVEN_STORED_SECRET",
        &["<master>{", "<password>{", "<passphrase>{"],
        r"<(?:master|password|passphrase)>(\{[0-9A-Za-z+/]{20,}={0,2}\})</",
    )
        .entropy(3.0)
        .hits(&[
            ("  <master>{zgBbHK1gOwF1zt2dHH9R1HifHzWITJab2aXEuzHKNS6pnzMbuPdQr0h0TidIszT=}</master>", "{zgBbHK1gOwF1zt2dHH9R1HifHzWITJab2aXEuzHKNS6pnzMbuPdQr0h0TidIszT=}"),
            ("<password>{MwGYUoEwcYqfmpovugFlwW7hoEqB6nUAEYbWo4PKIFk=}</password>", "{MwGYUoEwcYqfmpovugFlwW7hoEqB6nUAEYbWo4PKIFk=}"),
        ])
        .misses(&["<password>{env.PASSWORD}</password>"]),
    assigned("RAILS_KEY_BASE", &["keybase", "pepper", "secretkeybase", "dbkeybase", "otpkeybase"], HexLower, (30, 128))
        .hits(&[
            (r#"db_key_base = "faff6d18221b651c27014f937a4e18dc12b249a4092f5532668a8bb607dde1ecd5c122f074156fea4cbccf7ece090ec40d380fea9bab115ce9090017c35c636d""#, "faff6d18221b651c27014f937a4e18dc12b249a4092f5532668a8bb607dde1ecd5c122f074156fea4cbccf7ece090ec40d380fea9bab115ce9090017c35c636d"),
            ("PEPPER=e696a0c762a65f77ff39d29eafe5bf556db8dbc44c57a833d935e8deb89ee428c1f49465e3f7ff418b0658f7169bfa71ae8d9406dc94bb2762aa54e19bc1a38b", "e696a0c762a65f77ff39d29eafe5bf556db8dbc44c57a833d935e8deb89ee428c1f49465e3f7ff418b0658f7169bfa71ae8d9406dc94bb2762aa54e19bc1a38b"),
        ])
        .misses(&[r#"db_region = "eu-central-1""#]),
    pattern(
        "PHOENIX_SALT",
        &["signing_salt", "encryption_salt"],
        r#"(?:signing|encryption)_salt["\x27]?\s{0,3}(?:=>|[:=])\s{0,3}["\x27]([0-9A-Za-z+/=_-]{8,64})["\x27]"#,
    )
        .hits(&[
            (r#"  plug Plug.Session, store: :cookie, key: "_shop_key", signing_salt: "8ZF9HtC4""#, "8ZF9HtC4"),
            (r#"key: "_app", signing_salt: "qL2r4Tz8""#, "qL2r4Tz8"),
        ])
        .misses(&[r#"signing_salt: System.fetch_env!("SALT")"#]),
    assigned("VAULT_SECRET_ID", &["secretid", "vaultsecretid"], Uuid, (36, 36))
        .hits(&[
            (r#"  "secret_id": "ee4f1856-db4d-4d3b-8dfd-b1feab3e4217","#, "ee4f1856-db4d-4d3b-8dfd-b1feab3e4217"),
            (r#"vault_secret_id = "07dce8f8-2515-4239-bf29-ed1a9d958df2""#, "07dce8f8-2515-4239-bf29-ed1a9d958df2"),
        ])
        .misses(&[r#"secret_region = "eu-central-1""#]),
    nearby(
        "MAGENTO_CRYPT_KEY",
        &["'crypt'", r#""crypt""#],
        r#"["\x27]key["\x27]\s{0,3}=>\s{0,3}["\x27]([0-9a-f]{32}|base64[0-9A-Za-z+/=]{40,50})["\x27]"#,
    )
        .hits(&[
            ("'crypt' => ['key' => '8a90f93b4c0f7bf23650734d943c8dab'],", "8a90f93b4c0f7bf23650734d943c8dab"),
            (r#""crypt" => [ "key" => "db4b923810b67929474572c5a98025f8" ],"#, "db4b923810b67929474572c5a98025f8"),
        ])
        .misses(&["'crypt' => ['key' => $key],"]),
    assigned("EVENT_ROUTING_KEY", &["routingkey", "integrationkey", "servicekey"], HexLower, (32, 32))
        .hits(&[
            ("routing_key: ee7613cf22168d9e97288f790b307eee", "ee7613cf22168d9e97288f790b307eee"),
            (r#"  "service_key": "35ae4cdce44921ed7160db9a5628d4d9","#, "35ae4cdce44921ed7160db9a5628d4d9"),
        ])
        .misses(&[r#"routing_key = "orders.created""#]),
    pattern(
        "JUPYTER_PASSWORD_HASH",
        &["sha1:", "sha256:", "argon2:"],
        r"(?:sha1|sha256):([0-9a-f]{12,16}:[0-9a-f]{40,64})\b",
    )
        .hits(&[
            ("c.NotebookApp.hash = u'sha1:a041b7e8db61:9ebfdea75c8eeb4013373b6c4c9ba970036fe103'", "a041b7e8db61:9ebfdea75c8eeb4013373b6c4c9ba970036fe103"),
            ("jupyter: sha256:756ed0882ccc:00095a53d3ee57b9c1d0c2f1b24190e154d9317cee2dfb3a75e9d7c5814042c2", "756ed0882ccc:00095a53d3ee57b9c1d0c2f1b24190e154d9317cee2dfb3a75e9d7c5814042c2"),
        ])
        .misses(&["image: web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]),
    pattern(
        "CONSUL_GOSSIP_KEY",
        &["encrypt"],
        r#"\bencrypt["\x27]?\s{0,3}[:=]\s{0,3}["\x27]([0-9A-Za-z+/]{22}==|[0-9A-Za-z+/]{43}=)["\x27]"#,
    )
        .hits(&[
            (r#"encrypt = "jap0vKlJOprq5PcRjL6NDFcDrjwmUe5QJJSjJcu8bYF=""#, "jap0vKlJOprq5PcRjL6NDFcDrjwmUe5QJJSjJcu8bYF="),
            (r#"  "encrypt": "K1DtQ897aQzB1WgXGe06v+==","#, "K1DtQ897aQzB1WgXGe06v+=="),
        ])
        .misses(&[r#"encrypt = "true""#]),
    assigned("COOKIE_VALIDATION_KEY", &["encryptionkeybase64", "dataprotectionkey", "cookievalidationkey", "cookiesecret", "sessionsalt", "nextauthsecret"], AnyBase64, (16, 128))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("cookie_validation_key: yaakYJHg8mIsU5l4IWdvT5Yli30JIBhi", "yaakYJHg8mIsU5l4IWdvT5Yli30JIBhi"),
            (r#"  "data_protection_key": "DN4eKfDxDvEsZclxfN4wsK2Uzvfzkdm6","#, "DN4eKfDxDvEsZclxfN4wsK2Uzvfzkdm6"),
        ])
        .misses(&[r#"cookie_region = "eu-central-1""#]),

    // Calls that take a secret.

    pattern(
        "JWT_SIGN_CALL",
        &["jwt.sign", "jwt.verify", "jwt.encode", "jwt.decode", "jsonwebtoken"],
        r#"\bjwt\.(?:sign|verify|encode|decode)\((?:\{[^{}]{0,200}\}|[\w.$\[\]]{1,80}),\s{0,4}["\x27]([^"\x27\s]{8,200})["\x27]"#,
    )
        .entropy(2.8)
        .hits(&[
            ("const t = jwt.sign({ id: user.id }, 'VxcUsnqhPaSNOJHPIHAW5VkF3Kxt', { expiresIn: '1h' });", "VxcUsnqhPaSNOJHPIHAW5VkF3Kxt"),
            (r#"jwt.encode(payload, "nV17dQQjtE5bACku6PqMed5-0Vv4", algorithm="HS256")"#, "nV17dQQjtE5bACku6PqMed5-0Vv4"),
        ])
        .misses(&[
            "jwt.sign(payload, 'shhhhh')",
            r#"jwt.decode(token, options={"verify_signature": False})"#,
        ]),
    pattern(
        "COOKIE_PARSER_CALL",
        &["cookieparser(", "cookiesession(", "session({", "keygrip("],
        r#"(?:cookieParser|Keygrip)\(\[?\s{0,3}["\x27]([^"\x27\s]{8,200})["\x27]"#,
    )
        .entropy(2.8)
        .hits(&[
            ("app.use(cookieParser('2p5DRU2AIFSC7qclS0O7pDCj'));", "2p5DRU2AIFSC7qclS0O7pDCj"),
            ("new Keygrip(['lWljktuabRW8KfBDa4K9yKvD'])", "lWljktuabRW8KfBDa4K9yKvD"),
        ])
        .misses(&["app.use(cookieParser());"]),
    pattern(
        "OAUTH1_HANDLER_CALL",
        &["tweepy.", "oauth1session(", "oauth1(", "set_access_token("],
        r#"["\x27]((?:\d{10,20}-)?[0-9A-Za-z]{25,60})["\x27]"#,
    )
        .entropy(3.5)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("auth.set_access_token('4421611322566328904-snAdNso9j5FwFfEKh1mNweLcr0X0BT')", "4421611322566328904-snAdNso9j5FwFfEKh1mNweLcr0X0BT"),
            (r#"tweepy.OAuthHandler(KEY, "pm8AzNLq4uJtDxEhzH1HS6uYeFEwMPqqI5SQeMWUZB7GKfP2Rd")"#, "pm8AzNLq4uJtDxEhzH1HS6uYeFEwMPqqI5SQeMWUZB7GKfP2Rd"),
        ])
        .misses(&[r#"tweepy.Client("bearer_token")"#]),

    // Command lines.

    pattern(
        "SECRET_STORE_CLI",
        &["gh secret set", "glab variable set", "gh variable set", "secrets put", "fly secrets", "flyctl secrets", "doppler secrets", "heroku config:set", "config:set", "supabase secrets"],
        r#"(?:gh secret set|glab variable set|(?:fly|flyctl|doppler|supabase) secrets set|config:set)\s[^\n]{0,120}?(?:--body|--value|-b|-v|[A-Z][A-Z0-9_]{2,60}=)[ =]?["\x27]?([^\s"\x27$<{]{8,})"#,
    )
        .entropy(3.0)
        .hits(&[
            (r#"gh secret set DEPLOY --body "oSvHAypXJCfCEEvcAv8ZVf3QBTfy2rwJoMXaIsCp""#, "oSvHAypXJCfCEEvcAv8ZVf3QBTfy2rwJoMXaIsCp"),
            ("heroku config:set RAILS_MASTER=a9f31f47504b913d2d196d2cf82ae122", "a9f31f47504b913d2d196d2cf82ae122"),
        ])
        .misses(&[r#"gh secret set DEPLOY --body "$DEPLOY""#, "heroku config:set RAILS_ENV=staging"]),
    pattern(
        "WANDB_LOGIN",
        &["wandb login"],
        r"wandb login\s(?:[^\n]{0,60}\s)?([0-9a-f]{40})\b",
    )
        .hits(&[
            ("wandb login 4bcd927b86a3950524dc01e6a621770ca9cfb25c", "4bcd927b86a3950524dc01e6a621770ca9cfb25c"),
            ("RUN wandb login --relogin c93dba309f26bde54b15031c5712a3f1f8c7b0f3", "c93dba309f26bde54b15031c5712a3f1f8c7b0f3"),
        ])
        .misses(&["wandb login $WANDB"]),
    pattern(
        "CODECOV_UPLOAD",
        &["codecov"],
        r"codecov[^\n]{0,80}\s(?:-t|--token)[ =]([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
    )
        .hits(&[
            ("bash codecov.sh -t 1599c682-c005-4997-bada-ba13794d1a04", "1599c682-c005-4997-bada-ba13794d1a04"),
            ("./codecov upload-process -t dc8478f7-0775-4c85-9c8d-b5dece7ed602 -f c.xml", "dc8478f7-0775-4c85-9c8d-b5dece7ed602"),
        ])
        .misses(&["codecov -t ${CODECOV}"]),

    // More calls and commands.

    pattern(
        "HTTP_AUTH_TUPLE",
        &["http_auth", "basic_auth"],
        r#"(?:http_auth|basic_auth)\s{0,3}[=(]\s{0,3}\(?\s{0,3}["\x27][^"\x27]{0,80}["\x27]\s{0,3},\s{0,3}(?:Some\()?["\x27]([^"\x27\s]{4,200})["\x27]"#,
    )
        .allow(&["^(?i:pass|password|passwd|secret|test)$"])
        .hits(&[
            (r#"es = Elasticsearch(hosts, http_auth=("elastic", "3dAKSXjSk8xo"))"#, "3dAKSXjSk8xo"),
            (r#"    .basic_auth("admin", Some("nEjT1OrRJX1vNf7F"))"#, "nEjT1OrRJX1vNf7F"),
        ])
        .misses(&[".basic_auth(user, Some(password))"]),
    pattern(
        "GO_BYTES_SECRET",
        &["[]byte("],
        r#"(?i)(?:key|secret|salt|token|hmac)\w{0,30}\s{0,3}:?=\s{0,3}\[\]byte\(\s{0,3}["`]([^"`\s]{8,200})["`]"#,
    )
        .entropy(3.0)
        .allow(&["^[a-z:_./ -]+$"])
        .hits(&[
            (r#"	var jwtKey = []byte("TwCcRUwS6zG59G8hLEBam8rvB5QgcROz")"#, "TwCcRUwS6zG59G8hLEBam8rvB5QgcROz"),
            (r#"hmacSecret := []byte("lh1i7cDqDL9TW9SnsaptHMfF")"#, "lh1i7cDqDL9TW9SnsaptHMfF"),
        ])
        .misses(&[r#"key := []byte("user:id:prefix")"#]),
    pattern(
        "SSH_KEYGEN_PASSPHRASE",
        &["ssh-keygen"],
        r#"ssh-keygen\s[^\n]{0,120}?-[NP]\s{1,3}["\x27]?([^\s"\x27$-][^\s"\x27$]{3,80})"#,
    )
        .hits(&[
            (r#"ssh-keygen -t ed25519 -N "QJb12iPqQ1T9" -f k"#, "QJb12iPqQ1T9"),
            ("ssh-keygen -p -P c2tDwS4Ah9Cy -f k", "c2tDwS4Ah9Cy"),
        ])
        .misses(&[r#"ssh-keygen -t ed25519 -N "" -f k"#]),
    pattern(
        "OPENVPN_INLINE_LOGIN",
        &["auth-user-pass"],
        r"auth-user-pass\s{1,3}[\w.@-]{1,60}\s{1,3}(\S{4,80})",
    )
        .hits(&[
            ("auth-user-pass ann B7Zb0xU348G7", "B7Zb0xU348G7"),
            ("  auth-user-pass bob@example.com Zhv4bjFZyjRLrEeZ", "Zhv4bjFZyjRLrEeZ"),
        ])
        .misses(&["auth-user-pass /etc/openvpn/login.conf"]),
    pattern(
        "SQL_INSERT_PASSWORD",
        &["insert"],
        r#"(?i)insert\s{1,3}into\s{1,3}[\w."`\[\]]{1,80}\s{0,3}\([^()]{0,200}(?:passw(?:or)?d|pwd|pass)\w{0,20}["`\]]?\s{0,3}\)\s{0,3}values\s{0,3}\([^()]{0,}["\x27]([^"\x27()]{4,200})["\x27]\s{0,3}\)"#,
    )
        .entropy(2.0)
        .allow(&["^(?i:pass|password|passwd|secret|test|changeme)$"])
        .hits(&[
            ("INSERT INTO users (name, password) VALUES ('ann', 'Ea1dN3de9rpY');", "Ea1dN3de9rpY"),
            ("insert into `accounts` (`id`, `passwd`) values (1, 'K3RDBLY8LzjH')", "K3RDBLY8LzjH"),
        ])
        .misses(&["INSERT INTO users (name, password) VALUES (?, ?)"]),
    pattern(
        "PROSE_TOKEN",
        &["token **", "key **", "password **", "secret **", "token `", "key `", "password `", "secret `"],
        r"(?i)\b(?:token|key|password|secret)\s{1,2}(?:is\s{1,2})?(?:\*\*|`)([^\s*`]{12,200})(?:\*\*|`)",
    )
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_./:])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("Use token **pa9HKmNwa90hkg1Cq2kDEbcGIbOWI0wmQMGSUyi0** for staging", "pa9HKmNwa90hkg1Cq2kDEbcGIbOWI0wmQMGSUyi0"),
            ("the password `YcOe05rUzZYpOvI3Zf3J` still works", "YcOe05rUzZYpOvI3Zf3J"),
        ])
        .misses(&["set the key `spring.datasource.password` first"]),
    pattern(
        "ANSIBLE_PASSWORD_FILTER",
        &["password_hash"],
        r#"["\x27]([^"\x27\s]{4,80})["\x27]\s{0,3}\|\s{0,3}password_hash"#,
    )
        .hits(&[
            ("pw: {{ 'wSXrxM1pJX7a' | password_hash }}", "wSXrxM1pJX7a"),
            (r#"hash: "{{ 'QLLeTwwFYXgI' | password_hash }}""#, "QLLeTwwFYXgI"),
        ])
        .misses(&["pw: {{ user_pw | password_hash }}"]),

    // Tools with a syntax of their own.

    pattern(
        "NAGIOS_RESOURCE_MACRO",
        &["$user"],
        r"^\$USER\d{1,3}\$\s{0,3}=\s{0,3}([^\s/][^\s]{7,200})",
    )
        .entropy(2.8)
        .hits(&[
            ("$USER4$=k3Y0ycO9J0mx4fMq0bEPhX52", "k3Y0ycO9J0mx4fMq0bEPhX52"),
            ("$USER12$ = 5Jy6YcjqwO5MjVPDaRckSeb5", "5Jy6YcjqwO5MjVPDaRckSeb5"),
        ])
        .misses(&["$USER1$=/usr/lib/nagios/plugins"]),
    pattern(
        "ROBOT_INPUT_PASSWORD",
        &["input password", "input secret"],
        r"(?i)\binput (?:password|secret)\s{2,8}[^\s]{1,80}\s{2,8}([^\s$@%{][^\s]{3,100})",
    )
        .hits(&[
            ("    Input Password    id=pass    v7wESgNre4Pl2r", "v7wESgNre4Pl2r"),
            ("Input Password  name:pw  lYhXIiGtffNaUl", "lYhXIiGtffNaUl"),
        ])
        .misses(&["    Input Password    id=pass    ${PASSWORD}"]),
    pattern(
        "QEMU_SECRET_OBJECT",
        &["secret,"],
        r#"\bsecret,(?:[\w-]{1,20}=[\w./-]{1,60},){0,4}data=([^\s,"\x27$]{4,200})"#,
    )
        .hits(&[
            ("qemu-system-x86_64 -object secret,id=vncpw,data=M0poygu8bfdM7GDEcB", "M0poygu8bfdM7GDEcB"),
            ("-object secret,id=s0,format=raw,data=CVXggfyRPwXr", "CVXggfyRPwXr"),
        ])
        .misses(&["-object secret,id=s0,file=/run/key"]),
    pattern(
        "BASIC_AUTH_USER_TOKEN",
        &["-u ", "--user "],
        r#"(?:^|\s)(?:-u|--user)\s{1,3}["\x27]?([0-9A-Za-z_-]{20,200}):["\x27]?(?:\s|$)"#,
    )
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("curl https://api.example.com/v1/charges -u QHIT5jrhKaNyEMFx9FN4v8Og2d5fSP1:", "QHIT5jrhKaNyEMFx9FN4v8Og2d5fSP1"),
            (r#"  --user "NDQS6VcoTH97vNuWVhpwEOmmnYlySX4:" \"#, "NDQS6VcoTH97vNuWVhpwEOmmnYlySX4"),
        ])
        .misses(&["curl -u admin: https://x"]),
    pattern(
        "RAR_PASSWORD",
        &[" -hp"],
        r#"\s-hp([^\s"\x27$]{6,200})(?:\s|$)"#,
    )
        .entropy(2.5)
        .allow(&["^[a-z-]+$"])
        .hits(&[
            ("rar a -hp8qSZnLSzuGZHkocgZaac out.rar data/", "8qSZnLSzuGZHkocgZaac"),
            ("  -hpyF9J9il8Blj7h1m25oAY out.rar", "yF9J9il8Blj7h1m25oAY"),
        ])
        .misses(&["ls -hpartition"]),
];

//! Password files, password hashes, device settings and phrases.

use super::{PROSE, context};
use crate::redact::rule::Rule;
use crate::redact::rules;

pub(in crate::redact) static RULES: &[Rule] = &[
    context(
        "SNMP_COMMUNITY",
        &["snmp", "community"],
        r#"(?i)(?:\bsnmp(?:walk|get|set|bulkwalk|bulkget|getnext|trap|table|status|check)\b[^\n|]{0,100}?\s-c\s*|\bsnmp-server\s+community\s+|^\s*r[ow]community6?\s+|^\s*com2sec\s+\S+\s+\S+\s+|\bset\s+snmp\s+community\s+)["']?([^\s"'$<;-][^\s"';]{2,60})"#,
        &[
            ("snmpwalk -v2c -c Zx81kQm3 10.0.0.1", "Zx81kQm3"),
            ("snmp-server community Lw09vTb7 RO", "Lw09vTb7"),
            ("rocommunity Qm3Lw09v 10.0.0.0/8", "Qm3Lw09v"),
        ],
        &["snmpwalk -v2c -c public 10.0.0.1", "the community edition"],
    ),
    context(
        "CISCO_PASSWORD",
        &[
            "password 7",
            "password 5",
            "password 0",
            "password 8",
            "password 9",
            "secret 5",
            "secret 8",
            "secret 9",
            "secret 0",
            "secret 7",
            "key 7",
            "key 0",
            "key-string",
        ],
        r#"(?i)^\s*(?:enable|username\s+\S+(?:\s+privilege\s+\d+)?|line\s+\S+|neighbor\s+\S+|tacacs-server|radius-server\s+\S+\s+\S+)?\s*(?:password|secret|key|key-string)\s+[05789]\s+["']?([^\s"']{4,160})"#,
        &[
            (
                "enable secret 9 $9$Zx81kQm3Lw09vT$b7Rn5cZx81kQm3Lw09vTb7Rn5c",
                "$9$Zx81kQm3Lw09vT$b7Rn5cZx81kQm3Lw09vTb7Rn5c",
            ),
            ("username admin password 7 0822455D0A16", "0822455D0A16"),
        ],
        &["enable password"],
    ),
    context(
        "NETRC_PASSWORD",
        &["password ", "passwd "],
        r#"(?i)\b(?:login|user|account)\s+["']?\S+["']?\s+(?:(?:port|account)\s+\S+\s+)?(?:password|passwd)\s+["']?([^\s"'$<\\][^\s"'\\]{2,400})"#,
        &[
            ("machine api.example.com login ci password Zx81kQm3", "Zx81kQm3"),
            ("echo \"machine github.com login bot password Lw09vTb7\" > ~/.netrc", "Lw09vTb7"),
        ],
        &["machine api.example.com login $USER password $PW", "the login page password field"],
    ),
    context(
        "PGPASS_LINE",
        &[":5432:", ":5433:", ":6432:", ":*:"],
        r#"(?:^|["'\s])[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,64}:[\w.*@-]{1,64}:([^\s:"'$\\][^\s"'\\]{2,200})"#,
        &[("db.internal:5432:app:app_rw:Zx81kQm3", "Zx81kQm3"), ("*:*:*:postgres:Lw09vTb7", "Lw09vTb7")],
        &["localhost:5432:5432", "host:*:80"],
    ),
    context(
        "BCRYPT_HASH",
        &["$2a$", "$2b$", "$2y$", "$2x$"],
        r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}",
        &[(
            "admin:$2y$10$Zx81kQm3Lw09vTb7Rn5cOuZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw0",
            "$2y$10$Zx81kQm3Lw09vTb7Rn5cOuZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw0",
        )],
        &["cost $2y$10$"],
    ),
    context(
        "CRYPT_HASH",
        &["$apr1$", "$1$", "$5$", "$6$", "$y$", "$7$", "$8$", "$9$", "$gy$"],
        r"\$(?:apr1|1|5|6|y|7|8|9|gy)\$(?:rounds=\d+\$)?[./A-Za-z0-9$=,]{2,64}\$[./A-Za-z0-9]{20,100}",
        &[
            (
                "root:$6$Zx81kQm3$Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQ:19000:0",
                "$6$Zx81kQm3$Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQ",
            ),
            ("bob:$apr1$Zx81kQm3$Lw09vTb7Rn5cZx81kQm3L.", "$apr1$Zx81kQm3$Lw09vTb7Rn5cZx81kQm3L."),
        ],
        &["cut -d: -f$1$2", "root:*:19000:0"],
    ),
    context(
        "ARGON2_HASH",
        &["$argon2", "$scrypt$", "pbkdf2_sha", "pbkdf2-sha", "scram-sha-256$", "bcrypt_sha256$", "$pbkdf2"],
        r"(?:\$argon2(?:id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$|\$scrypt\$ln=\d+,r=\d+,p=\d+\$|\$?pbkdf2[_-]sha\d+\$\d+\$|SCRAM-SHA-256\$\d+:|bcrypt_sha256\$\$2b\$\d+\$)[A-Za-z0-9+/=.$:]{20,300}",
        &[
            (
                "hash = \"$argon2id$v=19$m=65536,t=3,p=4$Zx81kQm3Lw09vTb7$Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5\"",
                "$argon2id$v=19$m=65536,t=3,p=4$Zx81kQm3Lw09vTb7$Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5",
            ),
            (
                "pbkdf2_sha256$260000$Zx81kQm3Lw09$vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb=",
                "pbkdf2_sha256$260000$Zx81kQm3Lw09$vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb=",
            ),
        ],
        &["algorithm = pbkdf2_sha256"],
    ),
    context(
        "LDAP_PASSWORD_HASH",
        &["{ssha", "{sha}", "{smd5}", "{crypt}", "{sha512}", "{sha256}", "{pbkdf2"],
        r"\{(?i:S?SHA(?:256|512)?|SMD5|MD5|CRYPT|PBKDF2[A-Z0-9-]*)\}([A-Za-z0-9+/=.$]{13,200})",
        &[("userPassword: {SSHA}Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09", "Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09")],
        &["format {sha} of it"],
    ),
    context(
        "WIFI_PSK",
        &["psk", "wpa_", "wifi ", "keymaterial", "nmcli"],
        r#"(?i)(?:\bwpa_passphrase\s+["']?[^\s"']{1,32}["']?\s+|\bwifi-sec\.psk\s+|<keyMaterial>|\bnmcli\b[^\n]{0,200}?\spassword\s+)["']?([^\s"'$<]{8,63})"#,
        &[
            ("wpa_passphrase HomeNet Zx81kQm3Lw", "Zx81kQm3Lw"),
            ("nmcli dev wifi connect HomeNet password Lw09vTb7", "Lw09vTb7"),
        ],
        &["nmcli dev wifi connect HomeNet password $PSK"],
    ),
    context(
        "MNEMONIC_PHRASE",
        &["mnemonic", "seed", "phrase", "recovery", "bip39", "wallet"],
        r#"(?i)(?:mnemonic|seed|phrase|recovery|bip39|wallet)[\w"'\]\) ]{0,40}\s*(?:[:=,(]|=>)\s*[&\w]{0,8}\(?["'`]?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b"#,
        &[(
            "mnemonic: \"ripple lamp velvet orbit candy magnet tunnel fossil glove spray anchor mimic\"",
            "ripple lamp velvet orbit candy magnet tunnel fossil glove spray anchor mimic",
        )],
        &["phrase: \"short text here\""],
    ),
    context(
        "IRC_IDENTIFY",
        &["nickserv"],
        r#"(?i)\bnickserv\b[^\n]{0,20}?\bidentify\s+(?:\S+\s+)??["']?([^\s"'$<%{]{4,60})["']?\s*(?:$|["'\\)])"#,
        &[("/msg NickServ identify Zx81kQm3", "Zx81kQm3")],
        &["/msg NickServ identify <password>"],
    ),
    context(
        "ORACLE_EASY_CONNECT",
        &["connect "],
        r#"(?i)(?:^|[\s;"'])conn(?:ect)?\s+[\w$]{1,30}/["']?([^\s"'@/;$&]{4,60})["']?@[\w./:-]{2,}"#,
        &[("CONNECT scott/Zx81kQm3@db1", "Zx81kQm3")],
        &["connect a/b/c"],
    ),
    context(
        "ODBC_PASSWORD",
        &["pwd=", "password=", "pwd ="],
        r#"(?i)(?:^|[;"'\s{])(?:pwd|password|userpassword)\s*=\s*\{?([^;"'\s<>{}$&)]{3,128})\}?\s*(?:;|["'`]|$)"#,
        &[
            ("\"Driver={SQL Server};Server=db;UID=sa;PWD=Zx81kQm3;\"", "Zx81kQm3"),
            ("Data Source=db;User Id=app;Password=Lw09vTb7", "Lw09vTb7"),
        ],
        &["Driver={SQL Server};UID=sa;PWD={0};", "pwd=$(pwd)"],
    ),
    context(
        "SNMP_CREATE_USER",
        &["createuser"],
        r#"(?:\bcreateUser\s+\S+\s+)?(?:MD5|SHA\S{0,4}|AES\d{0,3}|DES)\s+["']([^"'$]{8,60})["']"#,
        &[("createUser ops SHA \"Zx81kQm3Lw\" AES \"Lw09vTb7Rn\"", "Zx81kQm3Lw")],
        &["createUser ops SHA"],
    ),
    context(
        "MACHINE_KEY",
        &["validationkey", "decryptionkey"],
        r#"(?i)\b(?:validation|decryption)Key\s*=\s*["']([0-9A-F]{32,256})["']"#,
        &[(
            "<machineKey validationKey=\"0A1B2C3D4E5F60718293A4B5C6D7E8F90A1B2C3D4E5F60718293A4B5C6D7E8F9\" />",
            "0A1B2C3D4E5F60718293A4B5C6D7E8F90A1B2C3D4E5F60718293A4B5C6D7E8F9",
        )],
        &["<machineKey validationKey=\"AutoGenerate\" />"],
    ),
    context(
        "DIRECTIVE_PASSWORD",
        &[
            "insecure-password",
            "tacacs-server",
            "radius-server",
            "rootpw",
            "password password",
            "password-again password",
            "sqlconnectinfo",
            "ppp chap",
            "rcon_password",
            "key-string",
            "pre-shared-key",
        ],
        r#"(?i)(?:\binsecure-password|\b(?:tacacs|radius)-server\s+(?:host\s+\S+\s+)?key(?:\s+[07])?|^\s*rootpw(?:\s+--plaintext)?|password(?:-again)?\s+password|^\s*SQLConnectInfo\s+\S+\s+\S+|\bppp\s+chap\s+password(?:\s+[07])?|\bpre-shared-key(?:\s+ascii-text)?|\brcon_password|\bkey-string(?:\s+[07])?)\s+["']?([^\s"'$<-][^\s"']{3,200})"#,
        &[
            ("    user ana insecure-password Zx81kQm3", "Zx81kQm3"),
            ("tacacs-server key Lw09vTb7", "Lw09vTb7"),
            ("rootpw --plaintext Qm3Lw09v", "Qm3Lw09v"),
            ("d-i passwd/root-password password b7Rn5cZx", "b7Rn5cZx"),
        ],
        &["rootpw --lock", "tacacs-server host 10.0.0.1"],
    ),
    context(
        "SASL_PASSWORD_MAP",
        &[":587 ", ":465 ", ":25 "],
        r#"^\s*\[?[\w.-]+\.[a-z]{2,}\]?:\d{2,5}\s+[\w.@+-]+:([^\s"'$]{4,200})\s*$"#,
        &[("[smtp.example.com]:587 mailer@example.com:Zx81kQm3", "Zx81kQm3")],
        &["[smtp.example.com]:587 mailer@example.com:$PW"],
    ),
    context(
        "REDIS_ACL_PASSWORD",
        &[" on >", "setuser"],
        r#"(?i)\b(?:user|setuser)\s+\S+\s+(?:\S+\s+){0,6}?>([^\s"'$]{4,200})"#,
        &[("user app on >Zx81kQm3 ~* +@all", "Zx81kQm3")],
        &["user app on >${PW} ~* +@all"],
    ),
    rules::pattern(
        "NETRC_PASSWORD_LINE",
        &["password ", "passwd "],
        r#"^\s*(?:password|passwd)\s+["']?([^\s"'$<{]{4,200})["']?\s*$"#,
    )
    .allow(PROSE)
    .hits(&[("machine x\n  login bot\n  password Zx81kQm3", "Zx81kQm3")])
    .misses(&["user bob\n  password required", "login page\npassword $PW"]),
    rules::nearby(
        "MNEMONIC_PHRASE_LINE",
        &["mnemonic", "seed", "phrase", "recovery", "bip39", "wallet"],
        r#"^[\W\d]{0,12}((?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){3}){0,4}[a-z]{3,8})[\W]{0,4}$"#,
    )
    .allow(&[
        r"\b(?:the|and|for|are|with|not|you|from|was|has|have|but|they|been|were|which|into|your|their|its|can|will|each|when|than)\b",
    ])
    .hits(&[(
        "Seed phrase:\n    ripple lamp velvet orbit candy magnet tunnel fossil glove spray anchor mimic",
        "ripple lamp velvet orbit candy magnet tunnel fossil glove spray anchor mimic",
    )])
    .misses(&["seed the table\nthis will make sure that all the rows are there when you run it"]),
    context(
        "PASSWORD_SAID_FIRST",
        &["as password", "as the password", "as its password", "as a password", "as your password"],
        r#"(?i)(?:[`'"]|\b(?:try|use|uses|with|set|enter|type)\s)([^\s`'"]{6,100})[`'"]?\s+as (?:the |its |a |your )?password"#,
        &[("If that fails, try `Zx81kQm3` as the password.", "Zx81kQm3")],
        &["use `DB_PASSWORD` as the password", "We use bcrypt as password hash."],
    ).allow(PROSE),
    context(
        "PASSWORD_CHANGED_TO",
        &["password from "],
        r#"(?i)password from \S{4,100} to [`'"]?([^\s`'"]{6,100})"#,
        &[("changed the password from old1-pw to Zx81kQm3", "Zx81kQm3")],
        &["moved the password from settings.py to the environment"],
    ).allow(PROSE),
    context(
        "CREDENTIALS_SAID",
        &["credentials", "creds", "log in", "login", "sign in", "connect with"],
        r#"(?i)\b(?:credentials?|creds|log ?in|sign in|connect)(?: (?:are|is|as|with|using|in as))?:? ?`?[\w.@-]{2,40}`?(?: / |[:/])`?([^\s`/<>()$:*&][^\s`/<>()]{5,64})"#,
        &[("credentials are `root:Zx81kQm3`", "Zx81kQm3"), ("# login with admin/Zx81kQm3", "Zx81kQm3")],
        &["log in at http://localhost:8080", "login: see docs/setup2.md", "the login page is app/users/sign_in"],
    ).allow(&["^[A-Za-z_.:/-]+$", r"\.[a-z]{1,5}$"]),
    context(
        "USER_SLASH_PASSWORD_IN_BRACKETS",
        &["(admin", "(root", "(user", "(demo", "(test"],
        r#"(?i)\((?:admin|root|user|demo|test)\w{0,20} / ([^\s()`/$]{6,64})\)"#,
        &[("Jenkins: http://ci.example.com (admin / Zx81kQm3)", "Zx81kQm3")],
        &["(admin / operator)"],
    ).allow(PROSE),
    context(
        "USER_SLASH_PASSWORD",
        &["login", "credentials", "username", "account:"],
        r#"(?i)\b(?:login|user(?:name)?|credentials?|creds|account)\**\s*[:=]\s*`?[\w.@-]{1,40}`?\s*/\s*`?([^\s/`<$]{6,100})`?\s*$"#,
        &[("login: admin / Zx81kQm3", "Zx81kQm3")],
        &["login: /users/sign_in", "username: first / last", "credentials: user / password"],
    ),
];

//! Secrets handed to functions, to SQL statements and in HTTP headers.

use super::{PROSE, context, letting_pass};
use crate::redact::rule::Rule;
use crate::redact::rules;

pub(in crate::redact) static RULES: &[Rule] = &[
    context(
        "POWERSHELL_SECURE_STRING",
        &["convertto-securestring"],
        r#"(?i)\bConvertTo-SecureString\s+(?:-String\s+)?["']([^"'$][^"']{2,200})["']"#,
        &[("$p = ConvertTo-SecureString \"Zx81kQm3\" -AsPlainText -Force", "Zx81kQm3")],
        &["ConvertTo-SecureString $env:PW -AsPlainText -Force"],
    ),
    context(
        "SQL_IDENTIFIED_BY",
        &["identified", "password '", "password="],
        r#"(?i:\bIDENTIFIED\s+(?:WITH\s+\S+\s+)?(?:BY|AS)\s+(?:PASSWORD\s+)?)["']([^\s"';$]{3,200})|\bIDENTIFIED BY ([^\s"';$]{4,200})"#,
        &[
            ("CREATE USER 'app'@'%' IDENTIFIED BY 'Zx81kQm3';", "Zx81kQm3"),
            ("GRANT ALL ON x.* TO app IDENTIFIED BY 'Lw09vTb7'", "Lw09vTb7"),
        ],
        &["IDENTIFIED BY '<password>'", "users identified by their e-mail"],
    ),
    context(
        "SQL_PASSWORD_FUNCTION",
        &["password("],
        r#"(?i)\bPASSWORD\(\s*'([^'$]{4,100})'\s*\)"#,
        &[("UPDATE user SET authentication_string=PASSWORD('Zx81kQm3') WHERE user='root';", "Zx81kQm3")],
        &["PASSWORD('password')"],
    ),
    context(
        "DATABASE_CONNECT_CALL",
        &[
            "mysql",
            "getconnection",
            "new pdo",
            "cx_oracle",
            "oracledb",
            "_connect(",
            "pymssql",
            "dbi->connect",
            "dbi.connect",
            "dbconnect(",
            "ftp(",
        ],
        r#"(?i)(?:mysqli_connect|mysqli_real_connect|mysql_p?connect|mysql_real_connect|new\s+mysqli|new\s+pdo|getConnection|cx_oracle\.connect|oracledb\.connect|oci_p?connect|odbc_p?connect|mssql_connect|pymysql\.connect|mysqldb\.connect|pymssql\.connect|dbi->connect|dbi\.connect|dbconnect|\bftp)\s*\(\s*[^,\n]{1,200},\s*[^,\n]{1,120},\s*["']([^"'$][^"']{2,120})["']"#,
        &[
            ("$c = mysqli_connect('db', 'root', 'Zx81kQm3', 'app');", "Zx81kQm3"),
            ("Connection c = DriverManager.getConnection(url, \"app\", \"Lw09vTb7\");", "Lw09vTb7"),
            ("$db = new PDO('mysql:host=x', 'u', 'Qm3Lw09v');", "Qm3Lw09v"),
        ],
        &[
            "mysqli_connect($h, $u, $p)",
            "DriverManager.getConnection(url, user, password)",
            "DriverManager.getConnection(\"a\", \"b\", \"password\")",
        ],
    ),
    context(
        "LOGIN_CALL",
        &[
            "networkcredential",
            "login(",
            "auth(",
            "auth=(",
            "auth = (",
            "authentication(",
            "usernamepassword",
            "authenticate(",
            "credentials(",
            "logon(",
            "signin(",
            "sign_in(",
        ],
        r#"(?i)(?:networkcredential|\blogin|basicauth\w*|basic_auth|httpdigestauth|ntlmauth|passwordauthentication|usernamepassword\w*|\bauth\s*=\s*|\bauth|authenticate|credentials|logon|signin|sign_in|plaincredentials)\s*[(\[]\s*(?:\w+\s*[:=]\s*)?(?:new\s+)?[bru]?["'][^"'\n]{1,120}["']\s*,\s*(?:\w+\s*[:=]\s*)?[bru]?["']([^"'$][^"']{2,200})["']"#,
        &[
            ("smtp.login('bot@example.com', 'Zx81kQm3')", "Zx81kQm3"),
            ("var c = new NetworkCredential(\"svc\", \"Lw09vTb7\");", "Lw09vTb7"),
            ("requests.get(url, auth=('ci', 'Qm3Lw09v'))", "Qm3Lw09v"),
            ("req.SetBasicAuth(\"ci\", \"b7Rn5cZx\")", "b7Rn5cZx"),
        ],
        &["smtp.login(user, password)", "login('user', 'password')", "auth=('user', 'pass')"],
    ),
    context(
        "LOGIN_CALL_VARIABLE_USER",
        &["networkcredential", "login(", "auth(", "authentication(", "usernamepassword", "auth=("],
        r#"(?i)(?:networkcredential|(?:smtp|imap|ftp|mail|server|client|conn|session|browser|s|m)\w*\.login|basicauth\w*|basic_auth|passwordauthentication|usernamepasswordcredentials|\bauth\s*=\s*)\s*\(\s*[A-Za-z_][\w.\[\]"']{0,80}\s*,\s*[bru]?["']([^"'$][^"']{2,200})["']"#,
        &[("server.login(SENDER, 'Zx81kQm3')", "Zx81kQm3"), ("new NetworkCredential(user, \"Lw09vTb7\")", "Lw09vTb7")],
        &["server.login(SENDER, PASSWORD)"],
    ),
    context(
        "SMTP_PLAIN_AUTH",
        &["plainauth"],
        r#"PlainAuth\(\s*"[^"\n]{0,80}"\s*,\s*[^,\n]{1,100},\s*"([^"$]{3,200})""#,
        &[("auth := smtp.PlainAuth(\"\", \"bot@example.com\", \"Zx81kQm3\", \"smtp.example.com\")", "Zx81kQm3")],
        &["smtp.PlainAuth(\"\", user, password, host)"],
    ),
    letting_pass(
        context(
            "AUTHORIZATION_HEADER",
            &["authorization"],
            r#"(?i)\bauthorization["']?\s*(?:[:=,]|=>|\]\s*=)\s*[bru]?\\?["'`]?(?:(?:bearer|token|basic|apikey|api-key|key|digest|negotiate|ntlm|splunk|genie[- ]?key|ssws|bot|hawk|oauth|jwt|aws4-hmac-sha256)[ :=+]+)?([A-Za-z0-9][A-Za-z0-9._~+/:-]{11,4000}={0,2})"#,
            &[
                ("Authorization: Bearer Zx81kQm3Lw09vTb7Rn5c", "Zx81kQm3Lw09vTb7Rn5c"),
                ("-H 'Authorization: token Lw09vTb7Rn5cZx81kQm3'", "Lw09vTb7Rn5cZx81kQm3"),
                ("headers = {\"Authorization\": \"Basic Y2k6WngxOGtRbTM=\"}", "Y2k6WngxOGtRbTM="),
            ],
            &[
                "Authorization: Bearer $TOKEN",
                "headers: { Authorization: `Bearer ${token}` }",
                "authorization: AuthorizationService",
                "\"Authorization\": \"Bearer <token>\"",
            ],
        ),
        PROSE,
    ),
    letting_pass(
        context(
            "BEARER_TOKEN",
            &["bearer"],
            r#"(?i)\bbearer[ +:=]+["']?([A-Za-z0-9][A-Za-z0-9._~+/-]{15,4000}=*)"#,
            &[("curl -H \"X: Bearer Zx81kQm3Lw09vTb7Rn5c\" https://x", "Zx81kQm3Lw09vTb7Rn5c")],
            &["bearer authentication_scheme_name", "Bearer <access-token>", "bearerAuth: BearerAuthentication"],
        ),
        &["^[A-Za-z_.:/-]+$", "^[a-z_]+=", "^(?i:error|realm|scope|resource)"],
    ),
    letting_pass(
        context(
            "BASIC_AUTH",
            &["basic "],
            r#"(?i)\bbasic\s+([A-Za-z0-9+/]{10,400}={0,2})"#,
            &[("proxy_set_header X \"Basic Y2k6WngxOGtRbTM=\";", "Y2k6WngxOGtRbTM=")],
            &["basic understanding", "Basic authentication"],
        ),
        &["^[A-Za-z_.:/-]+$", "^QWxhZGRpbj"],
    ),
    context(
        "BASIC_AUTH_CALL",
        &["basic_auth", "basicauth"],
        r#"(?i)\bbasic_?auth\s*[( ]\s*["'][^"']{1,60}["']\s*,\s*["']([^"'$\s]{4,200})["']"#,
        &[("basic_auth 'ana', 'Zx81kQm3'", "Zx81kQm3"), (".basic_auth(\"ci\", \"Lw09vTb7\")", "Lw09vTb7")],
        &["basic_auth 'user', 'password'", ".basic_auth(username, password)"],
    ),
    context(
        "SESSION_COOKIE",
        &[
            "cookie",
            "sessid",
            "sessionid",
            "connect.sid",
            "_session=",
            "aspxauth",
            "remember_",
            "session=",
            "session_id=",
        ],
        r#"(?i)\b(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|\.?ASPXAUTH|connect\.sid|sessionid|session_id|session|sid|laravel_session|remember_(?:user_)?token(?:_\w+)?|_[a-z]\w{1,30}_session|auth_token|access_token|ci_session|XSRF-TOKEN|csrftoken|__Secure-[\w-]+|__Host-[\w-]+|[a-z_]{0,20}sess(?:ion)?(?:_?id)?)=([A-Za-z0-9%._~+/:|!-]{12,4000}=*)"#,
        &[
            ("Cookie: PHPSESSID=zx81kqm3lw09vtb7rn5c; lang=en", "zx81kqm3lw09vtb7rn5c"),
            ("curl -b '_gitlab_session=0123456789abcdef0123456789abcdef' $URL", "0123456789abcdef0123456789abcdef"),
            ("Set-Cookie: connect.sid=s%3AZx81kQm3Lw09vTb7.Rn5cZx81kQm3; Path=/", "s%3AZx81kQm3Lw09vTb7.Rn5cZx81kQm3"),
        ],
        &["Cookie: theme=dark", "session_id=request.session.session_key"],
    ),
    context(
        "HASHED_LITERAL",
        &["bcrypt", "argon2", "hashpw"],
        r#"(?i)\b(?:bcrypt|argon2\w*)\.(?:hash\w*|generatefrompassword|generate_password_hash)\(\s*(?:b|\[\]byte\()?["'`]([^"'`\s]{5,200})["'`]"#,
        &[("const hash = await bcrypt.hash(\"Zx81kQm3\", 10);", "Zx81kQm3")],
        &["bcrypt.hash(password, 10)", "bcrypt.hash(\"password\", 10)"],
    ),
    context(
        "CREDENTIALS_PAIR",
        &["creds", "credentials", "auth=(", "auth = (", "auth: [", "auth\": ["],
        r#"(?i)\b(?:creds|credentials?|(?:basic_?|http_?|proxy_?)?auth)["']?\s*[:=]\s*[(\[{]\s*["'][^"'\s]{1,60}["']\s*,\s*["']([^"'\s]{5,100})["']\s*,?\s*[)\]}]"#,
        &[("creds = (\"admin\", \"Zx81kQm3\")", "Zx81kQm3"), ("requests.get(url, auth=(\"ci\", \"Lw09vTb7\"))", "Lw09vTb7")],
        &["auth = (\"user\", \"password\")", "credentials: [\"read\", \"write\"]"],
    )
    .allow(&["^[a-z_.:/ -]+$", "^[A-Z_]+$"]),
    context(
        "BOT_LOGIN_TOKEN",
        &[".login("],
        r#"\.login\(\s*["'`]([\w.-]{40,120})["'`]\s*\)"#,
        &[("client.login(\"Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw\");", "Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw")],
        &["client.login(process.env.TOKEN)", "page.login(\"a-very-long-name-of-a-user-that-is-not-random-at-all\")"],
    )
    .allow(&["^[a-z_.-]+$"]),
    rules::nearby(
        "EXPECT_SEND_PASSWORD",
        &["assword", "assphrase"],
        r#"\bsend(?:line)?\s*\(?\s*(?:--\s+)?["']([^"'\\$\s]{4,100})(?:\\r|\\n|["'])"#,
    )
    .allow(&["^(?:yes|no|exit|quit|logout|enable)$"])
    .hits(&[("expect \"assword:\" { send \"Zx81kQm3\\r\" }", "Zx81kQm3")])
    .misses(&["expect \"assword:\" { send \"$pw\\r\" }", "expect \"assword:\" { send \"exit\\r\" }"]),
    context(
        "WORDPRESS_SALT",
        &["auth_key", "_salt'", "_salt\"", "logged_in_key", "nonce_key"],
        r#"define\(\s*["'](?:(?:SECURE_)?AUTH|LOGGED_IN|NONCE|WP_CACHE)_(?:KEY|SALT)(?:_SALT)?["']\s*,\s*'([^']{20,128})'"#,
        &[(
            "define('AUTH_KEY', 'Zx8|1kQ m3(Lw09v;Tb7Rn>5cZx8=1kQm3L,w09v[Tb7Rn5c]Zx8/1kQm3{Lw09v}');",
            "Zx8|1kQ m3(Lw09v;Tb7Rn>5cZx8=1kQm3L,w09v[Tb7Rn5c]Zx8/1kQm3{Lw09v}",
        )],
        &["define('AUTH_KEY', 'put your unique phrase here');"],
    ),
    context(
        "WIFI_CONNECT_CALL",
        &["wifi", "wlan", "sta_if", "station.connect", "option key"],
        r#"(?i)(?:(?:wifi|wlan|sta_if|station|nic)\w*\.(?:begin|connect)\(\s*[^,\n]{1,60},\s*[bB]?["']|\bWIFI:[^"'\n]{0,80}?;P:|^\s*option\s+key\s+["'])([^"'$;\s]{6,63})"#,
        &[
            ("WiFi.begin(\"HomeNet\", \"Zx81kQm3\");", "Zx81kQm3"),
            ("WIFI:T:WPA;S:HomeNet;P:Lw09vTb7;;", "Lw09vTb7"),
            ("\toption key 'Qm3Lw09v'", "Qm3Lw09v"),
        ],
        &["WiFi.begin(ssid, password);", "WiFi.begin(SSID, \"password\");"],
    ),
    context(
        "CALL_WITH_USER_AND_PASSWORD",
        &[
            "pw_set(",
            "userpassword(",
            "ldap_bind",
            "sequelize(",
            "oauthhandler",
            "set_credentials",
            "setcredentials",
            "bind_s(",
            "simple_bind",
            "create_user(",
            "create_superuser(",
        ],
        r#"(?i)(?:username_pw_set|url\.UserPassword|ldap_bind|Sequelize|OAuthHandler|set_?credentials|(?:simple_)?bind(?:_s)?|create_(?:super)?user)\s*\(\s*(?:[^,\n"']{1,60},\s*)?["'][^"'\n]{1,120}["']\s*,\s*(?:["'][^"'\n]{1,80}["']\s*,\s*)?(?:\w+\s*[:=]\s*)?["']([^"'$][^"']{2,200})["']"#,
        &[
            ("client.username_pw_set(\"dev1\", \"Zx81kQm3\")", "Zx81kQm3"),
            ("ldap_bind($ds, \"cn=svc,dc=corp\", \"Lw09vTb7\");", "Lw09vTb7"),
            ("new Sequelize('prod', 'app', 'Qm3Lw09v', {", "Qm3Lw09v"),
        ],
        &["client.username_pw_set(user, password)", "create_user('bob', 'bob@example.com', 'password')"],
    ),
    context(
        "SECRET_ARGUMENT",
        &[
            "cookieparser(",
            "jwt.",
            "createhmac",
            "hmac.new",
            "secretkeyspec",
            "totp(",
            "fernet(",
            "createcipher",
            "symmetricsecuritykey",
            "setsigningkey",
            "signwith(",
        ],
        r#"(?i)(?:cookieParser\(\s*|jwt\.(?:sign|verify|encode|decode)\([^"'\n={]{0,120}(?:\{[^}\n]{0,120}\}\s*,\s*)?|createHmac\(\s*["'][\w-]+["']\s*,\s*|hmac\.new\(\s*|SecretKeySpec\(\s*|TOTP\(\s*|Fernet\(\s*|createCipher(?:iv)?\(\s*["'][\w-]+["']\s*,\s*|SymmetricSecurityKey\([^"'\n]{0,60}|setSigningKey\(\s*|signWith\([^"'\n]{0,60})b?["']([^"'$\s][^"'\s]{5,300})["']"#,
        &[
            ("app.use(cookieParser('Zx81kQm3Lw09vTb7'));", "Zx81kQm3Lw09vTb7"),
            ("const t = jwt.sign({ id: user.id }, 'Lw09vTb7Rn5cZx81', { expiresIn: '1h' });", "Lw09vTb7Rn5cZx81"),
            ("pyotp.TOTP(\"JBSWY3DPEHPK3PXP\").now()", "JBSWY3DPEHPK3PXP"),
        ],
        &["jwt.sign(payload, secret)", "cookieParser(process.env.COOKIE_SECRET)", "hmac.new(key, msg, 'sha256')"],
    ),
    letting_pass(
        context(
            "CHARACTER_ARRAY_PASSWORD",
            &["tochararray"],
            r#""([^"\s$]{4,200})"\s*\.toCharArray\(\)"#,
            &[("ks.load(in, \"Zx81kQm3\".toCharArray());", "Zx81kQm3")],
            &["password.toCharArray()", "\"0123456789abcdef\".toCharArray()", "\"abc\".toCharArray()"],
        ),
        &["^(?:0123456789|ABCDEFGH|abcdefgh)", "^[a-z]+$", "^[0-9A-F]{10,36}$"],
    ),
];

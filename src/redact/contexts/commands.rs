//! Passwords on command lines.

use super::{context, letting_pass};
use crate::redact::rule::Rule;

pub(in crate::redact) static RULES: &[Rule] = &[
    context(
        "CURL_USER",
        &["curl"],
        r#"\bcurl\b[^\n]{0,600}?\s(?:-u|--user|--proxy-user|-U)(?:\s+|=)?["']?[^\s:"'$]{1,100}:([^\s"']{3,200})"#,
        &[
            (
                "curl -u admin:Zx81kQm3 https://api.example.com/v1",
                "Zx81kQm3",
            ),
            ("  curl -s --user 'ci:Lw09v-Tb7' $URL", "Lw09v-Tb7"),
        ],
        &[
            "curl -u $USER:$PASS https://api.example.com",
            "curl -u user:password https://x",
        ],
    ),
    context(
        "MYSQL_CLI_PASSWORD",
        &["mysql", "mariadb"],
        r#"\b(?:mysql|mariadb)(?:dump|admin|import|check|show|sh|-dump|-admin)?\b[^\n|;]{0,300}?\s-p["']?([^\s"'=$;|&-][^\s"';|&]{2,100})"#,
        &[
            ("mysql -h db -u root -pZx81kQm3 app < dump.sql", "Zx81kQm3"),
            ("mysqldump -uroot -p'Lw09vTb7' app", "Lw09vTb7"),
        ],
        &["mysql -u root -p app", "mysql -u root -p\"$PW\" app"],
    ),
    context(
        "SSHPASS",
        &["sshpass"],
        r#"\bsshpass\s+-p\s*["']?([^\s"'$][^\s"']{2,100})"#,
        &[
            ("sshpass -p 'Zx81kQm3' ssh root@host", "Zx81kQm3"),
            ("sshpass -pLw09vTb7 scp a b:", "Lw09vTb7"),
        ],
        &["sshpass -p \"$PW\" ssh host", "sshpass -e ssh host"],
    ),
    context(
        "CLI_LOGIN_PASSWORD",
        &["login"],
        r#"\b(?:login|registry)\b[^\n|;]{0,200}?\s-p[ =]?["']?([^\s"'$-][^\s"']{3,400})"#,
        &[
            (
                "docker login -u ci -p Zx81kQm3 registry.example.com",
                "Zx81kQm3",
            ),
            ("oc login https://c:6443 -u dev -p 'Lw09vTb7'", "Lw09vTb7"),
        ],
        &[
            "docker login -u ci -p $CI_JOB_TOKEN registry",
            "docker login -p <password>",
        ],
    ),
    context(
        "REDIS_CLI_PASSWORD",
        &["redis-cli", "keydb-cli", "valkey-cli"],
        r#"\b(?:redis|keydb|valkey)-cli\b[^\n|;]{0,200}?\s(?:-a|--pass)\s+["']?([^\s"'$-][^\s"']{2,200})"#,
        &[("redis-cli -h cache -a Zx81kQm3 ping", "Zx81kQm3")],
        &["redis-cli -a $REDIS_PASS ping"],
    ),
    context(
        "MONGO_CLI_PASSWORD",
        &["mongo"],
        r#"\bmongo(?:sh|dump|restore|import|export|stat|top)?\b[^\n|;]{0,300}?\s-p[ =]?["']?([^\s"'$-][^\s"']{2,100})"#,
        &[(
            "mongosh -u root -p Zx81kQm3 --authenticationDatabase admin",
            "Zx81kQm3",
        )],
        &["mongo -p 27017", "mongodump -u root -p \"$PW\""],
    ),
    context(
        "SQL_CLI_PASSWORD",
        &["sqlcmd", "bcp ", " -p "],
        r#"(?:\b(?:sqlcmd|bcp)\b|\s-U\s*\S+)[^\n|]{0,300}?\s-P\s*["']?([^\s"'$-][^\s"']{2,100})"#,
        &[(
            "/opt/mssql-tools/bin/sqlcmd -S localhost -U sa -P 'Zx81!kQm3'",
            "Zx81!kQm3",
        )],
        &["sqlcmd -S localhost -U sa -P $SA_PASSWORD"],
    ),
    context(
        "SQLPLUS_PASSWORD",
        &["sqlplus", "sqlldr", "expdp", "impdp", "jdbc:oracle"],
        r#"(?:\b(?:sqlplus|sqlldr|expdp|impdp)\b(?:\s+-\w+)*\s+(?:userid=)?["']?|jdbc:oracle:(?:thin|oci):)[\w.$]{1,40}/["']?([^\s@"'$/]{3,60})["']?@"#,
        &[
            ("sqlplus -s scott/Zx81kQm3@//db:1521/XE", "Zx81kQm3"),
            ("url=jdbc:oracle:thin:app/Lw09vTb7@db:1521:XE", "Lw09vTb7"),
        ],
        &["sqlplus / as sysdba", "sqlplus scott/$PW@db"],
    ),
    context(
        "OPENSSL_PASSWORD",
        &["pass:"],
        r#"(?:^|[\s"'=])pass:([^\s"'$]{3,100})"#,
        &[(
            "openssl rsa -in k.pem -passin pass:Zx81kQm3 -out o.pem",
            "Zx81kQm3",
        )],
        &["openssl rsa -passin pass:$PW", "# pass: the value"],
    ),
    context(
        "LDAP_CLI_PASSWORD",
        &["ldap"],
        r#"\bldap(?:search|modify|add|delete|passwd|whoami|compare|modrdn)\b[^\n|]{0,300}?\s-w\s*["']?([^\s"'$-][^\s"']{2,100})"#,
        &[(
            "ldapsearch -x -D cn=admin,dc=ex -w Zx81kQm3 -b dc=ex",
            "Zx81kQm3",
        )],
        &["ldapsearch -x -W -b dc=ex", "ldapsearch -w \"$PW\""],
    ),
    context(
        "ARCHIVE_PASSWORD",
        &["7z ", "7za ", "zip ", "unrar ", "rar "],
        r#"\b(?:7za?|7zr|rar|unrar)\b\s+[a-z][^\n|]{0,200}?\s-(?:p|hp)["']?([^\s"'$-][^\s"']{2,100})|\b(?:zip|unzip)\b[^\n|]{0,200}?\s-P\s*["']?([^\s"'$-][^\s"']{2,100})"#,
        &[("7z a -pZx81kQm3 out.7z data", "Zx81kQm3")],
        &["7z a -p$PW out.7z data", "zip -r out.zip data"],
    ),
    context(
        "UNZIP_PASSWORD",
        &["zip "],
        r#"\b(?:un)?zip\b[^\n|]{0,200}?\s-P\s*["']?([^\s"'$-][^\s"']{2,100})"#,
        &[("unzip -P Zx81kQm3 in.zip", "Zx81kQm3")],
        &["unzip -P \"$PW\" in.zip"],
    ),
    context(
        "LFTP_PASSWORD",
        &["lftp", "ncftp", "smbclient", "rpcclient"],
        r#"(?:\b(?:lftp|ncftp\w*)\b[^\n|]{0,200}?\s-u\s*["']?[\w.@-]{1,60},|\b(?:smbclient|rpcclient)\b[^\n|]{0,200}?\s-U\s*["']?[\w.\\/@-]{1,60}%)([^\s"'$][^\s"']{2,100})"#,
        &[
            ("lftp -u deploy,Zx81kQm3 sftp://host", "Zx81kQm3"),
            ("smbclient //srv/share -U 'bob%Lw09vTb7' -c ls", "Lw09vTb7"),
        ],
        &["lftp -u deploy,$PW sftp://host"],
    ),
    context(
        "HTPASSWD_CLI",
        &["htpasswd"],
        r#"\bhtpasswd\s+(?:-\w+\s+)*-\w*b\w*\s+(?:-\w+\s+)*(?:\S+\s+)?[\w.@-]+\s+["']?([^\s"'$|>&-][^\s"'|>&]{2,100})["']?\s*(?:$|[|>&;#])"#,
        &[
            (
                "htpasswd -bc /etc/nginx/.htpasswd admin Zx81kQm3",
                "Zx81kQm3",
            ),
            ("htpasswd -nb admin Lw09vTb7", "Lw09vTb7"),
        ],
        &["htpasswd -c /etc/nginx/.htpasswd admin"],
    ),
    context(
        "CHPASSWD",
        &["chpasswd"],
        r#"\becho\s+(?:-\w+\s+)?["']?[\w.$-]{1,40}:([^"'|\s$][^"'|\s]{2,100})["']?\s*\|\s*(?:sudo\s+)?(?:\S*/)?chpasswd"#,
        &[
            ("RUN echo 'root:Zx81kQm3' | chpasswd", "Zx81kQm3"),
            ("echo \"app:Lw09vTb7\" | sudo chpasswd", "Lw09vTb7"),
        ],
        &["echo \"root:$PW\" | chpasswd"],
    ),
    context(
        "PIPED_PASSWORD",
        &[
            "sudo -s",
            "--stdin",
            "password-stdin",
            "--passphrase-fd",
            "luks",
        ],
        r#"\b(?:echo|printf)\s+(?:-\w+\s+)?(?:'%s'\s+|"%s"\s+)?["']?([^"'|\s$-][^"'|\s]{3,200})["']?\s*\|\s*(?:sudo\s+-S|sudo\s+\S+\s+-S|passwd\b[^\n]{0,40}--stdin|[^\n|]{0,200}(?:--password-stdin|--passphrase-fd|luks))"#,
        &[
            ("echo Zx81kQm3 | sudo -S apt update", "Zx81kQm3"),
            (
                "echo 'Lw09vTb7' | docker login -u ci --password-stdin",
                "Lw09vTb7",
            ),
        ],
        &[
            "echo $PW | docker login -u ci --password-stdin",
            "echo \"$CI_TOKEN\" | sudo -S ls",
        ],
    ),
    context(
        "USERADD_PASSWORD",
        &["useradd", "usermod", "net user", "net use "],
        r#"\b(?:useradd|usermod)\b[^\n|]{0,200}?\s-p\s+["']?([^\s"'$-][^\s"']{3,200})|(?i)\bnet\s+user\s+\S+\s+([^\s/"'$*%][^\s"']{3,60})"#,
        &[("useradd -m -p Zx81kQm3 app", "Zx81kQm3")],
        &["useradd -m app", "net user bob /delete"],
    ),
    context(
        "WINDOWS_USER_PASSWORD",
        &["net user", "net use "],
        r#"(?i)\bnet\s+user?\s+(?:\S:\s+)?\S+\s+["']?([^\s/"'$*%\\][^\s"'/]{3,60})["']?(?:\s+/|\s*$)"#,
        &[
            ("net user svc Zx81kQm3 /add", "Zx81kQm3"),
            ("net use X: \\\\srv\\share Lw09vTb7 /user:bob", "Lw09vTb7"),
        ],
        &[
            "net user bob /delete",
            "net use X: \\\\srv\\share /user:bob",
        ],
    ),
    context(
        "REMOTE_DESKTOP_PASSWORD",
        &["freerdp", "cmdkey", "schtasks"],
        r#"(?i)\b(?:xfreerdp\d?|wlfreerdp|cmdkey|schtasks|sc(?:\.exe)?)\b[^\n]{0,300}?\s/(?:p|pass|rp):\s*["']?([^\s"'$%]{3,100})"#,
        &[
            ("xfreerdp /v:host /u:admin /p:Zx81kQm3", "Zx81kQm3"),
            ("cmdkey /add:srv /user:bob /pass:Lw09vTb7", "Lw09vTb7"),
        ],
        &["xfreerdp /v:host /u:admin"],
    ),
    context(
        "SHORT_FLAG_PASSWORD",
        &[
            "psexec",
            "rdesktop",
            "evil-winrm",
            "crackmapexec",
            "ipmitool",
            "cf login",
            "az login",
        ],
        r#"(?i)\b(?:psexec(?:64)?(?:\.exe)?|rdesktop|evil-winrm|crackmapexec|ipmitool|cf\s+login|az\s+login)\b[^\n|]{0,300}?\s-(?:p|P)\s+["']?([^\s"'$%-][^\s"']{3,100})|\b(?:plink|pscp)(?:\.exe)?\b[^\n|]{0,200}?\s-pw\s+["']?([^\s"'$%-][^\s"']{3,100})"#,
        &[(
            "ipmitool -I lanplus -H bmc -U root -P Zx81kQm3 power status",
            "Zx81kQm3",
        )],
        &["ipmitool -I lanplus -H bmc -U root -P \"$PW\" power"],
    ),
    context(
        "PLINK_PASSWORD",
        &["plink", "pscp", "psftp", "putty"],
        r#"(?i)\b(?:plink|pscp|psftp|putty|kitty)(?:\.exe)?\b[^\n|]{0,200}?\s-pw\s+["']?([^\s"'$%-][^\s"']{3,100})"#,
        &[("plink -ssh root@host -pw Zx81kQm3 ls", "Zx81kQm3")],
        &["plink -ssh root@host ls"],
    ),
    context(
        "SNMP_V3_PASSPHRASE",
        &["snmp"],
        r#"\s-[AX]\s+["']?([^\s"'$-][^\s"']{7,60})"#,
        &[(
            "snmpget -v3 -u ops -l authPriv -a SHA -A Zx81kQm3Lw -x AES 10.0.0.1",
            "Zx81kQm3Lw",
        )],
        &["snmpget -v3 -u ops -A $AUTH 10.0.0.1"],
    ),
    context(
        "CONFIG_SET_SECRET",
        &[
            "configure set",
            "config set",
            "config --",
            "secrets set",
            "secret set",
            "kv put",
            "secret add",
        ],
        r#"(?i)\b(?:configure\s+set|config\s+set|config\s+--\w+|secrets?\s+(?:set|add)|kv\s+put)\s+["']?\S{0,120}(?:secret|token|passw(?:or)?d|_?auth|access_key|api_?key|pwd)\S{0,40}?["']?[ =]+["']?([^\s"'$<-][^\s"']{5,400})"#,
        &[
            (
                "aws configure set aws_secret_access_key Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5c",
                "Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5c",
            ),
            (
                "npm config set //registry.example.com/:_authToken Lw09vTb7Rn5c",
                "Lw09vTb7Rn5c",
            ),
            ("consul kv put app/db_password Qm3Lw09v", "Qm3Lw09v"),
        ],
        &[
            "npm config set //registry.example.com/:_authToken $TOKEN",
            "git config --global credential.helper store",
        ],
    ),
    context(
        "KUBECTL_SECRET_LITERAL",
        &["from-literal"],
        r#"--from-literal[= ]["']?[\w.-]{1,80}=["']?([^\s"'$<][^\s"']{3,400})"#,
        &[(
            "kubectl create secret generic db --from-literal=pw=Zx81kQm3",
            "Zx81kQm3",
        )],
        &["kubectl create secret generic db --from-literal=pw=$PW"],
    ),
    letting_pass(
        context(
            "CLI_USER_AND_PASSWORD_FLAGS",
            &[" -u", "--user"],
            r#"\s(?:-u|-U|--user(?:name)?)[ =]?["']?[\w.@\\/-]{1,60}["']?\s(?:[^\n|;]{0,120}?\s)?-[pP][ =]?["']?([^\s"'$<-][^\s"']{3,200})"#,
            &[
                (
                    "airflow users create -u admin -p Zx81kQm3 -r Admin",
                    "Zx81kQm3",
                ),
                ("  -u ci -p Lw09vTb7 registry.example.com", "Lw09vTb7"),
            ],
            &[
                "docker run -u root -p 8080:80 nginx",
                "psql -U app -p 5432 db",
                "tool -u ci -p $PW",
            ],
        ),
        &[r"^\d[\d.:-]*(?:/(?:tcp|udp))?$", r"^[\d.]+:\d+", r"^[./~]"],
    ),
    context(
        "USER_COMMAND_PASSWORD",
        &[
            "rabbitmqctl",
            "mc alias",
            "mc config",
            "drush",
            "mysqladmin",
            "reset-admin-password",
            "samba-tool",
            "addprinc",
            "wandb login",
            "rclone obscure",
            "unlock-keychain",
        ],
        r#"\b(?:rabbitmqctl\s+(?:-\S+\s+)*(?:add_user|change_password)\s+\S+|mc\s+(?:alias\s+set|config\s+host\s+add)\s+\S+\s+\S+\s+\S+|reset-admin-password|drush\s+(?:\S+\s+)?(?:upwd|user:password)\s+\S+|mysqladmin\s[^\n|]{0,80}?\spassword|samba-tool\s+user\s+\w+\s+\S+|wandb\s+login|rclone\s+obscure|unlock-keychain\s+-p|addprinc\s+-pw)\s+["']?([^\s"'$<-][^\s"']{3,200})"#,
        &[
            ("rabbitmqctl add_user app Zx81kQm3", "Zx81kQm3"),
            (
                "mc alias set prod https://minio.example.com admin Lw09vTb7",
                "Lw09vTb7",
            ),
            ("mysqladmin -u root password Qm3Lw09v", "Qm3Lw09v"),
        ],
        &["rabbitmqctl add_user app $PW", "drush upwd admin"],
    ),
    context(
        "OPENSSL_KEY_FLAG",
        &["openssl ", "security import", "signtool"],
        r#"\b(?:openssl\s+(?:enc|aes\S*)\b[^\n|]{0,200}?\s-k|security\s+import\b[^\n|]{0,200}?\s-P|signtool\b[^\n|]{0,200}?\s/p)\s+["']?([^\s"'$<-][^\s"']{3,200})"#,
        &[
            (
                "openssl enc -aes-256-cbc -k Zx81kQm3 -in a -out b",
                "Zx81kQm3",
            ),
            ("signtool sign /f c.pfx /p Lw09vTb7 app.exe", "Lw09vTb7"),
        ],
        &["openssl enc -aes-256-cbc -k $KEY -in a"],
    ),
    context(
        "WINDOWS_SLASH_PASSWORD",
        &["schtasks", "net use", "winrs", "keymaterial"],
        r#"(?i)(?:\bschtasks\b[^\n]{0,300}?\s/rp\s+|\bnet\s+use\b[^\n]{0,200}?\s/user:\S+\s+|\bwinrs\b[^\n]{0,200}?\s[-/]p:|\bkeyMaterial=)["']?([^\s"'$%/*][^\s"']{3,100})"#,
        &[
            ("schtasks /create /tn x /ru svc /rp Zx81kQm3", "Zx81kQm3"),
            (
                "net use Z: \\\\fs\\share /user:corp\\ana Lw09vTb7",
                "Lw09vTb7",
            ),
        ],
        &["net use Z: \\\\fs\\share /user:corp\\ana %PW%"],
    ),
    context(
        "CREDS_FLAG",
        &[
            "creds",
            "--auth",
            "--basic-auth",
            "credential",
            "stats auth",
            "basic_auth",
            "basicauth",
            "userpwd",
        ],
        r#"(?i)(?:--(?:src-|dest-)?creds?|--auth|--basic-auth|--credentials?|\bstats\s+auth|\bbasic_?auth["']?\s*[:=]\s*\[?|\b(?:CURLOPT_)?USERPWD["']?\s*[,:=])[ =]*["']?[\w.@-]{1,60}:([^\s"'$<{/][^\s"']{3,200})"#,
        &[
            (
                "skopeo copy --src-creds ci:Zx81kQm3 docker://a docker://b",
                "Zx81kQm3",
            ),
            ("    stats auth admin:Lw09vTb7", "Lw09vTb7"),
            (
                "curl_setopt($c, CURLOPT_USERPWD, 'ci:Qm3Lw09v');",
                "Qm3Lw09v",
            ),
        ],
        &[
            "skopeo copy --src-creds $USER:$PW docker://a",
            "--auth user:password",
        ],
    ),
];

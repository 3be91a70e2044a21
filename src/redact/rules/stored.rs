//! Stored passwords, bare key material and session cookies.

use super::super::rule::Rule;
use super::pattern;

pub(super) static RULES: &[Rule] = &[
    // Password hashes.

    pattern(
        "PHPASS_HASH",
        &["$p$", "$h$", "$s$"],
        r"\$(?:[PH]\$[./0-9A-Za-z]{31}|S\$[./0-9A-Za-z]{52})",
    )
        .entropy(3.0)
        .hits(&[
            ("INSERT INTO wp_users VALUES (1, 'ann', '$P$BAImJNEXnB1eM2PcqJ1TQ59nHZZc3lt');", "$P$BAImJNEXnB1eM2PcqJ1TQ59nHZZc3lt"),
            ("UPDATE users SET pass='$S$DziSwkermTF4UTSu4vaCQwNwTNA2b3p/aqcYl4fdTMHKW316dnx6' WHERE uid=1;", "$S$DziSwkermTF4UTSu4vaCQwNwTNA2b3p/aqcYl4fdTMHKW316dnx6"),
        ])
        .misses(&["preg_replace('/a/', '$P$', $x)"]),
    pattern(
        "GRUB_PASSWORD_HASH",
        &["grub.pbkdf2"],
        r"grub\.pbkdf2\.sha\d{1,3}\.\d{2,7}\.([0-9A-Fa-f]{32,256}\.[0-9A-Fa-f]{32,256})",
    )
        .hits(&[
            ("password_pbkdf2 root grub.pbkdf2.sha512.10000.2D3141506A7680D0B65F6708D746200E25D1216830BA51E6B9412B1FC7FB5781F408F4686583A308AE85DDA2AB674AB9B8C8DE7EF5C018ABC9582ED100DAECB4.9E3775F0A6AADB203DB134928F9B4E70A0A62A6983357EC4C06DBBDB7F3D735E871FAE247DB33544915C6A84C9F30F240361D4D24864F2451D1E5D8F79D0791D", "2D3141506A7680D0B65F6708D746200E25D1216830BA51E6B9412B1FC7FB5781F408F4686583A308AE85DDA2AB674AB9B8C8DE7EF5C018ABC9582ED100DAECB4.9E3775F0A6AADB203DB134928F9B4E70A0A62A6983357EC4C06DBBDB7F3D735E871FAE247DB33544915C6A84C9F30F240361D4D24864F2451D1E5D8F79D0791D"),
            ("GRUB_HASH=grub.pbkdf2.sha512.10000.F59B67DBA37ABBBBC8910BA04BFAD99DCD1D2EA13BDDC8F0A85B4F7D56D7E777DF9053DEB2D0C3C38C2128FDB3D36A92527BA1273F6D4CF2F1ADDC7791DABB7E.40179AA2E902469366F50854BC40CD51854E21809534EC654D9F62381C99D67F9902AE418D25ABBA7ED3361F81BAB36444951415A0C5E741F924F5A8D9279465", "F59B67DBA37ABBBBC8910BA04BFAD99DCD1D2EA13BDDC8F0A85B4F7D56D7E777DF9053DEB2D0C3C38C2128FDB3D36A92527BA1273F6D4CF2F1ADDC7791DABB7E.40179AA2E902469366F50854BC40CD51854E21809534EC654D9F62381C99D67F9902AE418D25ABBA7ED3361F81BAB36444951415A0C5E741F924F5A8D9279465"),
        ])
        .misses(&["grub.pbkdf2.sha512.10000."]),
    pattern(
        "NTLM_HASH",
        &[":::"],
        r":\d{3,6}:([0-9a-fA-F]{32}:[0-9a-fA-F]{32}):::",
    )
        .hits(&[
            ("ann:1001:aad3b435b51404eeaad3b435b51404ee:f16c061d4f4da0b171e32e56b82b6c6c:::", "aad3b435b51404eeaad3b435b51404ee:f16c061d4f4da0b171e32e56b82b6c6c"),
            ("Administrator:500:aad3b435b51404eeaad3b435b51404ee:731c463331c58b42d3ff097ffa986b30:::", "aad3b435b51404eeaad3b435b51404ee:731c463331c58b42d3ff097ffa986b30"),
        ])
        .misses(&["std:::vector"]),
    pattern(
        "GROUP_POLICY_PASSWORD",
        &["cpassword"],
        r#"(?i)cpassword\s{0,3}=\s{0,3}["\x27]([0-9A-Za-z+/=]{16,200})["\x27]"#,
    )
        .hits(&[
            (r#"<Properties action="U" cpassword="xjGGPBsJnrP6FJ8fXnR1GDre9WX6fRXWmBhWCLYWcY6/AuH0W5azXYlStQx4tAdt" userName="adm" />"#, "xjGGPBsJnrP6FJ8fXnR1GDre9WX6fRXWmBhWCLYWcY6/AuH0W5azXYlStQx4tAdt"),
            ("cpassword='2eMxr3xBsaHIGQmUbGKYLKd4j4BU9L4pu5+yN9X9Lyt'", "2eMxr3xBsaHIGQmUbGKYLKd4j4BU9L4pu5+yN9X9Lyt"),
        ])
        .misses(&[r#"<Properties cpassword="" />"#]),
    pattern(
        "FILEZILLA_PASSWORD",
        &["<pass encoding"],
        r#"(?i)<pass\s{1,4}encoding="[\w-]{2,20}">([^<]{4,})</pass>"#,
    )
        .hits(&[
            (r#"<Pass encoding="base64">glvw4kO2Ujy2LM52nVOok7==</Pass>"#, "glvw4kO2Ujy2LM52nVOok7=="),
            (r#"  <Pass encoding="crypt">Mg5jNschPwV4Cn35H6jSntgU4SMCakpqHHc7XZRtu9==</Pass>"#, "Mg5jNschPwV4Cn35H6jSntgU4SMCakpqHHc7XZRtu9=="),
        ])
        .misses(&[r#"<Pass encoding="base64"></Pass>"#]),
    pattern(
        "RDP_PASSWORD",
        &["51:b:"],
        "51:b:[0-9A-Fa-f]{40,}",
    )
        .hits(&[
            ("password 51:b:DDFDA6E9CA0389D46A4FC4B9DB9A830FA69F0E54EC6D71CDFFE6CDB57987FF0367C5677B6547A28A00C9F2381CECFFF8F71EB9528230698DEEF6174FDF5B352CA9E44991FA744C1D72C9B2C7678BDD43", "51:b:DDFDA6E9CA0389D46A4FC4B9DB9A830FA69F0E54EC6D71CDFFE6CDB57987FF0367C5677B6547A28A00C9F2381CECFFF8F71EB9528230698DEEF6174FDF5B352CA9E44991FA744C1D72C9B2C7678BDD43"),
            ("prompt 51:b:29F340925AD80D367340DAE2BFCD36A7F4FF4624044DFE674921595E28DF5D9186795A3C39E6EE637906000D79622E4DF844FE34F333BBE3D5BE72562AA89B6AFB1A76C25C77582EC7CFCE0B91B9CFB8", "51:b:29F340925AD80D367340DAE2BFCD36A7F4FF4624044DFE674921595E28DF5D9186795A3C39E6EE637906000D79622E4DF844FE34F333BBE3D5BE72562AA89B6AFB1A76C25C77582EC7CFCE0B91B9CFB8"),
        ])
        .misses(&["mac 51:b:0"]),
    pattern(
        "MYSQL_NATIVE_HASH",
        &["identified", "password", "mysql_native_password"],
        r#"["\x27](\*[0-9A-F]{40})["\x27]"#,
    )
        .hits(&[
            ("CREATE USER 'app'@'%' IDENTIFIED WITH mysql_native_password AS '*965052BDD631D447D8325C36572C358F1D797C3C';", "*965052BDD631D447D8325C36572C358F1D797C3C"),
            ("SET PASSWORD FOR 'app' = '*E5BADA6EEEC89AA2CC819AEDA56497064F811DF9';", "*E5BADA6EEEC89AA2CC819AEDA56497064F811DF9"),
        ])
        .misses(&["SELECT '*' FROM passwords"]),

    // Bare key material.

    pattern(
        "DER_PRIVATE_KEY",
        &["ibadanbgkqhkig9w0baqefaasc", "ibaakc", "ibazcc", "ageambmgbyqgsm49", "ageambagbyqgsm49", "mhccaqee", "mhqcaqee", "migkageb", "mc4caqawbqydk2v"],
        r"\b(?:MII[0-9A-Za-z+/]{3}(?:IBADANBgkqhkiG9w0BAQEFAASC|IBAAKC|IBAzCC)|MI[GH][0-9A-Za-z+/]AgEAMB[AM]GByqGSM49|MH[cQ]CAQEE|MIGkAgEBBD|MC4CAQAwBQYDK2V)[0-9A-Za-z+/]{30,}={0,2}",
    )
        .entropy(4.0)
        .hits(&[
            (r#"const der = "MIIEpAIBAAKCAQEAD4nZBrpwgnGdr3FyS6OFgbuAFHWux9kLcULokVtJCcQUcvUqrblMqP78uPDW/dzGn3QuxY9Fove6FtbK10YQaEF6T9xyZBZvdvsZUm1i0XjJ0QleGqrh6STjeuIWifNskmDvGaud2bXT3f1ukLJ7CU62mwY2StSnTnyL2AYBC9C6Zg+UazMC36d7Dz4xJ3buN9HZQVUgQnVFWh8pJYu99PV2Dd5GtkcaaTIM7gxD6sFvv2G3JvIE4qpKKaUT/6KuV4ffiI1H/CbP3OYBLo8l65hsbjfjOyyjZpKNfn5MJcJMj=";"#, "MIIEpAIBAAKCAQEAD4nZBrpwgnGdr3FyS6OFgbuAFHWux9kLcULokVtJCcQUcvUqrblMqP78uPDW/dzGn3QuxY9Fove6FtbK10YQaEF6T9xyZBZvdvsZUm1i0XjJ0QleGqrh6STjeuIWifNskmDvGaud2bXT3f1ukLJ7CU62mwY2StSnTnyL2AYBC9C6Zg+UazMC36d7Dz4xJ3buN9HZQVUgQnVFWh8pJYu99PV2Dd5GtkcaaTIM7gxD6sFvv2G3JvIE4qpKKaUT/6KuV4ffiI1H/CbP3OYBLo8l65hsbjfjOyyjZpKNfn5MJcJMj="),
            ("p12: MIIJzwIBAzCCCYUGCSqGSIb3DQEHAaCC8bDfXl5uJpP/Hs8oUCgwveeWPhIUKJFj+Uby2NHbfh/l8V7n29hTggnayPzBYpHioj+jI20hGg2LU9AQzcppSoth4GWsR8poGSAuLrmjOOztwtT52Lz6Ol1pgC2V+OJSw7E7y6f5X4dwm8QAxoCacK7j/WvF7UK9JGfBLa9sO7G1skG+47W+DU2MQ5HK42vjT/L6eKGpAchBwEmrTjpx4ztKP0emLyX/79tgmcm17upWQSgHu+rBRkAOPgKhPc7Dqie36Oea6pLEydwahC3Dysgy22mSbJPWwAvSJBa5LoWUq==", "MIIJzwIBAzCCCYUGCSqGSIb3DQEHAaCC8bDfXl5uJpP/Hs8oUCgwveeWPhIUKJFj+Uby2NHbfh/l8V7n29hTggnayPzBYpHioj+jI20hGg2LU9AQzcppSoth4GWsR8poGSAuLrmjOOztwtT52Lz6Ol1pgC2V+OJSw7E7y6f5X4dwm8QAxoCacK7j/WvF7UK9JGfBLa9sO7G1skG+47W+DU2MQ5HK42vjT/L6eKGpAchBwEmrTjpx4ztKP0emLyX/79tgmcm17upWQSgHu+rBRkAOPgKhPc7Dqie36Oea6pLEydwahC3Dysgy22mSbJPWwAvSJBa5LoWUq=="),
            (r#"ED = "MC4CAQAwBQYDK2VwBCIEIL9LN1+i/tXH1CvQinTtwHQW9A454TytVSaU6wNJuM4o""#, "MC4CAQAwBQYDK2VwBCIEIL9LN1+i/tXH1CvQinTtwHQW9A454TytVSaU6wNJuM4o"),
        ])
        .misses(&["cert: MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJRTES"]),
    pattern(
        "XML_RSA_PRIVATE_KEY",
        &["<p>", "<q>", "<d>", "<dp>", "<dq>", "<inverseq>"],
        "<(?:P|Q|D|DP|DQ|InverseQ)>([0-9A-Za-z+/]{60,}={0,2})</",
    )
        .entropy(4.0)
        .hits(&[
            ("  <P>xxG1KKkFLtSE8adlanV38ZOKNeimCy9hXTlPOs8tFD/3JG0JMAuHA/cSse1yuYNZW3SWGKB+9SjeBWn0qF/HoU==</P>", "xxG1KKkFLtSE8adlanV38ZOKNeimCy9hXTlPOs8tFD/3JG0JMAuHA/cSse1yuYNZW3SWGKB+9SjeBWn0qF/HoU=="),
            ("<D>D2xf+e4ym4E5rnDQkabpy/m5hzNbHXIJZAGnby78TkzKdmUP2SOROVTtPrnhNVVOxZrk9ugyxN0BenlIP2GHgaO9jzBHVpC7T6BkUjgLssF7bhnQG+DIZaLyG2wNo67In2QR/ET7KKBX+QIhRPQhWN0rVasu3RwUozbRVCQG8loOVd7jCLKYrlv0zzgWztp6DVsyRcV9Vh4DC2Xsh9tW5DZiHAa1akhsmW5RNlznLkUuyH7eWu0utSRwtzeL+JGepfG9q3i37tfs+wqTR1GGJZhuGrZi1K0DoYgopA2YRWzLXL9jR14qGCN/yPUrqSdqnm7QEPaJl/X9KAmLd5gDWq==</D>", "D2xf+e4ym4E5rnDQkabpy/m5hzNbHXIJZAGnby78TkzKdmUP2SOROVTtPrnhNVVOxZrk9ugyxN0BenlIP2GHgaO9jzBHVpC7T6BkUjgLssF7bhnQG+DIZaLyG2wNo67In2QR/ET7KKBX+QIhRPQhWN0rVasu3RwUozbRVCQG8loOVd7jCLKYrlv0zzgWztp6DVsyRcV9Vh4DC2Xsh9tW5DZiHAa1akhsmW5RNlznLkUuyH7eWu0utSRwtzeL+JGepfG9q3i37tfs+wqTR1GGJZhuGrZi1K0DoYgopA2YRWzLXL9jR14qGCN/yPUrqSdqnm7QEPaJl/X9KAmLd5gDWq=="),
        ])
        .misses(&["<P>zllSW2QuqIKADLMHRS85</P>"]),
    pattern(
        "HARDHAT_ACCOUNT_KEY",
        &["accounts:"],
        r#"accounts:\s{0,3}\[\s{0,3}["\x27`]([0-9a-fA-F]{64})["\x27`]"#,
    )
        .hits(&[
            (r#"      accounts: ["f228ec9dedee23281406d5f1a4de48f2237f60ab33a162850f62e6529a22cf67"],"#, "f228ec9dedee23281406d5f1a4de48f2237f60ab33a162850f62e6529a22cf67"),
            ("accounts: ['9fd12b9d2cb4e7a2bcc035846aa090f30cdd9fbcc5b81a367bdbb5a5dc3b9478']", "9fd12b9d2cb4e7a2bcc035846aa090f30cdd9fbcc5b81a367bdbb5a5dc3b9478"),
        ])
        .misses(&["accounts: [process.env.KEY]"]),
    pattern(
        "ERLANG_COOKIE",
        &["erlang_cookie", "erlang.cookie", "-setcookie", "release_cookie", "erlangcookie"],
        r#"(?i)(?:(?:erlang|release)[_.-]?cookie["\x27]?\s{0,3}(?::|=|\?=|=>)\s{0,3}|-setcookie\s{1,4})["\x27]?([0-9A-Za-z_+/=-]{8,64})"#,
    )
        .hits(&[
            ("    RABBITMQ_ERLANG_COOKIE: 'SUNUZKLLEGCXIVCJEJJY'", "SUNUZKLLEGCXIVCJEJJY"),
            ("erl -sname a -setcookie AGCCPJNNNULYCODEBRMM", "AGCCPJNNNULYCODEBRMM"),
        ])
        .misses(&["RABBITMQ_ERLANG_COOKIE: $COOKIE"]),
    pattern(
        "TOTP_CALL_SECRET",
        &["pyotp", "totp(", "hotp(", "totp.at", "speakeasy", "rotp"],
        r#"(?:[TH]OTP(?:\.new)?|totp|hotp)\(\s{0,3}["\x27]([A-Z2-7]{16,64})["\x27]"#,
    )
        .hits(&[
            (r#"print(pyotp.TOTP("4LCTBWXMIAMYZC72ZCAZSKTTE4EW7R34").now())"#, "4LCTBWXMIAMYZC72ZCAZSKTTE4EW7R34"),
            ("ROTP::TOTP.new('B223UMWQBFXU5OZ75SX47CNTRIPB3A26')", "B223UMWQBFXU5OZ75SX47CNTRIPB3A26"),
        ])
        .misses(&[r#"totp("user")"#]),

    // Session cookies by name.

    pattern(
        "AUTH_COOKIE",
        &[".aspnetcore.", ".aspxauth", "li_at", "jsessionid", "phpsessid", "asp.net_sessionid", "laravel_session", "connect.sid", "wordpress_logged_in", "remember_web_", "sessionid", "_session=", "xsrf-token=", "__secure-", "_shibsession_", "sid=", "user_session=", "d_ticket", "sapisid="],
        r#"(?i)(?:\.AspNetCore\.[\w.]{2,60}|\.ASPXAUTH|li_at|JSESSIONID|PHPSESSID|ASP\.NET_SessionId|laravel_session|connect\.sid|wordpress_logged_in_\w{8,40}|remember_web_\w{8,60}|sessionid|_\w{2,30}_session|user_session|_shibsession_\w{8,80}|__Secure-[\w.-]{2,40}|SAPISID)["\x27]?\s{0,2}[:=]\s{0,2}["\x27]?([\w%+/.|:-]{20,}={0,2})"#,
    )
        .entropy(3.2)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z_]+[.:/])+[A-Za-z_0-9]+$"])
        .hits(&[
            (r#"cookie = "li_at=AQEDTKW-Xf-a13BEcU_j-cTSPqHQuqdpuj9RKgX15whLRtUfA2zUpkPtt8J1bu9g43s9oNtQB2TowwYn32UxwE_dBRShj3ugGX9tDQ77D7d7C8RDCrVNNtYa63rWQ2MwFhwiCwMItp48fboz2""#, "AQEDTKW-Xf-a13BEcU_j-cTSPqHQuqdpuj9RKgX15whLRtUfA2zUpkPtt8J1bu9g43s9oNtQB2TowwYn32UxwE_dBRShj3ugGX9tDQ77D7d7C8RDCrVNNtYa63rWQ2MwFhwiCwMItp48fboz2"),
            (r#"cookies = {"JSESSIONID": "7B6A8710361495A98A8E8720C1E25804"}"#, "7B6A8710361495A98A8E8720C1E25804"),
            ("jar.set('.AspNetCore.Identity.Application=CfDJ8Y_CBl3jKYgOAim7QY_Kwi-Qhao2y276Yo3Uoy9b1v1mE9qMIxXadA2cUaUSowi4IUsg88dTby7juaUxuRnASxYKyTKDTryqrYQUm2klVfxuQZmdButojr2Uor5OiFrqwBBedXyDvmUXTf7UEt5idapx1-ZW1AvsK9-VpbMB94m1BYdtDYgUMN3ek1Xi-x6dznuV3w6vGg')", "CfDJ8Y_CBl3jKYgOAim7QY_Kwi-Qhao2y276Yo3Uoy9b1v1mE9qMIxXadA2cUaUSowi4IUsg88dTby7juaUxuRnASxYKyTKDTryqrYQUm2klVfxuQZmdButojr2Uor5OiFrqwBBedXyDvmUXTf7UEt5idapx1-ZW1AvsK9-VpbMB94m1BYdtDYgUMN3ek1Xi-x6dznuV3w6vGg"),
        ])
        .misses(&[r#"sessionid = request.COOKIES.get("sessionid")"#, "JSESSIONID=<session id>"]),
];

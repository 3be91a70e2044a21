//! The large clouds: Amazon, Google, Alibaba, Tencent and others.

use super::super::rule::Charset::{Alnum, AnyBase64, Base64, Dotted, HexLower, Lower, Token, Upper, Uuid, Visible};
use super::super::rule::Rule;
use super::{assigned, nearby, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Amazon.

    prefixed("AWS_ACCESS_KEY_ID", &["AKIA", "ASIA", "ABIA", "ACCA"], Upper, (16, 16))
        .allow(&["EXAMPLE$"])
        .hits(&[
            (r#"let client = Client::new("AKIAIR5AMDJV6MO2FKNG");"#, "AKIAIR5AMDJV6MO2FKNG"),
            ("AWS_ACCESS_KEY_ID=ASIAJGJ7MFUPLTO3UWDH", "ASIAJGJ7MFUPLTO3UWDH"),
            ("  aws_access_key_id: ABIAP76IWI54E4N4S7HJ", "ABIAP76IWI54E4N4S7HJ"),
            (r#"    "aws_access_key_id": "ACCAUVDKB2G6TUH47Z6P","#, "ACCAUVDKB2G6TUH47Z6P"),
        ])
        .misses(&["AKIA${SUFFIX}", "ASIAPACIFICREGIONALOFFICE", "aws_access_key_id = AKIAIOSFODNN7EXAMPLE"]),
    prefixed("AWS_LEGACY_ACCESS_KEY_ID", &["A3T"], Upper, (17, 17))
        .entropy(3.0)
        .hits(&[
            ("  aws_legacy_access_key_id: A3TTXG1CK6WT23NC814I", "A3TTXG1CK6WT23NC814I"),
            (r#"    "aws_legacy_access_key_id": "A3T6V0MBWCY65X7KP1RC","#, "A3T6V0MBWCY65X7KP1RC"),
        ])
        .misses(&["model A3TX"]),
    nearby(
        "AWS_SECRET_ACCESS_KEY",
        &["akia", "asia", "secretaccesskey", "secret_access_key", "aws_secret", "awssecret"],
        "(?:^|[^0-9A-Za-z/+_.-])([0-9A-Za-z/+]{40})(?:[^0-9A-Za-z/+=_-]|$)",
    )
        .entropy(4.0)
        .allow(&["EXAMPLEKEY$", "^[0-9a-f]{40}$", "^[0-9A-F]{40}$", "^[a-z/]+$", "^/?(?:[a-z][a-z0-9]*/)+[a-z0-9]*$"])
        .hits(&[
            ("aws_secret_access_key = lKXEw0BcMrTVk/Ex4Ynb2Qewcp3mP/52lb6pcgQ4", "lKXEw0BcMrTVk/Ex4Ynb2Qewcp3mP/52lb6pcgQ4"),
            (r#"new BasicAWSCredentials(AKIA_ID, "tacMU502xQrvWXZryP/C3ElciBIRX/E1qm9KCZ34")"#, "tacMU502xQrvWXZryP/C3ElciBIRX/E1qm9KCZ34"),
            ("AWS_SECRET_ACCESS_KEY=76z/Wyxfn0ZdL855Eivv1SncbWzk6gPfTKajIA9y", "76z/Wyxfn0ZdL855Eivv1SncbWzk6gPfTKajIA9y"),
        ])
        .misses(&[
            r#"role = "arn:aws:iam::123456789012:role/asia""#,
            "asia: 3f786850e387550fdab836ed7e6dc881de23001b",
        ]),
    prefixed("AWS_SESSION_TOKEN", &["IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz", "FwoDYXdz", "FQoDYXdz"], AnyBase64, (60, 4000))
        .hits(&[
            ("- echo IQoJb3JpZ2luIn1sxjKv9i2zlPhNgkh5CCS4fEZfyoYGOocDZ1+7D2hA++rpdnrNx7xugZJTlat/fzV93Whb3ghvehQJfXG4XVDOs+tOzgTgcIBAMe0CmeDEZ5uk/j1rYqU+ZKKO3VLC11gZ5PC0l0NAh7cm7Xf7mqjbUTqRrJpPIhUgK649axRSRzSYIF80mYe2s1m1Qxsx8I6zf+ur= | tool login", "IQoJb3JpZ2luIn1sxjKv9i2zlPhNgkh5CCS4fEZfyoYGOocDZ1+7D2hA++rpdnrNx7xugZJTlat/fzV93Whb3ghvehQJfXG4XVDOs+tOzgTgcIBAMe0CmeDEZ5uk/j1rYqU+ZKKO3VLC11gZ5PC0l0NAh7cm7Xf7mqjbUTqRrJpPIhUgK649axRSRzSYIF80mYe2s1m1Qxsx8I6zf+ur="),
            (r#"<add key="aws_session_token" value="FwoGZXIvYXdz86B0Ad12IcUNFrs9ot5RYoDqPcYlWY7ghIjn4DEATfhhuIQBS6EP33ZTMRkDhKrkiYY3IG0KELJN/pI89IbjGH8FfpZA4TjzesnE/pZ76Kd+nj9zrp7nv6Ae2ASjpz0lSKXa4Mxyjpp1KuH8XdA/f0xokDDtW7qvgEdHbu34gdm2QiLJCYIScHgNE38/N/QNec6m0uWl=" />"#, "FwoGZXIvYXdz86B0Ad12IcUNFrs9ot5RYoDqPcYlWY7ghIjn4DEATfhhuIQBS6EP33ZTMRkDhKrkiYY3IG0KELJN/pI89IbjGH8FfpZA4TjzesnE/pZ76Kd+nj9zrp7nv6Ae2ASjpz0lSKXa4Mxyjpp1KuH8XdA/f0xokDDtW7qvgEdHbu34gdm2QiLJCYIScHgNE38/N/QNec6m0uWl="),
            (r#"let client = Client::new("FQoGZXIvYXdzFj6rx8+GLtMNHEqtYlWKEORlNKlSJ35gSaQ/YKtKARnI/KSzmgD3UdOT7hWypi5nErrOmzqTr7JXKKIkfXv8m3VlZx7peTIF3pQ4ftHbzU/d17oxjfliVK9zedGY9avfh0W0fuapG91NJk8jCSeY34dVDvWqLbyBlK/EddSb+GyOf9fyIdRAnc+k7hEcFRdYOQ6vs/A1=");"#, "FQoGZXIvYXdzFj6rx8+GLtMNHEqtYlWKEORlNKlSJ35gSaQ/YKtKARnI/KSzmgD3UdOT7hWypi5nErrOmzqTr7JXKKIkfXv8m3VlZx7peTIF3pQ4ftHbzU/d17oxjfliVK9zedGY9avfh0W0fuapG91NJk8jCSeY34dVDvWqLbyBlK/EddSb+GyOf9fyIdRAnc+k7hEcFRdYOQ6vs/A1="),
            ("AWS_SESSION_TOKEN=FwoDYXdzO4hpeFXsjGYF40qbLbuaxXPP2mT3vqsjnmVLAbxSlOti2gh7WdlyklY9dtmWlEQjxoSP0PQOO6f+Lou1zGmIOInemTu7cvu8dTdvCE5a0VOM9ue/tytbM4SRwFSHmUAKiZpw/duhrGEZ+EZbqP6wtpriEyToGm7XpGx0K/SPaLLRQz4Wswsr+JWJKdEREGtIiIcptb17=", "FwoDYXdzO4hpeFXsjGYF40qbLbuaxXPP2mT3vqsjnmVLAbxSlOti2gh7WdlyklY9dtmWlEQjxoSP0PQOO6f+Lou1zGmIOInemTu7cvu8dTdvCE5a0VOM9ue/tytbM4SRwFSHmUAKiZpw/duhrGEZ+EZbqP6wtpriEyToGm7XpGx0K/SPaLLRQz4Wswsr+JWJKdEREGtIiIcptb17="),
            ("  aws_session_token: FQoDYXdzWE1Y+Yp68LKb4464wNG++J6YZ2LJwWH8BbWE9RnYX7jTKlFzcigYPFKt97nrqeQCmaLTCmr5IpAmOWv1HI3HWRFDN7rbgoaCFxwz/bYJQS5aVw+ik/zwbF6Vu2GolyE/8hA4bNtEVDTUO2hQOvuA5ejj3KoePtOvZA583mk0nFHWqBAmoEjVQOW33BsDvKpQQR0R2Uab=", "FQoDYXdzWE1Y+Yp68LKb4464wNG++J6YZ2LJwWH8BbWE9RnYX7jTKlFzcigYPFKt97nrqeQCmaLTCmr5IpAmOWv1HI3HWRFDN7rbgoaCFxwz/bYJQS5aVw+ik/zwbF6Vu2GolyE/8hA4bNtEVDTUO2hQOvuA5ejj3KoePtOvZA583mk0nFHWqBAmoEjVQOW33BsDvKpQQR0R2Uab="),
        ])
        .misses(&["# the console shows IQoJb3JpZ2luhqh_t6 and asks for the rest"]),
    prefixed("AWS_BEDROCK_API_KEY", &["ABSK"], Base64, (60, 400))
        .hits(&[
            ("  aws_bedrock_api_key: ABSKVmdIQDhLNrmx4uasgC+P+cqt5xx71MzzCJY7AWzqfFux/UOwqypdJcSeA0l4NmT34hwYz0zJMPlZXQaJKbv1pXnxMdUCdl1PJGH/vXlx5CTxnVKgL6T+sHEmzfudMBu4", "ABSKVmdIQDhLNrmx4uasgC+P+cqt5xx71MzzCJY7AWzqfFux/UOwqypdJcSeA0l4NmT34hwYz0zJMPlZXQaJKbv1pXnxMdUCdl1PJGH/vXlx5CTxnVKgL6T+sHEmzfudMBu4"),
            (r#"    "aws_bedrock_api_key": "ABSKxS2UXDeK6oo6bsWoO/CnY5CSWAoyg4qdMHMsO/eYSHP9r94NKcpER5C2E8amNyhCUCx7FmGtpkWA8YBV572MFLJ1ga+6lgxv0UN9xl0knQ59F4BqnRidTl/wYkGjRHHE","#, "ABSKxS2UXDeK6oo6bsWoO/CnY5CSWAoyg4qdMHMsO/eYSHP9r94NKcpER5C2E8amNyhCUCx7FmGtpkWA8YBV572MFLJ1ga+6lgxv0UN9xl0knQ59F4BqnRidTl/wYkGjRHHE"),
        ])
        .misses(&["# the console shows ABSKJxH1RG and asks for the rest"]),
    prefixed("AWS_BEDROCK_SHORT_TERM_KEY", &["bedrock-api-key-"], AnyBase64, (20, 4000))
        .hits(&[
            (r#"<add key="aws_bedrock_short_term_key" value="bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t4xtuplyydxfu5oSG0lkikMojATo1z2B1o6BpdOKGmxt2Ds9GB05hnF4OtZq7bMOtxqoiTlhUqikrOxveegcvbWjWlZGFemr7gIbTjL72biHz8rWC9Wj0PBc2" />"#, "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t4xtuplyydxfu5oSG0lkikMojATo1z2B1o6BpdOKGmxt2Ds9GB05hnF4OtZq7bMOtxqoiTlhUqikrOxveegcvbWjWlZGFemr7gIbTjL72biHz8rWC9Wj0PBc2"),
            (r#"let client = Client::new("bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t4XM44lIwjWIUmE9l7g26R8DciaoVtg4pXD8r7DZL7EzKYD7YfObYbWW1vXnKWUfj0oWDylg9eF5REeCHxFxB93y2zGkhJDX1gfMr4IpV9KInhuGcwiKancF8");"#, "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t4XM44lIwjWIUmE9l7g26R8DciaoVtg4pXD8r7DZL7EzKYD7YfObYbWW1vXnKWUfj0oWDylg9eF5REeCHxFxB93y2zGkhJDX1gfMr4IpV9KInhuGcwiKancF8"),
        ])
        .misses(&["# the console shows bedrock-api-key-vBT4yq and asks for the rest"]),
    prefixed("AWS_MWS_TOKEN", &["amzn.mws."], Uuid, (36, 36))
        .hits(&[
            ("export AWS_MWS_TOKEN='amzn.mws.413250ca-c180-48a3-bad7-dafe249ff05f'", "amzn.mws.413250ca-c180-48a3-bad7-dafe249ff05f"),
            ("args: ['--auth', 'amzn.mws.ec28f8e2-01b0-41d3-b55b-7e391ad9c80e']", "amzn.mws.ec28f8e2-01b0-41d3-b55b-7e391ad9c80e"),
        ])
        .misses(&["# the console shows amzn.mws.ab63a8 and asks for the rest"]),
    prefixed("AMAZON_OAUTH_CLIENT_SECRET", &["amzn1.oa2-cs.v1."], HexLower, (32, 128))
        .hits(&[
            ("The value amzn1.oa2-cs.v1.1aede15606d6b18e29176f087ff510beecd2f6a82be2fe85ad16b8876a7c60da was rotated last week.", "amzn1.oa2-cs.v1.1aede15606d6b18e29176f087ff510beecd2f6a82be2fe85ad16b8876a7c60da"),
            ("export AMAZON_OAUTH_CLIENT_SECRET='amzn1.oa2-cs.v1.2ae587496bca1ecbced457928018b11a83da56debefdb07e8b1d981050f58eb5'", "amzn1.oa2-cs.v1.2ae587496bca1ecbced457928018b11a83da56debefdb07e8b1d981050f58eb5"),
        ])
        .misses(&["# the console shows amzn1.oa2-cs.v1.a25e8f and asks for the rest"]),
    pattern(
        "AMAZON_LWA_TOKEN",
        &["atza|", "atzr|"],
        r"\bAtz[ar]\|[\w+/=-]{40,}",
    )
        .hits(&[
            ("refresh_token: Atzr|IwEBI6TAwhCdQlTdKSxaZGtPhYvUBWt1TPCSAQlAeJehjr6wAMrWb7D63i69rmRYWByi4R4Xojs26WENIeJDVf", "Atzr|IwEBI6TAwhCdQlTdKSxaZGtPhYvUBWt1TPCSAQlAeJehjr6wAMrWb7D63i69rmRYWByi4R4Xojs26WENIeJDVf"),
            (r#""access": "Atza|IwEBIarKnhxs15e3G4iiW2Pjh6cnTxnPlR2mJXw8W_0VgxfuKJlo4YG_GDvkRF_kZHGTqv3L2vQrUDgEQhxzu5""#, "Atza|IwEBIarKnhxs15e3G4iiW2Pjh6cnTxnPlR2mJXw8W_0VgxfuKJlo4YG_GDvkRF_kZHGTqv3L2vQrUDgEQhxzu5"),
        ])
        .misses(&["Atza|short"]),
    pattern(
        "AWS_PRESIGNED_URL",
        &["x-amz-signature=", "x-amz-security-token="],
        "(?i)X-Amz-(?:Signature|Security-Token)=([0-9A-Za-z%+/=_-]{40,})",
    )
        .hits(&[
            ("https://acme.s3.amazonaws.com/a.zip?X-Amz-Date=20240102T030405Z&X-Amz-Expires=900&X-Amz-Signature=01df51844de456c2227f2850befde84ba81b45cc0f2675bce1d3f999f07f4a5a", "01df51844de456c2227f2850befde84ba81b45cc0f2675bce1d3f999f07f4a5a"),
            (r#"url: "https://b.s3.eu-west-1.amazonaws.com/x?X-Amz-Signature=f0672826dff6ceee9a746f678d49dfa3d13a069105d8ddb64ba92fb521faaf59&X-Amz-SignedHeaders=host""#, "f0672826dff6ceee9a746f678d49dfa3d13a069105d8ddb64ba92fb521faaf59"),
        ])
        .misses(&[r#"if "X-Amz-Signature=" in url:"#]),
    pattern(
        "AWS_S3_SIGNED_URL_V2",
        &["awsaccesskeyid="],
        "(?i)[?&]Signature=([0-9A-Za-z%+/=]{20,80})",
    )
        .hits(&[
            ("https://b.s3.amazonaws.com/x?AWSAccessKeyId=$ID&Expires=1710000000&Signature=KbdUJCngPsZ3LdsI9DOeeG02Zry%3D", "KbdUJCngPsZ3LdsI9DOeeG02Zry%3D"),
            (r#"url: "https://c.s3.amazonaws.com/y?Signature=1hadmh1uB2uQIsvKTCF8Q3sIEqx%3D&AWSAccessKeyId=$ID""#, "1hadmh1uB2uQIsvKTCF8Q3sIEqx%3D"),
        ])
        .misses(&["https://b.s3.amazonaws.com/x?AWSAccessKeyId=$ID&Signature=$SIG"]),

    // Google.

    prefixed("GCP_API_KEY", &["AIza"], Token, (35, 35))
        .hits(&[
            ("GCP_API_KEY=AIzaSygkLCLzll_3jJzkzVRpu-TjOiT70qRiXm9", "AIzaSygkLCLzll_3jJzkzVRpu-TjOiT70qRiXm9"),
            ("  gcp_api_key: AIzaSydQD_p1SfNVMrHRi7K2JFjZZDcUhCUhUDs", "AIzaSydQD_p1SfNVMrHRi7K2JFjZZDcUhCUhUDs"),
        ])
        .misses(&["AIza keys are 39 characters long"]),
    prefixed("GCP_OAUTH_CLIENT_SECRET", &["GOCSPX-"], Token, (20, 40))
        .hits(&[
            (r#"    "gcp_oauth_client_secret": "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","#, "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"),
            ("The value 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 was rotated last week.", "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"),
        ])
        .misses(&["# the console shows GOCSPX-7SWWdi and asks for the rest"]),
    prefixed("GCP_OAUTH_REFRESH_TOKEN", &["1//0"], Token, (30, 512))
        .hits(&[
            (r#"let client = Client::new("1//06wdZEGsZLjRQzXRNGsLHKQinjkWIox8mosvWZmOyJ3-B8hHfgalGbsAdxbGVZP4XJb4QEvqTnuds42PCUx8O89ymiN074UZAwH2");"#, "1//06wdZEGsZLjRQzXRNGsLHKQinjkWIox8mosvWZmOyJ3-B8hHfgalGbsAdxbGVZP4XJb4QEvqTnuds42PCUx8O89ymiN074UZAwH2"),
            ("GCP_OAUTH_REFRESH_TOKEN=1//0foI9eKpvD8kEdTNijeNJZuVl_ibMHDr3DFkQ3gQRxKndw8uBVHripBq-_iy9_zEkjNu_xi_dtCA9q7TPSd-ynmWMUgETCAEWGSe", "1//0foI9eKpvD8kEdTNijeNJZuVl_ibMHDr3DFkQ3gQRxKndw8uBVHripBq-_iy9_zEkjNu_xi_dtCA9q7TPSd-ynmWMUgETCAEWGSe"),
        ])
        .misses(&["see http://10.0.0.1//0x1f"]),
    prefixed("GCP_OAUTH_ACCESS_TOKEN", &["ya29."], Dotted, (20, 4000))
        .hits(&[
            ("The value ya29.a0BXAV0XEmRr24Y1nsit6MJHq1REeEuybpn8HPCIY6TMBWJttnViYnxaO213HepmP2a7NUocziAZU5o2CWbEDG0BV3-aZzR-0IMudbMrU3nGi5klynIRy50G06vsJjH6gHHwu was rotated last week.", "ya29.a0BXAV0XEmRr24Y1nsit6MJHq1REeEuybpn8HPCIY6TMBWJttnViYnxaO213HepmP2a7NUocziAZU5o2CWbEDG0BV3-aZzR-0IMudbMrU3nGi5klynIRy50G06vsJjH6gHHwu"),
            ("export GCP_OAUTH_ACCESS_TOKEN='ya29.a0DF_wtbo8PVTtUoyMCwss1cDFrkPDKnm0Q3Lku4t-i54goNvLH5xZ_aj1kskCitYje8itBC0LlrnLs6Nw89vNhXshQBn_Y65dOXcXgrCLLUK8gCDKB_RJBkPNVY-_XQyxVV2'", "ya29.a0DF_wtbo8PVTtUoyMCwss1cDFrkPDKnm0Q3Lku4t-i54goNvLH5xZ_aj1kskCitYje8itBC0LlrnLs6Nw89vNhXshQBn_Y65dOXcXgrCLLUK8gCDKB_RJBkPNVY-_XQyxVV2"),
        ])
        .misses(&["# the console shows ya29.t_DIEp and asks for the rest"]),
    prefixed("GCP_HMAC_KEY", &["GOOG1E"], Alnum, (40, 70))
        .hits(&[
            (r#"<add key="gcp_hmac_key" value="GOOG1EWDJLYV32BKOMN4GXQKDNAQT6NISQNUDCV5ZUZODSITAYN6PLOZ5ADSA" />"#, "GOOG1EWDJLYV32BKOMN4GXQKDNAQT6NISQNUDCV5ZUZODSITAYN6PLOZ5ADSA"),
            (r#"let client = Client::new("GOOG1EJXPEBEBCI3GUXQ66VBPYSMZDJBPBMFXYVLVZOOYHRH7GQF33SLGMTA5");"#, "GOOG1EJXPEBEBCI3GUXQ66VBPYSMZDJBPBMFXYVLVZOOYHRH7GQF33SLGMTA5"),
        ])
        .misses(&["# the console shows GOOG1EpSblLf and asks for the rest"]),
    pattern(
        "FIREBASE_CLOUD_MESSAGING_KEY",
        &[":apa91b"],
        r"\b[\w-]{11,22}:APA91b[\w-]{60,200}",
    )
        .hits(&[
            (r#"fcm.send("AAAAX3fKeFc:APA91b39DdwfBQMuoiyIIDLo06jZktrUqVg-yfupPs_DB7T0kANVmAwGDwb3TNVBUx17nNg39M7Mn1wo18x_ugmjVy9cHss63nwMPrziAZQpNzu7dqYIaqbyhDCpALl4vZio1pRNjAmb", message)"#, "AAAAX3fKeFc:APA91b39DdwfBQMuoiyIIDLo06jZktrUqVg-yfupPs_DB7T0kANVmAwGDwb3TNVBUx17nNg39M7Mn1wo18x_ugmjVy9cHss63nwMPrziAZQpNzu7dqYIaqbyhDCpALl4vZio1pRNjAmb"),
            (r#""fcm": "Wf30IjIlvIfVedvcCHLdHK:APA91bNQTJze8oWMSTdMp8Rt_vUr7L0Bjtnv6tnPJKZLA8dGNofdFthnBKDlEnkm9l4tq-U6ZmJykDbr0oWtFUm-OBPhXrwUIbIfjj0vMeCFNNePGDs6nSPIFQdECUmOmcyebOmuus49""#, "Wf30IjIlvIfVedvcCHLdHK:APA91bNQTJze8oWMSTdMp8Rt_vUr7L0Bjtnv6tnPJKZLA8dGNofdFthnBKDlEnkm9l4tq-U6ZmJykDbr0oWtFUm-OBPhXrwUIbIfjj0vMeCFNNePGDs6nSPIFQdECUmOmcyebOmuus49"),
        ])
        .misses(&["registration ids contain :APA91b"]),
    pattern(
        "GOOGLE_CHAT_WEBHOOK",
        &["chat.googleapis.com"],
        r"chat\.googleapis\.com/v1/spaces/[\w-]{5,20}/messages\?(?:key=[\w-]{20,60}&)?token=([\w%=-]{20,80})",
    )
        .hits(&[
            ("https://chat.googleapis.com/v1/spaces/AAAAx1Yq0bE/messages?token=5Mre0OBAAup6s8RLvJieN8EM-Wl7dqaDBSQf_EMawg%3D", "5Mre0OBAAup6s8RLvJieN8EM-Wl7dqaDBSQf_EMawg%3D"),
            ("webhook: https://chat.googleapis.com/v1/spaces/AAAAx1Yq0bE/messages?token=6WrSkjYA09C91PG2ZbpxmIh66ayc0144KylZ-MY21A%3D", "6WrSkjYA09C91PG2ZbpxmIh66ayc0144KylZ-MY21A%3D"),
        ])
        .misses(&["https://chat.googleapis.com/v1/spaces/AAAAx1Yq0bE/messages"]),

    // Alibaba, Tencent, Huawei, Baidu, ByteDance.

    prefixed("ALIBABA_ACCESS_KEY_ID", &["LTAI"], Alnum, (12, 24))
        .entropy(3.0)
        .hits(&[
            (r#"let client = Client::new("LTAIsTWH3POWtcKxr3WfmeML");"#, "LTAIsTWH3POWtcKxr3WfmeML"),
            ("ALIBABA_ACCESS_KEY_ID=LTAI3drowQqMrrhCaXYHLyqp", "LTAI3drowQqMrrhCaXYHLyqp"),
        ])
        .misses(&["LTAI keys"]),
    prefixed("ALIBABA_STS_TOKEN", &["STS.", "CAIS"], AnyBase64, (20, 2000))
        .entropy(3.5)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("- echo STS.Nykl26gL3pZRGZsOdXWww8NnF | tool login", "STS.Nykl26gL3pZRGZsOdXWww8NnF"),
            (r#"<add key="alibaba_sts_token" value="CAIS73h9/T2TJIRlYWHs+GwodUlzYQ8DmOajpmlmF01gkj0GkdDP04luaMFbXtrg7vuhjUHr71LzyNfWeharZlxi/XcNhza61ErImfcdt9IMtGWFRp1cB+MNDOrNm" />"#, "CAIS73h9/T2TJIRlYWHs+GwodUlzYQ8DmOajpmlmF01gkj0GkdDP04luaMFbXtrg7vuhjUHr71LzyNfWeharZlxi/XcNhza61ErImfcdt9IMtGWFRp1cB+MNDOrNm"),
        ])
        .misses(&["AWS.STS.AssumeRole", "STS.getSessionTokenRequest()"]),
    assigned("ALIBABA_SECRET_KEY", &["aliyun", "alibaba", "alicloud", "osssecret", "accesskeysecret", "ossaccesskeysecret"], Alnum, (30, 30))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("ALIYUN_ACCESS_KEY_SECRET=ZIfyJD96MNL8StMc4PiL8Tn52gMZxL", "ZIfyJD96MNL8StMc4PiL8Tn52gMZxL"),
            ("alibaba_secret: j1a4akwfXL9doFGIU0WJjuMuJFQIKs", "j1a4akwfXL9doFGIU0WJjuMuJFQIKs"),
            (r#"  "alicloud_key": "qLvAZMjYIZC9USnol64OAT8uJ6Cgag","#, "qLvAZMjYIZC9USnol64OAT8uJ6Cgag"),
        ])
        .misses(&[r#"aliyun_region = "eu-central-1""#]),
    prefixed("TENCENT_SECRET_ID", &["AKID"], Alnum, (32, 48))
        .entropy(3.0)
        .hits(&[
            ("export TENCENT_SECRET_ID='AKIDwGr0HoiaBVoBJ86CnY0VGaLsBqvvjhRT'", "AKIDwGr0HoiaBVoBJ86CnY0VGaLsBqvvjhRT"),
            ("args: ['--auth', 'AKIDmyMWQ17Wwi3fPVc1ciHzoeyPuqBhXNP2']", "AKIDmyMWQ17Wwi3fPVc1ciHzoeyPuqBhXNP2"),
        ])
        .misses(&["# the console shows AKIDusJIoA and asks for the rest"]),
    assigned("TENCENT_SECRET_KEY", &["tencent", "qcloud", "cossecret"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"tencentcloud_secret_key = "kmwax1RPPLcTsgAhoeX4lS6uJqpn2fEV""#, "kmwax1RPPLcTsgAhoeX4lS6uJqpn2fEV"),
            ("QCLOUD_SECRET=hBLLvBPksn897onr0LZniCz5LpavUz35", "hBLLvBPksn897onr0LZniCz5LpavUz35"),
            ("cos_secret: QGEvK2xUjmFEenf8P9yRJ9HYhTCIb0p7", "QGEvK2xUjmFEenf8P9yRJ9HYhTCIb0p7"),
        ])
        .misses(&[r#"tencentcloud_region = "eu-central-1""#]),
    assigned("HUAWEI_CLOUD_SECRET", &["huawei", "hwsecret", "hwaccess", "obssecret"], Alnum, (40, 40))
        .entropy(3.0)
        .allow(&["^[0-9a-f]+$", "^[^0-9]+$"])
        .hits(&[
            ("huaweicloud_sk: ZP8iP415P5uRHIyAVPwx1H0RSegOGTowCsb0nFeq", "ZP8iP415P5uRHIyAVPwx1H0RSegOGTowCsb0nFeq"),
            (r#"  "hw_secret_key": "NyFqSQ2uUPYfLzomiUGqYuqECPPDsa1qYTJxtqZH","#, "NyFqSQ2uUPYfLzomiUGqYuqECPPDsa1qYTJxtqZH"),
        ])
        .misses(&[r#"huaweicloud_region = "eu-central-1""#]),
    pattern(
        "BAIDU_CLOUD_KEY",
        &["bce-v3/altak-"],
        "bce-v3/ALTAK-[0-9A-Za-z]{15,30}/[0-9a-f]{40}",
    )
        .hits(&[
            ("Authorization: Bearer bce-v3/ALTAK-MXb2gDMqwHbxTxU15dh1b/fc21ba50b3da23a009618af3f8806f501d492373", "bce-v3/ALTAK-MXb2gDMqwHbxTxU15dh1b/fc21ba50b3da23a009618af3f8806f501d492373"),
            ("QIANFAN_KEY=bce-v3/ALTAK-9vflRqB5FRqiQ1AsTBDfe/777a5430d6323be5d79103b942e3643c1b2feafe", "bce-v3/ALTAK-9vflRqB5FRqiQ1AsTBDfe/777a5430d6323be5d79103b942e3643c1b2feafe"),
        ])
        .misses(&["bce-v3/ALTAK-<id>/<key>"]),
    prefixed("VOLCENGINE_ACCESS_KEY", &["AKLT"], Base64, (30, 60))
        .entropy(3.0)
        .hits(&[
            ("The value AKLTY0eZCXYiAsCNHZxNlPLC0YUuXqyqv2JKIJMU4uWB6Bp was rotated last week.", "AKLTY0eZCXYiAsCNHZxNlPLC0YUuXqyqv2JKIJMU4uWB6Bp"),
            ("export VOLCENGINE_ACCESS_KEY='AKLTLgMzMg3L67quka7x79CEq1mhgk8wD7sNJnnMKfMNWXL'", "AKLTLgMzMg3L67quka7x79CEq1mhgk8wD7sNJnnMKfMNWXL"),
        ])
        .misses(&["# the console shows AKLT1D2B8p and asks for the rest"]),

    // Yandex, Oracle, IBM.

    prefixed("YANDEX_API_KEY", &["AQVN"], Token, (35, 40))
        .hits(&[
            ("- echo AQVNi0qI9h8PcgoPU4eRjOhwtrgYLvNeowDxSYVb | tool login", "AQVNi0qI9h8PcgoPU4eRjOhwtrgYLvNeowDxSYVb"),
            (r#"<add key="yandex_api_key" value="AQVNm4FhIVv3jy2J5MwlkUocOO5R2nInXH0n4KFk" />"#, "AQVNm4FhIVv3jy2J5MwlkUocOO5R2nInXH0n4KFk"),
        ])
        .misses(&["# the console shows AQVNIvSJn7 and asks for the rest"]),
    prefixed("YANDEX_STATIC_KEY", &["YCM", "YCN", "YCO", "YCP", "YCAJE"], Token, (20, 37))
        .entropy(3.0)
        .allow(&["^YC[A-Z_-]+$"])
        .hits(&[
            ("- echo YCMbK-LBR1t1-Z_k-enIsh5F4d24Yj5CdGXDNSDd | tool login", "YCMbK-LBR1t1-Z_k-enIsh5F4d24Yj5CdGXDNSDd"),
            (r#"<add key="yandex_static_key" value="YCNdjnzns19iObYa9J--oSHwdujq4O-PMs3vHHwr" />"#, "YCNdjnzns19iObYa9J--oSHwdujq4O-PMs3vHHwr"),
            (r#"let client = Client::new("YCOAlsDM9rLpRESzz1fv2bNNKHfLNs21qJnV0sH0");"#, "YCOAlsDM9rLpRESzz1fv2bNNKHfLNs21qJnV0sH0"),
            ("YANDEX_STATIC_KEY=YCPzk6BHh659Ezg32aHdAiCtot3PCSsUXfatgKT9", "YCPzk6BHh659Ezg32aHdAiCtot3PCSsUXfatgKT9"),
            ("  yandex_static_key: YCAJEAxIAmI6F8OQ5KhTFlDR5", "YCAJEAxIAmI6F8OQ5KhTFlDR5"),
        ])
        .misses(&["YCM_CONFIGURATION_DIRECTORY_NAME"]),
    prefixed("YANDEX_OAUTH_TOKEN", &["y0_", "y1_", "y2_", "y3_"], Token, (40, 80))
        .entropy(3.5)
        .allow(&[r"^y\d_[a-z_]+$"])
        .hits(&[
            ("  yandex_oauth_token: y0_NoUC4aPgj6pnwQHn9CDX-KunfZuOWy9-Ol3cfDBxDZBzmPttE_UOQP7", "y0_NoUC4aPgj6pnwQHn9CDX-KunfZuOWy9-Ol3cfDBxDZBzmPttE_UOQP7"),
            (r#"    "yandex_oauth_token": "y1_xOqYyP_kXsApPGSJoEwVYp3GVHHVdswzslvMdjig8Q2zLRSH-7jt6dx","#, "y1_xOqYyP_kXsApPGSJoEwVYp3GVHHVdswzslvMdjig8Q2zLRSH-7jt6dx"),
            ("The value y2_bngrsz7jWkdvarQDHnnMwarRPiKEwTM0h2qTjrAUwJxcVxWZES9mIN7 was rotated last week.", "y2_bngrsz7jWkdvarQDHnnMwarRPiKEwTM0h2qTjrAUwJxcVxWZES9mIN7"),
            ("export YANDEX_OAUTH_TOKEN='y3_ekqjd3wMzad9g4l3S9kipKuJjvrOxVDxPnK15ZH6hmJ2oO6UpLZp-dd'", "y3_ekqjd3wMzad9g4l3S9kipKuJjvrOxVDxPnK15ZH6hmJ2oO6UpLZp-dd"),
        ])
        .misses(&["y0_init = solve(f)"]),
    pattern(
        "YANDEX_IAM_TOKEN",
        &["t1."],
        r"\bt1\.[0-9A-Za-z_-]{10,}={0,2}\.[0-9A-Za-z_-]{86}={0,2}",
    )
        .hits(&[
            ("YC_TOKEN=t1.9euelZCdY35isDhcncT7nWrN6C0X-Cq-F_xtBrXSwAo6BEZt0N-8d1ZN_GSu9KKwN_.fWXqQ5U6dgTL48ojtuWIGfbaySMjjvuXnIygxBNIPt9p1GP0ero7G2DSMAbLBdBhV0mANXpLhTtfFbzIakXJ6j", "t1.9euelZCdY35isDhcncT7nWrN6C0X-Cq-F_xtBrXSwAo6BEZt0N-8d1ZN_GSu9KKwN_.fWXqQ5U6dgTL48ojtuWIGfbaySMjjvuXnIygxBNIPt9p1GP0ero7G2DSMAbLBdBhV0mANXpLhTtfFbzIakXJ6j"),
            (r#"iam: "t1.9euelZs1YT793NND4so3LJqYw5BSdk5hnZYuDuRWmVSZGgsnTcK9YBYOYmaCQODjEc.2EeGKphcoPybMeWLE3YPgUj-lJaV9WnMhGZ2w2A024jbka5HzJla5I-QneGlA0kHYL4RzAetP0ocNs6_2dVolb""#, "t1.9euelZs1YT793NND4so3LJqYw5BSdk5hnZYuDuRWmVSZGgsnTcK9YBYOYmaCQODjEc.2EeGKphcoPybMeWLE3YPgUj-lJaV9WnMhGZ2w2A024jbka5HzJla5I-QneGlA0kHYL4RzAetP0ocNs6_2dVolb"),
        ])
        .misses(&["t1.micro instances"]),
    assigned("IBM_CLOUD_API_KEY", &["ibmcloud", "ibmapikey", "ibmkey", "bluemix", "iamapikey", "iaasclassic", "watson", "watsonx", "cloudant"], Token, (44, 44))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "ibmcloud_api_key": "_sfF806KaWMcX3FyI8q9zT0YgsGFKkTeKpqrWMTSGhMo","#, "_sfF806KaWMcX3FyI8q9zT0YgsGFKkTeKpqrWMTSGhMo"),
            ("const watsonApikey = 'GIFGAEgr2N5WdCyspUbfA-sPa_QNIBitj5f0NHxpR__y';", "GIFGAEgr2N5WdCyspUbfA-sPa_QNIBitj5f0NHxpR__y"),
            (r#"bluemix_key = "VfGIW5yVohr9t-Moh3CGSJsJ5lY-wYRo6aK0T8QFZTt3""#, "VfGIW5yVohr9t-Moh3CGSJsJ5lY-wYRo6aK0T8QFZTt3"),
        ])
        .misses(&[r#"ibmcloud_region = "eu-central-1""#]),
    assigned("ORACLE_CLOUD_AUTH_TOKEN", &["ociauthtoken", "ocitoken", "oraclecloudtoken", "ociregistrytoken"], Visible, (20, 20))
        .hits(&[
            ("OCI_AUTH_TOKEN=5aNvPbZ5nUl6jt*.4DKj", "5aNvPbZ5nUl6jt*.4DKj"),
            ("oci_registry_token: R3#U3YRGEixwEStRr1bi", "R3#U3YRGEixwEStRr1bi"),
        ])
        .misses(&[r#"oci_region = "eu-frankfurt-1""#]),
    pattern(
        "SALESFORCE_SESSION",
        &["00d"],
        r"\b00D[0-9A-Za-z]{9,15}![\w.]{60,200}",
    )
        .hits(&[
            ("Authorization: OAuth 00D5g000001hoQM!9QRTykvQSj3wGRmIVLNNmtTN1LZEgsnekaBQluKFpIDq_Y4WBGCtWoTxL0uDzC0Gd1_jT3AJyDc69ud_c3VcC6hv.NlzLcW9", "00D5g000001hoQM!9QRTykvQSj3wGRmIVLNNmtTN1LZEgsnekaBQluKFpIDq_Y4WBGCtWoTxL0uDzC0Gd1_jT3AJyDc69ud_c3VcC6hv.NlzLcW9"),
            ("sid=00D5g000001CmfS!AQ8b8APmvYbGktZ9zqQbaW3BhKUGHIzlU86pYjZssuaTG8MjXd9HQINag66iemMTACS93hOwDkhjDmTLygTux3l3yFeqFGrp; path=/", "00D5g000001CmfS!AQ8b8APmvYbGktZ9zqQbaW3BhKUGHIzlU86pYjZssuaTG8MjXd9HQINag66iemMTACS93hOwDkhjDmTLygTux3l3yFeqFGrp"),
        ])
        .misses(&[r#"orgId = "00D5g0000012345""#]),

    // Further keys.

    prefixed("AWS_APPSYNC_KEY", &["da2-"], Lower, (26, 26))
        .hits(&[
            ("The value da2-ihsup4vjp355qjvra9aff151vn was rotated last week.", "da2-ihsup4vjp355qjvra9aff151vn"),
            ("export AWS_APPSYNC_KEY='da2-6pcayto9dvdcpdzpcf60gkmh5j'", "da2-6pcayto9dvdcpdzpcf60gkmh5j"),
        ])
        .misses(&["# the console shows da2-fbmu7y and asks for the rest"]),
    assigned("AZURE_ACCOUNT_KEY", &["storageaccountkey", "storagekey", "azurestoragekey", "accountkey", "primaryaccesskey", "storageaccesskey", "primarymasterkey", "cosmoskey", "cosmosdbkey", "documentdbkey"], Base64, (86, 88))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const azureStorageKey = '7HUMkkj9SOo/7KewX7wufetRdovs4ZdQbNC7j01Q25fMQZjZt6Pwb6pdtYLecogmJzuaidOaAYCWF1NuapTeBI==';", "7HUMkkj9SOo/7KewX7wufetRdovs4ZdQbNC7j01Q25fMQZjZt6Pwb6pdtYLecogmJzuaidOaAYCWF1NuapTeBI=="),
            (r#"cosmos_key = "+eePCzorqZl4vQgtg/PIeVbL3yWmhu+GLCf0eNlBpqwawq/MJCL+HHtdXATm815Bk4ZB/OeEZEIoPpT6si8I2t==""#, "+eePCzorqZl4vQgtg/PIeVbL3yWmhu+GLCf0eNlBpqwawq/MJCL+HHtdXATm815Bk4ZB/OeEZEIoPpT6si8I2t=="),
        ])
        .misses(&[r#"azure_region = "eu-central-1""#]),
    assigned("CLOUDFLARE_R2_KEY", &["r2accesskeyid", "r2accesskey", "r2keyid", "r2secret"], HexLower, (32, 64))
        .hits(&[
            ("R2_ACCESS_KEY_ID=23b6e351120b5c3f7c5f3e1af512aa49", "23b6e351120b5c3f7c5f3e1af512aa49"),
            ("r2_secret: 4dd1a5d346fa33d941eb295e8a5d11770159cc718c754ec1c6b888a8b99e1427", "4dd1a5d346fa33d941eb295e8a5d11770159cc718c754ec1c6b888a8b99e1427"),
        ])
        .misses(&[r#"r2_region = "eu-central-1""#]),
    assigned("OBJECT_STORE_HMAC", &["coshmac", "ibmcos", "s3accesskeyid", "minioaccesskey", "miniorootuser", "wasabikey", "wasabiaccess"], Alnum, (20, 48))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "ibm_cos_key": "fda6d8dd8a95c345842377f185e35241","#, "fda6d8dd8a95c345842377f185e35241"),
            ("const wasabiAccess = 'KL8GISPWLSXITMTKGDXV';", "KL8GISPWLSXITMTKGDXV"),
        ])
        .misses(&[r#"ibm_region = "eu-central-1""#]),
    assigned("OVH_CONSUMER_KEY", &["applicationsecret", "consumerkey", "consumersecret", "appsecret"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "application_secret": "NoPhuMIzxe4LkrreJ1sj1wmYUVz3rnUC","#, "NoPhuMIzxe4LkrreJ1sj1wmYUVz3rnUC"),
            ("const consumerKey = '38Q8X1DsYHzatNkAANbDqhXijezMYTq9';", "38Q8X1DsYHzatNkAANbDqhXijezMYTq9"),
        ])
        .misses(&[r#"application_region = "eu-central-1""#]),
    prefixed("NEBIUS_KEY", &["v1.Cm"], Dotted, (60, 2000))
        .hits(&[
            ("- echo v1.CmMKHHNt1twiHVAoqd0iwfjCS4cyZkrCDiluhF1IsdK19_BIaSdMSYdqGgMhAl8fHzgAorCWpq6-2b1p2Iiw785L2Xf5wwBEb6xz3bIbFKoIezTbLoX1q02hOMFXL2fn | tool login", "v1.CmMKHHNt1twiHVAoqd0iwfjCS4cyZkrCDiluhF1IsdK19_BIaSdMSYdqGgMhAl8fHzgAorCWpq6-2b1p2Iiw785L2Xf5wwBEb6xz3bIbFKoIezTbLoX1q02hOMFXL2fn"),
            (r#"<add key="nebius_key" value="v1.CmMKHHN52vsnGEIuUNTlWospLnzXum0PZDPes3cMyF1zdAqrpare2F-vEky9JJVWJYB2IbayR903NiHSJk3DCBSS7ybddGKnfnTqNB-XwKV3fn0gLSaQ7koRxn18bbJn" />"#, "v1.CmMKHHN52vsnGEIuUNTlWospLnzXum0PZDPes3cMyF1zdAqrpare2F-vEky9JJVWJYB2IbayR903NiHSJk3DCBSS7ybddGKnfnTqNB-XwKV3fn0gLSaQ7koRxn18bbJn"),
        ])
        .misses(&["# the console shows v1.CmAtVh4Y and asks for the rest"]),

    // The other half of a pair.

    nearby(
        "ALIBABA_SECRET_NEARBY",
        &["ltai"],
        "(?:^|[^0-9A-Za-z/+_.-])([0-9A-Za-z]{30})(?:[^0-9A-Za-z/+=_-]|$)",
    )
        .entropy(3.8)
        .allow(&["^[^0-9]+$", "^[0-9a-f]+$"])
        .hits(&[
            ("auth = oss2.Auth(LTAI_ID, 'z5v1Ag0FhtstX3XHeFQeC27FnG2tTk')", "z5v1Ag0FhtstX3XHeFQeC27FnG2tTk"),
            ("id=LTAI_ID secret=3F9Ao0q5TJcDg2fuJvFL503Lxfkux4", "3F9Ao0q5TJcDg2fuJvFL503Lxfkux4"),
        ])
        .misses(&["LTAI is in use"]),
    nearby(
        "TENCENT_SECRET_NEARBY",
        &["akid"],
        "(?:^|[^0-9A-Za-z/+_.-])([0-9A-Za-z]{32})(?:[^0-9A-Za-z/+=_-]|$)",
    )
        .entropy(3.8)
        .allow(&["^[^0-9]+$", "^[0-9a-f]+$"])
        .hits(&[
            (r#"Credential(AKID, "x1rrMJ6lUtNLLu7nxhM2417OzOiS2k5Y")"#, "x1rrMJ6lUtNLLu7nxhM2417OzOiS2k5Y"),
            ("id: $AKID key: meXbYmbrP7EI0L3eUOG3kh5JntC3Y8gE", "meXbYmbrP7EI0L3eUOG3kh5JntC3Y8gE"),
        ])
        .misses(&["speakid = 3"]),
    pattern(
        "ACCESS_KEY_ID",
        &["access_key_id", "accesskeyid", "access-key-id"],
        r#"(?i)access[_-]?key[_-]?id["\x27]?\s{0,3}(?:=>|[:=])\s{0,3}["\x27]?([0-9A-Za-z]{16,40})(?:[^0-9A-Za-z_.(-]|$)"#,
    )
        .entropy(2.8)
        .allow(&["^[^0-9]+$", "EXAMPLE"])
        .hits(&[
            (r#"  "access_key_id": "398ae534c7c5c75cd38774a09543653c","#, "398ae534c7c5c75cd38774a09543653c"),
            (r#"accessKeyId: "5QWE1V2406QDQWHT8XEV","#, "5QWE1V2406QDQWHT8XEV"),
            ("R2_ACCESS_KEY_ID=7c2ae945ab1b260e2d6754ee08f8f265", "7c2ae945ab1b260e2d6754ee08f8f265"),
        ])
        .misses(&[
            "access_key_id = aws_iam_access_key.deploy.id",
            "accessKeyId: process.env.AWS_ACCESS_KEY_ID",
        ]),
];

//! Code forges: GitLab, GitHub, Bitbucket and their kin.

use super::super::rule::Charset::{Alnum, AnyBase64, Base64, Dotted, HexLower, Lower, Token, Word};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // GitLab. The body may be routable (`<payload>.<version>.<checksum>`), hence the dots.

    prefixed("GITLAB_PAT", &["glpat-"], Dotted, (20, 320))
        .hits(&[
            ("args: ['--auth', 'glpat-CWoJZU1pr-6HmN2MKAgu']", "glpat-CWoJZU1pr-6HmN2MKAgu"),
            ("https://api.example.com/v1/items?auth=glpat-8H4o7AjL0xCatA6hA6UPiwznYJYOpiPGpVX.01.i072bu3xv&page=2", "glpat-8H4o7AjL0xCatA6hA6UPiwznYJYOpiPGpVX.01.i072bu3xv"),
            ("- echo glpat-oRnZY4ev6EnBWHrq--EbipdouDyo4u.dvl8wdgla | tool login", "glpat-oRnZY4ev6EnBWHrq--EbipdouDyo4u.dvl8wdgla"),
        ])
        .misses(&[
            r#"token = "glpat-${TOKEN}""#,
            "personal access tokens begin with glpat- by default",
            "glpat-xxxxxxxxxxxxxxxxxxxx",
        ]),
    prefixed("GITLAB_DEPLOY_TOKEN", &["gldt-"], Dotted, (20, 320))
        .hits(&[
            (r#"<add key="gitlab_deploy_token" value="gldt-bEbnjJ3f0RfOmlHPq1pb" />"#, "gldt-bEbnjJ3f0RfOmlHPq1pb"),
            (r#"let client = Client::new("gldt-N-FJkPYHl36iFsfsdmRRY59tfkp0JgPm_j_.01.3esp91f9o");"#, "gldt-N-FJkPYHl36iFsfsdmRRY59tfkp0JgPm_j_.01.3esp91f9o"),
        ])
        .misses(&["# the console shows gldt-am7m2a and asks for the rest"]),
    prefixed("GITLAB_RUNNER_TOKEN", &["glrt-"], Dotted, (20, 320))
        .hits(&[
            ("  gitlab_runner_token: glrt-yiuq8-HsKOezfCX_XTAi", "glrt-yiuq8-HsKOezfCX_XTAi"),
            (r#"    "gitlab_runner_token": "glrt-t1_FfdeSGQoHJUr8yyn2VTKTCIjNY9Ldv.l93kiaeor","#, "glrt-t1_FfdeSGQoHJUr8yyn2VTKTCIjNY9Ldv.l93kiaeor"),
            ("The value glrt-t3_ZwHvjz8PVH3VjjH6_7Kz78JEGHHjnWxb6HD.01.iuynme9t6 was rotated last week.", "glrt-t3_ZwHvjz8PVH3VjjH6_7Kz78JEGHHjnWxb6HD.01.iuynme9t6"),
        ])
        .misses(&["# the console shows glrt-jATBd- and asks for the rest"]),
    prefixed("GITLAB_RUNNER_REGISTRATION_DERIVED_TOKEN", &["glrtr-"], Dotted, (20, 320))
        .hits(&[
            ("https://api.example.com/v1/items?auth=glrtr-wPuuOedgH2lZwcGS2xt8&page=2", "glrtr-wPuuOedgH2lZwcGS2xt8"),
            ("- echo glrtr-X_6pEMb-9ibCcNxiVsFKyGNXmCRwFvh5nnA.01.d59hp47bl | tool login", "glrtr-X_6pEMb-9ibCcNxiVsFKyGNXmCRwFvh5nnA.01.d59hp47bl"),
        ])
        .misses(&["# the console shows glrtr-lhG8Iq and asks for the rest"]),
    prefixed("GITLAB_RUNNER_REGISTRATION_TOKEN", &["GR1348941"], Token, (20, 60))
        .hits(&[
            (r#"let client = Client::new("GR1348941G0ka4QHQ5Mv9Zv7zVWIj");"#, "GR1348941G0ka4QHQ5Mv9Zv7zVWIj"),
            ("GITLAB_RUNNER_REGISTRATION_TOKEN=GR1348941XP8ia32e16rbjO-3skcp", "GR1348941XP8ia32e16rbjO-3skcp"),
        ])
        .misses(&["# registration tokens start with GR1348941"]),
    prefixed("GITLAB_CI_JOB_TOKEN", &["glcbt-"], Dotted, (20, 2000))
        .hits(&[
            ("https://api.example.com/v1/items?auth=glcbt-64_zH6WklDbyuhSHKbpQ_22&page=2", "glcbt-64_zH6WklDbyuhSHKbpQ_22"),
            ("- echo glcbt-1f_bO4RLsv0ES8tMTUtViys | tool login", "glcbt-1f_bO4RLsv0ES8tMTUtViys"),
        ])
        .misses(&["# the console shows glcbt-8oyZDn and asks for the rest"]),
    prefixed("GITLAB_TRIGGER_TOKEN", &["glptt-"], Dotted, (20, 320))
        .hits(&[
            ("export GITLAB_TRIGGER_TOKEN='glptt-6cf81cb609c1853be1a323d8ff8bac3cb66b2c5c'", "glptt-6cf81cb609c1853be1a323d8ff8bac3cb66b2c5c"),
            ("args: ['--auth', 'glptt-a764bf6c9a39ca11b0e336df65d374c122eaf0ad']", "glptt-a764bf6c9a39ca11b0e336df65d374c122eaf0ad"),
        ])
        .misses(&["# the console shows glptt-0X7tSk and asks for the rest"]),
    prefixed("GITLAB_FEED_TOKEN", &["glft-"], Dotted, (20, 320))
        .hits(&[
            ("GITLAB_FEED_TOKEN=glft-UPBPQkrtmqh4rzdO6Dxi", "glft-UPBPQkrtmqh4rzdO6Dxi"),
            ("  gitlab_feed_token: glft-074974a26110543ddced66909605c7ce1073c74abad6dd1447da09b92ae47ad3-1042", "glft-074974a26110543ddced66909605c7ce1073c74abad6dd1447da09b92ae47ad3-1042"),
        ])
        .misses(&["# the console shows glft-NDOEmF and asks for the rest"]),
    prefixed("GITLAB_INCOMING_MAIL_TOKEN", &["glimt-"], Dotted, (20, 320))
        .hits(&[
            (r#"<add key="gitlab_incoming_mail_token" value="glimt-bv3zw7k979rx0urnybxvqs6pr" />"#, "glimt-bv3zw7k979rx0urnybxvqs6pr"),
            (r#"let client = Client::new("glimt-3otlayphkkcsz7a6wi97bd75w");"#, "glimt-3otlayphkkcsz7a6wi97bd75w"),
        ])
        .misses(&["# the console shows glimt-xH78V6 and asks for the rest"]),
    prefixed("GITLAB_AGENT_TOKEN", &["glagent-"], Dotted, (40, 320))
        .hits(&[
            ("args: ['--auth', 'glagent-Ap5qBzdSCzg1EIjJPeP6x2sf24BfanutUHrK9dW6itenJwkW6q']", "glagent-Ap5qBzdSCzg1EIjJPeP6x2sf24BfanutUHrK9dW6itenJwkW6q"),
            ("https://api.example.com/v1/items?auth=glagent-phSReTWm_qEVURicG42qa9mCiUDissLY8ZSCCzsvY_afeu710q&page=2", "glagent-phSReTWm_qEVURicG42qa9mCiUDissLY8ZSCCzsvY_afeu710q"),
        ])
        .misses(&["# the console shows glagent-AZYSVv and asks for the rest"]),
    prefixed("GITLAB_OAUTH_APP_SECRET", &["gloas-"], Dotted, (40, 320))
        .hits(&[
            ("GITLAB_OAUTH_APP_SECRET=gloas-d4e2c73d844af83a1cfd533e56d7a0ffd21e40a8797d35122fe02f121440d5a7", "gloas-d4e2c73d844af83a1cfd533e56d7a0ffd21e40a8797d35122fe02f121440d5a7"),
            ("  gitlab_oauth_app_secret: gloas-80a7c9f3c03c988335e6a4db133bd09777da7afba0627f404798f0ec2788d771", "gloas-80a7c9f3c03c988335e6a4db133bd09777da7afba0627f404798f0ec2788d771"),
        ])
        .misses(&["# the console shows gloas-Gf3c9S and asks for the rest"]),
    prefixed("GITLAB_SCIM_TOKEN", &["glsoat-"], Dotted, (20, 320))
        .hits(&[
            ("  gitlab_scim_token: glsoat-YPMxGEsOjcWcdacIKZxt", "glsoat-YPMxGEsOjcWcdacIKZxt"),
            (r#"    "gitlab_scim_token": "glsoat-_uLXFStTP07S1N__xm2j","#, "glsoat-_uLXFStTP07S1N__xm2j"),
        ])
        .misses(&["# the console shows glsoat-OllyO0 and asks for the rest"]),
    prefixed("GITLAB_FEATURE_FLAG_TOKEN", &["glffct-"], Dotted, (20, 320))
        .hits(&[
            (r#"    "gitlab_feature_flag_token": "glffct-WgxWQb8n_ev_iY1HxsGe","#, "glffct-WgxWQb8n_ev_iY1HxsGe"),
            ("The value glffct-3yqQlMnOL2xZaVgUpUm9 was rotated last week.", "glffct-3yqQlMnOL2xZaVgUpUm9"),
        ])
        .misses(&["# the console shows glffct-P5bqlq and asks for the rest"]),
    prefixed("GITLAB_WORKSPACE_TOKEN", &["glwt-"], Dotted, (20, 320))
        .hits(&[
            ("https://api.example.com/v1/items?auth=glwt-udBbObIohK-mpfXfQvHp&page=2", "glwt-udBbObIohK-mpfXfQvHp"),
            ("- echo glwt-F19B7lix8yleUL35MF0j | tool login", "glwt-F19B7lix8yleUL35MF0j"),
        ])
        .misses(&["# the console shows glwt-Nk-FPs and asks for the rest"]),
    pattern(
        "GITLAB_SESSION_COOKIE",
        &["_gitlab_session="],
        r"_gitlab_session=([0-9a-f]{32})\b",
    )
        .hits(&[
            ("Cookie: _gitlab_session=0cddf9f59635eb0bc3512f35dc651cc6; event_filter=all", "0cddf9f59635eb0bc3512f35dc651cc6"),
            ("curl -b '_gitlab_session=a51d92f2a3a1b36c8469acd20728c832' https://gitlab.example.com/", "a51d92f2a3a1b36c8469acd20728c832"),
        ])
        .misses(&[r#"document.cookie.includes("_gitlab_session=")"#]),
    pattern(
        "GITLAB_LEGACY_TOKEN",
        &["private-token", "job-token", "deploy-token", "private_token=", "job_token=", "feed_token=", "rss_token=", "incoming_email_token"],
        r#"(?i)(?:(?:private|job|deploy)-token["\x27]?\s{0,3}[:=,]\s{0,3}["\x27]?|[?&"\x27 ](?:private|job|feed|rss)_token=)([\w-]{20,64})(?:[^\w-]|$)"#,
    )
        .entropy(3.0)
        .allow(&["^[a-z_-]+$", "^[A-Z_]+$"])
        .hits(&[
            (r#"curl --header "PRIVATE-TOKEN: R82T7FTT2qYd24URou49" https://gitlab.example.com/api/v4/projects"#, "R82T7FTT2qYd24URou49"),
            ("https://gitlab.example.com/dashboard/issues.atom?feed_token=RjUeMsB4ampkOoWkMznO", "RjUeMsB4ampkOoWkMznO"),
            (r#"requests.get(url, headers={"JOB-TOKEN": "hvZMbud9xBgkqrt5N4Kq"})"#, "hvZMbud9xBgkqrt5N4Kq"),
        ])
        .misses(&[
            r#"curl --header "PRIVATE-TOKEN: $GITLAB_TOKEN" "$URL""#,
            r#"curl --header "PRIVATE-TOKEN: <your_access_token>" "$URL""#,
        ]),

    // GitHub.

    prefixed("GITHUB_TOKEN", &["ghp_"], Alnum, (36, 251))
        .hits(&[
            ("  github_token: ghp_HoxLSc4W5gnkbowntEM91jDQM8LQhujEbPPT", "ghp_HoxLSc4W5gnkbowntEM91jDQM8LQhujEbPPT"),
            (r#"    "github_token": "ghp_L2XdQ1r736TucOtuR4tHRi4EsgyWXp3RPyjW","#, "ghp_L2XdQ1r736TucOtuR4tHRi4EsgyWXp3RPyjW"),
        ])
        .misses(&["ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", r#"if token.startswith("ghp_"):"#]),
    prefixed("GITHUB_OAUTH_TOKEN", &["gho_"], Alnum, (36, 251))
        .hits(&[
            ("- echo gho_6rOcQ8pFvL6Vwnzht2XyTDFv3rytY5FJImcC | tool login", "gho_6rOcQ8pFvL6Vwnzht2XyTDFv3rytY5FJImcC"),
            (r#"<add key="github_oauth_token" value="gho_9lLxcRqR1TUMJ24ULAbxrbrZgJuvlG8Ke9CR" />"#, "gho_9lLxcRqR1TUMJ24ULAbxrbrZgJuvlG8Ke9CR"),
        ])
        .misses(&["# the console shows gho_dHCA8Z and asks for the rest"]),
    prefixed("GITHUB_APP_USER_TOKEN", &["ghu_"], Alnum, (36, 251))
        .hits(&[
            ("  github_app_user_token: ghu_UeXqu8Y6jHOZSmIDTmoOpc5VGnP9fNwGUdRo", "ghu_UeXqu8Y6jHOZSmIDTmoOpc5VGnP9fNwGUdRo"),
            (r#"    "github_app_user_token": "ghu_uPRX0wCuU2XZSmr30YOkpcNVLZf1AnAMbjfA","#, "ghu_uPRX0wCuU2XZSmr30YOkpcNVLZf1AnAMbjfA"),
        ])
        .misses(&["# the console shows ghu_jgWwTJ and asks for the rest"]),
    prefixed("GITHUB_APP_INSTALLATION_TOKEN", &["ghs_"], Dotted, (36, 2000))
        .hits(&[
            (r#"<add key="github_app_installation_token" value="ghs_IBtu7Arp6P8KFmLncFpetoUM5PcSah9l5xF6" />"#, "ghs_IBtu7Arp6P8KFmLncFpetoUM5PcSah9l5xF6"),
            (r#"let client = Client::new("ghs_104233_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOi8Jd9QjomxKIUzCTmMp7vabLuhBp9aRUpMOhvSbMN.pQ6FPoIgzT857XzPRtWbRCoK7rw4Fa24c3E5njOTBKKo5cBhbPeuCeqR-Uzau");"#, "ghs_104233_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOi8Jd9QjomxKIUzCTmMp7vabLuhBp9aRUpMOhvSbMN.pQ6FPoIgzT857XzPRtWbRCoK7rw4Fa24c3E5njOTBKKo5cBhbPeuCeqR-Uzau"),
        ])
        .misses(&["# the console shows ghs_H-6gXz and asks for the rest"]),
    prefixed("GITHUB_REFRESH_TOKEN", &["ghr_"], Alnum, (36, 251))
        .hits(&[
            (r#"<add key="github_refresh_token" value="ghr_kDmyqyunCNXsYkDMNTJQl0Zf3D9Ru2fTv8f6NNH8VwOwJUxDiksm4RnHPsRXjp1kkbsrKvztYUNN" />"#, "ghr_kDmyqyunCNXsYkDMNTJQl0Zf3D9Ru2fTv8f6NNH8VwOwJUxDiksm4RnHPsRXjp1kkbsrKvztYUNN"),
            (r#"let client = Client::new("ghr_nKN4gRyOvACWkQ6DkSs45BqSribhAceB5o7kx030H5ILpzGwyrKBeWgrqefDn2uc3Bxe38DvABvt");"#, "ghr_nKN4gRyOvACWkQ6DkSs45BqSribhAceB5o7kx030H5ILpzGwyrKBeWgrqefDn2uc3Bxe38DvABvt"),
        ])
        .misses(&["# the console shows ghr_14FVtS and asks for the rest"]),
    prefixed("GITHUB_FINE_GRAINED_PAT", &["github_pat_"], Word, (36, 251))
        .hits(&[
            ("https://api.example.com/v1/items?auth=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&page=2", "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"),
            ("- echo 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 | tool login", "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"),
        ])
        .misses(&["# the console shows github_pat_fjpIPE and asks for the rest"]),
    pattern(
        "GITHUB_APP_LEGACY_TOKEN",
        &["v1."],
        r"\bv1\.[0-9a-f]{40}\b",
    )
        .hits(&[
            ("git clone https://x-access-token:v1.a82176fb4e6d25263040a26aa907eb5b91d5e4ee@github.com/acme/site", "v1.a82176fb4e6d25263040a26aa907eb5b91d5e4ee"),
            (r#"    "token": "v1.4d0795ebc7a79c484c9b9b0f598f4049e06a639a","#, "v1.4d0795ebc7a79c484c9b9b0f598f4049e06a639a"),
        ])
        .misses(&["uses: actions/checkout@v1.4.0"]),
    assigned("GITHUB_LEGACY_TOKEN", &["githubtoken", "githubpat", "githubaccesstoken", "githuboauthtoken", "ghtoken"], HexLower, (40, 40))
        .hits(&[
            (r#"github_token = "97911f1cad40ede2ecaae7d87930de8c5ca8bf93""#, "97911f1cad40ede2ecaae7d87930de8c5ca8bf93"),
            ("GH_TOKEN=177b57c846a34f6d87da7eb4eb75ca8908f81e59", "177b57c846a34f6d87da7eb4eb75ca8908f81e59"),
        ])
        .misses(&["github_sha: 3f786850e387550fdab836ed7e6dc881de23001b"]),
    assigned("GITHUB_OAUTH_CLIENT_SECRET", &["githubclientsecret", "githubappsecret", "githuboauthsecret", "ghclientsecret"], HexLower, (40, 40))
        .hits(&[
            (r#"  "github_client_secret": "569cc9e6a2559de91e602c99a97ac2dcd92722fe","#, "569cc9e6a2559de91e602c99a97ac2dcd92722fe"),
            ("const githubAppSecret = '41e0d8c3e1951ab0d19afa2e5c863a5e99f1839f';", "41e0d8c3e1951ab0d19afa2e5c863a5e99f1839f"),
        ])
        .misses(&["github_ref: refs/heads/main"]),

    // Bitbucket and Atlassian.

    prefixed("BITBUCKET_APP_PASSWORD", &["ATBB"], Alnum, (24, 36))
        .hits(&[
            (r#"let client = Client::new("ATBBL9trw5t8xftegSiakTOu2hj418852E6F");"#, "ATBBL9trw5t8xftegSiakTOu2hj418852E6F"),
            ("BITBUCKET_APP_PASSWORD=ATBBSmFv86KxBaK4LqJ1WKzRfBjhB53AD53B", "ATBBSmFv86KxBaK4LqJ1WKzRfBjhB53AD53B"),
        ])
        .misses(&["# the console shows ATBBxvInwd and asks for the rest"]),
    prefixed("BITBUCKET_ACCESS_TOKEN", &["ATCTT3"], AnyBase64, (80, 800))
        .hits(&[
            (r#"let client = Client::new("ATCTT3xFfGN0DqF4F1P4szLJfFRmwNveK_yOO0PvKNBF6V1bV5xKRJ242ebn4D0qaFmL3AzKA470NtLO-pooG0Py1k22GkaDpq8H-jA7YTiIy194QSpL-PbiJomM6_YTsylVaFu4xZfMFKU2B2WYzzYunpQx1GR2KVM9AagLowoUNFAWfWif6XF=662357EB");"#, "ATCTT3xFfGN0DqF4F1P4szLJfFRmwNveK_yOO0PvKNBF6V1bV5xKRJ242ebn4D0qaFmL3AzKA470NtLO-pooG0Py1k22GkaDpq8H-jA7YTiIy194QSpL-PbiJomM6_YTsylVaFu4xZfMFKU2B2WYzzYunpQx1GR2KVM9AagLowoUNFAWfWif6XF=662357EB"),
            ("BITBUCKET_ACCESS_TOKEN=ATCTT3xFfGN0vz8whbr18tWnBkv7iE7LWfPOC0_1chwHuxvELBJ6sHrr9RMnmu4IdVK8Oq031HFhppsx09H5ehLEL9wlbiD10_TvfA6uUFbV26A8st4aimtdxJYbw41xMKKKrJVg3oTDFsUmIEKu7IXsrj0A0W8a8W7x0rahxEDj-uuTDR3d7e1=E816E1A4", "ATCTT3xFfGN0vz8whbr18tWnBkv7iE7LWfPOC0_1chwHuxvELBJ6sHrr9RMnmu4IdVK8Oq031HFhppsx09H5ehLEL9wlbiD10_TvfA6uUFbV26A8st4aimtdxJYbw41xMKKKrJVg3oTDFsUmIEKu7IXsrj0A0W8a8W7x0rahxEDj-uuTDR3d7e1=E816E1A4"),
        ])
        .misses(&["# the console shows ATCTT3rw31Vz and asks for the rest"]),
    prefixed("BITBUCKET_HTTP_TOKEN", &["BBDC-"], AnyBase64, (40, 64))
        .hits(&[
            (r#"    "bitbucket_http_token": "BBDC-MDg2XzAnsh7u37SCo6miQs0wzmBkAAQWAhodqWOe7QuF","#, "BBDC-MDg2XzAnsh7u37SCo6miQs0wzmBkAAQWAhodqWOe7QuF"),
            ("The value BBDC-MDM2zs2ZV69YUAdhPQKo06ZMb3SRnvTPmt3pPAGmynit was rotated last week.", "BBDC-MDM2zs2ZV69YUAdhPQKo06ZMb3SRnvTPmt3pPAGmynit"),
        ])
        .misses(&["# the console shows BBDC-FWhVhT and asks for the rest"]),
    prefixed("ATLASSIAN_API_TOKEN", &["ATATT3", "ATSTT3", "ATOTT3"], AnyBase64, (80, 800))
        .hits(&[
            ("The value ATATT3xFfGF0NsYWa9ZkoFPz6UTOTzSqYFyzfTciub5aPJU36Yzw_XTZM7a1l7hjOiCAgWekmf9LShfcmLUXUoebdzjtz0LvTGBLKSoMIPLbP0m5oFdY_YXGHhax3lnyChzNRzjHoWocWcbGHed7vE68odpPlqu_RTzH4vI3CC3feW3awJqX76l=6A2D1311 was rotated last week.", "ATATT3xFfGF0NsYWa9ZkoFPz6UTOTzSqYFyzfTciub5aPJU36Yzw_XTZM7a1l7hjOiCAgWekmf9LShfcmLUXUoebdzjtz0LvTGBLKSoMIPLbP0m5oFdY_YXGHhax3lnyChzNRzjHoWocWcbGHed7vE68odpPlqu_RTzH4vI3CC3feW3awJqX76l=6A2D1311"),
            ("export ATLASSIAN_API_TOKEN='ATSTT3xFfGF0jGVXO1fnBjTITZlkh8hQA3DRN4KSZfAIb5cx9bNpATE8wmaCn1QnLJfVtJkG4WaBFA5Ad6YEL9g7-fCQ1FHdG_rmBRBa3roQMV63oPxTp_gjIIvIbySvAJ-aRaZ3NWRUCPRmcOmxw3UquMBplU9ee0LHOOclD9MljOsNq8zTXs0=C12E7A8D'", "ATSTT3xFfGF0jGVXO1fnBjTITZlkh8hQA3DRN4KSZfAIb5cx9bNpATE8wmaCn1QnLJfVtJkG4WaBFA5Ad6YEL9g7-fCQ1FHdG_rmBRBa3roQMV63oPxTp_gjIIvIbySvAJ-aRaZ3NWRUCPRmcOmxw3UquMBplU9ee0LHOOclD9MljOsNq8zTXs0=C12E7A8D"),
            ("args: ['--auth', 'ATOTT3xFfGF0vCBX8AatgNPPjvGPLqMJTI_dx3Ep6m6nFk9tmm_QWrWR2rRsLT3svTwH6_lmevwI7zRps5yUjd0USvFrlIgYdnnvgoMC9R0dv9HgumMt3QXnB3ZW6Bh8iUUR7dvw0l0JvQu7xUBU-W84QERtupuBDcjExZcJYlYcmtCA2yUGIfp=E76B0C1F']", "ATOTT3xFfGF0vCBX8AatgNPPjvGPLqMJTI_dx3Ep6m6nFk9tmm_QWrWR2rRsLT3svTwH6_lmevwI7zRps5yUjd0USvFrlIgYdnnvgoMC9R0dv9HgumMt3QXnB3ZW6Bh8iUUR7dvw0l0JvQu7xUBU-W84QERtupuBDcjExZcJYlYcmtCA2yUGIfp=E76B0C1F"),
        ])
        .misses(&["# the console shows ATATT3NNbRCK and asks for the rest"]),
    assigned("ATLASSIAN_LEGACY_TOKEN", &["atlassian", "jiratoken", "jiraapitoken", "confluencetoken", "confluenceapitoken", "jirapat"], Alnum, (24, 24))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("jira_token: zOIb6ncIim8oFsQ9RIpdMGsK", "zOIb6ncIim8oFsQ9RIpdMGsK"),
            (r#"  "atlassian_api": "38T0AGpxuFVnE7AK2G0lr47P","#, "38T0AGpxuFVnE7AK2G0lr47P"),
        ])
        .misses(&[r#"jira_region = "eu-central-1""#]),
    assigned("ATLASSIAN_DATA_CENTER_PAT", &["jirapat", "confluencepat", "jiratoken", "confluencetoken", "jira", "confluence"], Base64, (44, 44))
        .entropy(3.5)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "jira_pat": "Ogk2Khd6AtlFXtGeUPHn96eSQjqwTQKUaxZJNiNWjXQR","#, "Ogk2Khd6AtlFXtGeUPHn96eSQjqwTQKUaxZJNiNWjXQR"),
            ("const confluenceToken = 'OgY1Vd0MohUGoeV9Uhl4GH2H3zeck1e11S4tKhDDhCqy';", "OgY1Vd0MohUGoeV9Uhl4GH2H3zeck1e11S4tKhDDhCqy"),
        ])
        .misses(&[r#"jira_region = "eu-central-1""#]),
    assigned("BITBUCKET_OAUTH_SECRET", &["bitbucket"], Token, (32, 64))
        .entropy(3.5)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const bitbucketClientSecret = '4EOx61EGlhBXnQ15P7N209bEHYKGnyr2';", "4EOx61EGlhBXnQ15P7N209bEHYKGnyr2"),
            (r#"bitbucket_oauth = "NklDlwSdX7YzNpw5JvxjTrQx04FhP9Vl""#, "NklDlwSdX7YzNpw5JvxjTrQx04FhP9Vl"),
        ])
        .misses(&[r#"bitbucket_region = "eu-central-1""#]),

    // Others.

    prefixed("SOURCEGRAPH_TOKEN", &["sgp_", "slk_", "sgd_"], Word, (40, 64))
        .hits(&[
            ("export SOURCEGRAPH_TOKEN='sgp_f218b8873b2a5b048621bad6913e0ea5653f8fae'", "sgp_f218b8873b2a5b048621bad6913e0ea5653f8fae"),
            ("args: ['--auth', 'slk_e5e76bee87966aeecf0a055abcbded27b2b1b8a1f6544ba1fc262f599b7754bb']", "slk_e5e76bee87966aeecf0a055abcbded27b2b1b8a1f6544ba1fc262f599b7754bb"),
            ("https://api.example.com/v1/items?auth=sgd_76254fcf58e2351e8e7a5c54a0c41d2089a9ffdcb610af41288b582d9ac2e2b9&page=2", "sgd_76254fcf58e2351e8e7a5c54a0c41d2089a9ffdcb610af41288b582d9ac2e2b9"),
            ("- echo sgp_local_babb9f2baa703818568d2c335d2d7777686bb5ee | tool login", "sgp_local_babb9f2baa703818568d2c335d2d7777686bb5ee"),
        ])
        .misses(&["# the console shows sgp_Cmei8w and asks for the rest"]),
    assigned("GITEA_TOKEN", &["giteatoken", "giteaaccess", "giteapat", "giteakey", "giteasecret", "forgejotoken", "forgejopat", "codebergtoken", "codebergaccess", "gogstoken"], HexLower, (40, 40))
        .hits(&[
            ("gitea_token: 52aa30b4d04484f36e2f9028130fc4ef38d3cbbe", "52aa30b4d04484f36e2f9028130fc4ef38d3cbbe"),
            (r#"  "codeberg_access": "c17cf96462add5ce46e00e52dc1df6881403f952","#, "c17cf96462add5ce46e00e52dc1df6881403f952"),
            ("const forgejoPat = '194c683333a18294305591275da19f96d365aa0f';", "194c683333a18294305591275da19f96d365aa0f"),
        ])
        .misses(&[r#"gitea_commit = "3f786850e387550fdab836ed7e6dc881de23001b""#]),
    assigned("GITEE_TOKEN", &["giteetoken", "giteeaccess", "giteesecret", "giteekey"], HexLower, (32, 32))
        .hits(&[
            ("GITEE_TOKEN=fc9f3a590af8a0467d8d1011063b257a", "fc9f3a590af8a0467d8d1011063b257a"),
            ("gitee_access: c590100f871b1f7636542201fc86c124", "c590100f871b1f7636542201fc86c124"),
        ])
        .misses(&[r#"gitee_md5 = "d41d8cd98f00b204e9800998ecf8427e""#]),
    prefixed("PHABRICATOR_TOKEN", &["cli-", "api-"], Lower, (28, 28))
        .entropy(3.0)
        .allow(&["^(?:cli|api)-[a-z]+$"])
        .hits(&[
            ("PHABRICATOR_TOKEN=cli-mii4xqbu3zumed80ejr0yww8yj37", "cli-mii4xqbu3zumed80ejr0yww8yj37"),
            ("  phabricator_token: api-1kq7sofe7s976juw4t596vhpvrdr", "api-1kq7sofe7s976juw4t596vhpvrdr"),
        ])
        .misses(&["api-gatewayconfigurationservice", "cli-tools"]),

    // Workspaces.

    prefixed("GITPOD_TOKEN", &["gitpod_pat_"], Dotted, (30, 120))
        .hits(&[
            (r#"<add key="gitpod_token" value="gitpod_pat_6W3YjynbRV9XUPZ7JzerjNs_x_8obM2Z0vETruXfHA.IcbEbJj4FWVnOc023SqFh2fvZAmJV50QPnlrY188" />"#, "gitpod_pat_6W3YjynbRV9XUPZ7JzerjNs_x_8obM2Z0vETruXfHA.IcbEbJj4FWVnOc023SqFh2fvZAmJV50QPnlrY188"),
            (r#"let client = Client::new("gitpod_pat_sdlrhyA4CvKCaVeCpi_E-1UUaSoO_z0hac8rJWiGsb.TgGdc_44dWP0dB5fQmFn-1WApUgUaQZ_LTN9oVVg");"#, "gitpod_pat_sdlrhyA4CvKCaVeCpi_E-1UUaSoO_z0hac8rJWiGsb.TgGdc_44dWP0dB5fQmFn-1WApUgUaQZ_LTN9oVVg"),
        ])
        .misses(&["# the console shows gitpod_pat_pkJagK and asks for the rest"]),
    prefixed("VALTOWN_TOKEN", &["vtwn_"], Alnum, (24, 48))
        .hits(&[
            ("The value vtwn_xwdav2xRhLZ0cvpphHzdAyyR35dR was rotated last week.", "vtwn_xwdav2xRhLZ0cvpphHzdAyyR35dR"),
            ("export VALTOWN_TOKEN='vtwn_hBezPpy7mjOkllIM6O9kMOrOmIyv'", "vtwn_hBezPpy7mjOkllIM6O9kMOrOmIyv"),
        ])
        .misses(&["# the console shows vtwn_QUU82w and asks for the rest"]),
    prefixed("RAYCAST_TOKEN", &["rca_", "rcr_", "rcp_"], HexLower, (60, 66))
        .hits(&[
            ("The value rca_bd8ae01da08819993fa38639e4975bf42c6180adc0002545732e15cd66786121 was rotated last week.", "rca_bd8ae01da08819993fa38639e4975bf42c6180adc0002545732e15cd66786121"),
            ("export RAYCAST_TOKEN='rcr_a0876aa92805591aebbdb24a95157accb6fe10e4d377144824fe5cd2306ad733'", "rcr_a0876aa92805591aebbdb24a95157accb6fe10e4d377144824fe5cd2306ad733"),
            ("args: ['--auth', 'rcp_28d89fd16ab891e7fe39f90e344422fac5f14d23cf562bd6b1ec45870f592675']", "rcp_28d89fd16ab891e7fe39f90e344422fac5f14d23cf562bd6b1ec45870f592675"),
        ])
        .misses(&["# the console shows rca_ee8864 and asks for the rest"]),
];

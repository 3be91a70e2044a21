//! Code quality, test and security scanners.

use super::super::rule::Charset::{Alnum, Dotted, HexLower, Token, Uuid, Word};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Code quality and security scanners.

    prefixed("SONAR_TOKEN", &["sqp_", "squ_", "sqa_"], HexLower, (40, 40))
        .hits(&[
            ("https://api.example.com/v1/items?auth=sqp_38cebec697a81c33bd5c849fb2c8c1f71df6eaa6&page=2", "sqp_38cebec697a81c33bd5c849fb2c8c1f71df6eaa6"),
            ("- echo squ_6f98badd19835739c9dd3e84eea9ae1224d2c479 | tool login", "squ_6f98badd19835739c9dd3e84eea9ae1224d2c479"),
            (r#"<add key="sonar_token" value="sqa_b393ba14637e07c6f7c20eefbbe8d9c299edf91c" />"#, "sqa_b393ba14637e07c6f7c20eefbbe8d9c299edf91c"),
        ])
        .misses(&["# the console shows sqp_b278b1 and asks for the rest"]),
    assigned("SONAR_LEGACY_TOKEN", &["sonarlogin", "sonartoken", "sonarqube", "sonarcloud"], HexLower, (40, 40))
        .hits(&[
            ("SONAR_LOGIN=e23b7402be24e4dcc4cdaeea7c16af445f0b4310", "e23b7402be24e4dcc4cdaeea7c16af445f0b4310"),
            ("sonar_token: 0f9c20c26deb3a7989c2dcbfd2a9e60d778bb0fe", "0f9c20c26deb3a7989c2dcbfd2a9e60d778bb0fe"),
        ])
        .misses(&[r#"sonar_project = "acme""#]),
    assigned("CODECOV_TOKEN", &["codecov"], Uuid, (36, 36))
        .hits(&[
            ("codecov_token: 80e8b0b7-6591-4eb7-ae38-61b8d621e291", "80e8b0b7-6591-4eb7-ae38-61b8d621e291"),
            (r#"  "codecov_key": "544fad74-92e8-4dce-beee-a28787d0078e","#, "544fad74-92e8-4dce-beee-a28787d0078e"),
        ])
        .misses(&[r#"codecov_flag = "unit""#]),
    prefixed("SNYK_TOKEN", &["snyk_uat.", "snyk_sat."], Dotted, (30, 200))
        .hits(&[
            ("https://api.example.com/v1/items?auth=snyk_uat.aaac48d7.cwf_HUINLfQrlFP14MPWaueIi5-dsfoCXNhByK7eyi3mEbLkCyA7aHyC7Bqlg&page=2", "snyk_uat.aaac48d7.cwf_HUINLfQrlFP14MPWaueIi5-dsfoCXNhByK7eyi3mEbLkCyA7aHyC7Bqlg"),
            ("- echo snyk_sat.de007fba.7sC4FKncz7XVKGfjtUgHMT5BTfZE4wYUQhzpHdrMZ9JX7Q8eAyAp7VveQGtne | tool login", "snyk_sat.de007fba.7sC4FKncz7XVKGfjtUgHMT5BTfZE4wYUQhzpHdrMZ9JX7Q8eAyAp7VveQGtne"),
        ])
        .misses(&["# the console shows snyk_uat.5bpEXJ and asks for the rest"]),
    assigned("SNYK_API_TOKEN", &["snyk"], Uuid, (36, 36))
        .hits(&[
            ("SNYK_TOKEN=eeb66e5d-ac22-4dd0-b487-e56dbd41078b", "eeb66e5d-ac22-4dd0-b487-e56dbd41078b"),
            ("snyk_api_key: 1b50f207-934b-4a8a-a2fc-85bba0b2451e", "1b50f207-934b-4a8a-a2fc-85bba0b2451e"),
        ])
        .misses(&[r#"snyk_policy = ".snyk""#]),
    assigned("COVERAGE_TOKEN", &["coveralls", "codacy", "codeclimate", "cctestreporter", "deepsource", "codescene"], Alnum, (20, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("coveralls_repo_token: z5A0EYppQ3tf848CbMjWRkofMUazMsWf", "z5A0EYppQ3tf848CbMjWRkofMUazMsWf"),
            (r#"  "codacy_project_token": "P8fhMkYKJqM93Z2mam0LoGVF631pzfCE","#, "P8fhMkYKJqM93Z2mam0LoGVF631pzfCE"),
            ("const codeclimateToken = 'gxB0xUrsnMOQK3ClixvIfnr0J6LIZcIL';", "gxB0xUrsnMOQK3ClixvIfnr0J6LIZcIL"),
        ])
        .misses(&[r#"coveralls_region = "eu-central-1""#]),
    prefixed("SOCKET_TOKEN", &["sktsec_", "sktapi_"], Word, (30, 80))
        .hits(&[
            ("SOCKET_TOKEN=sktsec_mnBOacHjWMBwCXvQnkhuN3iWmse4X25UxxUQj1E0_api", "sktsec_mnBOacHjWMBwCXvQnkhuN3iWmse4X25UxxUQj1E0_api"),
            ("  socket_token: sktapi_iUV49ifNx4qBw5G3FAPArR7DaSts4X194Du6wa4i_api", "sktapi_iUV49ifNx4qBw5G3FAPArR7DaSts4X194Du6wa4i_api"),
        ])
        .misses(&["# the console shows sktsec_SLOQ0W and asks for the rest"]),
    prefixed("AIKIDO_SECRET", &["AIK_SECRET_", "AIK_CI_", "AIK_CLIENT_"], Alnum, (20, 64))
        .hits(&[
            (r#"<add key="aikido_secret" value="AIK_SECRET_UvyAJHEm7E0Kn7ZG0fBNYpBd1CfVZctPuBOhDfhTQScumXdi43t2cqxELsgULPxn" />"#, "AIK_SECRET_UvyAJHEm7E0Kn7ZG0fBNYpBd1CfVZctPuBOhDfhTQScumXdi43t2cqxELsgULPxn"),
            (r#"let client = Client::new("AIK_CI_hJUZk0xsDz4RF7DHiOsblQLw4Thccrq7m3R6qA7k");"#, "AIK_CI_hJUZk0xsDz4RF7DHiOsblQLw4Thccrq7m3R6qA7k"),
            ("AIKIDO_SECRET=AIK_CLIENT_AXHQO3F2rxU3M12QurFPrYYn", "AIK_CLIENT_AXHQO3F2rxU3M12QurFPrYYn"),
        ])
        .misses(&["# the console shows AIK_SECRET_jNoVxM and asks for the rest"]),
    pattern(
        "ENDOR_LABS_KEY",
        &["endr+"],
        r"\bendr\+[0-9A-Za-z-]{16}\b",
    )
        .hits(&[
            ("ENDOR_API_CREDENTIALS_KEY=endr+EP3f1wqIshLl2Y96", "endr+EP3f1wqIshLl2Y96"),
            (r#"endor: "endr+siVkeAKu6e188LXY""#, "endr+siVkeAKu6e188LXY"),
        ])
        .misses(&["endr+ prefix"]),
    prefixed("INFRACOST_KEY", &["ico-"], Alnum, (32, 32))
        .allow(&["^ico-[a-z]+$"])
        .hits(&[
            ("- echo ico-bjh9kRxofSacimRDB3hQJVuNHxcc5YcX | tool login", "ico-bjh9kRxofSacimRDB3hQJVuNHxcc5YcX"),
            (r#"<add key="infracost_key" value="ico-mRlxRBMDVpikYHqGyasJQJAR0Xc2chXd" />"#, "ico-mRlxRBMDVpikYHqGyasJQJAR0Xc2chXd"),
        ])
        .misses(&["# the console shows ico-1rThuL and asks for the rest"]),
    assigned("THREAT_INTEL_KEY", &["virustotal", "vtapikey", "alienvault", "otxapikey", "abuseipdb", "greynoise", "securitytrails", "hybridanalysis", "threatfox"], Alnum, (32, 80))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const virustotalApiKey = 'f7b7be67bb11670ac8c6f27e404d686141c22ab9db310e565d04f73335540593';", "f7b7be67bb11670ac8c6f27e404d686141c22ab9db310e565d04f73335540593"),
            (r#"otx_api_key = "98cd5488f8e3a67ba90ae85f59699e6b15e811f995e9ce66d016b8e4ac993214""#, "98cd5488f8e3a67ba90ae85f59699e6b15e811f995e9ce66d016b8e4ac993214"),
            ("ABUSEIPDB_KEY=22c98c5a409778f9c582eac588b459103e11addaa6c9518299cf738cb32a70e0075f5912a0a8428a", "22c98c5a409778f9c582eac588b459103e11addaa6c9518299cf738cb32a70e0075f5912a0a8428a"),
        ])
        .misses(&[r#"virustotal_region = "eu-central-1""#]),
    assigned("SHODAN_KEY", &["shodan", "censys", "zoomeye", "fofakey", "binaryedge", "hunterio"], Alnum, (32, 40))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"shodan_api_key = "8rmiuZoikKBVAoPctxMks4bBeC8H6Gz4""#, "8rmiuZoikKBVAoPctxMks4bBeC8H6Gz4"),
            ("CENSYS_SECRET=iX3WfdhbzazBrZ65bggxSijRNG2O0hwO", "iX3WfdhbzazBrZ65bggxSijRNG2O0hwO"),
        ])
        .misses(&[r#"shodan_region = "eu-central-1""#]),
    prefixed("CENSYS_TOKEN", &["censys_"], Word, (20, 60))
        .entropy(3.5)
        .allow(&["^censys_[a-z_]+$"])
        .hits(&[
            (r#"<add key="censys_token" value="censys_wtsWteUr_uLckbbLzBHqTAMvkE2GWvj10xXLCpI7A" />"#, "censys_wtsWteUr_uLckbbLzBHqTAMvkE2GWvj10xXLCpI7A"),
            (r#"let client = Client::new("censys_fkUG7jie_yiqEqVDnEJVdSb1DUXSTkvoiLdJ7pfIa");"#, "censys_fkUG7jie_yiqEqVDnEJVdSb1DUXSTkvoiLdJ7pfIa"),
        ])
        .misses(&["# the console shows censys_9ug7VW and asks for the rest"]),
    assigned("URLSCAN_KEY", &["urlscan", "wpscan", "projectdiscovery", "pdcpapikey"], Token, (36, 43))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("URLSCAN_API_KEY=082e014b-92d4-4f48-a313-8c823b9b9f03", "082e014b-92d4-4f48-a313-8c823b9b9f03"),
            ("wpscan_token: dEScyFdYibuqEZXkVlYFdQkoUgAkKH9gloE9DN4jIUn", "dEScyFdYibuqEZXkVlYFdQkoUgAkKH9gloE9DN4jIUn"),
        ])
        .misses(&[r#"urlscan_region = "eu-central-1""#]),
    prefixed("CHROMATIC_TOKEN", &["chpt_"], HexLower, (12, 20))
        .hits(&[
            ("https://api.example.com/v1/items?auth=chpt_eb7f247b303a59a&page=2", "chpt_eb7f247b303a59a"),
            ("- echo chpt_c55352eb47d9e4a | tool login", "chpt_c55352eb47d9e4a"),
        ])
        .misses(&["# the console shows chpt_2e5d and asks for the rest"]),
    assigned("DEVICE_CLOUD_KEY", &["browserstack", "saucelabs", "sauceaccesskey", "lambdatest", "testingbot", "percytoken", "applitools"], Token, (20, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("browserstack_access_key: 3FBj3Bz6SD0u0EhJ0FHk", "3FBj3Bz6SD0u0EhJ0FHk"),
            (r#"  "sauce_access_key": "ebf32206-b6e3-4fd7-8055-de836653b4f3","#, "ebf32206-b6e3-4fd7-8055-de836653b4f3"),
            ("const percyToken = '7ba9ce5ed1f91345afa7cec424442a44430e978aaf4ac31aedb9c1432f212582';", "7ba9ce5ed1f91345afa7cec424442a44430e978aaf4ac31aedb9c1432f212582"),
        ])
        .misses(&[r#"browserstack_region = "eu-central-1""#]),
    assigned("CYPRESS_RECORD_KEY", &["cypressrecordkey", "recordkey"], Uuid, (36, 36))
        .hits(&[
            ("const cypressRecordKey = 'e07779e9-e507-4ef2-b7d0-c868ef7592ac';", "e07779e9-e507-4ef2-b7d0-c868ef7592ac"),
            (r#"record_key = "02cd8ecb-d78b-468d-b22b-29a0be54f485""#, "02cd8ecb-d78b-468d-b22b-29a0be54f485"),
        ])
        .misses(&[r#"cypress_region = "eu-central-1""#]),
];

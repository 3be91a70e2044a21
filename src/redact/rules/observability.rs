//! Monitoring, errors, flags and analytics.

use super::super::rule::Charset::{Alnum, AnyBase64, Dotted, HexLower, Lower, Token, Uuid, Word};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Metrics, logs, traces.

    assigned("DATADOG_API_KEY", &["datadog", "ddapikey", "ddclientapikey"], HexLower, (32, 32))
        .hits(&[
            (r#"datadog_api_key = "284ef91dd18c738a98e0202fe23dc0ef""#, "284ef91dd18c738a98e0202fe23dc0ef"),
            ("DD_API_KEY=e42dafaab958783bdd3a066c6debd73e", "e42dafaab958783bdd3a066c6debd73e"),
        ])
        .misses(&[r#"datadog_site = "datadoghq.eu""#]),
    assigned("DATADOG_APP_KEY", &["datadog", "ddappkey", "ddapplicationkey"], HexLower, (40, 40))
        .hits(&[
            (r#"datadog_app_key = "cd5916b0d4706c183c762a2b7c01870a14773b37""#, "cd5916b0d4706c183c762a2b7c01870a14773b37"),
            ("DD_APPLICATION_KEY=dd2546255a2c295396203347861bbb7fc075775c", "dd2546255a2c295396203347861bbb7fc075775c"),
        ])
        .misses(&[r#"datadog_region = "eu-central-1""#]),
    prefixed("DATADOG_TOKEN", &["ddapp_", "ddapi_", "ddpat_"], Alnum, (30, 60))
        .hits(&[
            ("- echo ddapp_r3UDPHFSEKes1avjLOYWK7KKBz71WZ3q5n | tool login", "ddapp_r3UDPHFSEKes1avjLOYWK7KKBz71WZ3q5n"),
            (r#"<add key="datadog_token" value="ddapi_qpx7JKHlQfW25jjTg35GIVzXKNOGDPTXL7" />"#, "ddapi_qpx7JKHlQfW25jjTg35GIVzXKNOGDPTXL7"),
            (r#"let client = Client::new("ddpat_x0yHjrWoryU0R4bMgOFodWROq2mtRQ09dK");"#, "ddpat_x0yHjrWoryU0R4bMgOFodWROq2mtRQ09dK"),
        ])
        .misses(&["# the console shows ddapp_XV6N9i and asks for the rest"]),
    prefixed("NEWRELIC_USER_KEY", &["NRAK-", "NRAA-", "NRRA-", "NRIQ-", "NRSP-"], Token, (20, 64))
        .hits(&[
            ("  newrelic_user_key: NRAK-CNIFKUXNT79KMT9DN9UV35UDGTO", "NRAK-CNIFKUXNT79KMT9DN9UV35UDGTO"),
            (r#"    "newrelic_user_key": "NRAA-5WBYSMSKJZKEUVMW35Q6ZEVS5DF","#, "NRAA-5WBYSMSKJZKEUVMW35Q6ZEVS5DF"),
            ("The value NRRA-F23VHZR72TAJ5DYJC2AXGYROQAS was rotated last week.", "NRRA-F23VHZR72TAJ5DYJC2AXGYROQAS"),
            ("export NEWRELIC_USER_KEY='NRIQ-4JCOTT01FUQIWINF7ZA4E8QW1Z8'", "NRIQ-4JCOTT01FUQIWINF7ZA4E8QW1Z8"),
            ("args: ['--auth', 'NRSP-XH3HOAR6FD48ZHVR4CA4K5X17W4']", "NRSP-XH3HOAR6FD48ZHVR4CA4K5X17W4"),
        ])
        .misses(&["# the console shows NRAK-pEJgsQ and asks for the rest"]),
    prefixed("NEWRELIC_INSERT_KEY", &["NRII-"], Token, (20, 64))
        .hits(&[
            (r#"let client = Client::new("NRII-ljskCt4xE982nGzvM7e1arMaO74UVozj");"#, "NRII-ljskCt4xE982nGzvM7e1arMaO74UVozj"),
            ("NEWRELIC_INSERT_KEY=NRII-cZHYwq3in4UEBe-CNg-PrYYiNFGgyRc2", "NRII-cZHYwq3in4UEBe-CNg-PrYYiNFGgyRc2"),
        ])
        .misses(&["# the console shows NRII-hK40vk and asks for the rest"]),
    prefixed("NEWRELIC_BROWSER_KEY", &["NRJS-"], HexLower, (19, 19))
        .hits(&[
            ("args: ['--auth', 'NRJS-a7487cec1ef8c5cee1d']", "NRJS-a7487cec1ef8c5cee1d"),
            ("https://api.example.com/v1/items?auth=NRJS-324330a050b2735a750&page=2", "NRJS-324330a050b2735a750"),
        ])
        .misses(&["# the console shows NRJS-48ad50 and asks for the rest"]),
    pattern(
        "NEWRELIC_LICENSE_KEY",
        &["nral"],
        r"\b(?:[a-z]{2}\d{2}xx)?[0-9a-fA-F]{28,36}(?:FFFF)?NRAL\b",
    )
        .hits(&[
            ("NEW_RELIC_LICENSE_KEY=7fac02cd4a434de8a970113fb1ff6f84157cNRAL", "7fac02cd4a434de8a970113fb1ff6f84157cNRAL"),
            ("license: 'eu01xx524d64c620cbf1846fed95b32f20b2NRAL'", "eu01xx524d64c620cbf1846fed95b32f20b2NRAL"),
            ("license_key: 899a94ca7de7c731a4dee9ae45c6f746FFFFNRAL", "899a94ca7de7c731a4dee9ae45c6f746FFFFNRAL"),
        ])
        .misses(&["unnral"]),
    assigned("NEWRELIC_LEGACY_KEY", &["newrelic", "nrlicense"], Alnum, (40, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "newrelic_license_key": "2767af9e212aacf8e36f6be1350832442d09917d","#, "2767af9e212aacf8e36f6be1350832442d09917d"),
            ("const newRelicApi = '7cf0a5fa0e83cb6c005c93723d8cb3aafbb46585';", "7cf0a5fa0e83cb6c005c93723d8cb3aafbb46585"),
        ])
        .misses(&[r#"newrelic_region = "eu-central-1""#]),
    prefixed("GRAFANA_SERVICE_TOKEN", &["glsa_"], Word, (32, 60))
        .hits(&[
            ("args: ['--auth', 'glsa_cG8hRKdic8tr1xrsSg0rdk03FA1zYXeg_e76c632b']", "glsa_cG8hRKdic8tr1xrsSg0rdk03FA1zYXeg_e76c632b"),
            ("https://api.example.com/v1/items?auth=glsa_ProR98bHZfrcIJ0q4b4S362o7LZIoW4V_9ce67be2&page=2", "glsa_ProR98bHZfrcIJ0q4b4S362o7LZIoW4V_9ce67be2"),
        ])
        .misses(&["# the console shows glsa_49LWHy and asks for the rest"]),
    prefixed("GRAFANA_CLOUD_TOKEN", &["glc_"], AnyBase64, (32, 400))
        .hits(&[
            (r#"<add key="grafana_cloud_token" value="glc_eyJvIjoiSBi9w02ysi72BPp9SJLlywCM96vyYQ3QpnUUGz4ZCUyEUamCrEOlj94AsRaXat5nD8iB873NHWh2AO4tbGYelAcURQ=" />"#, "glc_eyJvIjoiSBi9w02ysi72BPp9SJLlywCM96vyYQ3QpnUUGz4ZCUyEUamCrEOlj94AsRaXat5nD8iB873NHWh2AO4tbGYelAcURQ="),
            (r#"let client = Client::new("glc_eyJvIjoiEQB1fXd2nOETHkQ8Kk4X7lxrQ8S3riFSCCFVupT6evsZcRiPfRmkJpmtLI7GLUvWvF9kB1TMCnm6VTuUQxjKgBK3oS=");"#, "glc_eyJvIjoiEQB1fXd2nOETHkQ8Kk4X7lxrQ8S3riFSCCFVupT6evsZcRiPfRmkJpmtLI7GLUvWvF9kB1TMCnm6VTuUQxjKgBK3oS="),
        ])
        .misses(&["# the console shows glc_IXgaw3 and asks for the rest"]),
    prefixed("GRAFANA_API_KEY", &["eyJrIjoi"], AnyBase64, (40, 400))
        .hits(&[
            (r#"let client = Client::new("eyJrIjoiU39gYfA08f0YjJuzkBd2IgMNn8nRx3hNVBtyQcTD5WnWeFRy95THXY4ZKjECdl4ucwUEwI7tYtBAeOWhGnuRzLZEu6=");"#, "eyJrIjoiU39gYfA08f0YjJuzkBd2IgMNn8nRx3hNVBtyQcTD5WnWeFRy95THXY4ZKjECdl4ucwUEwI7tYtBAeOWhGnuRzLZEu6="),
            ("GRAFANA_API_KEY=eyJrIjoiNQoBGWQSCdMCzmYyCScV7bCj5Vq6hkUMvUcw9F4Jbkg4q2p4xYuYIq7OA1uWbnsw0xdg0eAGbwrOyo0geXwNDmjFZl=", "eyJrIjoiNQoBGWQSCdMCzmYyCScV7bCj5Vq6hkUMvUcw9F4Jbkg4q2p4xYuYIq7OA1uWbnsw0xdg0eAGbwrOyo0geXwNDmjFZl="),
        ])
        .misses(&["# the console shows eyJrIjoiSnbqy8 and asks for the rest"]),
    prefixed("SENTRY_ORG_TOKEN", &["sntrys_", "sntryi_", "sntryr_"], AnyBase64, (40, 500))
        .hits(&[
            (r#"let client = Client::new("sntrys_eyJpYXQiOjaMHLTim3pnDuaxuV7laSWEnBCPSnwmk02tbc7THE6ouGeb6QN5aR3UzOhEuovBxtVn5AGpxgdtA0EXSOCurFKtMeff4x8F4jEBp2=_ryqdYjOEDX1nnzx1crx4iURvcPp1Grj2pGaXsanovyo");"#, "sntrys_eyJpYXQiOjaMHLTim3pnDuaxuV7laSWEnBCPSnwmk02tbc7THE6ouGeb6QN5aR3UzOhEuovBxtVn5AGpxgdtA0EXSOCurFKtMeff4x8F4jEBp2=_ryqdYjOEDX1nnzx1crx4iURvcPp1Grj2pGaXsanovyo"),
            ("SENTRY_ORG_TOKEN=sntryi_f92d2c82a1ee6506712688af9ed52275bf30c6e93dfb7b784fbe9d7f616694f8", "sntryi_f92d2c82a1ee6506712688af9ed52275bf30c6e93dfb7b784fbe9d7f616694f8"),
            ("  sentry_org_token: sntryr_43b41a68ffd679797faa899ac546d353bba63b08eb7f0437c2724d2b5f109064", "sntryr_43b41a68ffd679797faa899ac546d353bba63b08eb7f0437c2724d2b5f109064"),
        ])
        .misses(&["# the console shows sntrys_KfTWCD and asks for the rest"]),
    prefixed("SENTRY_USER_TOKEN", &["sntryu_", "sntrya_"], HexLower, (40, 70))
        .hits(&[
            ("  sentry_user_token: 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", "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"),
            (r#"    "sentry_user_token": "sntrya_b37ff92fcdfcc718af2b6816c0a932626f37c92b9a1908c5853e956527d9a29d","#, "sntrya_b37ff92fcdfcc718af2b6816c0a932626f37c92b9a1908c5853e956527d9a29d"),
        ])
        .misses(&["# the console shows sntryu_342cc4 and asks for the rest"]),
    assigned("SENTRY_LEGACY_TOKEN", &["sentry"], HexLower, (64, 64))
        .hits(&[
            ("sentry_auth_token: 1a730ca93da560d2428b840624341e1b4468da15910d9a7e45fe8baafb3537f5", "1a730ca93da560d2428b840624341e1b4468da15910d9a7e45fe8baafb3537f5"),
            (r#"  "sentry_token": "555dda4d3b4d00772e1ef24678c6319e6e50eb0f6c7ac2d154f7e5612b326f6f","#, "555dda4d3b4d00772e1ef24678c6319e6e50eb0f6c7ac2d154f7e5612b326f6f"),
        ])
        .misses(&[r#"sentry_release = "web@1.4.2""#]),
    pattern(
        "SENTRY_DSN",
        &["sentry", "ingest", "dsn", "glitchtip", "bugsink"],
        r"https?://([0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]{4,100}(?::\d{2,5})?/\d{1,20}\b",
    )
        .hits(&[
            ("SENTRY_DSN=https://17ac92eb9f668fc1ad5f54f1325b010f@o450123.ingest.sentry.io/4506001", "17ac92eb9f668fc1ad5f54f1325b010f"),
            ("Sentry.init({ dsn: 'https://81335e75b44821246c742fe41ecd388b@sentry.example.com/7' })", "81335e75b44821246c742fe41ecd388b"),
            ("dsn: https://8aa37ea092de7d815009c666ecb5b7da:aee7c1a579eef5e9244a0cfee61b5818@sentry.example.com/12", "8aa37ea092de7d815009c666ecb5b7da:aee7c1a579eef5e9244a0cfee61b5818"),
        ])
        .misses(&["dsn: https://examplePublicKey@o0.ingest.sentry.io/0"]),
    prefixed("HONEYCOMB_KEY", &["hcaik_", "hcbik_", "hcxik_", "hcalk_", "hcxlk_", "hcamk_", "hcxmk_"], Lower, (26, 80))
        .hits(&[
            ("args: ['--auth', 'hcaik_01fe57x2hnmaup693kwwmdc0eh76t9vt7ed3wpy59l579xmjtsqv2pabl4']", "hcaik_01fe57x2hnmaup693kwwmdc0eh76t9vt7ed3wpy59l579xmjtsqv2pabl4"),
            ("https://api.example.com/v1/items?auth=hcbik_01ddiv74u1cstmfmgtojixmpoo1v7quaecvcl4nud8sprgi6kebpi4f8q5&page=2", "hcbik_01ddiv74u1cstmfmgtojixmpoo1v7quaecvcl4nud8sprgi6kebpi4f8q5"),
            ("- echo hcxik_01qh36vj9ieofq38ix8qs2hz5r7h001lnjcsw7lnl2i7wpvikh79marah0 | tool login", "hcxik_01qh36vj9ieofq38ix8qs2hz5r7h001lnjcsw7lnl2i7wpvikh79marah0"),
            (r#"<add key="honeycomb_key" value="hcalk_01coi7x2bt46bj90yk8lvyh4m22lhxraavfbw9gfrwc7bpnnq7vnxin7re" />"#, "hcalk_01coi7x2bt46bj90yk8lvyh4m22lhxraavfbw9gfrwc7bpnnq7vnxin7re"),
            (r#"let client = Client::new("hcxlk_017zihp6j4a939rfiq1j24mhucvs0dl3pse1ufabeft3b9gbnlssppvdqw");"#, "hcxlk_017zihp6j4a939rfiq1j24mhucvs0dl3pse1ufabeft3b9gbnlssppvdqw"),
            ("HONEYCOMB_KEY=hcamk_01271wfhn7bbppwt94wk96b4venfpqrh6b8s27xv2ooemvngh27zsumst7", "hcamk_01271wfhn7bbppwt94wk96b4venfpqrh6b8s27xv2ooemvngh27zsumst7"),
            ("  honeycomb_key: hcxmk_01fx031yp0a8zxh9eya7sxsdb3xd5mqjlb0via5mqawkp1l66rtcoawmq3", "hcxmk_01fx031yp0a8zxh9eya7sxsdb3xd5mqjlb0via5mqawkp1l66rtcoawmq3"),
        ])
        .misses(&["# the console shows hcaik_r668vi and asks for the rest"]),
    assigned("HONEYCOMB_LEGACY_KEY", &["honeycomb"], Alnum, (22, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("honeycomb_api_key: 14A05Vzz1nOZTkGPKPDUC9", "14A05Vzz1nOZTkGPKPDUC9"),
            (r#"  "honeycomb_writekey": "9XYxr9dBuTbceGBqtFOsgi","#, "9XYxr9dBuTbceGBqtFOsgi"),
        ])
        .misses(&[r#"honeycomb_region = "eu-central-1""#]),
    prefixed("DYNATRACE_TOKEN", &["dt0c01.", "dt0s01.", "dt0s02.", "dt0s03.", "dt0s04.", "dt0s06.", "dt0s08.", "dt0s09.", "dt0s16.", "dt0a01.", "dt0e01."], Dotted, (70, 110))
        .hits(&[
            ("args: ['--auth', 'dt0c01.O9DI37VIYZ40NLL9BSIQBFJV.QS6PLB3N32BEQ6JY86QMOJDT4KLH2L224407K5YR6B82WBSC9ZK9ITJIM7EATRMC']", "dt0c01.O9DI37VIYZ40NLL9BSIQBFJV.QS6PLB3N32BEQ6JY86QMOJDT4KLH2L224407K5YR6B82WBSC9ZK9ITJIM7EATRMC"),
            ("https://api.example.com/v1/items?auth=dt0s01.76REVES92W154ZKQHBBT2TBL.TPVNNYJVUL726HE3GVHM95T2DC8EAQZ8872II6BOLUXX5LGM2WTRA7G2XFQPYVX2&page=2", "dt0s01.76REVES92W154ZKQHBBT2TBL.TPVNNYJVUL726HE3GVHM95T2DC8EAQZ8872II6BOLUXX5LGM2WTRA7G2XFQPYVX2"),
            ("- echo dt0s02.0HP7N1K1B8TY1YF33VAI15LE.IJAB8WBLOD10N18WHC1QI3HOBNCAQIT5VNETUQJD1EQWIXKCZKKB4SNV4UYQJYWF | tool login", "dt0s02.0HP7N1K1B8TY1YF33VAI15LE.IJAB8WBLOD10N18WHC1QI3HOBNCAQIT5VNETUQJD1EQWIXKCZKKB4SNV4UYQJYWF"),
            (r#"<add key="dynatrace_token" value="dt0s03.R5BHDBWVM97XGWY9F06QM3XL.94ZQC8CVDDXRGYTPJOKBTYD1EFYNROK27M2DGN03XRQR5UWPKUN1PCST57TA17SQ" />"#, "dt0s03.R5BHDBWVM97XGWY9F06QM3XL.94ZQC8CVDDXRGYTPJOKBTYD1EFYNROK27M2DGN03XRQR5UWPKUN1PCST57TA17SQ"),
            (r#"let client = Client::new("dt0s04.8T3Y1O2HWTRJ95N68YY5MJZ2.QWDNXLHDL4GZ4LC3JAY1S4I66Y36VO7GASI9L6PYH03DJYLIVB9LAE0UU62UIVP5");"#, "dt0s04.8T3Y1O2HWTRJ95N68YY5MJZ2.QWDNXLHDL4GZ4LC3JAY1S4I66Y36VO7GASI9L6PYH03DJYLIVB9LAE0UU62UIVP5"),
            ("DYNATRACE_TOKEN=dt0s06.B3X20HY1LYLHK8A8IOVUOI3J.7NZBM2C4D17DOTP7B6Y6XA9D5ILEOWCO3K0R5O172FPH3KX5YBE93YET0SEKM6EQ", "dt0s06.B3X20HY1LYLHK8A8IOVUOI3J.7NZBM2C4D17DOTP7B6Y6XA9D5ILEOWCO3K0R5O172FPH3KX5YBE93YET0SEKM6EQ"),
            ("  dynatrace_token: dt0s08.4VBI3A5VQKKQ04BJV6GYSNXR.VOQUMH6UW687V7IKESN4EP1GAQMBIFLJWYV7DU3S339TJJGK3CHFHB5V15IOSXFQ", "dt0s08.4VBI3A5VQKKQ04BJV6GYSNXR.VOQUMH6UW687V7IKESN4EP1GAQMBIFLJWYV7DU3S339TJJGK3CHFHB5V15IOSXFQ"),
            (r#"    "dynatrace_token": "dt0s09.BCETK5VFYF3TH9W0D4DKH4U8.C3JEP2Q1A059M902QS817UKYQPYRWW6R7VUA6JOODR26BLN6WPB1IEKZV26RZE1Y","#, "dt0s09.BCETK5VFYF3TH9W0D4DKH4U8.C3JEP2Q1A059M902QS817UKYQPYRWW6R7VUA6JOODR26BLN6WPB1IEKZV26RZE1Y"),
            ("The value dt0s16.ET9R9VRDEAN0QHY3OFWDEC3D.6C9O4KSZEBTQPD5B6W8NYESFCQV6BH7ZWLO1ZDCGB9UJL5ZSZJ2VEDUM8B3OYRGP was rotated last week.", "dt0s16.ET9R9VRDEAN0QHY3OFWDEC3D.6C9O4KSZEBTQPD5B6W8NYESFCQV6BH7ZWLO1ZDCGB9UJL5ZSZJ2VEDUM8B3OYRGP"),
            ("export DYNATRACE_TOKEN='dt0a01.0KHQISLLXVBZMPRO4XOMI4VT.KWIRSLL5ZR8U001IPQI3V8U4WBRLV6SHW1R6Q2UXRAJIXEN764ZBYJJPPNBXCEXC'", "dt0a01.0KHQISLLXVBZMPRO4XOMI4VT.KWIRSLL5ZR8U001IPQI3V8U4WBRLV6SHW1R6Q2UXRAJIXEN764ZBYJJPPNBXCEXC"),
            ("args: ['--auth', 'dt0e01.3KPDGW9FVUUZRFBS32XQOP0F.AQ7Y9U1GYY0FS4X1B3086UBK35H6GJ0IOH6F7C8W55LJ3YVKWAFX97759PCRR6U8']", "dt0e01.3KPDGW9FVUUZRFBS32XQOP0F.AQ7Y9U1GYY0FS4X1B3086UBK35H6GJ0IOH6F7C8W55LJ3YVKWAFX97759PCRR6U8"),
        ])
        .misses(&["# the console shows dt0c01.wPge1D and asks for the rest"]),
    assigned("SPLUNK_HEC_TOKEN", &["splunk", "hectoken"], Uuid, (36, 36))
        .hits(&[
            ("const splunkHecToken = 'ab4a163a-9c61-466d-808e-29e4f814ce65';", "ab4a163a-9c61-466d-808e-29e4f814ce65"),
            (r#"splunk_token = "56ea0eb0-94d1-4b4c-8cf5-a38e258a391e""#, "56ea0eb0-94d1-4b4c-8cf5-a38e258a391e"),
        ])
        .misses(&[r#"splunk_index = "main""#]),
    assigned("SUMOLOGIC_KEY", &["sumologic", "sumo"], Alnum, (64, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"sumologic_access_key = "Bj4lNPYKBkgEV2lAkfyj3xzwa1crURg4e8XsWUyQaEMPicXNwq9JAr789IO0BmKL""#, "Bj4lNPYKBkgEV2lAkfyj3xzwa1crURg4e8XsWUyQaEMPicXNwq9JAr789IO0BmKL"),
            ("SUMO_KEY=S2geOSk7WF3kj9fItFGHfqsR69wniIm6K2jhJjsg0Yktvp4FZBA2ZwJQh37nbBKQ", "S2geOSk7WF3kj9fItFGHfqsR69wniIm6K2jhJjsg0Yktvp4FZBA2ZwJQh37nbBKQ"),
        ])
        .misses(&[r#"sumologic_region = "eu-central-1""#]),
    assigned("PAGERDUTY_KEY", &["pagerduty", "pdtoken", "pdroutingkey", "pdapikey"], Token, (20, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("pagerduty_api_key: GFf1S3Atd1wa5MBtdt3i", "GFf1S3Atd1wa5MBtdt3i"),
            (r#"  "pagerduty_routing_key": "d85457a1e6536ae13a2472cc96b3de1c","#, "d85457a1e6536ae13a2472cc96b3de1c"),
        ])
        .misses(&[r#"pagerduty_schedule = "primary-on-call-rota""#]),
    prefixed("PAGERDUTY_TOKEN", &["u+"], Token, (18, 18))
        .entropy(3.0)
        .hits(&[
            ("The value u+hvf-BJ-SU_uQ2TsP1y was rotated last week.", "u+hvf-BJ-SU_uQ2TsP1y"),
            ("export PAGERDUTY_TOKEN='u+ttANEljT7311KPP8qs'", "u+ttANEljT7311KPP8qs"),
        ])
        .misses(&["# the console shows u+ry7heM and asks for the rest"]),
    assigned("OPSGENIE_KEY", &["opsgenie", "geniekey"], Uuid, (36, 36))
        .hits(&[
            ("const opsgenieApiKey = '2b740e60-1872-4fd1-80c3-5b4488fe8ff7';", "2b740e60-1872-4fd1-80c3-5b4488fe8ff7"),
            (r#"opsgenie_key = "9f4d2802-7e8e-4b5a-a544-a1baadb50e90""#, "9f4d2802-7e8e-4b5a-a544-a1baadb50e90"),
        ])
        .misses(&[r#"opsgenie_team = "ops""#]),
    assigned("ROLLBAR_TOKEN", &["rollbar"], HexLower, (32, 32))
        .hits(&[
            ("ROLLBAR_ACCESS_TOKEN=c69eace53bb493db70e7ddd31cc94c7a", "c69eace53bb493db70e7ddd31cc94c7a"),
            ("rollbar_token: db96017cfe00d5968d9dc504464d8e34", "db96017cfe00d5968d9dc504464d8e34"),
        ])
        .misses(&[r#"rollbar_env = "production""#]),
    assigned("ERROR_TRACKER_KEY", &["bugsnag", "airbrake", "honeybadger", "raygun", "trackjs", "appsignal"], Alnum, (22, 36))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const bugsnagApiKey = '70750cb21544ae15ddc08e75215fe82b';", "70750cb21544ae15ddc08e75215fe82b"),
            (r#"airbrake_project_key = "741293ea91de2842a91e06f899ba5f1a""#, "741293ea91de2842a91e06f899ba5f1a"),
            ("HONEYBADGER_KEY=02e88cd54d96d60239cc00215c581ab4", "02e88cd54d96d60239cc00215c581ab4"),
        ])
        .misses(&[r#"bugsnag_region = "eu-central-1""#]),
    assigned("LOGZIO_TOKEN", &["logzio", "logz", "logentries", "loggly", "papertrail", "logdna", "mezmo", "logtail", "betterstack", "betteruptime", "logflare", "coralogix", "humio", "scalyr"], Alnum, (20, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "logzio_token": "ddJ5lfsrAemP1UWDWtFXDhOjXb9F5ffY","#, "ddJ5lfsrAemP1UWDWtFXDhOjXb9F5ffY"),
            ("const logtailSourceToken = 'TWzlHpT4GP35sNuaI9oygebt';", "TWzlHpT4GP35sNuaI9oygebt"),
            (r#"papertrail_token = "o92mrY4nJFKaFBW48sCs""#, "o92mrY4nJFKaFBW48sCs"),
            ("MEZMO_KEY=a1c00f306ee8136c460d268863b81922", "a1c00f306ee8136c460d268863b81922"),
        ])
        .misses(&[r#"logzio_region = "eu-central-1""#]),
    assigned("LOG_INGEST_UUID", &["logglytoken", "loggly", "rapid7token", "insightops", "logentries", "coralogix"], Uuid, (36, 36))
        .hits(&[
            ("loggly_token: ec655a8b-2af6-486b-95ec-b822d2bfff10", "ec655a8b-2af6-486b-95ec-b822d2bfff10"),
            (r#"  "logentries_token": "4885ff73-02db-49ac-8a0c-76f5c775f76b","#, "4885ff73-02db-49ac-8a0c-76f5c775f76b"),
            ("const coralogixKey = 'e86f6985-4fdf-4190-9f84-2a85e8cb4041';", "e86f6985-4fdf-4190-9f84-2a85e8cb4041"),
        ])
        .misses(&[r#"loggly_region = "eu-central-1""#]),
    assigned("INSTANA_KEY", &["instana", "appdynamics", "dynatraceapi", "lightstep", "signalfx", "wavefront", "librato", "appoptics"], Token, (20, 80))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const instanaAgentKey = 'HIjB-rqXTPhcFpGAv56y1r';", "HIjB-rqXTPhcFpGAv56y1r"),
            (r#"lightstep_token = "HB2hdKjSUMli_g4YIpUZY6""#, "HB2hdKjSUMli_g4YIpUZY6"),
            ("SIGNALFX_TOKEN=t-nN1iOFnxh4MpI9ueEhP0", "t-nN1iOFnxh4MpI9ueEhP0"),
        ])
        .misses(&[r#"instana_region = "eu-central-1""#]),
    prefixed("AXIOM_TOKEN", &["xaat-", "xapt-"], Uuid, (36, 36))
        .hits(&[
            ("- echo xaat-b2713c03-81ba-4581-8b59-a3a34964cd35 | tool login", "xaat-b2713c03-81ba-4581-8b59-a3a34964cd35"),
            (r#"<add key="axiom_token" value="xapt-dcc07d82-57f2-4bf1-9772-5111b811a509" />"#, "xapt-dcc07d82-57f2-4bf1-9772-5111b811a509"),
        ])
        .misses(&["# the console shows xaat-843c46 and asks for the rest"]),
    pattern(
        "UPTIMEROBOT_KEY",
        &["uptimerobot", "uptime_robot", "uptime-robot"],
        r"\b[um]\d{5,12}-[0-9a-f]{24,32}\b",
    )
        .hits(&[
            ("UPTIMEROBOT_API_KEY=u7077322-e95c6f3b3dcc6e8288f51afe", "u7077322-e95c6f3b3dcc6e8288f51afe"),
            (r#"uptimerobot: "m778889231-f1e9be22bd7063c94f249ca2""#, "m778889231-f1e9be22bd7063c94f249ca2"),
        ])
        .misses(&["uptimerobot monitors"]),
    pattern(
        "HEALTHCHECK_PING_URL",
        &["hc-ping.com/", "healthchecks.io/ping/", "cronitor.link/", "betterstack.com/api/v1/heartbeat/", "betteruptime.com/api/v1/heartbeat/"],
        r"(?:hc-ping\.com|healthchecks\.io/ping|cronitor\.link(?:/p)?|/api/v1/heartbeat)/([\w-]{20,48})",
    )
        .hits(&[
            ("curl -fsS https://hc-ping.com/edd90ca4-bf9e-4d3c-b3b0-7a6c46fc1ae8", "edd90ca4-bf9e-4d3c-b3b0-7a6c46fc1ae8"),
            ("https://uptime.betterstack.com/api/v1/heartbeat/1gJiiggaH8vg1p5awMoBkHVe", "1gJiiggaH8vg1p5awMoBkHVe"),
        ])
        .misses(&["https://hc-ping.com/$UUID"]),
    assigned("STATUSPAGE_KEY", &["statuspage"], Token, (36, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const statuspageApiKey = '0cf309a0-bad9-4e90-961b-131dc8ae3bf9';", "0cf309a0-bad9-4e90-961b-131dc8ae3bf9"),
            (r#"statuspage_key = "8e8962b1-fcfd-465e-8916-9af5d80cbd8c""#, "8e8962b1-fcfd-465e-8916-9af5d80cbd8c"),
        ])
        .misses(&[r#"statuspage_region = "eu-central-1""#]),
    prefixed("CORALOGIX_KEY", &["cxtp_"], Alnum, (20, 48))
        .hits(&[
            ("https://api.example.com/v1/items?auth=cxtp_3leS79jSqTAajeObrZhyVXdyFZAEKL&page=2", "cxtp_3leS79jSqTAajeObrZhyVXdyFZAEKL"),
            ("- echo cxtp_jj8QpLc2PnzmULhMdC7XCz4wAPhdK1 | tool login", "cxtp_jj8QpLc2PnzmULhMdC7XCz4wAPhdK1"),
        ])
        .misses(&["# the console shows cxtp_Bg3kQf and asks for the rest"]),
    prefixed("CHECKLY_KEY", &["cu_"], HexLower, (32, 32))
        .hits(&[
            ("The value cu_cfedf18ca8fb44f6fbf6e82851cb75e9 was rotated last week.", "cu_cfedf18ca8fb44f6fbf6e82851cb75e9"),
            ("export CHECKLY_KEY='cu_ea9cb29e87d96a858c8c70a5113a0d1d'", "cu_ea9cb29e87d96a858c8c70a5113a0d1d"),
        ])
        .misses(&["# the console shows cu_2689fa and asks for the rest"]),

    // Feature flags and analytics.

    prefixed("LAUNCHDARKLY_KEY", &["sdk-", "api-", "mob-", "rel-"], Uuid, (36, 36))
        .hits(&[
            (r#"let client = Client::new("sdk-32f51fe6-b374-4604-98e3-e81a9fa17aa7");"#, "sdk-32f51fe6-b374-4604-98e3-e81a9fa17aa7"),
            ("LAUNCHDARKLY_KEY=api-dcc5b5ec-3eb4-40fa-9811-7477c3972446", "api-dcc5b5ec-3eb4-40fa-9811-7477c3972446"),
            ("  launchdarkly_key: mob-7807c37b-8b5d-4a51-850d-2eaae4a95376", "mob-7807c37b-8b5d-4a51-850d-2eaae4a95376"),
            (r#"    "launchdarkly_key": "rel-79e3f6bc-c6ca-40ce-a135-2c1d09894852","#, "rel-79e3f6bc-c6ca-40ce-a135-2c1d09894852"),
        ])
        .misses(&["# the console shows sdk-a6d028 and asks for the rest"]),
    prefixed("POSTHOG_KEY", &["phx_", "phc_", "phs_", "phr_", "pha_"], Token, (30, 60))
        .allow(&["^ph._[a-z_-]+$"])
        .hits(&[
            ("export POSTHOG_KEY='phx_TTRhOoDNGA6N12UmXWgBgtntM9p75vT6DnzCtf3NazG'", "phx_TTRhOoDNGA6N12UmXWgBgtntM9p75vT6DnzCtf3NazG"),
            ("args: ['--auth', 'phc_p7vJU7Lq4DwVpv03G1X1Xjr9teQzCJcgeMfmnS7olll']", "phc_p7vJU7Lq4DwVpv03G1X1Xjr9teQzCJcgeMfmnS7olll"),
            ("https://api.example.com/v1/items?auth=phs_8NakwcrXY3AqO2GxBd6EW2hpasbRtkpCqug51WSSOZv&page=2", "phs_8NakwcrXY3AqO2GxBd6EW2hpasbRtkpCqug51WSSOZv"),
            ("- echo phr_Q1SFj1beWXNazK7voFeoWMt6UtssjFlr2hZooSszhVW | tool login", "phr_Q1SFj1beWXNazK7voFeoWMt6UtssjFlr2hZooSszhVW"),
            (r#"<add key="posthog_key" value="pha_RHpql80bH3Z7s0QEwwRL2AhtMSUUnSs4xi0ba6M0sAR" />"#, "pha_RHpql80bH3Z7s0QEwwRL2AhtMSUUnSs4xi0ba6M0sAR"),
        ])
        .misses(&["phc_helper_function_name_for_tests"]),
    assigned("SEGMENT_WRITE_KEY", &["segmentwritekey", "segmentkey", "segmentapi", "segmenttoken", "segmentio"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "segment_write_key": "4mTXkpvHT41D41hrafx0QXsRPGWlLSYs","#, "4mTXkpvHT41D41hrafx0QXsRPGWlLSYs"),
            ("const segmentKey = 'oKbkQZJhhRtvcOMu0nRc4NwA8G7dVI60';", "oKbkQZJhhRtvcOMu0nRc4NwA8G7dVI60"),
        ])
        .misses(&[r#"segment_region = "eu-central-1""#]),
    assigned("AMPLITUDE_KEY", &["amplitude", "mixpanel", "heapapp", "keenio", "kissmetrics", "countly"], HexLower, (32, 32))
        .hits(&[
            ("amplitude_api_key: 07d195f6c0ffa282b4d6d25eca883a3a", "07d195f6c0ffa282b4d6d25eca883a3a"),
            (r#"  "mixpanel_secret": "7ccd70a800af39a55a9885619f2270e5","#, "7ccd70a800af39a55a9885619f2270e5"),
        ])
        .misses(&[r#"amplitude_region = "eu-central-1""#]),
    pattern(
        "CONFIGCAT_KEY",
        &["configcat"],
        r"(?:configcat-sdk-1/)?[\w-]{22}/[\w-]{22}\b",
    )
        .entropy(3.5)
        .hits(&[
            ("CONFIGCAT_SDK_KEY=configcat-sdk-1/Z3gMXC3EgF4g6npshzZmXY/BR-X-kNEwmfvjkBfoF-U0h", "configcat-sdk-1/Z3gMXC3EgF4g6npshzZmXY/BR-X-kNEwmfvjkBfoF-U0h"),
            (r#"configcat.getClient("Sxaz0dc6fR5B61rKeK7H3h/bPocQ9lT29btgiCQfCXLe6")"#, "Sxaz0dc6fR5B61rKeK7H3h/bPocQ9lT29btgiCQfCXLe6"),
        ])
        .misses(&[r#"import configcat from "configcat-node""#]),
    pattern(
        "UNLEASH_TOKEN",
        &["unleash"],
        r"(?:[\w-]{1,40}|\*):[\w-]{1,40}\.[0-9a-f]{56,64}\b",
    )
        .hits(&[
            ("UNLEASH_TOKEN=default:production.f82d7376a6edea1b76e8202b034f491daeb961bfddd800f0a7539523", "default:production.f82d7376a6edea1b76e8202b034f491daeb961bfddd800f0a7539523"),
            (r#"unleash: "web:development.ca7e65d98a5434666d4a932f92e66cba5c51186a79c7ae56e6a0e0ce66be""#, "web:development.ca7e65d98a5434666d4a932f92e66cba5c51186a79c7ae56e6a0e0ce66be"),
        ])
        .misses(&["unleash://server"]),
    prefixed("FLAG_SERVER_KEY", &["dvc_server_", "dvc_client_", "dvc_mobile_"], Token, (30, 90))
        .hits(&[
            ("- echo dvc_server_dc22b701-ac97-49d3-b6ae-165fb11260ee_91871ba | tool login", "dvc_server_dc22b701-ac97-49d3-b6ae-165fb11260ee_91871ba"),
            (r#"<add key="flag_server_key" value="dvc_client_d79893ce-40b9-49fb-84d7-8be40a35cff1_95e0003" />"#, "dvc_client_d79893ce-40b9-49fb-84d7-8be40a35cff1_95e0003"),
            (r#"let client = Client::new("dvc_mobile_fbc95fb8-a5f6-4745-9a0d-2c0878d260e9_a4eb51d");"#, "dvc_mobile_fbc95fb8-a5f6-4745-9a0d-2c0878d260e9_a4eb51d"),
        ])
        .misses(&["# the console shows dvc_server_iVLvC7 and asks for the rest"]),
    prefixed("FLAGSMITH_KEY", &["ser."], Alnum, (20, 26))
        .entropy(3.3)
        .allow(&[r"^ser\.[A-Za-z]+$"])
        .hits(&[
            ("args: ['--auth', 'ser.XIzUGvkoqXrQih3rlQK2pA']", "ser.XIzUGvkoqXrQih3rlQK2pA"),
            ("https://api.example.com/v1/items?auth=ser.RMvjXmItYqv4yCyBwuWLda&page=2", "ser.RMvjXmItYqv4yCyBwuWLda"),
        ])
        .misses(&["ser.serialize_field(value)"]),
    prefixed("STATSIG_KEY", &["secret-", "console-"], Alnum, (40, 50))
        .entropy(3.5)
        .allow(&["^[a-z-]+$"])
        .hits(&[
            ("  statsig_key: secret-stBf3N3QzyYvph08URqUT0PAHuPFbWfCqTWsLcqHj4E", "secret-stBf3N3QzyYvph08URqUT0PAHuPFbWfCqTWsLcqHj4E"),
            (r#"    "statsig_key": "console-jeVXM4J3cP7YUd2BezKB9Ut7rRoXVVOuyMqj7t3piTC","#, "console-jeVXM4J3cP7YUd2BezKB9Ut7rRoXVVOuyMqj7t3piTC"),
        ])
        .misses(&["secret-service-provider"]),
    assigned("OPTIMIZELY_KEY", &["optimizely", "splitio", "vwosdk", "abtasty"], Token, (20, 60))
        .entropy(3.5)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("OPTIMIZELY_TOKEN=vxu4r6o6YIWVLZv4kM0Az6vfrEZLhPFEJUNq_9Ecl3", "vxu4r6o6YIWVLZv4kM0Az6vfrEZLhPFEJUNq_9Ecl3"),
            ("splitio_key: 4sNn0OOjeDKYZq2kz4mkiVrczh3wZJhpWnz9qC6CEn", "4sNn0OOjeDKYZq2kz4mkiVrczh3wZJhpWnz9qC6CEn"),
        ])
        .misses(&[r#"optimizely_region = "eu-central-1""#]),

    // More.

    prefixed("ROOTLY_TOKEN", &["rootly_"], HexLower, (60, 66))
        .hits(&[
            ("The value rootly_c66a642aa8c02784de9ebc33b598c7b1f0bf2089e89045bed6703381d642beb6 was rotated last week.", "rootly_c66a642aa8c02784de9ebc33b598c7b1f0bf2089e89045bed6703381d642beb6"),
            ("export ROOTLY_TOKEN='rootly_dd92f9b2076be0d6c91c044e64a4000588d409cee383d866698252d3f6e89339'", "rootly_dd92f9b2076be0d6c91c044e64a4000588d409cee383d866698252d3f6e89339"),
        ])
        .misses(&["# the console shows rootly_e80b21 and asks for the rest"]),
    prefixed("LOGICMONITOR_TOKEN", &["lmb_"], AnyBase64, (40, 120))
        .hits(&[
            ("- echo lmb_DvkvgodJukkcFRg6EvMxGo61HhoTbsNtp1bsnXsrjoK6Hb8zjRGCR9mXTSa5F3pPrI7ZfhdTQYkdGRl= | tool login", "lmb_DvkvgodJukkcFRg6EvMxGo61HhoTbsNtp1bsnXsrjoK6Hb8zjRGCR9mXTSa5F3pPrI7ZfhdTQYkdGRl="),
            (r#"<add key="logicmonitor_token" value="lmb_TA5uG3YOYBP00LT7HJ2nOQEvt2K3U6Py5syS5wWSBRSrEBaEjITehKrYtIOzcvcwk8Ynb1kM0g5JSZk=" />"#, "lmb_TA5uG3YOYBP00LT7HJ2nOQEvt2K3U6Py5syS5wWSBRSrEBaEjITehKrYtIOzcvcwk8Ynb1kM0g5JSZk="),
        ])
        .misses(&["# the console shows lmb_QMc5vb and asks for the rest"]),
    prefixed("NIGHTFALL_KEY", &["NF-"], Alnum, (30, 40))
        .entropy(3.3)
        .allow(&["^NF-[A-Z]+$"])
        .hits(&[
            ("  nightfall_key: NF-bdkXOPUtQJRWSclC6JLlj8OsGdaKiqGrIPPl", "NF-bdkXOPUtQJRWSclC6JLlj8OsGdaKiqGrIPPl"),
            (r#"    "nightfall_key": "NF-V4PRxYlDbiBYIjeq1jlB2TKo2268IGbkeidV","#, "NF-V4PRxYlDbiBYIjeq1jlB2TKo2268IGbkeidV"),
        ])
        .misses(&["# the console shows NF-FwsLHq and asks for the rest"]),
    prefixed("UPTIME_KUMA_KEY", &["uk1_"], Token, (30, 50))
        .hits(&[
            ("- echo uk1_GZd5p3GZTtul4CV9gRZgaEWods1LwasDNYPlMvx3 | tool login", "uk1_GZd5p3GZTtul4CV9gRZgaEWods1LwasDNYPlMvx3"),
            (r#"<add key="uptime_kuma_key" value="uk1_VhK9_fuB91WmHPktlAhyV0g-U6uzQk9zhAM-kYEc" />"#, "uk1_VhK9_fuB91WmHPktlAhyV0g-U6uzQk9zhAM-kYEc"),
        ])
        .misses(&["# the console shows uk1_-DsBK9 and asks for the rest"]),
];

//! Work tools: tickets, documents, design, customers.

use super::super::rule::Charset::{Alnum, AnyBase64, Dotted, HexLower, HexUpper, Lower, Token, Upper, Uuid, Visible};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Work and documents.

    prefixed("LINEAR_TOKEN", &["lin_api_", "lin_oauth_", "lin_wh_"], Alnum, (36, 70))
        .hits(&[
            ("https://api.example.com/v1/items?auth=lin_api_Oi14hxoIYl6uUmWZwkiBMfSWcNy9trUF94bDZ2to&page=2", "lin_api_Oi14hxoIYl6uUmWZwkiBMfSWcNy9trUF94bDZ2to"),
            ("- echo lin_oauth_fntvXdy956i98D7A9bqhJleECvDz42wXpUT3XYt9 | tool login", "lin_oauth_fntvXdy956i98D7A9bqhJleECvDz42wXpUT3XYt9"),
            (r#"<add key="linear_token" value="lin_wh_t58IzFkLssxjGMG3ueWKcQTkTY8uLLE7VbUZXgDV" />"#, "lin_wh_t58IzFkLssxjGMG3ueWKcQTkTY8uLLE7VbUZXgDV"),
        ])
        .misses(&["# the console shows lin_api_rtjeOM and asks for the rest"]),
    prefixed("NOTION_TOKEN", &["ntn_"], Alnum, (40, 60))
        .hits(&[
            ("https://api.example.com/v1/items?auth=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&page=2", "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"),
            ("- echo 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 | tool login", "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"),
        ])
        .misses(&["# the console shows ntn_Yiuqlr and asks for the rest"]),
    prefixed("NOTION_LEGACY_TOKEN", &["secret_"], Alnum, (43, 43))
        .entropy(3.3)
        .allow(&["^secret_[a-z]+$"])
        .hits(&[
            (r#"<add key="notion_legacy_token" value="secret_alFGy8g7Dc6XLfU231pmhaj7UzU780hTnFBfVW6RJX2" />"#, "secret_alFGy8g7Dc6XLfU231pmhaj7UzU780hTnFBfVW6RJX2"),
            (r#"let client = Client::new("secret_qBQMqbwInfC90XfNxPe4ikg2DykkjuQp3RKYKaS7N9J");"#, "secret_qBQMqbwInfC90XfNxPe4ikg2DykkjuQp3RKYKaS7N9J"),
        ])
        .misses(&["secret_manager", "secret_key_base"]),
    pattern(
        "ASANA_TOKEN",
        &["asana", "1/0", "1/1", "1/2", "2/0", "2/1"],
        r"\b[012]/\d{10,17}(?:/\d{10,17})?:[0-9a-f]{32}\b",
    )
        .hits(&[
            ("ASANA_TOKEN=1/9577671535569920:719e1949266648acb53dbdad370900cd", "1/9577671535569920:719e1949266648acb53dbdad370900cd"),
            ("Bearer 2/1214282356471084/1265321064952166:47fab1e5b47f241b70bad27db07bf4f7", "2/1214282356471084/1265321064952166:47fab1e5b47f241b70bad27db07bf4f7"),
        ])
        .misses(&["asana task 1/1"]),
    assigned("ASANA_SECRET", &["asana"], Lower, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"asana_client_secret = "7046f8b59d3b53a0455a3b86109f5f6b""#, "7046f8b59d3b53a0455a3b86109f5f6b"),
            ("ASANA_SECRET=32edeebb5ced85c155a1e3c36f7e3d36", "32edeebb5ced85c155a1e3c36f7e3d36"),
        ])
        .misses(&[r#"asana_region = "eu-central-1""#]),
    prefixed("AIRTABLE_TOKEN", &["pat"], Dotted, (79, 79))
        .allow(&["^[^.]*$"])
        .hits(&[
            ("args: ['--auth', 'patRAbUpfMR4F6hbB.d9fee5dbcaabf49e6cd8bb43d24fa4f494e637c24093683d43c35ba5d0ed6a63']", "patRAbUpfMR4F6hbB.d9fee5dbcaabf49e6cd8bb43d24fa4f494e637c24093683d43c35ba5d0ed6a63"),
            ("https://api.example.com/v1/items?auth=patQIeELwBuu3qiEF.60518d1b06ba54da623d1adf66b87cf30910a02ddd7deb064c43ec3be698d88f&page=2", "patQIeELwBuu3qiEF.60518d1b06ba54da623d1adf66b87cf30910a02ddd7deb064c43ec3be698d88f"),
        ])
        .misses(&["# the console shows patBe_Fre and asks for the rest"]),
    assigned("AIRTABLE_LEGACY_KEY", &["airtable"], Alnum, (17, 17))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("airtable_api_key: keymSCwJ4y0feSLm5", "keymSCwJ4y0feSLm5"),
            (r#"  "airtable_key": "key4E5Kkp67tj9QEL","#, "key4E5Kkp67tj9QEL"),
        ])
        .misses(&[r#"airtable_region = "eu-central-1""#]),
    prefixed("TRELLO_TOKEN", &["ATTA"], Alnum, (60, 80))
        .hits(&[
            (r#"let client = Client::new("ATTAfda8b9681b522f6366c1e323bb3d024f7734456c97e40daaf8eda5a3bf1f21b6603CEC1D");"#, "ATTAfda8b9681b522f6366c1e323bb3d024f7734456c97e40daaf8eda5a3bf1f21b6603CEC1D"),
            ("TRELLO_TOKEN=ATTA9c7f5993b8feec95ede1a1e4749ead22960c9baed750dd6f9c0dbd2ef01f65998CC7ECDB", "ATTA9c7f5993b8feec95ede1a1e4749ead22960c9baed750dd6f9c0dbd2ef01f65998CC7ECDB"),
        ])
        .misses(&["# the console shows ATTAmpo6cC and asks for the rest"]),
    assigned("TRELLO_KEY", &["trello"], HexLower, (32, 64))
        .hits(&[
            ("const trelloApiKey = '558fd48c2478d28cab842ccabcd46b6e';", "558fd48c2478d28cab842ccabcd46b6e"),
            (r#"trello_token = "a7c157d51960c307d7c0fe95126e9663f4b3f622fb220b9f012f05b34f5820bd""#, "a7c157d51960c307d7c0fe95126e9663f4b3f622fb220b9f012f05b34f5820bd"),
        ])
        .misses(&[r#"trello_region = "eu-central-1""#]),
    pattern(
        "CLICKUP_TOKEN",
        &["pk_"],
        r"\bpk_\d{5,10}_[0-9A-Z]{32}\b",
    )
        .hits(&[
            ("CLICKUP_TOKEN=pk_64544726_OG0D0ZUX1AE09O239HQF1S56NYL2RTCZ", "pk_64544726_OG0D0ZUX1AE09O239HQF1S56NYL2RTCZ"),
            (r#""clickup": "pk_0741125_6HJE0KRZ0LE55JVT1H9PKNVAEL5GBVZB""#, "pk_0741125_6HJE0KRZ0LE55JVT1H9PKNVAEL5GBVZB"),
        ])
        .misses(&[r#"pk_column = "id""#]),
    assigned("TASK_TOOL_TOKEN", &["todoist", "pipedrive", "freshdesk", "freshservice", "zohodesk", "helpscout", "gorgias", "pivotaltracker", "wrike", "smartsheet", "mondaycom", "jotform", "surveymonkey", "harvestapp", "togglapi", "clockify"], Token, (20, 80))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("todoist_api_token: 03ba8f7f518b4b1f4f81828c6947f8fce960ac6f", "03ba8f7f518b4b1f4f81828c6947f8fce960ac6f"),
            (r#"  "pipedrive_api_token": "7893160a55545ccf088d2aced5de487f422d5e68","#, "7893160a55545ccf088d2aced5de487f422d5e68"),
            ("const clockifyKey = 'f37fb50607eb8154250312667d9b0ded46c54286';", "f37fb50607eb8154250312667d9b0ded46c54286"),
        ])
        .misses(&[r#"todoist_region = "eu-central-1""#]),
    prefixed("FIGMA_TOKEN", &["figd_", "figdr_", "figo_", "figu_"], Token, (36, 64))
        .hits(&[
            (r#"let client = Client::new("figd_eVPYQM4XcMgAyp3m4QqeECaq1Yg3DxmqReSnEYcs");"#, "figd_eVPYQM4XcMgAyp3m4QqeECaq1Yg3DxmqReSnEYcs"),
            ("FIGMA_TOKEN=figdr_ghy0yI8e6OrK3YuC_MW7TQQjbE-04DGagbuM8C2r", "figdr_ghy0yI8e6OrK3YuC_MW7TQQjbE-04DGagbuM8C2r"),
            ("  figma_token: figo_LOrttGkEwAZw-kzv1HpDJeKMfN6aEovA6DEzWRq6", "figo_LOrttGkEwAZw-kzv1HpDJeKMfN6aEovA6DEzWRq6"),
            (r#"    "figma_token": "figu_JXMn4eIh43StOLdgWzjnQgYmMYI2Fpd2PE5e0en4","#, "figu_JXMn4eIh43StOLdgWzjnQgYmMYI2Fpd2PE5e0en4"),
        ])
        .misses(&["# the console shows figd_n7bKhu and asks for the rest"]),
    prefixed("CANVA_SECRET", &["cnvca"], Token, (40, 64))
        .hits(&[
            (r#"let client = Client::new("cnvca_JSrwL4qfrd6V9oHegr3Akw2cCEv1RxVWkwXquZybVDWttyO6w8");"#, "cnvca_JSrwL4qfrd6V9oHegr3Akw2cCEv1RxVWkwXquZybVDWttyO6w8"),
            ("CANVA_SECRET=cnvca5EafiBom5-w3YFndnU3JUU8CsWWaBefJMWXtj9G50iYyAWq1TZ5", "cnvca5EafiBom5-w3YFndnU3JUU8CsWWaBefJMWXtj9G50iYyAWq1TZ5"),
        ])
        .misses(&["# the console shows cnvcas7s_7Q and asks for the rest"]),
    prefixed("DROPBOX_TOKEN", &["sl.u.", "sl."], Token, (100, 1600))
        .hits(&[
            (r#"<add key="dropbox_token" value="sl.u.c5TH8mLbfUXGbXKUXWxcrDvRZmgcs1kf3Sv1UUtFTZVtS2GmzmV2jEfGLZTg3KqwXZ_zH3NkMKjV8luzKfnPv3FkSgo3P8PnEkmxMzGNuS-EsJ8OWHcuImkd6CMh2U7VI8O_Jqn" />"#, "sl.u.c5TH8mLbfUXGbXKUXWxcrDvRZmgcs1kf3Sv1UUtFTZVtS2GmzmV2jEfGLZTg3KqwXZ_zH3NkMKjV8luzKfnPv3FkSgo3P8PnEkmxMzGNuS-EsJ8OWHcuImkd6CMh2U7VI8O_Jqn"),
            (r#"let client = Client::new("sl.5PSOKNq_oLrWlU1JKe7ftvuSk9Uge9qs1ww9uJ0hCOOpslQrhERX66pdIV24ouBUI-KwtxYwB2SJwkH81crHiLTrHV6TJHQ-sbS_CQVsqYY3qpa7AQ-za-fmC6szUUeIfLp2k5u");"#, "sl.5PSOKNq_oLrWlU1JKe7ftvuSk9Uge9qs1ww9uJ0hCOOpslQrhERX66pdIV24ouBUI-KwtxYwB2SJwkH81crHiLTrHV6TJHQ-sbS_CQVsqYY3qpa7AQ-za-fmC6szUUeIfLp2k5u"),
        ])
        .misses(&["# the console shows sl.u.zt4ScK and asks for the rest"]),
    pattern(
        "DROPBOX_LONG_LIVED_TOKEN",
        &["aaaaaaaaaa"],
        r"\b[0-9A-Za-z]{11}AAAAAAAAAA[\w-]{43}\b",
    )
        .entropy(3.5)
        .hits(&[
            ("DROPBOX_TOKEN=jaHYTkke0HCAAAAAAAAAACRPdFhUBSWvEgrLk-1Joqmvw02yCFtLMFk0TFnVbrpq", "jaHYTkke0HCAAAAAAAAAACRPdFhUBSWvEgrLk-1Joqmvw02yCFtLMFk0TFnVbrpq"),
            (r#"Dropbox("lOcZ6uKMENKAAAAAAAAAADChTWuvBuVzUIMkDq6SEU882UMQZyirSOfDGf0tk850")"#, "lOcZ6uKMENKAAAAAAAAAADChTWuvBuVzUIMkDq6SEU882UMQZyirSOfDGf0tk850"),
        ])
        .misses(&["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]),
    assigned("DROPBOX_APP_SECRET", &["dropbox"], Lower, (15, 15))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "dropbox_app_secret": "ob0ha7iu4arwzfv","#, "ob0ha7iu4arwzfv"),
            (r#"dropbox_secret = "rb10nun02b8uz6q""#, "rb10nun02b8uz6q"),
        ])
        .misses(&[r#"dropbox_region = "eu-central-1""#]),
    assigned("BOX_SECRET", &["boxclientsecret", "boxdevelopertoken", "boxaccesstoken", "boxtoken", "boxsecret", "boxenterprise"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("BOX_CLIENT_SECRET=4GttdHAYSe1JEEpEUUvKTu1WtNpAV2zn", "4GttdHAYSe1JEEpEUUvKTu1WtNpAV2zn"),
            ("box_access_token: 96o8YiV6b40g4N5JIlGAEYVJfCn9fCmO", "96o8YiV6b40g4N5JIlGAEYVJfCn9fCmO"),
        ])
        .misses(&[r#"box_region = "eu-central-1""#]),
    prefixed("TYPEFORM_TOKEN", &["tfp_"], Dotted, (36, 80))
        .hits(&[
            ("  typeform_token: tfp_MduprceI6VRPiLaF8o3TqHhQ9YPwVHz6IMoK1Tpk3mec_3pSIxyrVUKoiYv", "tfp_MduprceI6VRPiLaF8o3TqHhQ9YPwVHz6IMoK1Tpk3mec_3pSIxyrVUKoiYv"),
            (r#"    "typeform_token": "tfp_SWRKBlqFUsvuObOrQRLWlLKsc0JUlgcVafddtUSWEpEF_3pSLXF91XsODLF","#, "tfp_SWRKBlqFUsvuObOrQRLWlLKsc0JUlgcVafddtUSWEpEF_3pSLXF91XsODLF"),
        ])
        .misses(&["# the console shows tfp_t6IKdx and asks for the rest"]),
    prefixed("POSTMAN_KEY", &["PMAK-"], Token, (50, 70))
        .hits(&[
            ("- echo PMAK-fc95517cca2a6f62c3a3ee44-a7211d62cf318a33285bfc691813d702df | tool login", "PMAK-fc95517cca2a6f62c3a3ee44-a7211d62cf318a33285bfc691813d702df"),
            (r#"<add key="postman_key" value="PMAK-6cc84159b7754332cc03885d-9ae0ffde32861107acd457b492627d41e9" />"#, "PMAK-6cc84159b7754332cc03885d-9ae0ffde32861107acd457b492627d41e9"),
        ])
        .misses(&["# the console shows PMAK-s0PmcJ and asks for the rest"]),
    prefixed("POSTMAN_COLLECTION_KEY", &["PMAT-"], Upper, (26, 26))
        .hits(&[
            ("export POSTMAN_COLLECTION_KEY='PMAT-DJIO0XOKQ925MO9SOA8V77QCR9'", "PMAT-DJIO0XOKQ925MO9SOA8V77QCR9"),
            ("args: ['--auth', 'PMAT-XKKBTWOBGW1MAY7DP9DZ4VCDX1']", "PMAT-XKKBTWOBGW1MAY7DP9DZ4VCDX1"),
        ])
        .misses(&["# the console shows PMAT-8MPUOE and asks for the rest"]),
    prefixed("README_TOKEN", &["rdme_"], Lower, (60, 80))
        .hits(&[
            (r#"let client = Client::new("rdme_xn8s9hf716a5943133c33ea2729d070ea60e9af27c8eb0956428b30f61ac1925e1f1e3");"#, "rdme_xn8s9hf716a5943133c33ea2729d070ea60e9af27c8eb0956428b30f61ac1925e1f1e3"),
            ("README_TOKEN=rdme_xn8s9h9a50fe63c801fb2329c670c1506441fc7f907bb34226a5a315f5b867ae2c9cec", "rdme_xn8s9h9a50fe63c801fb2329c670c1506441fc7f907bb34226a5a315f5b867ae2c9cec"),
        ])
        .misses(&["# the console shows rdme_d2sgjj and asks for the rest"]),
    prefixed("FRAMEIO_TOKEN", &["fio-u-"], AnyBase64, (50, 80))
        .hits(&[
            ("export FRAMEIO_TOKEN='fio-u-YLkCQPcoz-jrWiRoW0BA4PG2axUFOR1wJYgKMycR7EN5XQTjyuz7VQT_NFkHdQsu'", "fio-u-YLkCQPcoz-jrWiRoW0BA4PG2axUFOR1wJYgKMycR7EN5XQTjyuz7VQT_NFkHdQsu"),
            ("args: ['--auth', 'fio-u-aNMsgD2y69WnVfBbYsvANaHCBXWKVn6eTXH7aJhUazgrCEimzPMroeQsDznPZAok']", "fio-u-aNMsgD2y69WnVfBbYsvANaHCBXWKVn6eTXH7aJhUazgrCEimzPMroeQsDznPZAok"),
        ])
        .misses(&["# the console shows fio-u-DKrjYf and asks for the rest"]),
    prefixed("ADOBE_SECRET", &["p8e-"], Token, (28, 40))
        .hits(&[
            ("args: ['--auth', 'p8e-aN_pC0SIM0fvp9dCcnAjvv4qw0y9RJh0']", "p8e-aN_pC0SIM0fvp9dCcnAjvv4qw0y9RJh0"),
            ("https://api.example.com/v1/items?auth=p8e-oqi8pUMOhAogdcwDZl-rLKt7kOtoQaFf&page=2", "p8e-oqi8pUMOhAogdcwDZl-rLKt7kOtoQaFf"),
        ])
        .misses(&["# the console shows p8e-YFDecK and asks for the rest"]),
    prefixed("IONIC_TOKEN", &["ion_"], Lower, (42, 42))
        .hits(&[
            ("IONIC_TOKEN=ion_hgo2dydt7it6thtmo2om6x42lnvnu9z69pm5onqiuc", "ion_hgo2dydt7it6thtmo2om6x42lnvnu9z69pm5onqiuc"),
            ("  ionic_token: ion_3h32cq743ggdde5nvmo3k75td0ww2wp4abg7i0fpfg", "ion_3h32cq743ggdde5nvmo3k75td0ww2wp4abg7i0fpfg"),
        ])
        .misses(&["# the console shows ion_98xud8 and asks for the rest"]),
    prefixed("CAL_TOKEN", &["cal_live_", "cal_"], Lower, (32, 40))
        .hits(&[
            ("  cal_token: cal_live_1a6556d112d4385cd596a84c44fb4703", "cal_live_1a6556d112d4385cd596a84c44fb4703"),
            (r#"    "cal_token": "cal_6698e853515f0942e6da669c9836729e","#, "cal_6698e853515f0942e6da669c9836729e"),
        ])
        .misses(&["# the console shows cal_live_54ge5b and asks for the rest"]),
    prefixed("GITBOOK_TOKEN", &["gb_api_"], Alnum, (30, 60))
        .hits(&[
            (r#"    "gitbook_token": "gb_api_hownW9wKNQX1q8lkYpX1mXHhKOWES0Bfgru0CfQu","#, "gb_api_hownW9wKNQX1q8lkYpX1mXHhKOWES0Bfgru0CfQu"),
            ("The value gb_api_WrfwaweYYP4gOCBg9lQp8WyRpAV9VWilogYZPUnX was rotated last week.", "gb_api_WrfwaweYYP4gOCBg9lQp8WyRpAV9VWilogYZPUnX"),
        ])
        .misses(&["# the console shows gb_api_NqfjIi and asks for the rest"]),
    prefixed("MINTLIFY_TOKEN", &["mint_dsc_", "mint_"], Alnum, (22, 60))
        .entropy(3.0)
        .allow(&["^mint_[a-z]+$"])
        .hits(&[
            ("- echo mint_dsc_4x79gQfe0xGR8aOwIMXfpW8h | tool login", "mint_dsc_4x79gQfe0xGR8aOwIMXfpW8h"),
            (r#"<add key="mintlify_token" value="mint_zTTE9mSFrEzsaGP5Aum6mL4b" />"#, "mint_zTTE9mSFrEzsaGP5Aum6mL4b"),
        ])
        .misses(&["# the console shows mint_dsc_rTRE1z and asks for the rest"]),
    pattern(
        "JETBRAINS_TOKEN",
        &["perm:", "perm-"],
        r"\bperm[:-][0-9A-Za-z+/=]{4,60}\.[0-9A-Za-z+/=_-]{4,80}\.[0-9A-Za-z]{20,60}\b",
    )
        .hits(&[
            ("YOUTRACK_TOKEN=perm:tIlUhwz2kdz2FBH4=.aFi2UnyB12gs=.ME9t6otHaFGHoEdB0EPwb07C2FrevL", "perm:tIlUhwz2kdz2FBH4=.aFi2UnyB12gs=.ME9t6otHaFGHoEdB0EPwb07C2FrevL"),
            ("--token perm-5i9aNDrjpSP5m9j1=.3H0gUegcekJe=.OiufgP3xdac50TQv0GbF8pydHdQDBH", "perm-5i9aNDrjpSP5m9j1=.3H0gUegcekJe=.OiufgP3xdac50TQv0GbF8pydHdQDBH"),
        ])
        .misses(&["chmod perm: 0644"]),
    assigned("TRANSLATION_TOOL_KEY", &["crowdin", "lokalise", "phraseapp", "phrasetoken", "transifex", "poeditor", "deeplauthkey", "deeplapikey", "deeplkey"], Token, (32, 80))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("CROWDIN_PERSONAL_TOKEN=eee68be02ca477b0e88ad8108c248a4a22588ee463bed31b3b0f9c980991b2fcb4f8d7bd78531a31", "eee68be02ca477b0e88ad8108c248a4a22588ee463bed31b3b0f9c980991b2fcb4f8d7bd78531a31"),
            ("lokalise_token: 121a454245f4ba7f695c54b348bbce8dc99030a3", "121a454245f4ba7f695c54b348bbce8dc99030a3"),
            (r#"  "poeditor_api": "1d8f74a2a8550badab4f8e5d60f32037","#, "1d8f74a2a8550badab4f8e5d60f32037"),
        ])
        .misses(&[r#"crowdin_region = "eu-central-1""#]),
    pattern(
        "DEEPL_KEY",
        &["deepl", "auth_key"],
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?::fx)?\b",
    )
        .hits(&[
            ("DEEPL_AUTH_KEY=82f90989-b028-410a-9308-25b13286053f:fx", "82f90989-b028-410a-9308-25b13286053f:fx"),
            (r#"deepl.Translator("dc7587fc-6082-443f-9e62-143d5d16c678")"#, "dc7587fc-6082-443f-9e62-143d5d16c678"),
        ])
        .misses(&["import deepl"]),
    prefixed("WEBLATE_TOKEN", &["wlu_", "wlp_"], Alnum, (30, 60))
        .hits(&[
            (r#"let client = Client::new("wlu_DbUcwQPEOdA9MTfUqmjlvwdDJeS9i07aiBRR");"#, "wlu_DbUcwQPEOdA9MTfUqmjlvwdDJeS9i07aiBRR"),
            ("WEBLATE_TOKEN=wlp_317eVIbn12AaBtlrD11NxMx6Ek0EN0lbCqwN", "wlp_317eVIbn12AaBtlrD11NxMx6Ek0EN0lbCqwN"),
        ])
        .misses(&["# the console shows wlu_Fmk2zh and asks for the rest"]),
    prefixed("TRANSIFEX_TOKEN", &["1/"], HexLower, (40, 40))
        .hits(&[
            (r#"    "transifex_token": "1/efd05c63284c0f8dba3e4888cbc96225ef5f9774","#, "1/efd05c63284c0f8dba3e4888cbc96225ef5f9774"),
            ("The value 1/30c5a2ac7b97f90aebc4697ac170cdf9c7d60438 was rotated last week.", "1/30c5a2ac7b97f90aebc4697ac170cdf9c7d60438"),
        ])
        .misses(&["1/3f786850"]),

    // Customers.

    prefixed("HUBSPOT_TOKEN", &["pat-na1-", "pat-na2-", "pat-na3-", "pat-eu1-", "pat-ap1-"], Uuid, (36, 36))
        .hits(&[
            (r#"    "hubspot_token": "pat-na1-e70e94c7-72e5-4b80-a68b-965fbecfda3e","#, "pat-na1-e70e94c7-72e5-4b80-a68b-965fbecfda3e"),
            ("The value pat-na2-9347439f-3b56-49b6-9411-f12fa531f16a was rotated last week.", "pat-na2-9347439f-3b56-49b6-9411-f12fa531f16a"),
            ("export HUBSPOT_TOKEN='pat-na3-b6ca8014-bc7c-496f-b23d-2088ec107f1d'", "pat-na3-b6ca8014-bc7c-496f-b23d-2088ec107f1d"),
            ("args: ['--auth', 'pat-eu1-2747b54f-82f0-413d-b827-419bb9b26e67']", "pat-eu1-2747b54f-82f0-413d-b827-419bb9b26e67"),
            ("https://api.example.com/v1/items?auth=pat-ap1-fa7cf410-e41f-4584-8650-5c8a0b00b259&page=2", "pat-ap1-fa7cf410-e41f-4584-8650-5c8a0b00b259"),
        ])
        .misses(&["# the console shows pat-na1-70717a and asks for the rest"]),
    assigned("HUBSPOT_LEGACY_KEY", &["hubspot", "hapikey"], Uuid, (36, 36))
        .hits(&[
            ("const hubspotApiKey = '3d334bd1-701d-429e-86ad-9575b17e28db';", "3d334bd1-701d-429e-86ad-9575b17e28db"),
            (r#"hapikey = "e5e19a0c-71e3-4e6f-8ed3-fbb5dc5d0d3d""#, "e5e19a0c-71e3-4e6f-8ed3-fbb5dc5d0d3d"),
        ])
        .misses(&[r#"hubspot_portal = "123456""#]),
    prefixed("INTERCOM_TOKEN", &["dG9rO"], AnyBase64, (40, 80))
        .hits(&[
            (r#"<add key="intercom_token" value="dG9rOaYap7cA6yV126NHX2jfox2VhJYmxjvYwBTUv3u6wWRseblCOM94OLW=" />"#, "dG9rOaYap7cA6yV126NHX2jfox2VhJYmxjvYwBTUv3u6wWRseblCOM94OLW="),
            (r#"let client = Client::new("dG9rORaLIVs89GZrpdGFKAcFMSXuDlCexkEmpbuZfzu8YsDgQpCdqPAdAIT=");"#, "dG9rORaLIVs89GZrpdGFKAcFMSXuDlCexkEmpbuZfzu8YsDgQpCdqPAdAIT="),
        ])
        .misses(&["# the console shows dG9rOHDbqc- and asks for the rest"]),
    assigned("INTERCOM_SECRET", &["intercom"], Token, (40, 64))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("INTERCOM_SECRET=7NVlWOyiawV7aBqoU0c_xIt6kADuZDo4Gmna-n-f", "7NVlWOyiawV7aBqoU0c_xIt6kADuZDo4Gmna-n-f"),
            ("intercom_identity_secret: tzXZEqmWWhbHOiKtnsihtOCGyKLsbHUWzjh4gTpa", "tzXZEqmWWhbHOiKtnsihtOCGyKLsbHUWzjh4gTpa"),
        ])
        .misses(&[r#"intercom_region = "eu-central-1""#]),
    assigned("ZENDESK_TOKEN", &["zendesk"], Alnum, (40, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const zendeskApiToken = '5vkqIysHeHbryppovuKZTJRx7NWCl8eGyhdek77J';", "5vkqIysHeHbryppovuKZTJRx7NWCl8eGyhdek77J"),
            (r#"zendesk_token = "phzRGVOoEBtxoQdNKACEuzFwNLn1Sh95ChHDvwu6""#, "phzRGVOoEBtxoQdNKACEuzFwNLn1Sh95ChHDvwu6"),
        ])
        .misses(&[r#"zendesk_region = "eu-central-1""#]),
    prefixed("SALESFORCE_CONSUMER_KEY", &["3MVG9", "5Aep861"], Dotted, (50, 130))
        .hits(&[
            ("https://api.example.com/v1/items?auth=3MVG9GcApaat7oX2YadMKUKv235BrFOceyYziFqu6vDRGYcHkdsIcoThvuoGZNrxEzKaqARfeS5onbsNUtpYc&page=2", "3MVG9GcApaat7oX2YadMKUKv235BrFOceyYziFqu6vDRGYcHkdsIcoThvuoGZNrxEzKaqARfeS5onbsNUtpYc"),
            ("- echo 5Aep86120RhIkD7Ancs8YSrMhRu4PIxJQJ_qLc2x_ahbwUKZUrq.x.Ic70g3K7BjhyCvuw0AXIbYF3VFWPmynqs | tool login", "5Aep86120RhIkD7Ancs8YSrMhRu4PIxJQJ_qLc2x_ahbwUKZUrq.x.Ic70g3K7BjhyCvuw0AXIbYF3VFWPmynqs"),
        ])
        .misses(&["# the console shows 3MVG9cXHehm and asks for the rest"]),
    assigned("SALESFORCE_CLIENT_SECRET", &["salesforce", "sfdc", "sfclientsecret", "sfconsumersecret"], HexUpper, (64, 64))
        .hits(&[
            ("const salesforceClientSecret = 'B03972C334716EADECCE2BB6E9BA205ECBE44F264ABC2FF8D26E95D9E6C4C40E';", "B03972C334716EADECCE2BB6E9BA205ECBE44F264ABC2FF8D26E95D9E6C4C40E"),
            (r#"sfdc_consumer_secret = "0856A93B4CD6A5BA5F9158E53F8D38ABE45D981115518AA0374BFDF25E53C173""#, "0856A93B4CD6A5BA5F9158E53F8D38ABE45D981115518AA0374BFDF25E53C173"),
        ])
        .misses(&[r#"salesforce_region = "eu-central-1""#]),
    prefixed("CLOSE_API_KEY", &["api_"], Dotted, (45, 45))
        .entropy(3.8)
        .allow(&["^[^.]*$", "^[^0-9]+$", "_.*_"])
        .hits(&[
            ("CLOSE_API_KEY=api_DnQFgJRHSQXF2TvoIfBi1m.3hgFNxUUbU8UWsaVejUZkM", "api_DnQFgJRHSQXF2TvoIfBi1m.3hgFNxUUbU8UWsaVejUZkM"),
            ("  close_api_key: api_uMnp0tTTpMk44KrNCgdsqG.LaxQPTsWLbzbDrqV3YMgq2", "api_uMnp0tTTpMk44KrNCgdsqG.LaxQPTsWLbzbDrqV3YMgq2"),
        ])
        .misses(&["api_client.request_with_retries_and_backoff.x"]),
    assigned("ENRICHMENT_KEY", &["clearbit", "apolloio", "rocketreach", "peopledatalabs", "zoominfo", "hunterapi", "fullcontact", "lusha", "snovio"], Token, (20, 80))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("clearbit_key: abbbea55905a4e807f7744a539b4d53ff517b350", "abbbea55905a4e807f7744a539b4d53ff517b350"),
            (r#"  "hunter_api_key": "5422c86e95c2ae8f28ea274f1d6ba8dc8dc26e5c","#, "5422c86e95c2ae8f28ea274f1d6ba8dc8dc26e5c"),
            ("const apolloioKey = '1335a6de152e2c9df7c86fc42ceed51acd25b092';", "1335a6de152e2c9df7c86fc42ceed51acd25b092"),
        ])
        .misses(&[r#"clearbit_region = "eu-central-1""#]),
    assigned("MARKETO_SECRET", &["marketo", "eloqua", "pardot", "braze", "iterable", "attentive", "mparticle", "appsflyer", "branchio", "rudderstack"], Token, (20, 80))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"marketo_client_secret = "SuFdoyFd84zSNy5PxkK8nIhIZoqxLZbC""#, "SuFdoyFd84zSNy5PxkK8nIhIZoqxLZbC"),
            ("BRAZE_API_KEY=922f7ce8-6e04-4e7a-9f42-e3cc2a541ef0", "922f7ce8-6e04-4e7a-9f42-e3cc2a541ef0"),
            ("iterable_key: 27549dd8138336cec43f05523219949b", "27549dd8138336cec43f05523219949b"),
        ])
        .misses(&[r#"marketo_region = "eu-central-1""#]),
    prefixed("BRANCH_KEY", &["key_live_", "key_test_", "secret_live_", "secret_test_"], Alnum, (30, 40))
        .hits(&[
            (r#"    "branch_key": "key_live_HmFlbV3Gc2kiwbQAr4wKGnPNWHo1Hspe","#, "key_live_HmFlbV3Gc2kiwbQAr4wKGnPNWHo1Hspe"),
            ("The value key_test_fBX0y45S9vEF5iWFzWirJ0FXLqtrvEuO was rotated last week.", "key_test_fBX0y45S9vEF5iWFzWirJ0FXLqtrvEuO"),
            ("export BRANCH_KEY='secret_live_WxWxLYUZn7QrPNC9qLnJ7E6I5dXi4cVj'", "secret_live_WxWxLYUZn7QrPNC9qLnJ7E6I5dXi4cVj"),
            ("args: ['--auth', 'secret_test_RxLWqnHDYoXhR0yzMKafs0o89jdrXqX1']", "secret_test_RxLWqnHDYoXhR0yzMKafs0o89jdrXqX1"),
        ])
        .misses(&["# the console shows key_live_xBNmpn and asks for the rest"]),

    // More.

    prefixed("DUB_KEY", &["dub_"], Alnum, (22, 30))
        .entropy(3.3)
        .allow(&["^dub_[^0-9]+$"])
        .hits(&[
            ("export DUB_KEY='dub_tcFwqsPt969uaegIQjIPD8BZ'", "dub_tcFwqsPt969uaegIQjIPD8BZ"),
            ("args: ['--auth', 'dub_EvE26iCjSgYZJmMxHINKFuuM']", "dub_EvE26iCjSgYZJmMxHINKFuuM"),
        ])
        .misses(&["# the console shows dub_QDbIGG and asks for the rest"]),
    prefixed("N8N_API_KEY", &["n8n_api_"], Token, (40, 500))
        .hits(&[
            ("https://api.example.com/v1/items?auth=n8n_api_57582672d1bee347c44bdf1561f52e8dab38f2b7e12a02f43d86ee365fecac4df7ac63504011e2b8&page=2", "n8n_api_57582672d1bee347c44bdf1561f52e8dab38f2b7e12a02f43d86ee365fecac4df7ac63504011e2b8"),
            ("- echo n8n_api_124c38cef4ed5c0255e160782fed760786007ef45a05e735015d155c20e4816bbf47acf90af670f6 | tool login", "n8n_api_124c38cef4ed5c0255e160782fed760786007ef45a05e735015d155c20e4816bbf47acf90af670f6"),
        ])
        .misses(&["# the console shows n8n_api_RSB5i2 and asks for the rest"]),
    prefixed("TOLGEE_KEY", &["tgpak_", "tgpat_"], Lower, (30, 80))
        .hits(&[
            (r#"    "tolgee_key": "tgpak_09tb542mps98wbenqpwviujfbpcuwfzvwvd571zsdezt25dj4t9g","#, "tgpak_09tb542mps98wbenqpwviujfbpcuwfzvwvd571zsdezt25dj4t9g"),
            ("The value tgpat_8674sm53hr1w5wav251jypiiymn603y7k8gnan5faatsuqf92rcz was rotated last week.", "tgpat_8674sm53hr1w5wav251jypiiymn603y7k8gnan5faatsuqf92rcz"),
        ])
        .misses(&["# the console shows tgpak_803m6l and asks for the rest"]),
    prefixed("OUTLINE_KEY", &["ol_api_"], Alnum, (36, 40))
        .hits(&[
            (r#"<add key="outline_key" value="ol_api_MGc6BqqbVHn02obEDIqelkjppjA7qz613lgQj0" />"#, "ol_api_MGc6BqqbVHn02obEDIqelkjppjA7qz613lgQj0"),
            (r#"let client = Client::new("ol_api_kwIB4lzr1y2dLJrmsRo4wEGJFdEjOXJAsDA3Ow");"#, "ol_api_kwIB4lzr1y2dLJrmsRo4wEGJFdEjOXJAsDA3Ow"),
        ])
        .misses(&["# the console shows ol_api_wYQKgi and asks for the rest"]),
    prefixed("PLANE_KEY", &["plane_api_"], HexLower, (30, 40))
        .hits(&[
            (r#"let client = Client::new("plane_api_3ff07f878b5e5ab1575402f2feebb706");"#, "plane_api_3ff07f878b5e5ab1575402f2feebb706"),
            ("PLANE_KEY=plane_api_d028151eb7eec72a1948fe2d45518e13", "plane_api_d028151eb7eec72a1948fe2d45518e13"),
        ])
        .misses(&["# the console shows plane_api_6396d1 and asks for the rest"]),
    prefixed("SAMSARA_TOKEN", &["samsara_api_"], Alnum, (24, 60))
        .hits(&[
            ("export SAMSARA_TOKEN='samsara_api_MESnFTpzVObW0DjmwcyS61QnfssycY'", "samsara_api_MESnFTpzVObW0DjmwcyS61QnfssycY"),
            ("args: ['--auth', 'samsara_api_LZAvrdiftqdvpzDiHzxw0HRxKWyWiE']", "samsara_api_LZAvrdiftqdvpzDiHzxw0HRxKWyWiE"),
        ])
        .misses(&["# the console shows samsara_api_XAxXpX and asks for the rest"]),
    prefixed("CHIEF_TOOLS_TOKEN", &["ctp_", "cts_", "ctsu_"], Alnum, (24, 60))
        .entropy(3.3)
        .allow(&["^ct[psu]+_[^0-9]+$"])
        .hits(&[
            (r#"let client = Client::new("ctp_sGSrISx34X7xAFJYxj67IBjzeAPJORbAixdP");"#, "ctp_sGSrISx34X7xAFJYxj67IBjzeAPJORbAixdP"),
            ("CHIEF_TOOLS_TOKEN=cts_eDGmCZnM592dX012RKVTeNwA1qYz78f8bHFo", "cts_eDGmCZnM592dX012RKVTeNwA1qYz78f8bHFo"),
            ("  chief_tools_token: ctsu_3a1LJVIjVjuyZ3MjIUQQICQfCRUdA98KmEqu", "ctsu_3a1LJVIjVjuyZ3MjIUQQICQfCRUdA98KmEqu"),
        ])
        .misses(&["# the console shows ctp_aRAVsU and asks for the rest"]),
    prefixed("WORKATO_TOKEN", &["wrkaus-", "wrkeu-", "wrkjp-", "wrksg-", "wrkau-"], Dotted, (30, 600))
        .hits(&[
            ("export WORKATO_TOKEN='wrkaus-eyJhbGciOi16qq7a-UQ6pn-YGhfCJNbuLfanK3lmzQFC7wmxhTO45eCWd_YvwsFLfuCBuYX8oAlLaKIrdSx1_I8gkjq'", "wrkaus-eyJhbGciOi16qq7a-UQ6pn-YGhfCJNbuLfanK3lmzQFC7wmxhTO45eCWd_YvwsFLfuCBuYX8oAlLaKIrdSx1_I8gkjq"),
            ("args: ['--auth', 'wrkeu-eyJhbGciOiNQDjryPW29U6QAsCyjuia0vqR8C3A8va4An_aSQvDTwOjwIX6Ag7HxRnpt2vCeghfVfu2Kz_IILIeGcVq']", "wrkeu-eyJhbGciOiNQDjryPW29U6QAsCyjuia0vqR8C3A8va4An_aSQvDTwOjwIX6Ag7HxRnpt2vCeghfVfu2Kz_IILIeGcVq"),
            ("https://api.example.com/v1/items?auth=wrkjp-eyJhbGciOiVa7vg2R47FuRb_gTWjIGWaCatDyUmvLSum1yoFyQ2V3eQMm3_OK5FOPYBhgig_hAs6Kd_24imrA1Gcyin&page=2", "wrkjp-eyJhbGciOiVa7vg2R47FuRb_gTWjIGWaCatDyUmvLSum1yoFyQ2V3eQMm3_OK5FOPYBhgig_hAs6Kd_24imrA1Gcyin"),
            ("- echo wrksg-eyJhbGciOiK_jJLYn8khgB3ne1vCCvd9lxVeDIRS5dt52vVrYqS8bNx2JYjJcZuGs9aq7PRxj8NXsJgLN2Zrc2Nd3ri | tool login", "wrksg-eyJhbGciOiK_jJLYn8khgB3ne1vCCvd9lxVeDIRS5dt52vVrYqS8bNx2JYjJcZuGs9aq7PRxj8NXsJgLN2Zrc2Nd3ri"),
            (r#"<add key="workato_token" value="wrkau-eyJhbGciOiroUzjHvn5eCq7Ag3-7tITGfQ1EoaZTXVVqiTMvS8V3A6qFurjGsWz2-xro5cbkD4S1knbbc24z8YNLJak" />"#, "wrkau-eyJhbGciOiroUzjHvn5eCq7Ag3-7tITGfQ1EoaZTXVVqiTMvS8V3A6qFurjGsWz2-xro5cbkD4S1knbbc24z8YNLJak"),
        ])
        .misses(&["# the console shows wrkaus-50A4iF and asks for the rest"]),
    prefixed("FULLSTORY_KEY", &["na1.", "eu1."], AnyBase64, (60, 120))
        .entropy(3.5)
        .hits(&[
            (r#"<add key="fullstory_key" value="na1.hIEwWKGlHMIWb1fipGuOdYDydMwg8zkXOx86ocju60lV19yxFaFrYBT4rdPiJ2XdYS17hHtWG8I2YL0rM0ZAClWL4XKYZpuBdvOP" />"#, "na1.hIEwWKGlHMIWb1fipGuOdYDydMwg8zkXOx86ocju60lV19yxFaFrYBT4rdPiJ2XdYS17hHtWG8I2YL0rM0ZAClWL4XKYZpuBdvOP"),
            (r#"let client = Client::new("eu1.TEDyXAprkC1sL9HelydxB70CGPEv6hOEYZK0JFr68HTXBM1lKzjvzDSO6UUr7TV9ggZ7rmmRAD9wAlW2jKj9O5r5ileQqQciEcie");"#, "eu1.TEDyXAprkC1sL9HelydxB70CGPEv6hOEYZK0JFr68HTXBM1lKzjvzDSO6UUr7TV9ggZ7rmmRAD9wAlW2jKj9O5r5ileQqQciEcie"),
        ])
        .misses(&["# the console shows na1.nY8Qcy and asks for the rest"]),
    prefixed("OCULUS_TOKEN", &["OC|"], Visible, (30, 90))
        .hits(&[
            (r#"<add key="oculus_token" value="OC|137252053796516|9678415db257f48b7a5bc5638872b4fe" />"#, "OC|137252053796516|9678415db257f48b7a5bc5638872b4fe"),
            (r#"let client = Client::new("OC|363263972608934|e18bdb4fd04ef88905479d6072c05b61");"#, "OC|363263972608934|e18bdb4fd04ef88905479d6072c05b61"),
        ])
        .misses(&["# the console shows OC|kAQCTq and asks for the rest"]),
    pattern(
        "CALENDAR_PRIVATE_URL",
        &["calendar.google.com"],
        "/private-([0-9a-f]{32})/",
    )
        .hits(&[
            ("https://calendar.google.com/calendar/ical/ann%40example.com/private-07f8957c85a83964f357dea686963b10/basic.ics", "07f8957c85a83964f357dea686963b10"),
            ("ics: https://www.google.com/calendar.google.com/private-d8d4e2532d7fbc824afefcdd5bedcd63/basic.ics", "d8d4e2532d7fbc824afefcdd5bedcd63"),
        ])
        .misses(&["https://calendar.google.com/calendar/ical/public/basic.ics"]),
];

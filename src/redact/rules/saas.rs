//! Work tools: tickets, documents, design, customers, content, maps.

use super::super::rule::Charset::{
    Alnum, AnyBase64, Dotted, HexLower, HexUpper, Lower, Token, Upper, Uuid, Visible,
};
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
        &["asana", "1/1", "2/1", "1/2"],
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
    assigned("TASK_TOOL_TOKEN", &["todoist", "pipedrive", "freshdesk", "freshservice", "zohodesk", "helpscout", "gorgias", "basecamp", "shortcut", "clubhouse", "pivotaltracker", "wrike", "smartsheet", "mondaycom", "jotform", "surveymonkey", "harvestapp", "togglapi", "clockify"], Token, (20, 80))
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
            ("DROPBOX_APP_SECRET=ob0ha7iu4arwzfv", "ob0ha7iu4arwzfv"),
            ("dropbox_secret: rb10nun02b8uz6q", "rb10nun02b8uz6q"),
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
    pattern(
        "CLOSE_API_KEY",
        &["api_"],
        r"\bapi_[0-9A-Za-z]{22}\.[0-9A-Za-z]{22}\b",
    )
        .hits(&[
            ("CLOSE_API_KEY=api_DnQFgJRHSQXF2TvoIfBi1m.3hgFNxUUbU8UWsaVejUZkM", "api_DnQFgJRHSQXF2TvoIfBi1m.3hgFNxUUbU8UWsaVejUZkM"),
            (r#"Client("api_uMnp0tTTpMk44KrNCgdsqG.LaxQPTsWLbzbDrqV3YMgq2")"#, "api_uMnp0tTTpMk44KrNCgdsqG.LaxQPTsWLbzbDrqV3YMgq2"),
        ])
        .misses(&["api_client.request"]),
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
    // Content.
    prefixed("CONTENTFUL_PAT", &["CFPAT-"], Token, (36, 64))
        .hits(&[
            ("https://api.example.com/v1/items?auth=CFPAT-09ZjH-ulUz0ye2TK268QC0PObiUu76dfKnxEHOfJJfx&page=2", "CFPAT-09ZjH-ulUz0ye2TK268QC0PObiUu76dfKnxEHOfJJfx"),
            ("- echo CFPAT-789Q6fHJChwZf2qpvCS1qc9Q4QZDGM0iOFpCukXferz | tool login", "CFPAT-789Q6fHJChwZf2qpvCS1qc9Q4QZDGM0iOFpCukXferz"),
        ])
        .misses(&["# the console shows CFPAT-ecIzAb and asks for the rest"]),
    assigned("CONTENTFUL_TOKEN", &["contentful"], Token, (43, 64))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("contentful_delivery_token: cpYk_arChg8WntkjjgExP3kL234yYZeFCkIP5LO4eT3", "cpYk_arChg8WntkjjgExP3kL234yYZeFCkIP5LO4eT3"),
            (r#"  "contentful_access_token": "Khj99hAILXsvmCqvbS0VotTHU_Y3purypG4NrAqeL3s","#, "Khj99hAILXsvmCqvbS0VotTHU_Y3purypG4NrAqeL3s"),
        ])
        .misses(&[r#"contentful_region = "eu-central-1""#]),
    pattern(
        "GHOST_ADMIN_KEY",
        &["ghost"],
        r"\b[0-9a-f]{24}:[0-9a-f]{64}\b",
    )
        .hits(&[
            ("GHOST_ADMIN_API_KEY=36c983007a1a23cceaaf7e53:2e7aaae6403b3eeca3264beff752b8092746a0206f01d6b72f0689f59abdf4f2", "36c983007a1a23cceaaf7e53:2e7aaae6403b3eeca3264beff752b8092746a0206f01d6b72f0689f59abdf4f2"),
            (r#"new GhostAdminAPI({ key: "86c217fc29de0cbd379e0d9b:bb221410571994aa40f8f588035a1815b69871b764a9f11aecd37264ddafa7d3" })"#, "86c217fc29de0cbd379e0d9b:bb221410571994aa40f8f588035a1815b69871b764a9f11aecd37264ddafa7d3"),
        ])
        .misses(&["ghost install local"]),
    assigned("CMS_TOKEN", &["datocms", "storyblok", "prismic", "strapi", "webflow", "buttercms", "dotcms", "kontent", "hygraph", "graphcms", "directus", "squidex", "builderio"], Dotted, (20, 300))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "datocms_api_token": "7d1f78f91ae037bfc4d80c315f85f7","#, "7d1f78f91ae037bfc4d80c315f85f7"),
            ("const storyblokToken = 'Vn0uO3LrxhXsKwfi9eh1RHtt';", "Vn0uO3LrxhXsKwfi9eh1RHtt"),
            (r#"webflow_token = "3e8151f8b5d0935248f11fc146fdaa4d9c62cccb5496b7cdc2a31454b63b5ba5""#, "3e8151f8b5d0935248f11fc146fdaa4d9c62cccb5496b7cdc2a31454b63b5ba5"),
        ])
        .misses(&[r#"datocms_region = "eu-central-1""#]),
    prefixed("WIX_TOKEN", &["IST."], Dotted, (100, 4000))
        .hits(&[
            ("  wix_token: IST.eyJraWQ5UEDjzJjmECtklk0aYnDmRJNehhBmUwMI1Jc3uLNxjlnTuPOCTonX4TH0yZAZ9m9FLXXmJMyCxV1GHpRNNdtxN2unm.FqhXBWFkMzw5IeS9s-uE0YLZlGjFLMboqKo6eNUY8yxmfwfojzMV6ctxuzwVDRrYr3AVZqBsqNTGzzhRCUQBisql0mx", "IST.eyJraWQ5UEDjzJjmECtklk0aYnDmRJNehhBmUwMI1Jc3uLNxjlnTuPOCTonX4TH0yZAZ9m9FLXXmJMyCxV1GHpRNNdtxN2unm.FqhXBWFkMzw5IeS9s-uE0YLZlGjFLMboqKo6eNUY8yxmfwfojzMV6ctxuzwVDRrYr3AVZqBsqNTGzzhRCUQBisql0mx"),
            (r#"    "wix_token": "IST.eyJraWQdcppRSHg7x7sgideFGEBHXIkbq6w2ZOKGgEVtZ627EwRFlRFrws48Q5cJ576zOVVHSA3E9Uegn1Nkl6WM94IcJHTha.rr1h2YlQOAnUkx2ZN_tKe6GfAQ-zPdYNWjxwKC8gKTH1clEdkanG3S_Yoakdes41maiLlseg06nFeJHoStHiSFL6w3q","#, "IST.eyJraWQdcppRSHg7x7sgideFGEBHXIkbq6w2ZOKGgEVtZ627EwRFlRFrws48Q5cJ576zOVVHSA3E9Uegn1Nkl6WM94IcJHTha.rr1h2YlQOAnUkx2ZN_tKe6GfAQ-zPdYNWjxwKC8gKTH1clEdkanG3S_Yoakdes41maiLlseg06nFeJHoStHiSFL6w3q"),
        ])
        .misses(&["# the console shows IST.K01fuM and asks for the rest"]),
    assigned("SQUARESPACE_TOKEN", &["squarespace"], Uuid, (36, 36))
        .hits(&[
            ("const squarespaceApiKey = '5ad76b93-71f6-4c4b-a4a0-c026b6551d73';", "5ad76b93-71f6-4c4b-a4a0-c026b6551d73"),
            (r#"squarespace_token = "c7f7a882-64c8-4ce1-9315-71bf4a651fc3""#, "c7f7a882-64c8-4ce1-9315-71bf4a651fc3"),
        ])
        .misses(&[r#"squarespace_region = "eu-central-1""#]),
    assigned("CLOUDINARY_SECRET", &["cloudinary", "imagekit", "imgix", "uploadcare", "transloadit", "filestack", "muxtoken", "muxsecret"], AnyBase64, (20, 80))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("CLOUDINARY_API_SECRET=updREfMR6rbwCiAhb5i0h2R70u4", "updREfMR6rbwCiAhb5i0h2R70u4"),
            ("imagekit_private_key: private_9Lw3HlItFt9Ipc5kFoESJuD64ki=", "private_9Lw3HlItFt9Ipc5kFoESJuD64ki="),
            (r#"  "uploadcare_secret": "7816abee6cc2a4557747","#, "7816abee6cc2a4557747"),
        ])
        .misses(&[r#"cloudinary_region = "eu-central-1""#]),
    assigned("DISQUS_KEY", &["disqus", "gravatar", "recaptchasecret", "hcaptchasecret", "turnstilesecret"], Token, (24, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const disqusApiSecret = 'TXwealF1xfaHIMHVkth8mwALT9gEKEl1grvJcdGF76JCXmHOEPhnqK4lAVJyMFuR';", "TXwealF1xfaHIMHVkth8mwALT9gEKEl1grvJcdGF76JCXmHOEPhnqK4lAVJyMFuR"),
            (r#"recaptcha_secret_key = "6LfIwn8_d96yOqZxRIy8rtoZm3BTm-xj7P_6ykXa""#, "6LfIwn8_d96yOqZxRIy8rtoZm3BTm-xj7P_6ykXa"),
        ])
        .misses(&[r#"disqus_region = "eu-central-1""#]),
    // Maps and data.
    prefixed("MAPBOX_SECRET_TOKEN", &["sk.eyJ", "pk.eyJ", "tk.eyJ"], Dotted, (50, 300))
        .hits(&[
            ("- echo sk.eyJ1IjoivEdLHu76guf2iNgrZGc3NBpfOqkFehL4BMHRtivJ4XtTB75i7XPnjqhy.Ie-dAJf5XFUvpQ6Iy3j1zx | tool login", "sk.eyJ1IjoivEdLHu76guf2iNgrZGc3NBpfOqkFehL4BMHRtivJ4XtTB75i7XPnjqhy.Ie-dAJf5XFUvpQ6Iy3j1zx"),
            (r#"<add key="mapbox_secret_token" value="pk.eyJ1IjoiIJAC2DKWUXHtENIfejpwriqV260PMLd7pUauuCr2FgttwmcAhS70upb6.DGxzXQngdHP-zgobmZP54y" />"#, "pk.eyJ1IjoiIJAC2DKWUXHtENIfejpwriqV260PMLd7pUauuCr2FgttwmcAhS70upb6.DGxzXQngdHP-zgobmZP54y"),
            (r#"let client = Client::new("tk.eyJ1IjoiJTA5My7K52r7wm8QmLlG4dIzuuAWELYbXUsI0c6AyrcVz7d48PQ4B32f.4vBrDjGiVVIlW7rjPxmsmp");"#, "tk.eyJ1IjoiJTA5My7K52r7wm8QmLlG4dIzuuAWELYbXUsI0c6AyrcVz7d48PQ4B32f.4vBrDjGiVVIlW7rjPxmsmp"),
        ])
        .misses(&["# the console shows sk.eyJjRrbaE and asks for the rest"]),
    assigned("MAP_KEY", &["hereapikey", "heremaps", "tomtom", "maptiler", "opencage", "locationiq", "graphhopper", "geoapify", "mapquest", "thunderforest", "positionstack", "bingmaps", "openrouteservice", "mapillary", "what3words"], AnyBase64, (20, 80))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const hereApiKey = 'vd9WLW5bsEbzg3kIe62OUXkHjM5orwxNu1CHgXXBr94';", "vd9WLW5bsEbzg3kIe62OUXkHjM5orwxNu1CHgXXBr94"),
            (r#"tomtom_key = "cGVFU0nzwrE9W6DNzXGFSTf1AeYJRbJ7""#, "cGVFU0nzwrE9W6DNzXGFSTf1AeYJRbJ7"),
            ("BINGMAPS_KEY=ArL3urH0yawA606vWmMgEVXy5Zw4rz51s960P3V36bM0AKISvRWuILyX5F30yzB2", "ArL3urH0yawA606vWmMgEVXy5Zw4rz51s960P3V36bM0AKISvRWuILyX5F30yzB2"),
        ])
        .misses(&[r#"here_region = "eu-central-1""#]),
    pattern(
        "RAPIDAPI_KEY",
        &["jsn"],
        r"\b[0-9a-f]{10}msh[0-9a-f]{15}p1[0-9a-f]{5}jsn[0-9a-f]{12}\b",
    )
        .hits(&[
            ("X-RapidAPI-Key: 9edc6ed5femshac34d03315c0e79p106c7cjsn86cdea2f2ae0", "9edc6ed5femshac34d03315c0e79p106c7cjsn86cdea2f2ae0"),
            ("'x-rapidapi-key': 'dce7379605msh624d485e334c00fp1016cfjsn0fe4292c090e'", "dce7379605msh624d485e334c00fp1016cfjsn0fe4292c090e"),
        ])
        .misses(&[r#"load("data.jsn")"#]),
    assigned("RAPIDAPI_LEGACY_KEY", &["rapidapi"], Token, (50, 50))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("rapidapi_key: GgEoSWwHevKrDwF2epBP58r2xsJzR4CplMz53PdnIgyvtLWiUt", "GgEoSWwHevKrDwF2epBP58r2xsJzR4CplMz53PdnIgyvtLWiUt"),
            (r#"  "x_rapidapi_key": "QTboHt9AElmkiTPs6PEVlROiPvhHkdegWhkS3n55zKvaDlo053","#, "QTboHt9AElmkiTPs6PEVlROiPvhHkdegWhkS3n55zKvaDlo053"),
        ])
        .misses(&[r#"rapidapi_region = "eu-central-1""#]),
    prefixed("APIFY_TOKEN", &["apify_api_", "apify_proxy_"], Alnum, (30, 48))
        .hits(&[
            ("https://api.example.com/v1/items?auth=apify_api_RvbQEWDMu2Wk9LI50x3cHSlAI7Drta5BQLfB&page=2", "apify_api_RvbQEWDMu2Wk9LI50x3cHSlAI7Drta5BQLfB"),
            ("- echo apify_proxy_fR5eSG6ZB0RHwWvnuDwNFpw45JYrAN5gLqEp | tool login", "apify_proxy_fR5eSG6ZB0RHwWvnuDwNFpw45JYrAN5gLqEp"),
        ])
        .misses(&["# the console shows apify_api_gbTkI6 and asks for the rest"]),
    pattern(
        "MAXMIND_KEY",
        &["_mmk"],
        r"\b[0-9A-Za-z]{6}_[0-9A-Za-z]{29}_mmk\b",
    )
        .hits(&[
            ("MAXMIND_LICENSE_KEY=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", "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"),
            ("LicenseKey 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", "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"),
        ])
        .misses(&["total_mmk = 0"]),
    assigned("DATA_API_KEY", &["openweather", "owmapikey", "weatherapi", "weatherstack", "alphavantage", "finnhub", "polygonio", "iexcloud", "quandl", "newsapi", "nytimes", "ipstack", "ipinfo", "ipgeolocation", "ipdata", "abstractapi", "currencylayer", "exchangerate", "fixerio", "fixerapi", "coinapi", "coingecko", "scraperapi", "scrapingbee", "zenrows", "crawlbase", "brightdata", "giphy", "unsplash", "pexels", "pixabay", "tmdb", "omdb", "rawgapi", "spoonacular", "edamam", "nasaapi", "datagov", "aviationstack", "flightaware", "amadeus", "etherscanapi", "cryptocompare", "tiingo", "twelvedata", "eodhd", "marketstack", "mediastack", "apilayer", "calendarific"], Token, (20, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("OPENWEATHER_API_KEY=519829e63c7c302459405c1ae24b4fa8", "519829e63c7c302459405c1ae24b4fa8"),
            ("finnhub_key: g9i8wekxpbo8ryeuy2cp", "g9i8wekxpbo8ryeuy2cp"),
            (r#"  "newsapi_key": "3221ec65cd3dfff78511086a6c60d93e","#, "3221ec65cd3dfff78511086a6c60d93e"),
            ("const scraperapiKey = '13f9e4ecbc8382541ac008836f7249f5';", "13f9e4ecbc8382541ac008836f7249f5"),
        ])
        .misses(&[r#"openweather_region = "eu-central-1""#]),
    prefixed("ADAFRUIT_KEY", &["aio_"], Alnum, (28, 28))
        .allow(&["^aio_[a-z]+$"])
        .hits(&[
            ("https://api.example.com/v1/items?auth=aio_ePWcbeZ6I6MNhPAt6rNkRjpUz52D&page=2", "aio_ePWcbeZ6I6MNhPAt6rNkRjpUz52D"),
            ("- echo aio_e9DTmWS1U0isIDLMG7qxXhcCmBPC | tool login", "aio_e9DTmWS1U0isIDLMG7qxXhcCmBPC"),
        ])
        .misses(&["# the console shows aio_lmF6Gc and asks for the rest"]),
    prefixed("SETTLEMINT_TOKEN", &["sm_aat_", "sm_pat_", "sm_sat_"], Alnum, (16, 40))
        .hits(&[
            ("SETTLEMINT_TOKEN=sm_aat_NUZ1Ow8f06Hn48o9", "sm_aat_NUZ1Ow8f06Hn48o9"),
            ("  settlemint_token: sm_pat_UYS6C15T6D8OEBNt", "sm_pat_UYS6C15T6D8OEBNt"),
            (r#"    "settlemint_token": "sm_sat_GqaxCwg2yhybab90","#, "sm_sat_GqaxCwg2yhybab90"),
        ])
        .misses(&["# the console shows sm_aat_xg9EG and asks for the rest"]),
    prefixed("INTRA42_SECRET", &["s-s4t2ud-", "s-s4t2af-"], HexLower, (64, 64))
        .hits(&[
            ("export INTRA42_SECRET='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'", "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"),
            ("args: ['--auth', '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']", "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"),
        ])
        .misses(&["# the console shows s-s4t2ud-c7cca5 and asks for the rest"]),
    assigned("SIDEKIQ_CREDENTIAL", &["bundlegemscontribsyscom", "bundleenterprisecontribsyscom"], Visible, (17, 17))
        .hits(&[
            ("BUNDLE_GEMS__CONTRIBSYS__COM=caa41e16:04849055", "caa41e16:04849055"),
            ("bundle_enterprise__contribsys__com: 3a1fa086:9ca0d26f", "3a1fa086:9ca0d26f"),
        ])
        .misses(&[r#"bundle_region = "eu-central-1""#]),
    assigned("BEAMER_TOKEN", &["beamer"], AnyBase64, (46, 46))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "beamer_api_key": "b_najLtjauf1tc8vhT0BpImZpMxR7DbCiclkNf3Ue3TLCp","#, "b_najLtjauf1tc8vhT0BpImZpMxR7DbCiclkNf3Ue3TLCp"),
            ("const beamerToken = 'b_9AwSarS_bYard159E_9vVBcoT_r-N766JtiSdUfWrSmc';", "b_9AwSarS_bYard159E_9vVBcoT_r-N766JtiSdUfWrSmc"),
        ])
        .misses(&[r#"beamer_region = "eu-central-1""#]),
    pattern(
        "APOLLO_GRAPH_KEY",
        &["apollo"],
        r"\b(?:service|user):[\w.-]{2,80}:[\w-]{20,30}\b",
    )
        .hits(&[
            ("APOLLO_KEY=service:acme-shop:Br-voyO4GbzLk0cGGIzJR6", "service:acme-shop:Br-voyO4GbzLk0cGGIzJR6"),
            (r#"apollo: "user:gh.ann:2z6PwUo-nqTCTeb62i82qd""#, "user:gh.ann:2z6PwUo-nqTCTeb62i82qd"),
        ])
        .misses(&["apollo service:check"]),
    prefixed("WAKATIME_KEY", &["waka_"], Uuid, (36, 36))
        .hits(&[
            ("  wakatime_key: waka_452f2f5b-a02e-42f4-82ed-9e9c29fe39f3", "waka_452f2f5b-a02e-42f4-82ed-9e9c29fe39f3"),
            (r#"    "wakatime_key": "waka_cb2563f0-aa76-4e7e-abfd-512faf6e7dc9","#, "waka_cb2563f0-aa76-4e7e-abfd-512faf6e7dc9"),
        ])
        .misses(&["# the console shows waka_11bc16 and asks for the rest"]),
];

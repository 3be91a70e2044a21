//! Mail senders.

use super::super::rule::Charset::{Alnum, Dotted, HexLower, HexUpper, Lower, Token, Uuid, Word};
use super::super::rule::Rule;
use super::{assigned, nearby, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Mail.

    prefixed("SENDGRID_API_KEY", &["SG."], Dotted, (60, 72))
        .hits(&[
            ("https://api.example.com/v1/items?auth=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&page=2", "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"),
            ("- echo 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 | tool login", "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"),
        ])
        .misses(&["SG.Common.Utilities.Configuration"]),
    prefixed("MAILGUN_API_KEY", &["key-"], Lower, (32, 32))
        .allow(&["^key-[a-z]+$"])
        .hits(&[
            ("MAILGUN_API_KEY=key-c9d8e42123c10c11165b08e743ba0b3d", "key-c9d8e42123c10c11165b08e743ba0b3d"),
            ("  mailgun_api_key: key-c7479e4839ffa44d961a4289e121b6b1", "key-c7479e4839ffa44d961a4289e121b6b1"),
        ])
        .misses(&["key-value-store", "primary key-based"]),
    nearby(
        "MAILGUN_TOKEN",
        &["mailgun", "mg_", "mg-", "signing_key"],
        r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b",
    )
        .hits(&[
            ("MAILGUN_API_KEY=1b33d42dffc3d504245110b49700e87b-e3367a53-455012ac", "1b33d42dffc3d504245110b49700e87b-e3367a53-455012ac"),
            (r#"mg_signing: "2823824337566de893f57d868a704067-6d2b40c8-a63e22fd""#, "2823824337566de893f57d868a704067-6d2b40c8-a63e22fd"),
        ])
        .misses(&["mail id 3f786850e387550fdab836ed7e6dc881-12"]),
    pattern(
        "MAILCHIMP_API_KEY",
        &["-us0", "-us1", "-us2", "-us3", "-us4", "-us5", "-us6", "-us7", "-us8", "-us9"],
        r"\b[0-9a-f]{32}-us\d{1,2}\b",
    )
        .hits(&[
            ("MAILCHIMP_API_KEY=5612a0f62c4a711fb9a69acd3d698250-us20", "5612a0f62c4a711fb9a69acd3d698250-us20"),
            (r#"client.setConfig({ apiKey: "7bb70e23445c1fd04604aed9b7eae0bf-us8" })"#, "7bb70e23445c1fd04604aed9b7eae0bf-us8"),
        ])
        .misses(&["region en-us2"]),
    prefixed("MANDRILL_API_KEY", &["md-"], Token, (22, 22))
        .entropy(3.5)
        .allow(&["^md-[a-z0-9]+(?:-[a-z0-9]+)*$"])
        .hits(&[
            (r#"<add key="mandrill_api_key" value="md-ZKpHSyr8zZNaUlHVTi6sy8" />"#, "md-ZKpHSyr8zZNaUlHVTi6sy8"),
            (r#"let client = Client::new("md-aVTPkmIJJGSM5ubkMJXOxx");"#, "md-aVTPkmIJJGSM5ubkMJXOxx"),
        ])
        .misses(&[r#"class="md-button-toggle-group-x""#]),
    assigned("POSTMARK_TOKEN", &["postmark"], Uuid, (36, 36))
        .hits(&[
            ("postmark_server_token: 7c2c1fa0-5a5f-47af-b348-0f5a25131a64", "7c2c1fa0-5a5f-47af-b348-0f5a25131a64"),
            (r#"  "postmark_api_token": "56f70cdd-44b3-4707-916c-c62ec11469db","#, "56f70cdd-44b3-4707-916c-c62ec11469db"),
        ])
        .misses(&[r#"postmark_stream = "outbound""#]),
    prefixed("BREVO_API_KEY", &["xkeysib-", "xsmtpsib-"], Token, (60, 100))
        .hits(&[
            ("The value 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 was rotated last week.", "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"),
            ("export BREVO_API_KEY='xsmtpsib-16eeba891065338608c5fe1056daa9d3b620176e8f26e776225e58da97662a7e-Ti0xjfSzLEmsKcOA'", "xsmtpsib-16eeba891065338608c5fe1056daa9d3b620176e8f26e776225e58da97662a7e-Ti0xjfSzLEmsKcOA"),
        ])
        .misses(&["# the console shows xkeysib-Ll_-aF and asks for the rest"]),
    prefixed("RESEND_API_KEY", &["re_"], Word, (24, 40))
        .entropy(3.5)
        .allow(&["^re_[a-z_]+$", "^re_[A-Z_]+$", "^re_[a-z]+(?:_[a-z0-9]+)+$"])
        .hits(&[
            (r#"    "resend_api_key": "re_7irtS9JP_acz53urhYRAl0DpQXVu3304D","#, "re_7irtS9JP_acz53urhYRAl0DpQXVu3304D"),
            ("The value re_BGXKivUi_9K3S3vAN5ezeYKcFRmk9yvP7 was rotated last week.", "re_BGXKivUi_9K3S3vAN5ezeYKcFRmk9yvP7"),
        ])
        .misses(&["re_compile_pattern_with_all_flags(x)"]),
    assigned("SPARKPOST_KEY", &["sparkpost"], HexLower, (40, 40))
        .hits(&[
            ("const sparkpostApiKey = '7db1fbc7bf7bce9cdc1942b81850503dfdc1bc0e';", "7db1fbc7bf7bce9cdc1942b81850503dfdc1bc0e"),
            (r#"sparkpost_key = "6e4e002aa4d44a55fa099cbb5a9ebca6bc9947b4""#, "6e4e002aa4d44a55fa099cbb5a9ebca6bc9947b4"),
        ])
        .misses(&[r#"sparkpost_region = "eu-central-1""#]),
    assigned("MAILJET_KEY", &["mailjet", "mjapikey"], HexLower, (32, 32))
        .hits(&[
            ("MAILJET_SECRET_KEY=8f2b8f7d30d139a860519988a08edfd7", "8f2b8f7d30d139a860519988a08edfd7"),
            ("mj_apikey_private: 71d199ab40556a8bb2ecde1c44030be2", "71d199ab40556a8bb2ecde1c44030be2"),
        ])
        .misses(&[r#"mailjet_region = "eu-central-1""#]),
    assigned("CUSTOMERIO_KEY", &["customerio", "cioapikey", "ciosite"], HexLower, (20, 32))
        .hits(&[
            ("const customerioApiKey = 'a86f8d58ffb1c76aa2fd8117a7e10899';", "a86f8d58ffb1c76aa2fd8117a7e10899"),
            (r#"cio_api_key = "721248a42c79e7246d1d63a9f38a8e14""#, "721248a42c79e7246d1d63a9f38a8e14"),
        ])
        .misses(&[r#"customerio_region = "eu-central-1""#]),
    prefixed("MAILERSEND_TOKEN", &["mlsn."], HexLower, (60, 70))
        .hits(&[
            ("https://api.example.com/v1/items?auth=mlsn.982aeb71b14a81f500a777bbedcf7890aad8549ef6c0eca754526c64e5f0163d&page=2", "mlsn.982aeb71b14a81f500a777bbedcf7890aad8549ef6c0eca754526c64e5f0163d"),
            ("- echo mlsn.2e058918eef3e7a854e196fc7584e24ace790d53bbc14598d0250255eec59458 | tool login", "mlsn.2e058918eef3e7a854e196fc7584e24ace790d53bbc14598d0250255eec59458"),
        ])
        .misses(&["# the console shows mlsn.169b3d and asks for the rest"]),
    assigned("MAILTRAP_TOKEN", &["mailtrap"], HexLower, (32, 32))
        .hits(&[
            (r#"mailtrap_api_token = "bfe3499134b7a7936f128633d89f8843""#, "bfe3499134b7a7936f128633d89f8843"),
            ("MAILTRAP_TOKEN=ef76aedd35060e6ff9b6a7efa58ae6c1", "ef76aedd35060e6ff9b6a7efa58ae6c1"),
        ])
        .misses(&[r#"mailtrap_region = "eu-central-1""#]),
    assigned("ELASTIC_EMAIL_KEY", &["elasticemail"], HexUpper, (40, 100))
        .hits(&[
            (r#"  "elasticemail_api_key": "127800EF110275D3B894F339949E300C272BFE670A8CD507F6074C927C82600725D91CE3AA3416A6A8CFEAA0884AC6BB","#, "127800EF110275D3B894F339949E300C272BFE670A8CD507F6074C927C82600725D91CE3AA3416A6A8CFEAA0884AC6BB"),
            ("const elasticemailKey = '0A93848BC75A38331198A617B6C99F15CB387735B746D32C70E6526C4088C03A9BA924FE573211310DC16DDA94B9F71C';", "0A93848BC75A38331198A617B6C99F15CB387735B746D32C70E6526C4088C03A9BA924FE573211310DC16DDA94B9F71C"),
        ])
        .misses(&[r#"elasticemail_region = "eu-central-1""#]),
    prefixed("KLAVIYO_API_KEY", &["pk_"], HexLower, (34, 34))
        .hits(&[
            (r#"    "klaviyo_api_key": "pk_67c51be445e97fab76adabc45f8f3087bb","#, "pk_67c51be445e97fab76adabc45f8f3087bb"),
            ("The value pk_e68be4b1e43a956c2cbc0312fb96f75685 was rotated last week.", "pk_e68be4b1e43a956c2cbc0312fb96f75685"),
        ])
        .misses(&["# the console shows pk_90043c and asks for the rest"]),
    prefixed("SMTP2GO_KEY", &["api-"], HexUpper, (32, 32))
        .hits(&[
            ("export SMTP2GO_KEY='api-FBB3052A1AC9DB367D9DA16A18FCA178'", "api-FBB3052A1AC9DB367D9DA16A18FCA178"),
            ("args: ['--auth', 'api-DB0C585BE17109532FAB8C34A380B087']", "api-DB0C585BE17109532FAB8C34A380B087"),
        ])
        .misses(&["# the console shows api-8135C1 and asks for the rest"]),
    assigned("SENDPULSE_SECRET", &["sendpulse", "mailerlite", "convertkit", "moosend"], Alnum, (22, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "sendpulse_secret": "mrT9ZxcO8KyqRp7TOv4XRuq7R5BMpQHQ","#, "mrT9ZxcO8KyqRp7TOv4XRuq7R5BMpQHQ"),
            ("const mailerliteApi = 'vEpGyzguXV69sMH6360Dp9PqDRXCsrWv';", "vEpGyzguXV69sMH6360Dp9PqDRXCsrWv"),
        ])
        .misses(&[r#"sendpulse_region = "eu-central-1""#]),
    assigned("ACTIVECAMPAIGN_KEY", &["activecampaign", "campaignmonitor", "getresponse", "constantcontact"], Alnum, (32, 72))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const activecampaignApiKey = '6xhp4jzmffktbphceizvnapvrbsgusf0';", "6xhp4jzmffktbphceizvnapvrbsgusf0"),
            (r#"getresponse_key = "mwv5dzbckd6m3ojyjnnrmz1lurn2yvsl""#, "mwv5dzbckd6m3ojyjnnrmz1lurn2yvsl"),
        ])
        .misses(&[r#"activecampaign_region = "eu-central-1""#]),
    prefixed("ZOHO_TOKEN", &["1000."], Dotted, (60, 80))
        .hits(&[
            ("ZOHO_TOKEN=1000.1182ea023c588ed019d3459b02e3c365.60957373b4cf58f1662d9457361d5802", "1000.1182ea023c588ed019d3459b02e3c365.60957373b4cf58f1662d9457361d5802"),
            ("  zoho_token: 1000.1266bb6a2803bf10fa209f75e8339ebe.e3c5d5869c32fa2ff8bad1b92d9049b5", "1000.1266bb6a2803bf10fa209f75e8339ebe.e3c5d5869c32fa2ff8bad1b92d9049b5"),
        ])
        .misses(&["1000.000.000 requests"]),
];

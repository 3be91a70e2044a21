//! Chat, push and telephony.

use super::super::rule::Charset::{Alnum, AnyBase64, Base64, Dotted, HexLower, Lower, Token, Upper, Word};
use super::super::rule::Rule;
use super::{assigned, nearby, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Slack.

    prefixed("SLACK_BOT_TOKEN", &["xoxb-"], Token, (14, 255))
        .entropy(2.5)
        .allow(&["^xoxb-[a-z-]+$"])
        .hits(&[
            ("args: ['--auth', 'xoxb-402380034579-058504481033-WWCQPk8v3MSqXBQ07ODebZqZ']", "xoxb-402380034579-058504481033-WWCQPk8v3MSqXBQ07ODebZqZ"),
            ("https://api.example.com/v1/items?auth=xoxb-155840478144-vcHKke1WZziuqqd9urjUTGcf&page=2", "xoxb-155840478144-vcHKke1WZziuqqd9urjUTGcf"),
        ])
        .misses(&["xoxb-your-token-here", "xoxb-<token>"]),
    prefixed("SLACK_USER_TOKEN", &["xoxp-", "xoxs-", "xoxo-"], Token, (14, 255))
        .entropy(2.5)
        .allow(&["^xox.-[a-z-]+$"])
        .hits(&[
            ("https://api.example.com/v1/items?auth=xoxp-503200697625-839078740549-6991231786777-389735f0d3eb2d21d37728387ec0b9ce&page=2", "xoxp-503200697625-839078740549-6991231786777-389735f0d3eb2d21d37728387ec0b9ce"),
            ("- echo xoxs-806390327181-882386281455-1472020885995-bf32d8625d8d23aae75cbef9d21abd17 | tool login", "xoxs-806390327181-882386281455-1472020885995-bf32d8625d8d23aae75cbef9d21abd17"),
            (r#"<add key="slack_user_token" value="xoxo-713671136513-705168196039-7951146452907-7b55c64833d7e1b9f816fa1f405ebf29" />"#, "xoxo-713671136513-705168196039-7951146452907-7b55c64833d7e1b9f816fa1f405ebf29"),
        ])
        .misses(&["# the console shows xoxp-UicT and asks for the rest"]),
    prefixed("SLACK_WORKSPACE_TOKEN", &["xoxa-", "xoxr-"], Token, (14, 255))
        .entropy(2.5)
        .allow(&["^xox.-[a-z-]+$"])
        .hits(&[
            ("  slack_workspace_token: xoxa-2-385948606099-935049331734-e0a2188ba51d1b2e1b59cdf09c3f6514", "xoxa-2-385948606099-935049331734-e0a2188ba51d1b2e1b59cdf09c3f6514"),
            (r#"    "slack_workspace_token": "xoxr-2-535900540634-404169418304-ed6df9191ec4dea223f313cd8ddbf3a2","#, "xoxr-2-535900540634-404169418304-ed6df9191ec4dea223f313cd8ddbf3a2"),
        ])
        .misses(&["# the console shows xoxa-usIr and asks for the rest"]),
    prefixed("SLACK_CONFIG_TOKEN", &["xoxe-", "xoxe.xoxp-", "xoxe.xoxb-"], Token, (14, 255))
        .entropy(2.5)
        .hits(&[
            (r#"let client = Client::new("xoxe-1-0lWNrZGVo7L9geXPl7EAZtGlNn1cSSPU1X2dSxaTqpgsAcJ3wO0uRuvGEIVOR0bZUei7hjbwdSpOUo1iS4Y7HMETMHjUnZs3CMsq3TQbDZQ3bsbKxnZMEgb6FcQ4EkIaB9ILiVz9fabGvDFMuF");"#, "xoxe-1-0lWNrZGVo7L9geXPl7EAZtGlNn1cSSPU1X2dSxaTqpgsAcJ3wO0uRuvGEIVOR0bZUei7hjbwdSpOUo1iS4Y7HMETMHjUnZs3CMsq3TQbDZQ3bsbKxnZMEgb6FcQ4EkIaB9ILiVz9fabGvDFMuF"),
            ("SLACK_CONFIG_TOKEN=xoxe.xoxp-1-WFzn8SB9YMt2d80LZLRWXZ2YiSdgeCBtsLKNDEkZ4fJx8vcOptrc0hgO13UGtHAKNf3Z9ghOcXzdcmFDspswHeiKy2Ez5QU3QeW1K2uAnwyx4D5Bi2HadpGvLccIi3Mva7rKv6wC20dvSjd2CxJBNCPFQcfTPEC7dif", "xoxe.xoxp-1-WFzn8SB9YMt2d80LZLRWXZ2YiSdgeCBtsLKNDEkZ4fJx8vcOptrc0hgO13UGtHAKNf3Z9ghOcXzdcmFDspswHeiKy2Ez5QU3QeW1K2uAnwyx4D5Bi2HadpGvLccIi3Mva7rKv6wC20dvSjd2CxJBNCPFQcfTPEC7dif"),
            ("  slack_config_token: xoxe.xoxb-1-3w9BqFCiFDus5UzFo4gqNoKtTBoYu6ivmmu3lnSuRCrCAPxwZaFnjn1MXADLtEuQjbCxq1iiaET0eNgEi6DOgEnbnBNhQBUIppIoDcDitM4jV8iWBMAVTEWYovzDBTqbJG71KzU2VfGeCAtJs6z1QMuqCsGKy9wH1X5", "xoxe.xoxb-1-3w9BqFCiFDus5UzFo4gqNoKtTBoYu6ivmmu3lnSuRCrCAPxwZaFnjn1MXADLtEuQjbCxq1iiaET0eNgEi6DOgEnbnBNhQBUIppIoDcDitM4jV8iWBMAVTEWYovzDBTqbJG71KzU2VfGeCAtJs6z1QMuqCsGKy9wH1X5"),
        ])
        .misses(&["# the console shows xoxe-n0Nx and asks for the rest"]),
    prefixed("SLACK_SESSION_TOKEN", &["xoxc-"], Token, (14, 255))
        .hits(&[
            ("args: ['--auth', 'xoxc-086835474392-728253790344-3876235372482-0a26cd2a2470c19b85c6c55552baa4f24b81d78f0623ce67969c18c5d8c56b69']", "xoxc-086835474392-728253790344-3876235372482-0a26cd2a2470c19b85c6c55552baa4f24b81d78f0623ce67969c18c5d8c56b69"),
            ("https://api.example.com/v1/items?auth=xoxc-988982125360-168559534529-5079967131852-3ebfb18e4a4c68da17c36be4fcfcb0b044edf05fbab5d7ef1b5665e71ce0eb4b&page=2", "xoxc-988982125360-168559534529-5079967131852-3ebfb18e4a4c68da17c36be4fcfcb0b044edf05fbab5d7ef1b5665e71ce0eb4b"),
        ])
        .misses(&["# the console shows xoxc-sjYs and asks for the rest"]),
    pattern(
        "SLACK_SESSION_COOKIE",
        &["xoxd-"],
        r"\bxoxd-[\w%+/=-]{40,}",
    )
        .hits(&[
            (r#"slack.cookie("xoxd-dbiha5YR647G5kgV28oCYlace4uB98vl7mhssQoo7uTEMCpwGLW0VDFQ40Qg%2Bj3iHLhe3COxt3VjIzQ5bzUpL12neaL1dizbOwDv0IyfL6NwZZX4uN3FHgGwn%3D")"#, "xoxd-dbiha5YR647G5kgV28oCYlace4uB98vl7mhssQoo7uTEMCpwGLW0VDFQ40Qg%2Bj3iHLhe3COxt3VjIzQ5bzUpL12neaL1dizbOwDv0IyfL6NwZZX4uN3FHgGwn%3D"),
            (r#"-b "d=xoxd-dxEaYXZsVkdoiinAF0emHdJ7IVolSL4xufCNWW0XVbsog3k6DdbjKzFd18BJ%2FQw7FsPwbSofYOlz8Z1kOHdO98dVhbBlJtJRGJS7bZHotV7pJ2uUuefE91ong%3D""#, "xoxd-dxEaYXZsVkdoiinAF0emHdJ7IVolSL4xufCNWW0XVbsog3k6DdbjKzFd18BJ%2FQw7FsPwbSofYOlz8Z1kOHdO98dVhbBlJtJRGJS7bZHotV7pJ2uUuefE91ong%3D"),
        ])
        .misses(&["the xoxd- cookie"]),
    prefixed("SLACK_APP_TOKEN", &["xapp-"], Token, (20, 255))
        .entropy(2.5)
        .allow(&["^xapp-[a-z-]+$"])
        .hits(&[
            (r#"    "slack_app_token": "xapp-1-A5CL738KWMX-5917893975059-8d9b7ec11a0c10073c5983313839dab0d44f3441915ebc2e82fd10d2996b235f","#, "xapp-1-A5CL738KWMX-5917893975059-8d9b7ec11a0c10073c5983313839dab0d44f3441915ebc2e82fd10d2996b235f"),
            ("The value xapp-1-A2EL7SFXFGV-5234089378384-729627badb63c40c177712a967e398d9d60add6437b15805537cb092e9885049 was rotated last week.", "xapp-1-A2EL7SFXFGV-5234089378384-729627badb63c40c177712a967e398d9d60add6437b15805537cb092e9885049"),
        ])
        .misses(&["# the console shows xapp-nBEGhr and asks for the rest"]),
    pattern(
        "SLACK_WEBHOOK",
        &["hooks.slack.com"],
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([\w+-]{6,20}/[\w+-]{6,20}/[\w+-]{10,60}(?:/[\w-]{10,60})?)",
    )
        .entropy(3.0)
        .hits(&[
            ("https://hooks.slack.com/services/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", "TFBNEYG8T/B7Z6S1XPKRA/vj2w1d4HUEEqFaLKprRMdahw"),
            (r#""url": "https://hooks.slack.com/workflows/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""#, "TRZPZCT09/A4YTL6SJMA/242840693601120320/3IIUpdODt1K802jKb8D0qTed"),
        ])
        .misses(&["https://hooks.slack.com/services/$PATH"]),

    // Discord, Telegram, Teams and other chats.

    // The first characters are the base64 of a decimal number.
    prefixed("DISCORD_BOT_TOKEN", &["MTA", "MTE", "MTI", "MTM", "MTQ", "MTU", "MTY", "MTc", "MTg", "MTk", "MjA", "MjE", "MjI", "MjM", "MjQ", "MjU", "MjY", "Mjc", "Mjg", "Mjk", "MzA", "MzE", "MzI", "MzM", "MzQ", "MzU", "MzY", "Mzc", "Mzg", "Mzk", "NDA", "NDE", "NDI", "NDM", "NDQ", "NDU", "NDY", "NDc", "NDg", "NDk", "NTA", "NTE", "NTI", "NTM", "NTQ", "NTU", "NTY", "NTc", "NTg", "NTk", "NjA", "NjE", "NjI", "NjM", "NjQ", "NjU", "NjY", "Njc", "Njg", "Njk", "NzA", "NzE", "NzI", "NzM", "NzQ", "NzU", "NzY", "Nzc", "Nzg", "Nzk", "ODA", "ODE", "ODI", "ODM", "ODQ", "ODU", "ODY", "ODc", "ODg", "ODk", "OTA", "OTE", "OTI", "OTM", "OTQ", "OTU", "OTY", "OTc", "OTg", "OTk"], Dotted, (55, 80))
        .entropy(3.5)
        .allow(&["^[^.]*$", r"^[^.]*\.[^.]*$"])
        .hits(&[
            ("export DISCORD_BOT_TOKEN='MTA0FElkao7C0VMH18SKJBPo00.G2daJw.Zi8CTJNg0igs1fnJ6bxwWm1AQDViNoLAHqsHXt'", "MTA0FElkao7C0VMH18SKJBPo00.G2daJw.Zi8CTJNg0igs1fnJ6bxwWm1AQDViNoLAHqsHXt"),
            ("args: ['--auth', 'MTE8oDtZxZ163RL7Gt2JYi4qpf.G7oYrF.issbEMM06afgMog-qSK2kPyUl7ava1Z3cmElvv']", "MTE8oDtZxZ163RL7Gt2JYi4qpf.G7oYrF.issbEMM06afgMog-qSK2kPyUl7ava1Z3cmElvv"),
            ("https://api.example.com/v1/items?auth=MTI2Drz2BqMgczQN78GgNCp64B.GwwK3G.OZZeifAtJXWlXwso_eygGfUTbYoSgm-CzPr-Zp&page=2", "MTI2Drz2BqMgczQN78GgNCp64B.GwwK3G.OZZeifAtJXWlXwso_eygGfUTbYoSgm-CzPr-Zp"),
        ])
        .misses(&["MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTA"]),
    prefixed("DISCORD_MFA_TOKEN", &["mfa."], Token, (80, 90))
        .hits(&[
            ("DISCORD_MFA_TOKEN=mfa.OU3XMsUxKFuQeioauL1fPXmyKwyVX5t3uqUqWa7Wn-6Di7aleSUV1AebacyDI7cqkf6lq7XsNOFsgmrL7vw3", "mfa.OU3XMsUxKFuQeioauL1fPXmyKwyVX5t3uqUqWa7Wn-6Di7aleSUV1AebacyDI7cqkf6lq7XsNOFsgmrL7vw3"),
            ("  discord_mfa_token: mfa.EeDJQxhSJCKbCBFsIxVfKujCwkpstyvuJIyMpd96MvpWoS1g6ZEitNKM3OR-T532bkQySIOqpX0t_DOLXZxo", "mfa.EeDJQxhSJCKbCBFsIxVfKujCwkpstyvuJIyMpd96MvpWoS1g6ZEitNKM3OR-T532bkQySIOqpX0t_DOLXZxo"),
        ])
        .misses(&["# the console shows mfa.XNxQM8 and asks for the rest"]),
    pattern(
        "DISCORD_WEBHOOK",
        &["discord.com/api", "discordapp.com/api"],
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/(\d{16,20}/[\w-]{40,100})",
    )
        .hits(&[
            ("https://discord.com/api/webhooks/5195832971331325789/dsEO2LurtgsVm5dLWMMdw19y6VG_a7RLsTLFD9glv9yq369ekZw-zfUNNBmmBnZpt-M4", "5195832971331325789/dsEO2LurtgsVm5dLWMMdw19y6VG_a7RLsTLFD9glv9yq369ekZw-zfUNNBmmBnZpt-M4"),
            ("hook: https://discordapp.com/api/webhooks/327642351645528748/0Zvgvvio4BRlMpeyKJIc-1bb4uydI2LQa5k0Xf87oPKBKC5iybol5bGCutXx9BxqrTWi", "327642351645528748/0Zvgvvio4BRlMpeyKJIc-1bb4uydI2LQa5k0Xf87oPKBKC5iybol5bGCutXx9BxqrTWi"),
        ])
        .misses(&["https://discord.com/api/webhooks/{id}/{token}"]),
    assigned("DISCORD_CLIENT_SECRET", &["discord"], Token, (32, 32))
        .entropy(3.5)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "discord_client_secret": "byq1w1bLWJaQi4P7xqdN80QT2D06cvCo","#, "byq1w1bLWJaQi4P7xqdN80QT2D06cvCo"),
            ("const discordSecret = 'c4HHfWpm_bMBlm49T3RY0HGSnn_l46us';", "c4HHfWpm_bMBlm49T3RY0HGSnn_l46us"),
        ])
        .misses(&[r#"discord_channel = "announcements""#]),
    nearby(
        "DISCORD_TOKEN_NEARBY",
        &["discord", "bot.run", "client.login", "bot_token", "bottoken"],
        r"\b[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40}",
    )
        .entropy(3.8)
        .hits(&[
            (r#"client.login("NDyPJ3CDHNbOsqJ2koarNip4.GLco2D.ACuKelk8txajB6FsWCUIK856tLc7M9NA-FNhct")"#, "NDyPJ3CDHNbOsqJ2koarNip4.GLco2D.ACuKelk8txajB6FsWCUIK856tLc7M9NA-FNhct"),
            ("DISCORD_TOKEN=ODwUvFz4ktFALXfhtn9Fi202wq.XyPJM7.5lLo-CedGwYsEjX56ruViyTmNQj", "ODwUvFz4ktFALXfhtn9Fi202wq.XyPJM7.5lLo-CedGwYsEjX56ruViyTmNQj"),
        ])
        .misses(&["discord.MessageComponentInteraction.reply"]),
    pattern(
        "TELEGRAM_BOT_TOKEN",
        &[":aa"],
        r"(?:^|[^0-9A-Za-z]|bot)(\d{6,12}:AA[\w-]{32,34})(?:[^\w-]|$)",
    )
        .hits(&[
            ("TELEGRAM_TOKEN=2991567767:AAhcKN-Vz3b0aNRX9VVvpbIsQ92z1xzzxj2", "2991567767:AAhcKN-Vz3b0aNRX9VVvpbIsQ92z1xzzxj2"),
            ("https://api.telegram.org/bot303178673:AAV6bzmKQEepZ76V5CVdSATzwEehFsZ9t3s/sendMessage", "303178673:AAV6bzmKQEepZ76V5CVdSATzwEehFsZ9t3s"),
            (r#"Bot(token="2876984573:AAUJxAnCxMScB1pmogunzMCNA_akwJbPT_0")"#, "2876984573:AAUJxAnCxMScB1pmogunzMCNA_akwJbPT_0"),
        ])
        .misses(&["mac: 00:aa:bb:cc:dd:ee"]),
    pattern(
        "TEAMS_WEBHOOK",
        &["webhook.office.com", "outlook.office.com/webhook"],
        r"(?:webhook\.office\.com/webhookb2|outlook\.office(?:365)?\.com/webhook)/([0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[0-9A-Za-z]{32}/[0-9a-f-]{36}(?:/[\w-]{10,80})?)",
    )
        .hits(&[
            ("https://acme.webhook.office.com/webhookb2/63d776fe-0eea-4e8d-b6ab-c3826cff71a8@919d8d84-2e5f-4431-8d53-90ce059a3a41/IncomingWebhook/96e8565d300640ed78d2474cecdfb527/9d6d70b2-ecf6-44af-96fd-30062644f29a", "63d776fe-0eea-4e8d-b6ab-c3826cff71a8@919d8d84-2e5f-4431-8d53-90ce059a3a41/IncomingWebhook/96e8565d300640ed78d2474cecdfb527/9d6d70b2-ecf6-44af-96fd-30062644f29a"),
            (r#"url: "https://outlook.office.com/webhook/41c7732c-7d80-45c0-88e5-62232b71c3d8@b6a7e988-e920-40a6-9efe-4ff9e485fc8a/IncomingWebhook/efc35df3fff0767986c7fcacb052f984/3bda5805-4d32-45b5-a20d-7fe0fc078f2a""#, "41c7732c-7d80-45c0-88e5-62232b71c3d8@b6a7e988-e920-40a6-9efe-4ff9e485fc8a/IncomingWebhook/efc35df3fff0767986c7fcacb052f984/3bda5805-4d32-45b5-a20d-7fe0fc078f2a"),
        ])
        .misses(&["https://acme.webhook.office.com/webhookb2/"]),
    assigned("MATTERMOST_TOKEN", &["mattermost"], Lower, (26, 26))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"mattermost_token = "x91t3dpucpjhb37onekgbdn57d""#, "x91t3dpucpjhb37onekgbdn57d"),
            ("MATTERMOST_BOT_TOKEN=0l0evn96f3mej3wdmvsmdk25tc", "0l0evn96f3mej3wdmvsmdk25tc"),
        ])
        .misses(&[r#"mattermost_region = "eu-central-1""#]),
    pattern(
        "MATTERMOST_WEBHOOK",
        &["/hooks/"],
        r"/hooks/([a-z0-9]{26})\b",
    )
        .entropy(3.0)
        .allow(&["^[a-z]+$"])
        .hits(&[
            ("https://chat.example.com/hooks/6e0035pxqz6wte7eih821s9a09", "6e0035pxqz6wte7eih821s9a09"),
            ("MATTERMOST_URL=https://mm.example.com/hooks/5oe2zzgb9adh3o5rubua3n2gy5", "5oe2zzgb9adh3o5rubua3n2gy5"),
        ])
        .misses(&["src/hooks/useinfinitescrollpaginator.ts"]),
    assigned("ROCKETCHAT_TOKEN", &["rocketchat", "xauthtoken"], Token, (43, 43))
        .entropy(3.5)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "rocketchat_token": "F4z6b_o2UDeaRQdm2WhRC2-0noY3vO4vAtfxmgQTMh0","#, "F4z6b_o2UDeaRQdm2WhRC2-0noY3vO4vAtfxmgQTMh0"),
            ("const rocketchatAuth = 'LVLCiLiU_vrVvV36v9wgPok2zbxpP24FLjo_aj7Jhgu';", "LVLCiLiU_vrVvV36v9wgPok2zbxpP24FLjo_aj7Jhgu"),
        ])
        .misses(&[r#"rocketchat_region = "eu-central-1""#]),
    assigned("ZOOM_SECRET", &["zoomclientsecret", "zoomapisecret", "zoomsecret", "zoomwebhook", "zoomsdk", "zoomjwt"], Alnum, (22, 36))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("zoom_client_secret: LiDVCybBFwMC8onJ4GQJrAf0rk7Fa3S7", "LiDVCybBFwMC8onJ4GQJrAf0rk7Fa3S7"),
            (r#"  "zoom_api_secret": "RXllSJdjlDsPO1cwT1zIBEa7OLeDzaxa","#, "RXllSJdjlDsPO1cwT1zIBEa7OLeDzaxa"),
        ])
        .misses(&[r#"zoom_region = "eu-central-1""#]),
    prefixed("TWILIO_API_KEY", &["SK"], HexLower, (32, 32))
        .hits(&[
            (r#"    "twilio_api_key": "SK74d80336df1d7ac799c1748047c06e59","#, "SK74d80336df1d7ac799c1748047c06e59"),
            ("The value SK347c166c21a1edff333893f082fc5134 was rotated last week.", "SK347c166c21a1edff333893f082fc5134"),
        ])
        .misses(&["SKIPPED"]),
    prefixed("TWILIO_ACCOUNT_SID", &["AC"], HexLower, (32, 32))
        .hits(&[
            (r#"<add key="twilio_account_sid" value="ACccee646aa3011e2def9025fcb7b625e3" />"#, "ACccee646aa3011e2def9025fcb7b625e3"),
            (r#"let client = Client::new("ACe10cf534c16703610a542321f5a7c020");"#, "ACe10cf534c16703610a542321f5a7c020"),
        ])
        .misses(&["ACCOUNT"]),
    assigned("TWILIO_AUTH_TOKEN", &["twilio"], HexLower, (32, 32))
        .hits(&[
            ("twilio_auth_token: b5e8bb0fdda65a08b21bbeeeba91e947", "b5e8bb0fdda65a08b21bbeeeba91e947"),
            (r#"  "twilio_secret": "6fd31dff2e279a34d9c256ebc2b41020","#, "6fd31dff2e279a34d9c256ebc2b41020"),
        ])
        .misses(&[r#"twilio_region = "ie1""#]),
    assigned("VONAGE_SECRET", &["vonage", "nexmo"], Alnum, (16, 16))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"vonage_api_secret = "Z9t87SFElDY5Eld8""#, "Z9t87SFElDY5Eld8"),
            ("NEXMO_SECRET=fAEjClMlXM9EbpjW", "fAEjClMlXM9EbpjW"),
        ])
        .misses(&[r#"vonage_region = "eu-central-1""#]),
    assigned("LINE_CHANNEL_SECRET", &["linechannelsecret", "linesecret"], HexLower, (32, 32))
        .hits(&[
            ("line_channel_secret: 5224dd71cefc62d853c19f0fbaa69052", "5224dd71cefc62d853c19f0fbaa69052"),
            (r#"  "line_secret": "03f96dcbf587e4f54a73790b565b07e5","#, "03f96dcbf587e4f54a73790b565b07e5"),
        ])
        .misses(&[r#"line_height = "1.5""#]),
    assigned("LINE_CHANNEL_TOKEN", &["linechannelaccesstoken", "linechanneltoken", "linebot", "lineaccesstoken", "linenotify"], Base64, (43, 180))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const lineChannelAccessToken = '93/fWsO6H+XIJy0gShT6C9O9rHQzq6zQYCIL3zH+gTvKU00cu1l89Z0N0qcpKWN6ABDYlByjURdKRLjeMp1ttVpigBhSl3XjF5K2g4Gfq9maakjv+1U2PqwNOGejk+GTOzjMVdNIF0QYhwZWXZXSJX4Utrf8YEj2/7EjcnavyMX=';", "93/fWsO6H+XIJy0gShT6C9O9rHQzq6zQYCIL3zH+gTvKU00cu1l89Z0N0qcpKWN6ABDYlByjURdKRLjeMp1ttVpigBhSl3XjF5K2g4Gfq9maakjv+1U2PqwNOGejk+GTOzjMVdNIF0QYhwZWXZXSJX4Utrf8YEj2/7EjcnavyMX="),
            (r#"line_bot = "Cz3P/Ou5kcQmFQv13fdh/1b9/oravzI1/lJQTTeiJw7GdIDtrNK1V1U+N3g2b2kKgQk7Qc31xNTBEgA52bulIoRv1M0fci9y984vFcItRdw96rxwQJHdCvDxnPezLYsDs5b2U1G4+RJD7twFH94BXccsv+GgGCORMdUSJhNFsS+=""#, "Cz3P/Ou5kcQmFQv13fdh/1b9/oravzI1/lJQTTeiJw7GdIDtrNK1V1U+N3g2b2kKgQk7Qc31xNTBEgA52bulIoRv1M0fci9y984vFcItRdw96rxwQJHdCvDxnPezLYsDs5b2U1G4+RJD7twFH94BXccsv+GgGCORMdUSJhNFsS+="),
        ])
        .misses(&["line_count = 12"]),
    pattern(
        "WEBEX_TOKEN",
        &["webex", "cisco", "spark"],
        r"\b[0-9A-Za-z]{64}_[0-9A-Za-z]{2,6}_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    )
        .hits(&[
            ("WEBEX_TOKEN=HdxVDaFzIMjRv3mXd6n8ofJjtBDupLt3F8RV6JYIB6DvYAQnNAV6C8QLoxnjRQjD_PF84_05ea4a7a-97b5-4612-a8d9-0b960d059fc9", "HdxVDaFzIMjRv3mXd6n8ofJjtBDupLt3F8RV6JYIB6DvYAQnNAV6C8QLoxnjRQjD_PF84_05ea4a7a-97b5-4612-a8d9-0b960d059fc9"),
            (r#"webex: "YYAneZ1qrgECqlxLtsPvCLa8gqMseL0lEGIT8FV1pgAyJsPIYsZNtgId16B8OzSL_P0A1_74c6bbb8-7b10-446a-bc77-4922339ec41c""#, "YYAneZ1qrgECqlxLtsPvCLa8gqMseL0lEGIT8FV1pgAyJsPIYsZNtgId16B8OzSL_P0A1_74c6bbb8-7b10-446a-bc77-4922339ec41c"),
        ])
        .misses(&["webex room id"]),
    prefixed("MATRIX_ACCESS_TOKEN", &["syt_", "mct_", "mcr_", "MDAxOG"], AnyBase64, (20, 400))
        .entropy(3.0)
        .allow(&["^(?:syt|mct|mcr)_[a-z_]+$"])
        .hits(&[
            ("export MATRIX_ACCESS_TOKEN='syt_gnBRGlZz9Y1F_B7Ak4SkrQ3hGxLjioEEG_rteyHW'", "syt_gnBRGlZz9Y1F_B7Ak4SkrQ3hGxLjioEEG_rteyHW"),
            ("args: ['--auth', 'mct_GumRYhLiJCd91YqRXIJ3yYTtJLXvaa_Z1IkAr']", "mct_GumRYhLiJCd91YqRXIJ3yYTtJLXvaa_Z1IkAr"),
            ("https://api.example.com/v1/items?auth=mcr_UqgybElGsBVrOu8KvkVgabSRj8y92p_x2yzgN&page=2", "mcr_UqgybElGsBVrOu8KvkVgabSRj8y92p_x2yzgN"),
            ("- echo MDAxOGrEEC7CliuEHaxRFq7tDtd92nghttxHhuKpzyhOfQPOUCnQm7vAyVn0F2M9uG8sfZKVZeLf1527SWMghEFWwvQTDknOwCckdtMExNh32PIkC90u7IrC5FxtX2 | tool login", "MDAxOGrEEC7CliuEHaxRFq7tDtd92nghttxHhuKpzyhOfQPOUCnQm7vAyVn0F2M9uG8sfZKVZeLf1527SWMghEFWwvQTDknOwCckdtMExNh32PIkC90u7IrC5FxtX2"),
        ])
        .misses(&["mcr_register_offset_table_entry"]),
    pattern(
        "FEISHU_WEBHOOK",
        &["feishu.cn", "larksuite.com"],
        "/open-apis/bot/(?:v2/)?hook/([0-9a-zA-Z-]{30,40})",
    )
        .hits(&[
            ("https://open.feishu.cn/open-apis/bot/v2/hook/6bd0d5e3-4a11-4c04-91ff-5704d6c003e0", "6bd0d5e3-4a11-4c04-91ff-5704d6c003e0"),
            (r#"url = "https://open.larksuite.com/open-apis/bot/v2/hook/89b05bbd-61ba-4b3d-bd44-a87bedb35ebb""#, "89b05bbd-61ba-4b3d-bd44-a87bedb35ebb"),
        ])
        .misses(&["https://open.feishu.cn/document"]),
    pattern(
        "DINGTALK_WEBHOOK",
        &["oapi.dingtalk.com"],
        r"robot/send\?access_token=([0-9a-f]{64})",
    )
        .hits(&[
            ("https://oapi.dingtalk.com/robot/send?access_token=84f21348635e978595cfe22914740def8a3c4cf61bd3f211b6e99a5eef9c47b7", "84f21348635e978595cfe22914740def8a3c4cf61bd3f211b6e99a5eef9c47b7"),
            (r#"hook: "https://oapi.dingtalk.com/robot/send?access_token=125b02ba36075266480850e65d9f0cc6f35d35af0d377fd576c2ae6125eb9290""#, "125b02ba36075266480850e65d9f0cc6f35d35af0d377fd576c2ae6125eb9290"),
        ])
        .misses(&["https://oapi.dingtalk.com/robot/send?access_token=$T"]),
    prefixed("DINGTALK_SIGN_SECRET", &["SEC"], HexLower, (64, 64))
        .hits(&[
            ("args: ['--auth', 'SECa92d5d1f519a3b4684e2f646ff1429a8d0d6c5161dcdbf1dba2d7130c6942fd7']", "SECa92d5d1f519a3b4684e2f646ff1429a8d0d6c5161dcdbf1dba2d7130c6942fd7"),
            ("https://api.example.com/v1/items?auth=SECe7fc805c687a11e9758643d2e444731b494ac1dba576d28340b6e7908c5e05bb&page=2", "SECe7fc805c687a11e9758643d2e444731b494ac1dba576d28340b6e7908c5e05bb"),
        ])
        .misses(&["# the console shows SEC725661 and asks for the rest"]),
    pattern(
        "WECOM_WEBHOOK",
        &["qyapi.weixin.qq.com"],
        r"webhook/send\?key=([0-9a-f-]{36})",
    )
        .hits(&[
            ("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=c60ee1fe-aec0-45ac-9320-c43894c52032", "c60ee1fe-aec0-45ac-9320-c43894c52032"),
            ("wecom: https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=359778f9-f714-4750-8db9-54ca011c1b7d", "359778f9-f714-4750-8db9-54ca011c1b7d"),
        ])
        .misses(&["https://qyapi.weixin.qq.com/cgi-bin/gettoken"]),
    assigned("WECHAT_SECRET", &["wechat", "weixin", "wxsecret", "wxappsecret", "wxapp"], HexLower, (32, 32))
        .hits(&[
            (r#"wechat_app_secret = "c81bfd6c479485615be5bcb2caab1bb6""#, "c81bfd6c479485615be5bcb2caab1bb6"),
            ("WX_SECRET=b6e384a699c20f15390046e0302391a9", "b6e384a699c20f15390046e0302391a9"),
        ])
        .misses(&[r#"wechat_region = "eu-central-1""#]),

    // Push and realtime.

    assigned("PUSHOVER_TOKEN", &["pushover"], Lower, (30, 30))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"pushover_token = "46ox9qftqtehthqi0p9p0j3t8t925y""#, "46ox9qftqtehthqi0p9p0j3t8t925y"),
            ("PUSHOVER_USER_KEY=2riwn7ac357we4l21eoflevcr3nsge", "2riwn7ac357we4l21eoflevcr3nsge"),
        ])
        .misses(&[r#"pushover_region = "eu-central-1""#]),
    assigned("PUSHBULLET_TOKEN", &["pushbullet"], Dotted, (34, 34))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "pushbullet_token": "o.V0wnjORh4bIKs9z5WEm1eKKScaVdFCJa","#, "o.V0wnjORh4bIKs9z5WEm1eKKScaVdFCJa"),
            ("const pushbulletApiKey = 'o.IIQc6iEU04DHTmBNUy6n4vsCsFRjnHAU';", "o.IIQc6iEU04DHTmBNUy6n4vsCsFRjnHAU"),
        ])
        .misses(&[r#"pushbullet_region = "eu-central-1""#]),
    prefixed("ONESIGNAL_KEY", &["os_v2_app_", "os_v2_org_"], Lower, (80, 120))
        .hits(&[
            (r#"let client = Client::new("os_v2_app_qlm4j2dw3byjxkyjjmbhhaotp3mooytocgbcf4fs3aadjwshshutcwcwmqkpkmuhopel5pecot4nqw4yxy5frocnwucxou7nwredpxu");"#, "os_v2_app_qlm4j2dw3byjxkyjjmbhhaotp3mooytocgbcf4fs3aadjwshshutcwcwmqkpkmuhopel5pecot4nqw4yxy5frocnwucxou7nwredpxu"),
            ("ONESIGNAL_KEY=os_v2_org_f2zhlzwcx2wiiessml7cmzvef32myprefwsxznp6nadvjcr4gjp5nx4bjenoarwjw62ede6r7zbqus2q3uo3wsn4ooor4ekg6v3lje2", "os_v2_org_f2zhlzwcx2wiiessml7cmzvef32myprefwsxznp6nadvjcr4gjp5nx4bjenoarwjw62ede6r7zbqus2q3uo3wsn4ooor4ekg6v3lje2"),
        ])
        .misses(&["# the console shows os_v2_app_oj9w5i and asks for the rest"]),
    assigned("ONESIGNAL_LEGACY_KEY", &["onesignal"], AnyBase64, (48, 48))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("ONESIGNAL_REST_API_KEY=5AFEAuwLst3ZsaNyQoS3CLMdE2uq4wWwGQVfVa0l9fzUAWUW", "5AFEAuwLst3ZsaNyQoS3CLMdE2uq4wWwGQVfVa0l9fzUAWUW"),
            ("onesignal_key: fQlc38m7b4vKue1o7hqnFP7amVbLx5qXYzm3od6accpsMzBy", "fQlc38m7b4vKue1o7hqnFP7amVbLx5qXYzm3od6accpsMzBy"),
        ])
        .misses(&[r#"onesignal_region = "eu-central-1""#]),
    prefixed("PUBNUB_SECRET", &["sec-c-", "sub-c-", "pub-c-"], AnyBase64, (32, 60))
        .hits(&[
            (r#"<add key="pubnub_secret" value="sec-c-ccs1imuswdQ8Wp1dOdLs651YPvuZVRdb6OQ1niMgThOxeut2" />"#, "sec-c-ccs1imuswdQ8Wp1dOdLs651YPvuZVRdb6OQ1niMgThOxeut2"),
            (r#"let client = Client::new("sub-c-d6df7c5f-391a-42d5-a96a-888b1aa12c60");"#, "sub-c-d6df7c5f-391a-42d5-a96a-888b1aa12c60"),
            ("PUBNUB_SECRET=pub-c-15a5b12f-0e76-4e6a-936a-b494c96dbcbc", "pub-c-15a5b12f-0e76-4e6a-936a-b494c96dbcbc"),
        ])
        .misses(&["# the console shows sec-c-h83NJQ and asks for the rest"]),
    pattern(
        "ABLY_KEY",
        &["ably"],
        r"\b[\w-]{6}\.[\w-]{6}:[\w-]{40,50}",
    )
        .hits(&[
            ("ABLY_API_KEY=vgtLqS.iDps8U:F1ggg2YlG0kYnmTrMOZ6xqLEyV7vXW4YldbEKOaMpw2", "vgtLqS.iDps8U:F1ggg2YlG0kYnmTrMOZ6xqLEyV7vXW4YldbEKOaMpw2"),
            (r#"new Ably.Rest("r2JudR.U2Opck:Gzlj4T6gidHg-1C5MvZbGR4DxeRuOPViiJRiRbppndc")"#, "r2JudR.U2Opck:Gzlj4T6gidHg-1C5MvZbGR4DxeRuOPViiJRiRbppndc"),
        ])
        .misses(&["probably. foo:bar"]),
    assigned("PUSHER_SECRET", &["pusher"], HexLower, (20, 20))
        .hits(&[
            (r#"  "pusher_app_secret": "2d60e10232accde49bf3","#, "2d60e10232accde49bf3"),
            ("const pusherSecret = '6e22276cea105064efce';", "6e22276cea105064efce"),
        ])
        .misses(&[r#"pusher_region = "eu-central-1""#]),
    assigned("AGORA_CERTIFICATE", &["agora"], HexLower, (32, 32))
        .hits(&[
            (r#"  "agora_app_certificate": "9e5b821c35240b0e04d59b9f684c5d65","#, "9e5b821c35240b0e04d59b9f684c5d65"),
            ("const agoraSecret = '686314b38303611ebd0192612f4c30a1';", "686314b38303611ebd0192612f4c30a1"),
        ])
        .misses(&[r#"agora_region = "eu-central-1""#]),
    assigned("SENDBIRD_TOKEN", &["sendbird"], HexLower, (40, 40))
        .hits(&[
            ("SENDBIRD_API_TOKEN=1fdf70920e8af8676fb7240353249b0c944ea9c2", "1fdf70920e8af8676fb7240353249b0c944ea9c2"),
            ("sendbird_token: 304aa5b44aae09c4991998b58d61aac83305a539", "304aa5b44aae09c4991998b58d61aac83305a539"),
        ])
        .misses(&[r#"sendbird_region = "eu-central-1""#]),
    assigned("MESSAGEBIRD_KEY", &["messagebird"], Alnum, (25, 25))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "messagebird_api_key": "IT0KxBnP2nl5wgwgXE261Rydv","#, "IT0KxBnP2nl5wgwgXE261Rydv"),
            ("const messagebirdKey = '02aS7Ng7BCDWNTO5HywhOl7Dv';", "02aS7Ng7BCDWNTO5HywhOl7Dv"),
        ])
        .misses(&[r#"messagebird_region = "eu-central-1""#]),
    assigned("PLIVO_TOKEN", &["plivo", "telnyx", "sinch", "infobip"], AnyBase64, (40, 64))
        .entropy(3.5)
        .allow(&["^[0-9a-f]{40}$", "^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("plivo_auth_token: o4kET6x5zEeFcGMavfd6uigaCXk4vWKIyU0wlTFM", "o4kET6x5zEeFcGMavfd6uigaCXk4vWKIyU0wlTFM"),
            (r#"  "sinch_secret": "KWUnLflRD8QAp2srRSSbzibAJSK2HUheYwpxebQC","#, "KWUnLflRD8QAp2srRSSbzibAJSK2HUheYwpxebQC"),
        ])
        .misses(&[r#"plivo_region = "eu-central-1""#]),
    prefixed("TELNYX_API_KEY", &["KEY0"], Word, (40, 60))
        .hits(&[
            ("  telnyx_api_key: KEY01C19BFB1C317FF730E0919E1A067165_h66VHoJ5byI9LLemV81K14", "KEY01C19BFB1C317FF730E0919E1A067165_h66VHoJ5byI9LLemV81K14"),
            (r#"    "telnyx_api_key": "KEY01AA5F43010DB933BECA82DE56B3056E_5vV4Z2ditZ9ocpt8djPBKP","#, "KEY01AA5F43010DB933BECA82DE56B3056E_5vV4Z2ditZ9ocpt8djPBKP"),
        ])
        .misses(&["# the console shows KEY0BxYwMR and asks for the rest"]),
    pattern(
        "ZAPIER_WEBHOOK",
        &["hooks.zapier.com"],
        r"hooks\.zapier\.com/hooks/(?:catch|standard)/(\d{3,12}/\w{5,20})",
    )
        .hits(&[
            ("https://hooks.zapier.com/hooks/catch/7431326/6jsi9ln/", "7431326/6jsi9ln"),
            (r#""zap": "https://hooks.zapier.com/hooks/standard/2835816/9nhlwic/""#, "2835816/9nhlwic"),
        ])
        .misses(&["https://hooks.zapier.com/"]),
    pattern(
        "MAKE_WEBHOOK",
        &[".make.com/", ".integromat.com/"],
        r"hook\.(?:\w{2,4}\.)?(?:make|integromat)\.com/(\w{24,40})",
    )
        .hits(&[
            (r#"post("https://hook.eu2.make.com/vlwsui6kcoxx17xjo8bgxqzqk6f0xacq")"#, "vlwsui6kcoxx17xjo8bgxqzqk6f0xacq"),
            ("https://hook.integromat.com/dv5f7k8gjuwfemtcpmk8g5z1cy72zsy0", "dv5f7k8gjuwfemtcpmk8g5z1cy72zsy0"),
        ])
        .misses(&["https://www.make.com/en/help"]),
    pattern(
        "IFTTT_WEBHOOK_KEY",
        &["maker.ifttt.com"],
        r"/with/key/([\w-]{16,50})",
    )
        .hits(&[
            ("https://maker.ifttt.com/trigger/door/with/key/RY-IDJyc9R7Z4fbKXstHac", "RY-IDJyc9R7Z4fbKXstHac"),
            ("curl -X POST https://maker.ifttt.com/trigger/x/json/with/key/nEot8_3kU8dSl-WJ6bMui5uk--YIhCS6BxMziN2InGw", "nEot8_3kU8dSl-WJ6bMui5uk--YIhCS6BxMziN2InGw"),
        ])
        .misses(&["https://maker.ifttt.com/trigger/{event}/with/key/{key}"]),

    // Notifications.

    prefixed("COURIER_KEY", &["pk_prod_", "pk_test_"], Upper, (28, 28))
        .hits(&[
            ("https://api.example.com/v1/items?auth=pk_prod_2DS6YDT03E3G3S9UPKXDVYKJEA6N&page=2", "pk_prod_2DS6YDT03E3G3S9UPKXDVYKJEA6N"),
            ("- echo pk_test_34J1019T0GRXDJRZC7D2DMWVKQAM | tool login", "pk_test_34J1019T0GRXDJRZC7D2DMWVKQAM"),
        ])
        .misses(&["# the console shows pk_prod_1YOUL3 and asks for the rest"]),
    prefixed("NTFY_TOKEN", &["tk_"], Lower, (29, 29))
        .entropy(3.3)
        .allow(&["^tk_[a-z]+$"])
        .hits(&[
            ("The value tk_8f4i7krsd6ae8e1q6wr70elx1eh44 was rotated last week.", "tk_8f4i7krsd6ae8e1q6wr70elx1eh44"),
            ("export NTFY_TOKEN='tk_il9tlgusl31q7a8xte76yurc3rxyd'", "tk_il9tlgusl31q7a8xte76yurc3rxyd"),
        ])
        .misses(&["# the console shows tk_0xzyia and asks for the rest"]),
    prefixed("GC_NOTIFY_KEY", &["gcntfy-"], Token, (60, 160))
        .hits(&[
            ("args: ['--auth', 'gcntfy-acme-4c415a7f-137b-4e54-8099-fe70a7b98bf8-4cd5f0e8-3ee9-4040-ac36-f3edf00d86b1']", "gcntfy-acme-4c415a7f-137b-4e54-8099-fe70a7b98bf8-4cd5f0e8-3ee9-4040-ac36-f3edf00d86b1"),
            ("https://api.example.com/v1/items?auth=gcntfy-acme-787d52d5-1076-41fa-a6ed-03b33e838428-f8365c20-307f-48fa-b9ad-cc7b3e243088&page=2", "gcntfy-acme-787d52d5-1076-41fa-a6ed-03b33e838428-f8365c20-307f-48fa-b9ad-cc7b3e243088"),
        ])
        .misses(&["# the console shows gcntfy-dnU1Uq and asks for the rest"]),
];

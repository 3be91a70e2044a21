//! Databases, brokers, search and data platforms.

use super::super::rule::Charset::{
    Alnum, AnyBase64, Base32, Base64, Dotted, HexLower, Lower, Token, Upper, Uuid, Visible, Word,
};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Hosted databases.

    prefixed("PLANETSCALE_TOKEN", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_", "pscale_app_secret_"], Dotted, (30, 80))
        .hits(&[
            (r#"<add key="planetscale_token" value="pscale_tkn_vr1Krf2Rzd8hgQyPw1t4J86EyAW8xSYncJDPthQTKnd" />"#, "pscale_tkn_vr1Krf2Rzd8hgQyPw1t4J86EyAW8xSYncJDPthQTKnd"),
            (r#"let client = Client::new("pscale_pw_H8FG1XRx-FnyTdBQrf-GpvGV4SCXon4Nb9CiBJdWekf");"#, "pscale_pw_H8FG1XRx-FnyTdBQrf-GpvGV4SCXon4Nb9CiBJdWekf"),
            ("PLANETSCALE_TOKEN=pscale_oauth_3X55T9a92V0aOYP8WH9Jh8gY6GBeiftFoSj8aG3e2wh", "pscale_oauth_3X55T9a92V0aOYP8WH9Jh8gY6GBeiftFoSj8aG3e2wh"),
            ("  planetscale_token: pscale_app_secret_-nDjo1DbhIR0wXeslXyddvuhYMfWOB6eyUq4M_o2ncd", "pscale_app_secret_-nDjo1DbhIR0wXeslXyddvuhYMfWOB6eyUq4M_o2ncd"),
        ])
        .misses(&["# the console shows pscale_tkn_0HHZJm and asks for the rest"]),
    prefixed("SUPABASE_TOKEN", &["sbp_", "sbp_oauth_", "sbp_v0_"], HexLower, (36, 64))
        .hits(&[
            ("args: ['--auth', 'sbp_2a3242959054674a36a42c2540618a852b083693']", "sbp_2a3242959054674a36a42c2540618a852b083693"),
            ("https://api.example.com/v1/items?auth=sbp_oauth_55ba7495da1e579d06526648b51f862e723cbd03&page=2", "sbp_oauth_55ba7495da1e579d06526648b51f862e723cbd03"),
            ("- echo sbp_v0_12e59cc45bfde17a4084db8b3b1518170f16c768 | tool login", "sbp_v0_12e59cc45bfde17a4084db8b3b1518170f16c768"),
        ])
        .misses(&["# the console shows sbp_099e89 and asks for the rest"]),
    prefixed("SUPABASE_SECRET_KEY", &["sb_secret_"], Token, (20, 50))
        .hits(&[
            ("The value sb_secret_4srxCMARoilD9DPLUg8BRf_8d47ZsI7 was rotated last week.", "sb_secret_4srxCMARoilD9DPLUg8BRf_8d47ZsI7"),
            ("export SUPABASE_SECRET_KEY='sb_secret_4-Z6Oda5dIrEnLoTJHHZBL_nmXQLbbE'", "sb_secret_4-Z6Oda5dIrEnLoTJHHZBL_nmXQLbbE"),
        ])
        .misses(&["# the console shows sb_secret_8i7KJ4 and asks for the rest"]),
    prefixed("NEON_API_KEY", &["napi_"], Lower, (40, 80))
        .hits(&[
            ("args: ['--auth', 'napi_mg55vrz27mq9zjj71ye4w7gbf1fvxbn5la9nuag4soljknk1ysyfq2f1guhbcimv']", "napi_mg55vrz27mq9zjj71ye4w7gbf1fvxbn5la9nuag4soljknk1ysyfq2f1guhbcimv"),
            ("https://api.example.com/v1/items?auth=napi_3cqyjfrmd9fr4cxkfkyca8z11p5lzm30zujyeayfvf65v0eab8n3gycw0lxaa74i&page=2", "napi_3cqyjfrmd9fr4cxkfkyca8z11p5lzm30zujyeayfvf65v0eab8n3gycw0lxaa74i"),
        ])
        .misses(&["# the console shows napi_jz02d2 and asks for the rest"]),
    prefixed("NEON_PASSWORD", &["npg_"], Alnum, (10, 24))
        .entropy(2.5)
        .allow(&["^npg_[a-z]+$"])
        .hits(&[
            (r#"    "neon_password": "npg_uzARneapH6rv","#, "npg_uzARneapH6rv"),
            ("The value npg_H9kMR0Lt9b5c was rotated last week.", "npg_H9kMR0Lt9b5c"),
        ])
        .misses(&["npg_query = 1"]),
    prefixed("MONGODB_ATLAS_SECRET", &["mdb_sa_sk_"], Token, (30, 60))
        .hits(&[
            ("MONGODB_ATLAS_SECRET=mdb_sa_sk_FoO0oChs-ejBydx1r-EFwCjh628OCTRJt0wLLIki", "mdb_sa_sk_FoO0oChs-ejBydx1r-EFwCjh628OCTRJt0wLLIki"),
            ("  mongodb_atlas_secret: mdb_sa_sk_cUY4ERms3st7Ja53J8XwG30qf31QrzjJvxl9bzsa", "mdb_sa_sk_cUY4ERms3st7Ja53J8XwG30qf31QrzjJvxl9bzsa"),
        ])
        .misses(&["# the console shows mdb_sa_sk_UQh1wT and asks for the rest"]),
    assigned("MONGODB_ATLAS_PRIVATE_KEY", &["atlasprivatekey", "mongodbatlas", "atlasapikey", "mcliprivateapikey"], Uuid, (36, 36))
        .hits(&[
            (r#"  "atlas_private_key": "10f463a2-c7d7-4d63-aa80-ae6e291bf9b4","#, "10f463a2-c7d7-4d63-aa80-ae6e291bf9b4"),
            ("const mongodbAtlasKey = 'aaf12f16-d0d5-4bfe-9cc7-bdf90e44646f';", "aaf12f16-d0d5-4bfe-9cc7-bdf90e44646f"),
        ])
        .misses(&[r#"atlas_region = "eu-central-1""#]),
    pattern(
        "DATABRICKS_TOKEN",
        &["dapi"],
        r"\bdapi[0-9a-f]{32}(?:-\d)?\b",
    )
        .hits(&[
            ("DATABRICKS_TOKEN=dapi43320a173378a066cc4ee274713825cb", "dapi43320a173378a066cc4ee274713825cb"),
            (r#""token": "dapi26e8ef8946e7d67dd291838f2bd72dc4-2""#, "dapi26e8ef8946e7d67dd291838f2bd72dc4-2"),
        ])
        .misses(&["oldapi0"]),
    prefixed("DATABRICKS_OAUTH_SECRET", &["dose", "dkea", "dsapi"], HexLower, (32, 32))
        .hits(&[
            ("https://api.example.com/v1/items?auth=dose6f33dc81e7314b183a3609c1ad553a4a&page=2", "dose6f33dc81e7314b183a3609c1ad553a4a"),
            ("- echo dkea6e4cdeb0f201f842706a3d14cc865284 | tool login", "dkea6e4cdeb0f201f842706a3d14cc865284"),
            (r#"<add key="databricks_oauth_secret" value="dsapi5439ff157600b5b4e90448bcdf904343" />"#, "dsapi5439ff157600b5b4e90448bcdf904343"),
        ])
        .misses(&["# the console shows dose8be694 and asks for the rest"]),
    prefixed("COCKROACH_API_KEY", &["CCDB1_"], Word, (50, 80))
        .hits(&[
            ("https://api.example.com/v1/items?auth=CCDB1_6WKs4ViEhxf4ZUiRHSmw1m_JhO5hTG3hb5go3angODZ4dohCXd0UllGq4Xxjwcv&page=2", "CCDB1_6WKs4ViEhxf4ZUiRHSmw1m_JhO5hTG3hb5go3angODZ4dohCXd0UllGq4Xxjwcv"),
            ("- echo CCDB1_HmJ7v4XBQOrbCBzabrhLar_F3wk0CnFDNQqCYpPvWiftD13BxHJqhQ9YdaGbfvx | tool login", "CCDB1_HmJ7v4XBQOrbCBzabrhLar_F3wk0CnFDNQqCYpPvWiftD13BxHJqhQ9YdaGbfvx"),
        ])
        .misses(&["# the console shows CCDB1_XVEydh and asks for the rest"]),
    prefixed("FAUNA_SECRET", &["fnA"], Token, (36, 40))
        .entropy(3.5)
        .allow(&["^fn[A-Z][A-Za-z_]+$"])
        .hits(&[
            ("https://api.example.com/v1/items?auth=fnA5Hv5i7U3ylXpU-oWA9Y5sbLmgnF2mhpmLifNe&page=2", "fnA5Hv5i7U3ylXpU-oWA9Y5sbLmgnF2mhpmLifNe"),
            ("- echo fnAlzFotGvrPsWUiUmgqLN4zmJAqllz6cOZOcbp7 | tool login", "fnAlzFotGvrPsWUiUmgqLN4zmJAqllz6cOZOcbp7"),
        ])
        .misses(&["fnArrayToObjectWithKeysAndValuesOfTheSet"]),
    prefixed("XATA_API_KEY", &["xau_", "xad_"], Alnum, (30, 60))
        .hits(&[
            (r#"let client = Client::new("xau_WNjsS58GdvxK9EF6ZxxJI7M5G8klJFK9b5ktpA7jNQM");"#, "xau_WNjsS58GdvxK9EF6ZxxJI7M5G8klJFK9b5ktpA7jNQM"),
            ("XATA_API_KEY=xad_8o2GxLhk8dZo0z3ERc2hGhPQ4i6e6YAi9onKfth1tXK", "xad_8o2GxLhk8dZo0z3ERc2hGhPQ4i6e6YAi9onKfth1tXK"),
        ])
        .misses(&["# the console shows xau_mc6vLS and asks for the rest"]),
    prefixed("CLICKHOUSE_SECRET", &["4b1d"], Alnum, (38, 38))
        .entropy(3.3)
        .allow(&["^[0-9a-f]+$"])
        .hits(&[
            ("The value 4b1d2CV6p4U0jo8i9dpd3cguV1dV3hsJ0eWYRMYB4K was rotated last week.", "4b1d2CV6p4U0jo8i9dpd3cguV1dV3hsJ0eWYRMYB4K"),
            ("export CLICKHOUSE_SECRET='4b1dU2QlIVFD78jJZ3GUK85nWDJV2niHHGWkjBucug'", "4b1dU2QlIVFD78jJZ3GUK85nWDJV2niHHGWkjBucug"),
        ])
        .misses(&["4b1d8f0e2c6a4b7d9e1f3a5c7b9d0e2f4a6c8b0d12"]),
    pattern(
        "ASTRA_DB_TOKEN",
        &["astracs:"],
        r"\bAstraCS:\w{20,30}:[0-9a-f]{64}\b",
    )
        .hits(&[
            ("ASTRA_DB_APPLICATION_TOKEN=AstraCS:FLWalSMbBpXrWfJhmMADIgmG:38a77f8b5eb79c47938d39f98b8c79e011ae21290f3b12406ee9ca70c95d2663", "AstraCS:FLWalSMbBpXrWfJhmMADIgmG:38a77f8b5eb79c47938d39f98b8c79e011ae21290f3b12406ee9ca70c95d2663"),
            (r#""pw": "AstraCS:CyZkYiAzoybclPgrdtwqkLoK:1b444940be4a8e26480b5e229ece67827eb399dd3b34c0a914276b92efd94744""#, "AstraCS:CyZkYiAzoybclPgrdtwqkLoK:1b444940be4a8e26480b5e229ece67827eb399dd3b34c0a914276b92efd94744"),
        ])
        .misses(&["AstraCS:<id>:<key>"]),
    prefixed("TINYBIRD_TOKEN", &["p.eyJ"], Dotted, (60, 400))
        .hits(&[
            (r#"    "tinybird_token": "p.eyJ1IjogIHtSDXtUmcoJPNEYoBwII0TlTE0H6C4FZV4BceXIzrCvUoHq1M5MgRij13mChFtdIHBsKnHN6Af89JdGz.wr9LIfFGgvsXxc2qxCnIs2cp7DjN-iTMZVfgf08QKch","#, "p.eyJ1IjogIHtSDXtUmcoJPNEYoBwII0TlTE0H6C4FZV4BceXIzrCvUoHq1M5MgRij13mChFtdIHBsKnHN6Af89JdGz.wr9LIfFGgvsXxc2qxCnIs2cp7DjN-iTMZVfgf08QKch"),
            ("The value p.eyJ1IjogIUf6ud9n5aCnIexd04XVbo8hzez8UPNQOusLhtKNSIXOtsWEP6tLVUTCU3DuWtvcblWaQLmH6AFe4bHvA.7ZMunwKB0m0-DoHhUOAIojfDBaJhLoamZrrQrofnu5w was rotated last week.", "p.eyJ1IjogIUf6ud9n5aCnIexd04XVbo8hzez8UPNQOusLhtKNSIXOtsWEP6tLVUTCU3DuWtvcblWaQLmH6AFe4bHvA.7ZMunwKB0m0-DoHhUOAIojfDBaJhLoamZrrQrofnu5w"),
        ])
        .misses(&["# the console shows p.eyJ3paNWt and asks for the rest"]),
    pattern(
        "CONVEX_DEPLOY_KEY",
        &["prod:", "dev:", "preview:", "project:"],
        r"\b(?:prod|dev|preview|project):[a-z][\w:-]{2,60}\|[\w=+/-]{20,}",
    )
        .hits(&[
            ("CONVEX_DEPLOY_KEY=prod:happy-otter-123|eyJ2MiZA0G34C7L6lFz04AahdvtyqcbkF6X90XZBbv0mLqCbB4bAxmDnSgO3eXQBBO", "prod:happy-otter-123|eyJ2MiZA0G34C7L6lFz04AahdvtyqcbkF6X90XZBbv0mLqCbB4bAxmDnSgO3eXQBBO"),
            (r#"key: "dev:calm-fox-9|cEuZksWzzUBVYu2jRV5e3ks7jI9Ey5Xl7Vkwv3WRfnP0DmlWKqcdP4BhiPwM""#, "dev:calm-fox-9|cEuZksWzzUBVYu2jRV5e3ks7jI9Ey5Xl7Vkwv3WRfnP0DmlWKqcdP4BhiPwM"),
        ])
        .misses(&["dev:x|y"]),
    pattern(
        "PRISMA_ACCELERATE_KEY",
        &["prisma://", "prisma+postgres://"],
        r#"prisma(?:\+postgres)?://[^\s"\x27]{4,200}[?&]api_key=([\w.-]{20,})"#,
    )
        .hits(&[
            (r#"DATABASE_URL="prisma://accelerate.prisma-data.net/?api_key=adde9PRtMZBIu7uIo6HjshQHlktqUiQX03ZxcEsGs1_YgHnQmvBpgyouKKRrl""#, "adde9PRtMZBIu7uIo6HjshQHlktqUiQX03ZxcEsGs1_YgHnQmvBpgyouKKRrl"),
            ("url = prisma+postgres://accelerate.prisma-data.net/?api_key=DZQHAcI06DmsJSrHQTZLAfvi4f9ANtiMk_30tVKrxmFvWqNbT63L0yGixU7Ns", "DZQHAcI06DmsJSrHQTZLAfvi4f9ANtiMk_30tVKrxmFvWqNbT63L0yGixU7Ns"),
        ])
        .misses(&["prisma://localhost/?api_key=$KEY"]),
    assigned("UPSTASH_TOKEN", &["upstash"], AnyBase64, (36, 200))
        .entropy(3.5)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("UPSTASH_REDIS_REST_TOKEN=AX9eNGIQ5GT8iYuoHucRpMZ5CnRYQiJAf3y8XkHSGMhGJXu8xT3fJBVAO2SPGh=", "AX9eNGIQ5GT8iYuoHucRpMZ5CnRYQiJAf3y8XkHSGMhGJXu8xT3fJBVAO2SPGh="),
            ("upstash_token: AY1IrL5kwkQUy2E6SsvUZf3lqkKcL56eZ8xZEmTkp8Y2neAFmH6lHVmXwyhD2J=", "AY1IrL5kwkQUy2E6SsvUZf3lqkKcL56eZ8xZEmTkp8Y2neAFmH6lHVmXwyhD2J="),
        ])
        .misses(&[r#"upstash_region = "eu-west-1""#]),
    prefixed("AIVEN_PASSWORD", &["AVNS_"], Token, (14, 32))
        .entropy(2.5)
        .hits(&[
            ("- echo AVNS_08yE1pbwEIsPiFymMe0 | tool login", "AVNS_08yE1pbwEIsPiFymMe0"),
            (r#"<add key="aiven_password" value="AVNS_4IsPBZrNK-uVt205Als" />"#, "AVNS_4IsPBZrNK-uVt205Als"),
        ])
        .misses(&["# the console shows AVNS_3aME and asks for the rest"]),
    assigned("AIVEN_TOKEN", &["aiven"], AnyBase64, (200, 400))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "aiven_token": "vofov52AHSXBe2Ysx0xzudmcx8MES+6msrKkmIHvw00A7ueycY+so8ju5xeWvirpoAGY+rNlAGk3pD+WYhFUCJvyh+juHLRaC2N6KKf767AI0TEPyy5fxi0wr/aHJhFvMQcv6K+NF9OzGfezHbOMQRtPmwX668fomltthCARpsjKDULf8hGuNfBcew7ODju/IiqqGRiOG3Wn4SboUYkxW3CpKM5wirtTEwi==","#, "vofov52AHSXBe2Ysx0xzudmcx8MES+6msrKkmIHvw00A7ueycY+so8ju5xeWvirpoAGY+rNlAGk3pD+WYhFUCJvyh+juHLRaC2N6KKf767AI0TEPyy5fxi0wr/aHJhFvMQcv6K+NF9OzGfezHbOMQRtPmwX668fomltthCARpsjKDULf8hGuNfBcew7ODju/IiqqGRiOG3Wn4SboUYkxW3CpKM5wirtTEwi=="),
            ("const aivenAuthToken = 'hjznq77XmA4AGDAnpcvU9f8jzqs8oT7sGcWA7g9o/JqFhn4biiOem7hgqLIykF9aLFBtiKotVbnJ35aM3Hqh91GAeufoRmWWLaKjO1pkKXDwh1jeVSyqVwlsOpJnQ3EG5ZxXJmGrKqwpWiBQ1uAYv9p6xuReicPuOX18QVJMWRpO9rtaPQ4hiAKI0hXC5IhJZwPquH8mguPLwUHzT9t3BABjO3luUub/cLJ==';", "hjznq77XmA4AGDAnpcvU9f8jzqs8oT7sGcWA7g9o/JqFhn4biiOem7hgqLIykF9aLFBtiKotVbnJ35aM3Hqh91GAeufoRmWWLaKjO1pkKXDwh1jeVSyqVwlsOpJnQ3EG5ZxXJmGrKqwpWiBQ1uAYv9p6xuReicPuOX18QVJMWRpO9rtaPQ4hiAKI0hXC5IhJZwPquH8mguPLwUHzT9t3BABjO3luUub/cLJ=="),
        ])
        .misses(&[r#"aiven_region = "eu-central-1""#]),
    prefixed("AIVEN_TOKEN_V1", &["aivenv1_"], AnyBase64, (20, 400))
        .hits(&[
            ("  aiven_token_v1: aivenv1_ncILC3iTjA3wEdWMz57aryZD0etx3xXL93FvSuCKMLvNeOWMP6JYOtKOpidSE0AKmnOHg8HkHLvS8kguXaSwDHiK8R", "aivenv1_ncILC3iTjA3wEdWMz57aryZD0etx3xXL93FvSuCKMLvNeOWMP6JYOtKOpidSE0AKmnOHg8HkHLvS8kguXaSwDHiK8R"),
            (r#"    "aiven_token_v1": "aivenv1_aItv3Y5wFWN8IYblQeSVBgSaA9IQnA6xeWFo6RupXG3U5yZjqnbTBqMXUwoN2htfbJJnrynuHtKbq2KB1Maesrg7KP","#, "aivenv1_aItv3Y5wFWN8IYblQeSVBgSaA9IQnA6xeWFo6RupXG3U5yZjqnbTBqMXUwoN2htfbJJnrynuHtKbq2KB1Maesrg7KP"),
        ])
        .misses(&["# the console shows aivenv1_3buNVm and asks for the rest"]),
    assigned("SNOWFLAKE_TOKEN", &["snowflakepassword", "snowflakepat", "snowsqlpwd", "snowflaketoken"], Visible, (8, 400))
        .hits(&[
            (r#"snowflake_password = "V0vZJZfQSbJNANv0""#, "V0vZJZfQSbJNANv0"),
            ("SNOWSQL_PWD=b4q8TzksYOGGtyzy", "b4q8TzksYOGGtyzy"),
        ])
        .misses(&[r#"snowflake_region = "eu-central-1""#]),
    assigned("REDIS_CLOUD_KEY", &["rediscloud", "redislabs"], Alnum, (32, 56))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("rediscloud_secret_key: 1EQ1ILR0PMH56D24S3YPKFMTY9AUI4AVCKW0H2WQsh", "1EQ1ILR0PMH56D24S3YPKFMTY9AUI4AVCKW0H2WQsh"),
            (r#"  "redislabs_key": "33SMPRTJXJGNR2VUJZLVD9DI76PA9LMQKVI0F3F9rf","#, "33SMPRTJXJGNR2VUJZLVD9DI76PA9LMQKVI0F3F9rf"),
        ])
        .misses(&[r#"rediscloud_region = "eu-central-1""#]),

    // Search, streams, warehouses.

    assigned("ALGOLIA_KEY", &["algolia"], HexLower, (32, 32))
        .hits(&[
            ("algolia_admin_key: c261d770320f0a79f5d307f49d0869f2", "c261d770320f0a79f5d307f49d0869f2"),
            (r#"  "algolia_api_key": "6745db597cc6052809426728abc5a972","#, "6745db597cc6052809426728abc5a972"),
        ])
        .misses(&[r#"algolia_index = "products""#]),
    prefixed("ELASTIC_CLOUD_KEY", &["essu_"], AnyBase64, (40, 220))
        .hits(&[
            ("  elastic_cloud_key: essu_9rNxILCOez9Nqjevvp9XOX8k3a1BOjqQgbumTxK95OdUDOE7f7VQRHTBPtdiUJgX4PVMaL8vuuqmmSkf==", "essu_9rNxILCOez9Nqjevvp9XOX8k3a1BOjqQgbumTxK95OdUDOE7f7VQRHTBPtdiUJgX4PVMaL8vuuqmmSkf=="),
            (r#"    "elastic_cloud_key": "essu_nsiLN2Ss0J82JZ0CGhfxck68R5GKYygS2IusIKn5yFIpiV3zRbvdPGt36Di5Feva9fgzHKczqwJh6OhE==","#, "essu_nsiLN2Ss0J82JZ0CGhfxck68R5GKYygS2IusIKn5yFIpiV3zRbvdPGt36Di5Feva9fgzHKczqwJh6OhE=="),
        ])
        .misses(&["# the console shows essu_-3LxKe and asks for the rest"]),
    pattern(
        "ELASTIC_API_KEY",
        &["apikey "],
        r"(?i)\bApiKey\s{1,3}([0-9A-Za-z_=+/-]{30,200})",
    )
        .entropy(3.5)
        .hits(&[
            ("Authorization: ApiKey LHxjgRCe5p8MmvUdpWfVe2c3AsHJtpH1paqOX5m2vKewienzNuf2ixkSaB==", "LHxjgRCe5p8MmvUdpWfVe2c3AsHJtpH1paqOX5m2vKewienzNuf2ixkSaB=="),
            (r#"curl -H "Authorization: ApiKey J9bh8LSaxUXySeWnaFQMyD0EQ9KMTNkgleeiU3n3igKjJTTRndAUUaJZMy==" $URL"#, "J9bh8LSaxUXySeWnaFQMyD0EQ9KMTNkgleeiU3n3igKjJTTRndAUUaJZMy=="),
        ])
        .misses(&["the apikey is kept in the vault"]),
    prefixed("ELASTIC_APP_SEARCH_KEY", &["private-", "search-"], Lower, (24, 24))
        .entropy(3.3)
        .allow(&["^[a-z-]+$"])
        .hits(&[
            ("export ELASTIC_APP_SEARCH_KEY='private-ihljguaqf9pt7dkwsuzbbi49'", "private-ihljguaqf9pt7dkwsuzbbi49"),
            ("args: ['--auth', 'search-lyo0s20f2h3c53s6ypbdu83c']", "search-lyo0s20f2h3c53s6ypbdu83c"),
        ])
        .misses(&["private-subnet-route", "search-configurationfactoryimpl"]),
    assigned("MEILISEARCH_KEY", &["meilimasterkey", "meilisearch", "typesense"], Token, (32, 64))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("meili_master_key: zZRaaiFcj81zVMr6kRO1WjCO7KuyIuFZeaq8iJDmJw7", "zZRaaiFcj81zVMr6kRO1WjCO7KuyIuFZeaq8iJDmJw7"),
            (r#"  "typesense_api": "Eyzw7fFDwOk4KCWB2gyIsz5rM4sVKkADmwQj1CTEPxX","#, "Eyzw7fFDwOk4KCWB2gyIsz5rM4sVKkADmwQj1CTEPxX"),
        ])
        .misses(&[r#"meili_region = "eu-central-1""#]),
    assigned("CONFLUENT_KEY", &["confluent"], Base64, (64, 64))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("CONFLUENT_API_SECRET=WEVS74I0Y4TQmhVlPjFDyOXmNAG240Ayb9SyDegiXKHNEz+jozjCBTVRQrN1apk5", "WEVS74I0Y4TQmhVlPjFDyOXmNAG240Ayb9SyDegiXKHNEz+jozjCBTVRQrN1apk5"),
            ("confluent_secret: 8bPARAfrTEWh87U6RGCPa4/loHeDn2/B1PuebbFky1Mhd2FQn1lxGQ7fWc3haz2g", "8bPARAfrTEWh87U6RGCPa4/loHeDn2/B1PuebbFky1Mhd2FQn1lxGQ7fWc3haz2g"),
        ])
        .misses(&[r#"confluent_region = "eu-central-1""#]),
    assigned("CONFLUENT_KEY_ID", &["confluentapikey"], Upper, (16, 16))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("confluent_api_key: RSKP0GQ09AAL01EQ", "RSKP0GQ09AAL01EQ"),
            (r#"  "confluent_api_key": "ETBCIO161W7ANQ2O","#, "ETBCIO161W7ANQ2O"),
        ])
        .misses(&[r#"confluent_region = "eu-central-1""#]),
    prefixed("CONFLUENT_SECRET", &["cflt"], Base64, (56, 64))
        .hits(&[
            ("export CONFLUENT_SECRET='cfltThSNnS0W7z5gvOeiiZ/JR7NJ+jg7NOGho0Ba2OYeYDqd/uyfSOzUYMbgoj44'", "cfltThSNnS0W7z5gvOeiiZ/JR7NJ+jg7NOGho0Ba2OYeYDqd/uyfSOzUYMbgoj44"),
            ("args: ['--auth', 'cfltmducXpsXIQBv3s6ba80a3qjSwblvwcY7r/BSR2iMOQFgD+HXQuA3PGnSnWsh']", "cfltmducXpsXIQBv3s6ba80a3qjSwblvwcY7r/BSR2iMOQFgD+HXQuA3PGnSnWsh"),
        ])
        .misses(&["# the console shows cfltAfVGD5 and asks for the rest"]),
    assigned("INFLUXDB_TOKEN", &["influx"], AnyBase64, (86, 88))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("influxdb_token: kvSZEEFFJWFO02DuIhudQPm8FQpHXRXG4tzoey9-Ft4AXfZj12elCebpeSHePN1P0uij0aHb_HBvAMF2HsWlNV==", "kvSZEEFFJWFO02DuIhudQPm8FQpHXRXG4tzoey9-Ft4AXfZj12elCebpeSHePN1P0uij0aHb_HBvAMF2HsWlNV=="),
            (r#"  "influx_token": "Lo-0E_z06aW-TPpew248-nt6yFAevXyh2HylWU-BWmNmOeBMTke2bY7V3qV0yqMInzc4m0hvLGvClBjU5V2Mo5==","#, "Lo-0E_z06aW-TPpew248-nt6yFAevXyh2HylWU-BWmNmOeBMTke2bY7V3qV0yqMInzc4m0hvLGvClBjU5V2Mo5=="),
        ])
        .misses(&[r#"influx_bucket = "metrics""#]),
    prefixed("INFLUXDB3_TOKEN", &["apiv3_"], Token, (60, 100))
        .hits(&[
            (r#"let client = Client::new("apiv3_wc5RkzOChtjApB34NumFR4Djsazr8p1lqIne8bhfe6fwRFMdInfyR2dIn804kh7tTza5iKsOp19-3UHqHjIzuu");"#, "apiv3_wc5RkzOChtjApB34NumFR4Djsazr8p1lqIne8bhfe6fwRFMdInfyR2dIn804kh7tTza5iKsOp19-3UHqHjIzuu"),
            ("INFLUXDB3_TOKEN=apiv3_0PBMN5Pd4wDEHYxfwUjE2k5-G50kRoRzZQg9wutEv1R6_3zDeKs2MhNjuzEq5OT65Fib0903ps3rd1K2YTimFt", "apiv3_0PBMN5Pd4wDEHYxfwUjE2k5-G50kRoRzZQg9wutEv1R6_3zDeKs2MhNjuzEq5OT65Fib0903ps3rd1K2YTimFt"),
        ])
        .misses(&["# the console shows apiv3_pL1zjP and asks for the rest"]),
    prefixed("NATS_SEED", &["SU", "SA", "SO", "SN", "SC", "SX"], Base32, (56, 56))
        .entropy(3.5)
        .hits(&[
            ("https://api.example.com/v1/items?auth=SUNCEPUHDB6HH7ZGAGLLELE54J36P7VMASJTDLUKI6BDLVLOR4KVNNARFX&page=2", "SUNCEPUHDB6HH7ZGAGLLELE54J36P7VMASJTDLUKI6BDLVLOR4KVNNARFX"),
            ("- echo SALBT64VGUEBEI4VBOZDD7QHLRY7U4DIDHUCLYMZCFD45UPFFBM2NP2LUQ | tool login", "SALBT64VGUEBEI4VBOZDD7QHLRY7U4DIDHUCLYMZCFD45UPFFBM2NP2LUQ"),
            (r#"<add key="nats_seed" value="SOASR6JMOH6OTX7QLPSJBTCGQT5LKNZDLUMCFMTKUJH6K6G336ZDXIIXCW" />"#, "SOASR6JMOH6OTX7QLPSJBTCGQT5LKNZDLUMCFMTKUJH6K6G336ZDXIIXCW"),
            (r#"let client = Client::new("SN5RTWOKX4UGJHYLSDJEYR7KXCK67ACFOGNQWCC25PSX2G3EQNNBDWADKW");"#, "SN5RTWOKX4UGJHYLSDJEYR7KXCK67ACFOGNQWCC25PSX2G3EQNNBDWADKW"),
            ("NATS_SEED=SCDAJV4ZTZLVNTZRAPYKMOEQKCUBBL66GRXWVVLGXHTIZ56QJ22QTULXOQ", "SCDAJV4ZTZLVNTZRAPYKMOEQKCUBBL66GRXWVVLGXHTIZ56QJ22QTULXOQ"),
            ("  nats_seed: SXUO7GYCYWOLKNUI2ECQUISKNETDB67D2GZTXATWKVHIUYCQWVIELSJTIT", "SXUO7GYCYWOLKNUI2ECQUISKNETDB67D2GZTXATWKVHIUYCQWVIELSJTIT"),
        ])
        .misses(&["SUBSCRIPTION"]),
    prefixed("DBT_TOKEN", &["dbtc_", "dbtu_"], Token, (30, 60))
        .hits(&[
            ("export DBT_TOKEN='dbtc_C2sV8P5qDHoUCQykZttKJHuwa7Y6PGoXhbVKrC4U34x'", "dbtc_C2sV8P5qDHoUCQykZttKJHuwa7Y6PGoXhbVKrC4U34x"),
            ("args: ['--auth', 'dbtu_D7b9EKFLVIGEw4zGJKAbonrk1ZIriVcM_q4Zjq1KAsm']", "dbtu_D7b9EKFLVIGEw4zGJKAbonrk1ZIriVcM_q4Zjq1KAsm"),
        ])
        .misses(&["# the console shows dbtc_RtwuxS and asks for the rest"]),
    prefixed("PREFECT_KEY", &["pnu_", "pnb_"], Alnum, (36, 36))
        .hits(&[
            ("- echo pnu_Exl3cnnm9YCjeBDYJpSOBdUdgg4JWOH91Hye | tool login", "pnu_Exl3cnnm9YCjeBDYJpSOBdUdgg4JWOH91Hye"),
            (r#"<add key="prefect_key" value="pnb_QDtSUFOvhs2T0M9m5sQtuagwyYGn0kHNL1OX" />"#, "pnb_QDtSUFOvhs2T0M9m5sQtuagwyYGn0kHNL1OX"),
        ])
        .misses(&["# the console shows pnu_cFACmm and asks for the rest"]),
    prefixed("METABASE_KEY", &["mb_"], Base64, (40, 48))
        .hits(&[
            ("- echo mb_qEO0CxoBnT1EZp2DLGvUQKhBhsEiGlfSBq0Bd3SAayI= | tool login", "mb_qEO0CxoBnT1EZp2DLGvUQKhBhsEiGlfSBq0Bd3SAayI="),
            (r#"<add key="metabase_key" value="mb_P7t2NDUZyfICgDE6GTTxXD7GnpSxAbUbx1qlvNHG2t/=" />"#, "mb_P7t2NDUZyfICgDE6GTTxXD7GnpSxAbUbx1qlvNHG2t/="),
        ])
        .misses(&["# the console shows mb_CKfagl and asks for the rest"]),
    prefixed("HEX_NOTEBOOK_TOKEN", &["hxtp_", "hxtw_"], HexLower, (90, 100))
        .hits(&[
            ("The value hxtp_99331a15a67d2a1c74e5baba6e1cddac9e011242b98e2b53a5c21c6f18b92907f1f554c54513318f1ce9067c2adb2dc7 was rotated last week.", "hxtp_99331a15a67d2a1c74e5baba6e1cddac9e011242b98e2b53a5c21c6f18b92907f1f554c54513318f1ce9067c2adb2dc7"),
            ("export HEX_NOTEBOOK_TOKEN='hxtw_d1157f883df6fe7a7077a654f382e8cdbc2266f26f2080f188774d5b1ecaafa17187e3bfacb29fa73da9679295aa1509'", "hxtw_d1157f883df6fe7a7077a654f382e8cdbc2266f26f2080f188774d5b1ecaafa17187e3bfacb29fa73da9679295aa1509"),
        ])
        .misses(&["# the console shows hxtp_b6556b and asks for the rest"]),
    prefixed("RETOOL_TOKEN", &["retool_"], Word, (20, 40))
        .entropy(3.0)
        .allow(&["^retool_[a-z_]+$"])
        .hits(&[
            ("https://api.example.com/v1/items?auth=retool_013xr25bxw9u7arzbmgjwv3p5r&page=2", "retool_013xr25bxw9u7arzbmgjwv3p5r"),
            ("- echo retool_01bs8v4xbh52r6yg0ua8980v32 | tool login", "retool_01bs8v4xbh52r6yg0ua8980v32"),
        ])
        .misses(&["# the console shows retool_uFbVjt and asks for the rest"]),
    assigned("FIVETRAN_SECRET", &["fivetran", "airbyte", "stitchdata", "hightouch", "matillion", "lookerclientsecret", "lookersecret", "dagster", "astronomer"], Alnum, (24, 72))
        .entropy(3.3)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("fivetran_api_secret: iOV3U5i9yXydQ9gfycbk8mcLsM3aM3AS", "iOV3U5i9yXydQ9gfycbk8mcLsM3aM3AS"),
            (r#"  "looker_client_secret": "bA4eTsIVpeno4oA9WXAJiGi4exqJP3Gx","#, "bA4eTsIVpeno4oA9WXAJiGi4exqJP3Gx"),
            ("const stitchdataToken = 'SwmSuTNOMH6WjA33ZlRgUf8KugIByx0U';", "SwmSuTNOMH6WjA33ZlRgUf8KugIByx0U"),
        ])
        .misses(&[r#"fivetran_region = "eu-central-1""#]),
    assigned("HASURA_SECRET", &["hasuragraphqladminsecret", "hasuraadminsecret", "xhasuraadminsecret"], Visible, (8, 200))
        .hits(&[
            ("const hasuraAdminSecret = 'K2cXlM!ckjvD!TS6vsgw';", "K2cXlM!ckjvD!TS6vsgw"),
            (r#"x_hasura_admin_secret = "cXVjuQtgQITiZOYgHmPl""#, "cXVjuQtgQITiZOYgHmPl"),
        ])
        .misses(&[r#"hasura_region = "eu-central-1""#]),

    // More.

    prefixed("TURSO_TOKEN", &["turso_"], Token, (24, 200))
        .entropy(3.5)
        .allow(&["^turso_[a-z_]+$"])
        .hits(&[
            ("export TURSO_TOKEN='turso_F3HIdoxNb5gcQSWdPVDrq-V0B1IHwZViB4EyaA_z'", "turso_F3HIdoxNb5gcQSWdPVDrq-V0B1IHwZViB4EyaA_z"),
            ("args: ['--auth', 'turso_oci7T-DZOEpuXB58FR7MByedlxrIzSQX1V8g_6Cs']", "turso_oci7T-DZOEpuXB58FR7MByedlxrIzSQX1V8g_6Cs"),
        ])
        .misses(&["# the console shows turso_cUAsD5 and asks for the rest"]),
    prefixed("ITERATIVE_TOKEN", &["isat_"], Token, (40, 80))
        .hits(&[
            ("- echo isat_UqSFNz458HU3flAt06On7feTjS1xEtukpHTxY4sjl4-GvLGDEw-Hbx | tool login", "isat_UqSFNz458HU3flAt06On7feTjS1xEtukpHTxY4sjl4-GvLGDEw-Hbx"),
            (r#"<add key="iterative_token" value="isat_0BQFq8qGrZ9BeyBdYS20weiFB6eq-vQV7q33_fsWnhBD_JlDs_7EQo" />"#, "isat_0BQFq8qGrZ9BeyBdYS20weiFB6eq-vQV7q33_fsWnhBD_JlDs_7EQo"),
        ])
        .misses(&["# the console shows isat_7maKXS and asks for the rest"]),
    prefixed("COVEO_KEY", &["xx"], Uuid, (36, 36))
        .hits(&[
            ("export COVEO_KEY='xx9b212fd7-8347-4ec7-891c-72d7509b6640'", "xx9b212fd7-8347-4ec7-891c-72d7509b6640"),
            ("args: ['--auth', 'xx142bfdaf-5196-4613-9e5c-5534eaf99c65']", "xx142bfdaf-5196-4613-9e5c-5534eaf99c65"),
        ])
        .misses(&["# the console shows xxa6d8c4 and asks for the rest"]),
];

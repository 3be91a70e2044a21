//! Search, tracing, vector stores, agents and media for models.

use super::super::rule::Charset::{Alnum, HexLower, Lower, Token, Uuid, Word};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Search, tracing and vector stores.

    prefixed("TAVILY_API_KEY", &["tvly-"], Token, (20, 60))
        .hits(&[
            (r#"let client = Client::new("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");"#, "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"),
            ("TAVILY_API_KEY=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", "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"),
        ])
        .misses(&["# the console shows tvly-_H4dY5 and asks for the rest"]),
    prefixed("FIRECRAWL_API_KEY", &["fc-"], HexLower, (32, 32))
        .hits(&[
            ("  firecrawl_api_key: fc-68e8da7ed5bcce7864952136cb4fe4e6", "fc-68e8da7ed5bcce7864952136cb4fe4e6"),
            (r#"    "firecrawl_api_key": "fc-5e1a0b51537b3f9ca9953b95b398a611","#, "fc-5e1a0b51537b3f9ca9953b95b398a611"),
        ])
        .misses(&["# the console shows fc-0de18e and asks for the rest"]),
    assigned("EXA_API_KEY", &["exaapikey", "exakey", "exasearch"], Uuid, (36, 36))
        .hits(&[
            ("const exaApiKey = 'd920ec90-143a-436c-b46b-b037f74db52a';", "d920ec90-143a-436c-b46b-b037f74db52a"),
            (r#"exa_key = "36c6a0d7-c09e-49ab-b21b-8e2758f91cfe""#, "36c6a0d7-c09e-49ab-b21b-8e2758f91cfe"),
        ])
        .misses(&[r#"example_id = "8d0b0b3a-3c55-4f4e-9d0c-2f8a8f7b1c11""#]),
    prefixed("BRAVE_SEARCH_API_KEY", &["BSA"], Token, (24, 40))
        .entropy(3.5)
        .allow(&["^BSA[A-Z_-]+$"])
        .hits(&[
            (r#"let client = Client::new("BSAEOdtirh8AijDNCOE4BblcSD00JA8");"#, "BSAEOdtirh8AijDNCOE4BblcSD00JA8"),
            ("BRAVE_SEARCH_API_KEY=BSAsz-uS5HhpyDKGbw-PsSgbYyNOU26", "BSAsz-uS5HhpyDKGbw-PsSgbYyNOU26"),
        ])
        .misses(&["BSA_COMPLIANCE_REPORT_DIRECTORY"]),
    assigned("SERPAPI_KEY", &["serpapi", "serperapi", "serper", "serpstack"], HexLower, (40, 64))
        .hits(&[
            (r#"serpapi_key = "2d6380731fcda5deb8c20485d8ff49d983fd8e7b141abe118bb3a7309a8157bf""#, "2d6380731fcda5deb8c20485d8ff49d983fd8e7b141abe118bb3a7309a8157bf"),
            ("SERPER_API=3e64a58d3701210b3f075b5c48d6ae6e802ff71cc97a6e6513fd5319354a631f", "3e64a58d3701210b3f075b5c48d6ae6e802ff71cc97a6e6513fd5319354a631f"),
        ])
        .misses(&[r#"serpapi_region = "eu-central-1""#]),
    prefixed("LANGSMITH_API_KEY", &["lsv2_pt_", "lsv2_sk_", "ls__"], Word, (30, 60))
        .hits(&[
            ("https://api.example.com/v1/items?auth=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&page=2", "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"),
            ("- echo 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 | tool login", "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"),
            (r#"<add key="langsmith_api_key" value="ls__2676bccd0832a0d0daee5d47dacb819f" />"#, "ls__2676bccd0832a0d0daee5d47dacb819f"),
        ])
        .misses(&["# the console shows lsv2_pt_g7SlJb and asks for the rest"]),
    prefixed("LANGFUSE_KEY", &["sk-lf-", "pk-lf-"], Uuid, (36, 36))
        .hits(&[
            ("  langfuse_key: sk-lf-992b8925-f369-47f2-a610-dc5271499faf", "sk-lf-992b8925-f369-47f2-a610-dc5271499faf"),
            (r#"    "langfuse_key": "pk-lf-81dcf263-fb23-4e60-9fe3-bfd04913cf0b","#, "pk-lf-81dcf263-fb23-4e60-9fe3-bfd04913cf0b"),
        ])
        .misses(&["# the console shows sk-lf-9480d3 and asks for the rest"]),
    prefixed("PINECONE_API_KEY", &["pcsk_"], Word, (40, 90))
        .hits(&[
            ("  pinecone_api_key: pcsk_4YBqVr_UzPGzcgJti47Sh1GTqxKztnJcqnHN9RgPnZmF3qyDsZa62VbZ8v0SLvPVO8X3fY", "pcsk_4YBqVr_UzPGzcgJti47Sh1GTqxKztnJcqnHN9RgPnZmF3qyDsZa62VbZ8v0SLvPVO8X3fY"),
            (r#"    "pinecone_api_key": "pcsk_tMKum1_mcIZxxwO3YxlEkenIjqaFC0hUjjhlOt4wmW7N0c2qSK8S58COLs99DoERifj97W","#, "pcsk_tMKum1_mcIZxxwO3YxlEkenIjqaFC0hUjjhlOt4wmW7N0c2qSK8S58COLs99DoERifj97W"),
        ])
        .misses(&["# the console shows pcsk_JwaHVR and asks for the rest"]),
    assigned("PINECONE_LEGACY_KEY", &["pinecone"], Uuid, (36, 36))
        .hits(&[
            ("pinecone_api_key: 243f58ef-9aa2-42e3-a187-555032d6ee9c", "243f58ef-9aa2-42e3-a187-555032d6ee9c"),
            (r#"  "pinecone_key": "89557a56-4f65-44c4-aac1-617c42dd8016","#, "89557a56-4f65-44c4-aac1-617c42dd8016"),
        ])
        .misses(&[r#"pinecone_env = "us-east1-gcp""#]),
    prefixed("WANDB_API_KEY_V1", &["wandb_v1_"], Word, (60, 100))
        .hits(&[
            ("- echo 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 | tool login", "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"),
            (r#"<add key="wandb_api_key_v1" value="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" />"#, "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"),
        ])
        .misses(&["# the console shows wandb_v1_ORlbKJ and asks for the rest"]),
    assigned("WANDB_API_KEY", &["wandb", "weightsandbiases"], HexLower, (40, 40))
        .hits(&[
            ("WANDB_API_KEY=9a618a783aa96f847c2df4369fccf81b0be4b83a", "9a618a783aa96f847c2df4369fccf81b0be4b83a"),
            ("wandb_key: cf1ffbf688e9c25eebbbd0d9ff5ec93a59ef5028", "cf1ffbf688e9c25eebbbd0d9ff5ec93a59ef5028"),
        ])
        .misses(&[r#"wandb_run_name = "baseline-7""#]),
    prefixed("CHROMA_API_KEY", &["ck-"], Alnum, (44, 44))
        .entropy(3.5)
        .hits(&[
            (r#"    "chroma_api_key": "ck-84U2wQTQPQbQWjh17rew1TIZvaeBY7fvJ6r8OIt7p3C4","#, "ck-84U2wQTQPQbQWjh17rew1TIZvaeBY7fvJ6r8OIt7p3C4"),
            ("The value ck-iGjpALiOw2qu4qL8JvoPxgAotH1DXDmx1Rcb9sbDK2yz was rotated last week.", "ck-iGjpALiOw2qu4qL8JvoPxgAotH1DXDmx1Rcb9sbDK2yz"),
        ])
        .misses(&["# the console shows ck-ax1t7A and asks for the rest"]),
    prefixed("LOGFIRE_TOKEN", &["pylf_v"], Word, (20, 80))
        .hits(&[
            ("  logfire_token: pylf_v1_us_TYtXWKBWJFxUxwhlq1R9XgdKVGMbtFLyBd7JgGbhX99", "pylf_v1_us_TYtXWKBWJFxUxwhlq1R9XgdKVGMbtFLyBd7JgGbhX99"),
            (r#"    "logfire_token": "pylf_v1_us_SixeuDCZnRSSzcenloGK1GF36ZJghhcJJgU81ERoH4v","#, "pylf_v1_us_SixeuDCZnRSSzcenloGK1GF36ZJghhcJJgU81ERoH4v"),
        ])
        .misses(&["# the console shows pylf_vIDK94O and asks for the rest"]),
    prefixed("BROWSERBASE_API_KEY", &["bb_live_", "bb_test_"], Token, (20, 60))
        .hits(&[
            ("BROWSERBASE_API_KEY=bb_live_piQSwjwqkiTzFb2b-v-qC6ala6x", "bb_live_piQSwjwqkiTzFb2b-v-qC6ala6x"),
            ("  browserbase_api_key: bb_test_sjBc6E7tZy4j7HQEDxzrmZS4041", "bb_test_sjBc6E7tZy4j7HQEDxzrmZS4041"),
        ])
        .misses(&["# the console shows bb_live_WZytRc and asks for the rest"]),
    pattern(
        "KAGI_API_KEY",
        &["kagi"],
        r"\b[\w-]{11}\.[\w-]{43}\b",
    )
        .entropy(3.5)
        .hits(&[
            ("KAGI_API_KEY=wUFRzq7leWa.oLn1UH5KF3YJPOwikO9nxWcjohfQhmwU2ewyi82Bpxp", "wUFRzq7leWa.oLn1UH5KF3YJPOwikO9nxWcjohfQhmwU2ewyi82Bpxp"),
            (r#"kagi: "uIGRDshpSMo.f6wwNKXpJmU_OCehAqLhCL9p6SlsahTth_6LDwCiI4m""#, "uIGRDshpSMo.f6wwNKXpJmU_OCehAqLhCL9p6SlsahTth_6LDwCiI4m"),
        ])
        .misses(&["https://kagi.com/search?q=x"]),
    assigned("ROBOFLOW_API_KEY", &["roboflow"], Alnum, (20, 20))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("ROBOFLOW_API_KEY=ioIH0IJBcq8gKnztgK30", "ioIH0IJBcq8gKnztgK30"),
            ("roboflow_key: v6W7OOvDSgbITS1T37A8", "v6W7OOvDSgbITS1T37A8"),
        ])
        .misses(&[r#"roboflow_region = "eu-central-1""#]),
    assigned("COMET_API_KEY", &["cometapikey", "cometml", "opikapikey"], Alnum, (25, 25))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("comet_api_key: YzrabIOQsUtM5j3qpDqjlz7NA", "YzrabIOQsUtM5j3qpDqjlz7NA"),
            (r#"  "opik_api_key": "8Cs3kcFxVXyWxKDx1HGa2EOjc","#, "8Cs3kcFxVXyWxKDx1HGa2EOjc"),
        ])
        .misses(&[r#"comet_region = "eu-central-1""#]),

    // Agents, sandboxes, media.

    prefixed("E2B_API_KEY", &["e2b_", "sk_e2b_"], HexLower, (36, 44))
        .hits(&[
            ("E2B_API_KEY=e2b_f0bbd5408d3c9124b33739cd3151bbf0efd87631", "e2b_f0bbd5408d3c9124b33739cd3151bbf0efd87631"),
            ("  e2b_api_key: sk_e2b_c995a357faca3462e5732a19cc82598c9010d255", "sk_e2b_c995a357faca3462e5732a19cc82598c9010d255"),
        ])
        .misses(&["# the console shows e2b_cd1e1e and asks for the rest"]),
    // Knock, Novita, Svix and others.
    prefixed("SK_UNDERSCORE_KEY", &["sk_"], Alnum, (24, 64))
        .entropy(3.3)
        .allow(&["^sk_[^0-9]+$", "^sk_[a-z]+[0-9]{0,4}$"])
        .hits(&[
            ("The value sk_gkjJL9MmyG2ScS2LqQOGMZw3Fn62gkwrq1J8pebs9TB was rotated last week.", "sk_gkjJL9MmyG2ScS2LqQOGMZw3Fn62gkwrq1J8pebs9TB"),
            ("export SK_UNDERSCORE_KEY='sk_vqhWWnWHxW9jMj83O2BiV5FxePZCdZ7iFZxi3EV0nGV'", "sk_vqhWWnWHxW9jMj83O2BiV5FxePZCdZ7iFZxi3EV0nGV"),
        ])
        .misses(&["sk_buff", "sk_sp<SkImageFilterConfigurationBuilder>"]),
    prefixed("DAYTONA_KEY", &["dtn_"], HexLower, (60, 70))
        .hits(&[
            (r#"<add key="daytona_key" value="dtn_42a4bfc27c1ca44070404ce9849ef85fa88b9fcabf682b2ec7175f46da8d4103" />"#, "dtn_42a4bfc27c1ca44070404ce9849ef85fa88b9fcabf682b2ec7175f46da8d4103"),
            (r#"let client = Client::new("dtn_8d92002ac751afcc92f83ce7ab36dc2cbe751eec0fe9d67a10cf7705abdaf5c3");"#, "dtn_8d92002ac751afcc92f83ce7ab36dc2cbe751eec0fe9d67a10cf7705abdaf5c3"),
        ])
        .misses(&["# the console shows dtn_afd02b and asks for the rest"]),
    prefixed("HUMANLOOP_KEY", &["hl_sk_"], HexLower, (40, 64))
        .hits(&[
            ("The value hl_sk_933ea3d74c0d60c2807d2d79acff3094828aef6e4ad516cf was rotated last week.", "hl_sk_933ea3d74c0d60c2807d2d79acff3094828aef6e4ad516cf"),
            ("export HUMANLOOP_KEY='hl_sk_98f7333b3b09e217c1b0288d859b2c7d9c55709124edbcd8'", "hl_sk_98f7333b3b09e217c1b0288d859b2c7d9c55709124edbcd8"),
        ])
        .misses(&["# the console shows hl_sk_ffcd69 and asks for the rest"]),
    prefixed("PROMPTLAYER_KEY", &["pl_"], HexLower, (32, 40))
        .hits(&[
            (r#"<add key="promptlayer_key" value="pl_123d93704bbd1b3957852247a05a8214" />"#, "pl_123d93704bbd1b3957852247a05a8214"),
            (r#"let client = Client::new("pl_f21dc80ebf598d6753605bce52320b49");"#, "pl_f21dc80ebf598d6753605bce52320b49"),
        ])
        .misses(&["# the console shows pl_b2d0ad and asks for the rest"]),
    prefixed("TRACELOOP_KEY", &["tl_"], HexLower, (32, 64))
        .hits(&[
            ("- echo tl_779cc6f97e7b5293d50f80d354ad6935e91b092b9ef3dbd65913a66be06c0305 | tool login", "tl_779cc6f97e7b5293d50f80d354ad6935e91b092b9ef3dbd65913a66be06c0305"),
            (r#"<add key="traceloop_key" value="tl_2d218c91747bce5e8aba35ae40fa59d761777256d6c2fa0d354c59528d7424ac" />"#, "tl_2d218c91747bce5e8aba35ae40fa59d761777256d6c2fa0d354c59528d7424ac"),
        ])
        .misses(&["# the console shows tl_ad5ca2 and asks for the rest"]),
    prefixed("PREDIBASE_KEY", &["pb_"], Token, (20, 30))
        .entropy(3.5)
        .allow(&["^pb_[a-z_0-9-]+$"])
        .hits(&[
            ("https://api.example.com/v1/items?auth=pb_i4wZ0EYz34RgjKNQRY4HSx&page=2", "pb_i4wZ0EYz34RgjKNQRY4HSx"),
            ("- echo pb_OLmzIyM6P8SUnyhRIv71tm | tool login", "pb_OLmzIyM6P8SUnyhRIv71tm"),
        ])
        .misses(&["# the console shows pb_VVWflR and asks for the rest"]),
    prefixed("HYPERBROWSER_KEY", &["hb_"], HexLower, (28, 40))
        .hits(&[
            (r#"    "hyperbrowser_key": "hb_5be367ea41238d27b600ab2881a8e8","#, "hb_5be367ea41238d27b600ab2881a8e8"),
            ("The value hb_a148cd6ce9c786c17376e2723801b4 was rotated last week.", "hb_a148cd6ce9c786c17376e2723801b4"),
        ])
        .misses(&["# the console shows hb_097eda and asks for the rest"]),
    prefixed("STEEL_KEY", &["ste-"], Alnum, (60, 80))
        .hits(&[
            (r#"<add key="steel_key" value="ste-2SjlQlJjNTL8BBZPJ3fw1VPs2ndwjphvw3CNeLXTnVlfCtCs8w6zrArNfl8J7Tqedw2GJg" />"#, "ste-2SjlQlJjNTL8BBZPJ3fw1VPs2ndwjphvw3CNeLXTnVlfCtCs8w6zrArNfl8J7Tqedw2GJg"),
            (r#"let client = Client::new("ste-KpMADpI9mUfTHemoncTiwT6PNnXpIVZXwOxb6NbgWVna7STrmqoHFOTmS4tFxi1Ix0RCQC");"#, "ste-KpMADpI9mUfTHemoncTiwT6PNnXpIVZXwOxb6NbgWVna7STrmqoHFOTmS4tFxi1Ix0RCQC"),
        ])
        .misses(&["# the console shows ste-f2vbMr and asks for the rest"]),
    prefixed("LUMA_KEY", &["luma-"], Token, (60, 100))
        .hits(&[
            ("LUMA_KEY=luma-ec07b031-ec94-4d6c-96a8-c82fd2a1061e-9d8f0b36-9165-4d1b-b656-52ffb50c99a5", "luma-ec07b031-ec94-4d6c-96a8-c82fd2a1061e-9d8f0b36-9165-4d1b-b656-52ffb50c99a5"),
            ("  luma_key: luma-274e8310-d652-4ba4-8d1f-aa169532603e-f0a718b2-82a9-4580-9261-2c3c3b9b0d5b", "luma-274e8310-d652-4ba4-8d1f-aa169532603e-f0a718b2-82a9-4580-9261-2c3c3b9b0d5b"),
        ])
        .misses(&["# the console shows luma-R6ymw7 and asks for the rest"]),
    prefixed("SEGMIND_KEY", &["SG_"], HexLower, (16, 32))
        .hits(&[
            ("args: ['--auth', 'SG_a69c250b05a561d7']", "SG_a69c250b05a561d7"),
            ("https://api.example.com/v1/items?auth=SG_58be64a0488efde4&page=2", "SG_58be64a0488efde4"),
        ])
        .misses(&["# the console shows SG_bf7d5 and asks for the rest"]),
    prefixed("RUNWAY_KEY", &["key_"], HexLower, (100, 140))
        .hits(&[
            ("The value key_4045ace3c0905982b88a64192fa312d7d028bfd76bca31f348c3b0b2da33f3615c1504eeef0c777b62b86acbcee00cb8ff6da3c1143db294ef7edd869ecbaae4 was rotated last week.", "key_4045ace3c0905982b88a64192fa312d7d028bfd76bca31f348c3b0b2da33f3615c1504eeef0c777b62b86acbcee00cb8ff6da3c1143db294ef7edd869ecbaae4"),
            ("export RUNWAY_KEY='key_00259fe122753131de5fa4e3f3c0baee394e4e87038247b2d1cb9b312254cd6a434fdafa6ca4e12e704f3f62cea80a7abcbe04a8c3269414d5a6c114e08337bf'", "key_00259fe122753131de5fa4e3f3c0baee394e4e87038247b2d1cb9b312254cd6a434fdafa6ca4e12e704f3f62cea80a7abcbe04a8c3269414d5a6c114e08337bf"),
        ])
        .misses(&["# the console shows key_54707b and asks for the rest"]),
    prefixed("YOU_API_KEY", &["ydc-sk-"], Token, (20, 60))
        .hits(&[
            ("The value ydc-sk-P4eiti8WavfqwQCe-0m3me8AAyZSq1ZuM was rotated last week.", "ydc-sk-P4eiti8WavfqwQCe-0m3me8AAyZSq1ZuM"),
            ("export YOU_API_KEY='ydc-sk-sX6PaPLSFWVTOSf3-e3fBlxhwyYDfj96l'", "ydc-sk-sX6PaPLSFWVTOSf3-e3fBlxhwyYDfj96l"),
        ])
        .misses(&["# the console shows ydc-sk-qWi2WP and asks for the rest"]),
    prefixed("ARCJET_KEY", &["ajkey_"], Lower, (20, 40))
        .hits(&[
            (r#"let client = Client::new("ajkey_01r62d9j8k99200lfir2401rj8");"#, "ajkey_01r62d9j8k99200lfir2401rj8"),
            ("ARCJET_KEY=ajkey_01pzwz8h9pgugald8u3c5admir", "ajkey_01pzwz8h9pgugald8u3c5admir"),
        ])
        .misses(&["# the console shows ajkey_4q6h1z and asks for the rest"]),
    prefixed("CODESANDBOX_TOKEN", &["csb_v1_"], Token, (30, 60))
        .hits(&[
            ("args: ['--auth', 'csb_v1_KOnxLFA3_lZwLVVTaX4Uqfez4LeIMUAiGWT1jGwutFp']", "csb_v1_KOnxLFA3_lZwLVVTaX4Uqfez4LeIMUAiGWT1jGwutFp"),
            ("https://api.example.com/v1/items?auth=csb_v1_VqCVDs72FBbg5A9hVUmQCgbkCergKujQp3iKGFCATB1&page=2", "csb_v1_VqCVDs72FBbg5A9hVUmQCgbkCergKujQp3iKGFCATB1"),
        ])
        .misses(&["# the console shows csb_v1_1Z-aYI and asks for the rest"]),
    prefixed("COMPOSIO_KEY", &["comp_", "oak_"], Alnum, (20, 60))
        .entropy(3.3)
        .allow(&["^(?:comp|oak)_[^0-9]+$"])
        .hits(&[
            ("COMPOSIO_KEY=comp_JtTpQ2G2puC9Yx9pMIZxFObVrHMk2BDJ", "comp_JtTpQ2G2puC9Yx9pMIZxFObVrHMk2BDJ"),
            ("  composio_key: oak_HQWtBeYM19NHXZfp4mVBwb4JKL3u5ZW6", "oak_HQWtBeYM19NHXZfp4mVBwb4JKL3u5ZW6"),
        ])
        .misses(&["# the console shows comp_UaguVU and asks for the rest"]),
    prefixed("LANGDB_KEY", &["langdb_"], Alnum, (30, 70))
        .hits(&[
            ("export LANGDB_KEY='langdb_AQNzenSKMLTRO2TkJeKmeWtZ7UE9IeSsl9ZBCD6wuBS'", "langdb_AQNzenSKMLTRO2TkJeKmeWtZ7UE9IeSsl9ZBCD6wuBS"),
            ("args: ['--auth', 'langdb_XkzYl9bjrhqeHXkzMp8VCxC3dYxrnqPMgKzgO8b6xmf']", "langdb_XkzYl9bjrhqeHXkzMp8VCxC3dYxrnqPMgKzgO8b6xmf"),
        ])
        .misses(&["# the console shows langdb_xiVgjh and asks for the rest"]),
];

//! Model vendors and the services around them.

use super::super::rule::Charset::{Alnum, Base64, HexLower, Lower, Token};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // OpenAI, Anthropic, Google.

    prefixed("OPENAI_PROJECT_KEY", &["sk-proj-"], Token, (40, 260))
        .hits(&[
            (r#"<add key="openai_project_key" value="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" />"#, "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"),
            (r#"let client = Client::new("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");"#, "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"),
        ])
        .misses(&["# the console shows sk-proj-IPOpKF and asks for the rest"]),
    prefixed("OPENAI_SERVICE_ACCOUNT_KEY", &["sk-svcacct-"], Token, (40, 260))
        .hits(&[
            ("args: ['--auth', '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']", "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"),
            ("https://api.example.com/v1/items?auth=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&page=2", "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"),
        ])
        .misses(&["# the console shows sk-svcacct-DtKRer and asks for the rest"]),
    prefixed("OPENAI_ADMIN_KEY", &["sk-admin-"], Token, (40, 260))
        .hits(&[
            ("export OPENAI_ADMIN_KEY='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'", "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"),
            ("args: ['--auth', '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']", "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"),
        ])
        .misses(&["# the console shows sk-admin-4EZ4E2 and asks for the rest"]),
    pattern(
        "OPENAI_API_KEY",
        &["t3blbkfj"],
        r"\bsk-[\w-]{16,160}T3BlbkFJ[\w-]{16,160}",
    )
        .hits(&[
            ("OPENAI_API_KEY=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", "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"),
            (r#"openai.api_key = "sk-None-RubSstB7MQFwVRrGZZnVT3BlbkFJiLTbtgQw8eBz6E6N8EHr""#, "sk-None-RubSstB7MQFwVRrGZZnVT3BlbkFJiLTbtgQw8eBz6E6N8EHr"),
        ])
        .misses(&["the marker T3BlbkFJ is base64 for OpenAI"]),
    // OpenAI (old), DeepSeek, Moonshot, Stability, Qwen and many gateways.
    prefixed("SK_API_KEY", &["sk-"], Alnum, (32, 64))
        .entropy(3.0)
        .allow(&["^sk-[a-z]+$"])
        .hits(&[
            (r#"let client = Client::new("sk-we2l2CtBqLP1344Ced92eP0nQ5q3ekW4YLCDFsdnKgoPlydg");"#, "sk-we2l2CtBqLP1344Ced92eP0nQ5q3ekW4YLCDFsdnKgoPlydg"),
            ("SK_API_KEY=sk-205c20fb409d637175b70806521432c4", "sk-205c20fb409d637175b70806521432c4"),
            ("  sk_api_key: sk-5Q40quwjdKfhmZtfI6z3JpYNe3lpKGe5xCOlyAJo9scZ1q6L", "sk-5Q40quwjdKfhmZtfI6z3JpYNe3lpKGe5xCOlyAJo9scZ1q6L"),
        ])
        .misses(&["sk-spinner-container", r#"class="sk-circle-fade-dot""#]),
    prefixed("OPENAI_SESSION_TOKEN", &["sess-"], Alnum, (40, 40))
        .entropy(3.0)
        .hits(&[
            (r#"let client = Client::new("sess-14oLx6MXxUIHjJuP9yViRTvOVR6WcL7Fo0ygCgEd");"#, "sess-14oLx6MXxUIHjJuP9yViRTvOVR6WcL7Fo0ygCgEd"),
            ("OPENAI_SESSION_TOKEN=sess-CFpl5goAUmF97TReQU54nsUMjuuw94TALDigKza1", "sess-CFpl5goAUmF97TReQU54nsUMjuuw94TALDigKza1"),
        ])
        .misses(&["# the console shows sess-qnLRbZ and asks for the rest"]),
    prefixed("ANTHROPIC_API_KEY", &["sk-ant-api"], Token, (40, 200))
        .hits(&[
            (r#"    "anthropic_api_key": "sk-ant-api03-gs5Q8-pAKLH4Ab2TOoIrbnLYCm1kwhmwy6ID7nwg_KDqb4E-Otrd3EVCuBooN_zMHq4-9Eby87n6ajDSuGjSh39ooG4QlAA","#, "sk-ant-api03-gs5Q8-pAKLH4Ab2TOoIrbnLYCm1kwhmwy6ID7nwg_KDqb4E-Otrd3EVCuBooN_zMHq4-9Eby87n6ajDSuGjSh39ooG4QlAA"),
            ("The value sk-ant-api03-RrTHumDRmVT5OnF-kejUNwd4GDxWpa0J1qOX-ap3LWd6S4KV0YwXOTTVEZjgC5SaqoiRf1ahcLlgiQwqDOZGS-Lw7PUm9AA was rotated last week.", "sk-ant-api03-RrTHumDRmVT5OnF-kejUNwd4GDxWpa0J1qOX-ap3LWd6S4KV0YwXOTTVEZjgC5SaqoiRf1ahcLlgiQwqDOZGS-Lw7PUm9AA"),
        ])
        .misses(&["# the console shows sk-ant-apiXKg_ud and asks for the rest"]),
    prefixed("ANTHROPIC_ADMIN_KEY", &["sk-ant-admin"], Token, (40, 200))
        .hits(&[
            ("  anthropic_admin_key: sk-ant-admin01-WiEuymsazGr-FR082rhdx7Et1Uo-zwdmFKj57IjApYmoLlz7efv6DPXAGgX3dTdDe6IkzhWxu0qQESCfVAOYBMteigt22AA", "sk-ant-admin01-WiEuymsazGr-FR082rhdx7Et1Uo-zwdmFKj57IjApYmoLlz7efv6DPXAGgX3dTdDe6IkzhWxu0qQESCfVAOYBMteigt22AA"),
            (r#"    "anthropic_admin_key": "sk-ant-admin01-E8GsrdhGF3VFmJAt-HoXn8lbPo2upJBvFmASYya_pIOcgwi98LdcxaGjHieXjAtpmc5NL85MfqzRvFq1D3tnNgwMZOWevAA","#, "sk-ant-admin01-E8GsrdhGF3VFmJAt-HoXn8lbPo2upJBvFmASYya_pIOcgwi98LdcxaGjHieXjAtpmc5NL85MfqzRvFq1D3tnNgwMZOWevAA"),
        ])
        .misses(&["# the console shows sk-ant-adminAZ03k- and asks for the rest"]),
    prefixed("ANTHROPIC_OAUTH_TOKEN", &["sk-ant-oat", "sk-ant-ort", "sk-ant-sid"], Token, (40, 200))
        .hits(&[
            ("export ANTHROPIC_OAUTH_TOKEN='sk-ant-oat01-XdOw4t1BpbllttSNmajKGiqBEsRanPGn0L2pHp-eZ_sYR2tkBtGGb7FUyJrLOoyYJT1dUI1Tj2bwnUIvgjSQTa9JgB7qlAA'", "sk-ant-oat01-XdOw4t1BpbllttSNmajKGiqBEsRanPGn0L2pHp-eZ_sYR2tkBtGGb7FUyJrLOoyYJT1dUI1Tj2bwnUIvgjSQTa9JgB7qlAA"),
            ("args: ['--auth', 'sk-ant-ort01-5XbiMbYf0x5qgLeRltxADaTWJzlB6zYFj6YY7dZJukqUdOghnt6WFJqF8yP7mVbTe2LvIUmz-KYCCOIpWVk2MxCNHW6-LAA']", "sk-ant-ort01-5XbiMbYf0x5qgLeRltxADaTWJzlB6zYFj6YY7dZJukqUdOghnt6WFJqF8yP7mVbTe2LvIUmz-KYCCOIpWVk2MxCNHW6-LAA"),
            ("https://api.example.com/v1/items?auth=sk-ant-sid01-9Zvyh1KzYotxBG6hHRrwnlu55oEvdZ1ePADWD30HCta9qXB9mMzvr9dmdwvKXPZpQ-O1H1bMIB-y5ik842c7eAEjBFOt0AA&page=2", "sk-ant-sid01-9Zvyh1KzYotxBG6hHRrwnlu55oEvdZ1ePADWD30HCta9qXB9mMzvr9dmdwvKXPZpQ-O1H1bMIB-y5ik842c7eAEjBFOt0AA"),
        ])
        .misses(&["# the console shows sk-ant-oatf4S19K and asks for the rest"]),
    prefixed("GEMINI_API_KEY", &["AQ.Ab8R"], Token, (30, 100))
        .hits(&[
            ("export GEMINI_API_KEY='AQ.Ab8RN6MAX3qEhTZJ4Zw0ccJQprJIMtjonwWlADo7EqI-0e9nqz'", "AQ.Ab8RN6MAX3qEhTZJ4Zw0ccJQprJIMtjonwWlADo7EqI-0e9nqz"),
            ("args: ['--auth', 'AQ.Ab8RN6aC-ht_OtScgrlifam6rDHyCCmIGQdsr0AX3zt9GSxA4i']", "AQ.Ab8RN6aC-ht_OtScgrlifam6rDHyCCmIGQdsr0AX3zt9GSxA4i"),
        ])
        .misses(&["# the console shows AQ.Ab8RfIWgXt and asks for the rest"]),

    // Other models.

    prefixed("HUGGINGFACE_TOKEN", &["hf_"], Alnum, (30, 40))
        .entropy(3.0)
        .hits(&[
            (r#"    "huggingface_token": "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","#, "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"),
            ("The value 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 was rotated last week.", "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"),
        ])
        .misses(&["hf_hub_download(repo_id, filename)"]),
    prefixed("HUGGINGFACE_ORG_TOKEN", &["api_org_"], Alnum, (30, 40))
        .entropy(3.0)
        .hits(&[
            ("The value 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 was rotated last week.", "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"),
            ("export HUGGINGFACE_ORG_TOKEN='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'", "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"),
        ])
        .misses(&["# the console shows api_org_eq1yj6 and asks for the rest"]),
    assigned("COHERE_API_KEY", &["cohere", "coapikey"], Alnum, (40, 40))
        .entropy(3.0)
        .allow(&["^[0-9a-f]+$", "^[^0-9]+$"])
        .hits(&[
            (r#"cohere_api_key = "jhOfE7Z5ReEUPOh7Ek4E6rvrJ49ifQAFOSuBQrgt""#, "jhOfE7Z5ReEUPOh7Ek4E6rvrJ49ifQAFOSuBQrgt"),
            ("CO_API_KEY=FxSpJuarrQSXpyiuJ9Z88Z9unlMKTgfUKAmvW32x", "FxSpJuarrQSXpyiuJ9Z88Z9unlMKTgfUKAmvW32x"),
        ])
        .misses(&[r#"cohere_region = "eu-central-1""#]),
    prefixed("PERPLEXITY_API_KEY", &["pplx-"], Alnum, (32, 64))
        .hits(&[
            (r#"    "perplexity_api_key": "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","#, "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"),
            ("The value 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 was rotated last week.", "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"),
        ])
        .misses(&[r#"model="pplx-70b-online""#]),
    prefixed("GROQ_API_KEY", &["gsk_"], Alnum, (40, 64))
        .hits(&[
            ("The value 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 was rotated last week.", "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"),
            ("export GROQ_API_KEY='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'", "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"),
        ])
        .misses(&["# the console shows gsk_1eI27y and asks for the rest"]),
    assigned("MISTRAL_API_KEY", &["mistral"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("mistral_api_key: bE8NkX1D2QK2H3tQi9tV78SdByy5ejq5", "bE8NkX1D2QK2H3tQi9tV78SdByy5ejq5"),
            (r#"  "mistral_key": "sGo0AKbDD3Ymc6iplUvxlKCoaNjllP3O","#, "sGo0AKbDD3Ymc6iplUvxlKCoaNjllP3O"),
        ])
        .misses(&[r#"mistral_model = "open-mixtral-8x7b""#]),
    prefixed("REPLICATE_TOKEN", &["r8_"], Alnum, (32, 40))
        .entropy(3.0)
        .hits(&[
            ("The value r8_phIq90d9Wke4BZx10mPoof7FvLSaxeMTPUHZa was rotated last week.", "r8_phIq90d9Wke4BZx10mPoof7FvLSaxeMTPUHZa"),
            ("export REPLICATE_TOKEN='r8_eTk5tVGqsJGSX2LBAwQnWRGYjj4iyOlVFK8O6'", "r8_eTk5tVGqsJGSX2LBAwQnWRGYjj4iyOlVFK8O6"),
        ])
        .misses(&["# the console shows r8_TBpNJ6 and asks for the rest"]),
    prefixed("XAI_API_KEY", &["xai-"], Alnum, (60, 120))
        .hits(&[
            ("The value xai-FlmkD4uBmPM7hq2s43IaWCzhVACXLYwU0V6bpezZ6S0OAjUW8OG2G4CqMnYdINqPeLWY11nNM1XIDhO5 was rotated last week.", "xai-FlmkD4uBmPM7hq2s43IaWCzhVACXLYwU0V6bpezZ6S0OAjUW8OG2G4CqMnYdINqPeLWY11nNM1XIDhO5"),
            ("export XAI_API_KEY='xai-tqVrhtxQSQ6JWig9BrEkSpsp404Ce90egNBNBMxPjpHFtt0RD3RaZKRoHGeHtLCsS5RE7rg1WcvCSLo1'", "xai-tqVrhtxQSQ6JWig9BrEkSpsp404Ce90egNBNBMxPjpHFtt0RD3RaZKRoHGeHtLCsS5RE7rg1WcvCSLo1"),
        ])
        .misses(&["# the console shows xai-YPCn24 and asks for the rest"]),
    prefixed("TOGETHER_API_KEY", &["tgp_v1_", "tgsk_"], Token, (36, 70))
        .hits(&[
            ("export TOGETHER_API_KEY='tgp_v1_X6Il57nP5m8c2CRCG5KFO3Kk6CPpscBhUOKz1md3hP2'", "tgp_v1_X6Il57nP5m8c2CRCG5KFO3Kk6CPpscBhUOKz1md3hP2"),
            ("args: ['--auth', 'tgsk_KeYeePezpvdr65MUdNvhY_Jz5h5Mi7NRKSVLDqA8O28']", "tgsk_KeYeePezpvdr65MUdNvhY_Jz5h5Mi7NRKSVLDqA8O28"),
        ])
        .misses(&["# the console shows tgp_v1_o2NJ8b and asks for the rest"]),
    assigned("TOGETHER_LEGACY_KEY", &["togetherai", "togetherapi", "togetherkey"], HexLower, (64, 64))
        .hits(&[
            (r#"  "together_api_key": "924fdcc6a3313343d74e5530e1388812793a579dfea4e25949e825932f8d45e4","#, "924fdcc6a3313343d74e5530e1388812793a579dfea4e25949e825932f8d45e4"),
            ("const togetheraiKey = '9fd31be208570f619f17ec81e7adabb7520b849bc2b03406b7b80da70bd40bc8';", "9fd31be208570f619f17ec81e7adabb7520b849bc2b03406b7b80da70bd40bc8"),
        ])
        .misses(&[r#"together_region = "eu-central-1""#]),
    prefixed("FIREWORKS_API_KEY", &["fw_", "fpk_"], Alnum, (20, 40))
        .entropy(3.0)
        .allow(&["^fw_[a-z]+$"])
        .hits(&[
            ("args: ['--auth', 'fw_xKVmABSev2PYAOwQMclEnj2I']", "fw_xKVmABSev2PYAOwQMclEnj2I"),
            ("https://api.example.com/v1/items?auth=fpk_UCHS10vFeSvDYFncC7oqPAeN&page=2", "fpk_UCHS10vFeSvDYFncC7oqPAeN"),
        ])
        .misses(&["fw_version = 3"]),
    prefixed("OPENROUTER_API_KEY", &["sk-or-v1-", "sk-or-"], Token, (40, 80))
        .hits(&[
            ("- echo 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 | tool login", "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"),
            (r#"<add key="openrouter_api_key" value="sk-or-8c1b59aec28221cddbc6236b10ddc15df8de24fc3b8c7afa16459c36b525488d" />"#, "sk-or-8c1b59aec28221cddbc6236b10ddc15df8de24fc3b8c7afa16459c36b525488d"),
        ])
        .misses(&["# the console shows sk-or-v1-0vmtmD and asks for the rest"]),
    prefixed("CEREBRAS_API_KEY", &["csk-"], Lower, (40, 64))
        .hits(&[
            ("The value csk-0m0cumuybvqquw4tknt6exl4gbvelprd6nhs1cx6utz23v55 was rotated last week.", "csk-0m0cumuybvqquw4tknt6exl4gbvelprd6nhs1cx6utz23v55"),
            ("export CEREBRAS_API_KEY='csk-ki5nlx07k5mv3dauxqe0waba1d0lbdqqgo90w17155d9ofeo'", "csk-ki5nlx07k5mv3dauxqe0waba1d0lbdqqgo90w17155d9ofeo"),
        ])
        .misses(&["# the console shows csk-fkan5f and asks for the rest"]),
    prefixed("NVIDIA_API_KEY", &["nvapi-"], Token, (40, 90))
        .hits(&[
            ("  nvidia_api_key: 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", "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"),
            (r#"    "nvidia_api_key": "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","#, "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"),
        ])
        .misses(&["# the console shows nvapi-Bsuo2V and asks for the rest"]),
    prefixed("VOYAGE_API_KEY", &["pa-", "al-"], Token, (40, 50))
        .entropy(3.8)
        .allow(&["^(?:pa|al)-[a-z0-9]+(?:-[a-z0-9]+)+$"])
        .hits(&[
            ("  voyage_api_key: pa-wKLToiT1ZRdhmASszTar3JzwoliGSfTfjdbNpsiBRj8", "pa-wKLToiT1ZRdhmASszTar3JzwoliGSfTfjdbNpsiBRj8"),
            (r#"    "voyage_api_key": "al-s7k_LksE5bdqrQQtMzuW1Cc8FqhjWPJTTxoV7NEtHqq","#, "al-s7k_LksE5bdqrQQtMzuW1Cc8FqhjWPJTTxoV7NEtHqq"),
        ])
        .misses(&[r#"class="pa-4 text-center""#]),
    assigned("AI21_API_KEY", &["ai21"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("AI21_API_KEY=LDQ5Lw23wArM01jl9kQdMR8wd5gs9xv5", "LDQ5Lw23wArM01jl9kQdMR8wd5gs9xv5"),
            ("ai21_key: UUsOQkASJpVuR4JacqkwKzP3wAfNnSMb", "UUsOQkASJpVuR4JacqkwKzP3wAfNnSMb"),
        ])
        .misses(&[r#"ai21_region = "eu-central-1""#]),
    assigned("DEEPGRAM_API_KEY", &["deepgram"], HexLower, (40, 40))
        .hits(&[
            ("DEEPGRAM_API_KEY=a9128d8b63311c0cd72ec72a2a9df7b3572c2b0b", "a9128d8b63311c0cd72ec72a2a9df7b3572c2b0b"),
            ("deepgram_key: 2c7f82d6213705967a6247da5d845dfd164528b7", "2c7f82d6213705967a6247da5d845dfd164528b7"),
        ])
        .misses(&[r#"deepgram_region = "eu-central-1""#]),
    assigned("ASSEMBLYAI_API_KEY", &["assemblyai"], HexLower, (32, 32))
        .hits(&[
            ("const assemblyaiApiKey = 'a28e61bb67124eb28616334c2735a113';", "a28e61bb67124eb28616334c2735a113"),
            (r#"assemblyai_key = "68fc877ded414b44707e764c9ddce053""#, "68fc877ded414b44707e764c9ddce053"),
        ])
        .misses(&[r#"assemblyai_region = "eu-central-1""#]),
    prefixed("ELEVENLABS_API_KEY", &["sk_"], HexLower, (48, 48))
        .hits(&[
            ("ELEVENLABS_API_KEY=sk_79ecf1358ea9aed20dc0375c074943b8185192ca30f83e96", "sk_79ecf1358ea9aed20dc0375c074943b8185192ca30f83e96"),
            ("  elevenlabs_api_key: sk_9deb404c1dc03d28763496e56bd13bf7d7ccdcef304d4d3b", "sk_9deb404c1dc03d28763496e56bd13bf7d7ccdcef304d4d3b"),
        ])
        .misses(&["sk_buff *skb = alloc_skb(len, GFP_KERNEL);"]),
    assigned("ELEVENLABS_LEGACY_KEY", &["elevenlabs", "xiapikey"], HexLower, (32, 32))
        .hits(&[
            (r#"  "elevenlabs_api_key": "01c103b633001ab490deca1c28ed3d8c","#, "01c103b633001ab490deca1c28ed3d8c"),
            ("const xiApiKey = 'd60bafa04ad61fc8ce1a21686baf3160';", "d60bafa04ad61fc8ce1a21686baf3160"),
        ])
        .misses(&[r#"elevenlabs_region = "eu-central-1""#]),
    pattern(
        "ZHIPU_API_KEY",
        &["zhipu", "bigmodel", "z_ai", "z.ai", "zai_", "glm_"],
        r"\b[0-9a-f]{32}\.[0-9A-Za-z]{16}\b",
    )
        .hits(&[
            ("ZHIPUAI_API_KEY=f4f8c5e8e3ab586d624406b5fb8ee1a7.SuDMWiO48JZatYkh", "f4f8c5e8e3ab586d624406b5fb8ee1a7.SuDMWiO48JZatYkh"),
            (r#"zai_client = Client("aa5d8c3b3cfbd1862983754ddef26ecf.0LYPOVQNQQC0FZr7")"#, "aa5d8c3b3cfbd1862983754ddef26ecf.0LYPOVQNQQC0FZr7"),
        ])
        .misses(&["zhipu model glm-4.6"]),
    pattern(
        "OLLAMA_API_KEY",
        &["ollama"],
        r"\b[0-9a-f]{32}\.[\w-]{24}\b",
    )
        .hits(&[
            ("OLLAMA_API_KEY=ba80417335776cf1249433769a547e39.I4jAQQC5YIax0d3WEKICnHwl", "ba80417335776cf1249433769a547e39.I4jAQQC5YIax0d3WEKICnHwl"),
            (r#"ollama: "4160a93837ec1b41a26bbc31675ff540.MhoHXEZkPDTV8RA4khou6GNw""#, "4160a93837ec1b41a26bbc31675ff540.MhoHXEZkPDTV8RA4khou6GNw"),
        ])
        .misses(&["ollama run llama3.2"]),
    prefixed("MINIMAX_API_KEY", &["sk-api-"], Token, (60, 160))
        .hits(&[
            ("args: ['--auth', 'sk-api-EA2m-TPOST8bjJLX2ADnQXKH13sYDKzuUlpeUPmfmh1JelJXzoYhV83WE5ydtwT1fQ3x9HSuJC87NRe_KLN98V1ATI0WhoJ7-7tFiS1WpKZgv2O_t5aDt89']", "sk-api-EA2m-TPOST8bjJLX2ADnQXKH13sYDKzuUlpeUPmfmh1JelJXzoYhV83WE5ydtwT1fQ3x9HSuJC87NRe_KLN98V1ATI0WhoJ7-7tFiS1WpKZgv2O_t5aDt89"),
            ("https://api.example.com/v1/items?auth=sk-api-hBpIgI3pp1Try-DfuFpM5clWWfdsjh2cYezliJPNG8rKVUn1ik9bdRQz_kgVTn_R9IILSyPmIY6JOVz-qXzCL5yqBq3Gjj2uw4hvFKuR0fxpcocgwnkdywh&page=2", "sk-api-hBpIgI3pp1Try-DfuFpM5clWWfdsjh2cYezliJPNG8rKVUn1ik9bdRQz_kgVTn_R9IILSyPmIY6JOVz-qXzCL5yqBq3Gjj2uw4hvFKuR0fxpcocgwnkdywh"),
        ])
        .misses(&["# the console shows sk-api-1TdMpz and asks for the rest"]),
    prefixed("UPSTAGE_API_KEY", &["up_"], Alnum, (26, 36))
        .entropy(3.5)
        .allow(&["^up_[a-z]+$"])
        .hits(&[
            ("- echo up_1OPOkwWZnwW2YnoEnKxthtkiOvdJP | tool login", "up_1OPOkwWZnwW2YnoEnKxthtkiOvdJP"),
            (r#"<add key="upstage_api_key" value="up_ddM8MsWwE0d9MaI2lobHnbekC6WZf" />"#, "up_ddM8MsWwE0d9MaI2lobHnbekC6WZf"),
        ])
        .misses(&["up_proj = linear(x)"]),
    prefixed("CURSOR_API_KEY", &["key_", "crsr_"], HexLower, (60, 64))
        .hits(&[
            (r#"    "cursor_api_key": "key_ada6001e0fe70201e70db1f5cd03f4fd857ba0b86c91c87d61915fad366123aa","#, "key_ada6001e0fe70201e70db1f5cd03f4fd857ba0b86c91c87d61915fad366123aa"),
            ("The value crsr_f5e0ef4075e6e951e9a7fe694b3eaff6a1ece9e46de56c37346fbddbf1d2e9bf was rotated last week.", "crsr_f5e0ef4075e6e951e9a7fe694b3eaff6a1ece9e46de56c37346fbddbf1d2e9bf"),
        ])
        .misses(&["key_id"]),
    prefixed("DEVIN_API_KEY", &["apk_user_", "apk_", "cog_"], Base64, (40, 200))
        .hits(&[
            ("export DEVIN_API_KEY='apk_user_ulhfTVc5tJ7Zbu15pVCULCOs0zEAgpLMk7vaaSLvEMzVtHpPMLAgB37G2ixzzOecnj3yl1FTce8dMwsP5FQmfhJny82Yy5HUMGaE7ouqiJ0WoIqUgWPoZquPdwULVyvW'", "apk_user_ulhfTVc5tJ7Zbu15pVCULCOs0zEAgpLMk7vaaSLvEMzVtHpPMLAgB37G2ixzzOecnj3yl1FTce8dMwsP5FQmfhJny82Yy5HUMGaE7ouqiJ0WoIqUgWPoZquPdwULVyvW"),
            ("args: ['--auth', 'apk_gDrcUHNLt3Sebl2WfB6xa3JxPc3FC5mMWRDIs9S3ZpC5M1HwCqW1o0dy5d2glkXzdKgivyYTZECyDKC4Etwk2LIY']", "apk_gDrcUHNLt3Sebl2WfB6xa3JxPc3FC5mMWRDIs9S3ZpC5M1HwCqW1o0dy5d2glkXzdKgivyYTZECyDKC4Etwk2LIY"),
            ("https://api.example.com/v1/items?auth=cog_2td26k4pdkpcm7t4qlakopksu4mzehavisivizi2hiibgr53hgrt&page=2", "cog_2td26k4pdkpcm7t4qlakopksu4mzehavisivizi2hiibgr53hgrt"),
        ])
        .misses(&["# the console shows apk_user_B0ZOxB and asks for the rest"]),
    pattern(
        "BASETEN_API_KEY",
        &["baseten"],
        r"\b[0-9A-Za-z]{8}\.[0-9A-Za-z]{32}\b",
    )
        .hits(&[
            ("BASETEN_API_KEY=zz3hx9qg.vyJf5RtjndD8SOy5eC1JPLUFAcQIC9XL", "zz3hx9qg.vyJf5RtjndD8SOy5eC1JPLUFAcQIC9XL"),
            (r#"baseten.login("Ol9QNrTr.ZCEdNfVxh4RyINJx8DsVDTHkvNh12LuJ")"#, "Ol9QNrTr.ZCEdNfVxh4RyINJx8DsVDTHkvNh12LuJ"),
        ])
        .misses(&["import baseten"]),
    prefixed("MODAL_TOKEN", &["ak-", "as-"], Alnum, (22, 22))
        .entropy(3.5)
        .allow(&["^a[ks]-[a-z]+$"])
        .hits(&[
            (r#"<add key="modal_token" value="ak-XIEdHUM0IgkZEEEoVJmsZS" />"#, "ak-XIEdHUM0IgkZEEEoVJmsZS"),
            (r#"let client = Client::new("as-kGoxrXKQH24pOXwid046hC");"#, "as-kGoxrXKQH24pOXwid046hC"),
        ])
        .misses(&["as-is"]),
    prefixed("ANYSCALE_API_KEY", &["esecret_", "aph0_"], Alnum, (20, 64))
        .hits(&[
            ("args: ['--auth', 'esecret_LLRDk055eQBmdChgnteRKWCyUj']", "esecret_LLRDk055eQBmdChgnteRKWCyUj"),
            ("https://api.example.com/v1/items?auth=aph0_zvaSQSP8bH8qPFgSFw3k41nhvW&page=2", "aph0_zvaSQSP8bH8qPFgSFw3k41nhvW"),
        ])
        .misses(&["# the console shows esecret_C8UKnQ and asks for the rest"]),
    prefixed("RUNPOD_API_KEY", &["rpa_"], Alnum, (32, 64))
        .hits(&[
            ("RUNPOD_API_KEY=rpa_0OTGXA3XRQFWKU25SSJ6AE2ZF7UR792WQK2UGW4Zhew0qc", "rpa_0OTGXA3XRQFWKU25SSJ6AE2ZF7UR792WQK2UGW4Zhew0qc"),
            ("  runpod_api_key: rpa_5U83SRQWT8OQ3YDLVRRATAUNDPE7EUKAYA1OW9ZEsbmcai", "rpa_5U83SRQWT8OQ3YDLVRRATAUNDPE7EUKAYA1OW9ZEsbmcai"),
        ])
        .misses(&["# the console shows rpa_leqr7p and asks for the rest"]),
    prefixed("DIFY_API_KEY", &["app-", "dataset-"], Alnum, (24, 24))
        .entropy(3.5)
        .allow(&["^(?:app|dataset)-[a-z]+$"])
        .hits(&[
            ("The value app-dHubh0Yq2SBesnqnuwm1rfR9 was rotated last week.", "app-dHubh0Yq2SBesnqnuwm1rfR9"),
            ("export DIFY_API_KEY='dataset-c9CgbjLSE9E3jbGNDfoonPff'", "dataset-c9CgbjLSE9E3jbGNDfoonPff"),
        ])
        .misses(&["app-routing-module"]),
    prefixed("COZE_TOKEN", &["pat_", "cztei_"], Alnum, (60, 66))
        .hits(&[
            ("The value pat_oycVTuMan6OKkGxXKh43cOLihhuQF9Jcy6X1XqOhhi5sUVIttBKnOJ75AsLeYxlq was rotated last week.", "pat_oycVTuMan6OKkGxXKh43cOLihhuQF9Jcy6X1XqOhhi5sUVIttBKnOJ75AsLeYxlq"),
            ("export COZE_TOKEN='cztei_m2K4Q6qDEX4Pyt6NEbZnSK0RlR5RtsYuXD5xa3djCLA7M6VA73D8wtJhLDiRtlB5'", "cztei_m2K4Q6qDEX4Pyt6NEbZnSK0RlR5RtsYuXD5xa3djCLA7M6VA73D8wtJhLDiRtlB5"),
        ])
        .misses(&["# the console shows pat_DJXl5S and asks for the rest"]),
    pattern(
        "FAL_API_KEY",
        &["fal_", "fal.", "fal-", "@fal", r#""fal""#],
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:[0-9a-f]{32}\b",
    )
        .hits(&[
            ("FAL_KEY=33f4b240-dc58-458b-85ac-168845c4c4e1:39d3591aa9c7c602690c36c10e61a32b", "33f4b240-dc58-458b-85ac-168845c4c4e1:39d3591aa9c7c602690c36c10e61a32b"),
            (r#"fal.config({ credentials: "d2229e5c-1317-4107-90e1-c5c334cbcddb:8e9e2ebba3b8d57e794a62843734ca7d" })"#, "d2229e5c-1317-4107-90e1-c5c334cbcddb:8e9e2ebba3b8d57e794a62843734ca7d"),
        ])
        .misses(&["return false;"]),
    assigned("CLARIFAI_API_KEY", &["clarifai"], HexLower, (32, 32))
        .hits(&[
            ("const clarifaiPat = '64bf99889eac3fc012e00897e967c6d3';", "64bf99889eac3fc012e00897e967c6d3"),
            (r#"clarifai_key = "19dd60484a11ca0d453302b20877ee8f""#, "19dd60484a11ca0d453302b20877ee8f"),
        ])
        .misses(&[r#"clarifai_region = "eu-central-1""#]),
    prefixed("FRIENDLI_TOKEN", &["flp_"], Alnum, (30, 60))
        .hits(&[
            (r#"let client = Client::new("flp_7in83GkvLHhkNqI5q6GME7BwHZeOX7ivFquLPAnDHxJ4A8");"#, "flp_7in83GkvLHhkNqI5q6GME7BwHZeOX7ivFquLPAnDHxJ4A8"),
            ("FRIENDLI_TOKEN=flp_mSiBPLao2b5vEYygm5NRYH0HkjtySGXFbifPbVhnvnEnH7", "flp_mSiBPLao2b5vEYygm5NRYH0HkjtySGXFbifPbVhnvnEnH7"),
        ])
        .misses(&["# the console shows flp_zTighP and asks for the rest"]),
    prefixed("NOMIC_API_KEY", &["nk-"], Token, (43, 43))
        .entropy(3.8)
        .allow(&["^nk-[a-z0-9]+(?:-[a-z0-9]+)+$"])
        .hits(&[
            ("args: ['--auth', 'nk-YBp8XnjSq2FzCCss7LQ2_PZmre3NymoRIV6q_fpNMB3']", "nk-YBp8XnjSq2FzCCss7LQ2_PZmre3NymoRIV6q_fpNMB3"),
            ("https://api.example.com/v1/items?auth=nk-_Yi8x0ZEInKUeah_9A8i4JGk277P_IXHXH6TvRV-Jiu&page=2", "nk-_Yi8x0ZEInKUeah_9A8i4JGk277P_IXHXH6TvRV-Jiu"),
        ])
        .misses(&["# the console shows nk-_c6Qov and asks for the rest"]),
    prefixed("CARTESIA_API_KEY", &["sk_car_"], Token, (20, 60))
        .hits(&[
            ("https://api.example.com/v1/items?auth=sk_car_s07dcoIR42MpJlN3BiW_bT49oWzNVd&page=2", "sk_car_s07dcoIR42MpJlN3BiW_bT49oWzNVd"),
            ("- echo sk_car_evQLnAwmVYoBFPEFlhiHimXU10Hya0 | tool login", "sk_car_evQLnAwmVYoBFPEFlhiHimXU10Hya0"),
        ])
        .misses(&["# the console shows sk_car_8_DCG0 and asks for the rest"]),
    prefixed("HELICONE_API_KEY", &["sk-helicone-"], Token, (20, 60))
        .hits(&[
            ("The value sk-helicone-9r8aihl-ppdxrnc-2gcyjmo-zrp5r1w was rotated last week.", "sk-helicone-9r8aihl-ppdxrnc-2gcyjmo-zrp5r1w"),
            ("export HELICONE_API_KEY='sk-helicone-csz60t5-ulvdu7c-ux7fi5k-tl5is88'", "sk-helicone-csz60t5-ulvdu7c-ux7fi5k-tl5is88"),
        ])
        .misses(&["# the console shows sk-helicone-kOu7Va and asks for the rest"]),
    prefixed("MEM0_API_KEY", &["m0-"], Alnum, (40, 40))
        .entropy(3.0)
        .hits(&[
            ("MEM0_API_KEY=m0-U8bRaVXiz2uANWFRLcqWrMOR6pygJcIAgnuPSPKW", "m0-U8bRaVXiz2uANWFRLcqWrMOR6pygJcIAgnuPSPKW"),
            ("  mem0_api_key: m0-Bt9p6d54wAERvpl00girEYw1klsRxtkvzYLUb58y", "m0-Bt9p6d54wAERvpl00girEYw1klsRxtkvzYLUb58y"),
        ])
        .misses(&["# the console shows m0-hw0z5Q and asks for the rest"]),
    prefixed("LLAMA_CLOUD_KEY", &["llx-"], Alnum, (40, 60))
        .hits(&[
            ("https://api.example.com/v1/items?auth=llx-lvwRB5EfC0ee1Uau8sYiZU2CMBu9TF1KGpGkI10EyCL4hGRR&page=2", "llx-lvwRB5EfC0ee1Uau8sYiZU2CMBu9TF1KGpGkI10EyCL4hGRR"),
            ("- echo llx-yHKiNTqk8xPa2KxJKHksAnD1ocjZXlMjUlwKjfcS3d5AEpDN | tool login", "llx-yHKiNTqk8xPa2KxJKHksAnD1ocjZXlMjUlwKjfcS3d5AEpDN"),
        ])
        .misses(&["# the console shows llx-BdMPOX and asks for the rest"]),
    prefixed("JINA_API_KEY", &["jina_"], Token, (50, 80))
        .hits(&[
            ("- echo jina_0bf8375b8f3fa1e6aefe69b0dd92f8151KgDmX4Z1FUBaOaTfVaGcLCTgmns | tool login", "jina_0bf8375b8f3fa1e6aefe69b0dd92f8151KgDmX4Z1FUBaOaTfVaGcLCTgmns"),
            (r#"<add key="jina_api_key" value="jina_e69d2625528c6081614fc778b75e26f10ikqU45GEETAXqlrDWc6zg48Y0rg" />"#, "jina_e69d2625528c6081614fc778b75e26f10ikqU45GEETAXqlrDWc6zg48Y0rg"),
        ])
        .misses(&["# the console shows jina_fgWeIz and asks for the rest"]),
    assigned("STABILITY_API_KEY", &["stabilityai"], Alnum, (48, 51))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("STABILITYAI_KEY=kB0ZUNAcc1XcLHqiTWN9BbPUc39fmZ7oFZINRSr1QKX0YvXc", "kB0ZUNAcc1XcLHqiTWN9BbPUc39fmZ7oFZINRSr1QKX0YvXc"),
            ("stabilityai_api: GxOcZVDV9H5EDB3dSfl4G9WldHI4NnKzPxXOGJrNsVxu8rRT", "GxOcZVDV9H5EDB3dSfl4G9WldHI4NnKzPxXOGJrNsVxu8rRT"),
        ])
        .misses(&[r#"stabilityai_region = "eu-central-1""#]),
];

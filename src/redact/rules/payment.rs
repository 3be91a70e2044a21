//! Payments, commerce and shipping.

use super::super::rule::Charset::{Alnum, AnyBase64, Base64, Dotted, Hex, HexLower, Lower, Token, Uuid, Word};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Card processors.

    // Stripe, and Clerk, Paystack, WorkOS, which share the prefix.
    prefixed("STRIPE_SECRET_KEY", &["sk_live_", "sk_test_", "sk_prod_"], Word, (16, 250))
        .entropy(3.0)
        .allow(&["^sk_(?:live|test|prod)_[a-z_]+$"])
        .hits(&[
            ("The value sk_live_2vfV8Z1YJT1zgAxIzhNxHCFF was rotated last week.", "sk_live_2vfV8Z1YJT1zgAxIzhNxHCFF"),
            ("export STRIPE_SECRET_KEY='sk_test_51Fh7tVLfjuxcrmKe2LOHcWFhMFTfasEnwIMBT5KncbAoIbSxiGfcfPApEMqhOlGeNenDm5ZzrDscCjjU6UMPdWaldtbQfmMLI5'", "sk_test_51Fh7tVLfjuxcrmKe2LOHcWFhMFTfasEnwIMBT5KncbAoIbSxiGfcfPApEMqhOlGeNenDm5ZzrDscCjjU6UMPdWaldtbQfmMLI5"),
            ("args: ['--auth', 'sk_prod_Fp4IP59CSmtmulRTOtXRPORx']", "sk_prod_Fp4IP59CSmtmulRTOtXRPORx"),
        ])
        .misses(&["sk_test_", "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx", "sk_test_secret_key_goes_here"]),
    prefixed("STRIPE_RESTRICTED_KEY", &["rk_live_", "rk_test_", "rk_prod_"], Word, (16, 250))
        .entropy(3.0)
        .hits(&[
            ("args: ['--auth', 'rk_live_gZWSN3fniOdPVI9GvfZJHm4A']", "rk_live_gZWSN3fniOdPVI9GvfZJHm4A"),
            ("https://api.example.com/v1/items?auth=rk_test_cAvlWw1vitBXaIrf7FlowzRg&page=2", "rk_test_cAvlWw1vitBXaIrf7FlowzRg"),
            ("- echo rk_prod_kPP1votoH4SApmCcNm6zQmf0 | tool login", "rk_prod_kPP1votoH4SApmCcNm6zQmf0"),
        ])
        .misses(&["# the console shows rk_live_TWC2L and asks for the rest"]),
    prefixed("STRIPE_ORG_KEY", &["sk_org_"], Word, (16, 250))
        .entropy(3.0)
        .hits(&[
            ("https://api.example.com/v1/items?auth=sk_org_live_rQ1JNWU8Rqx1CCdy0JgbTe75w3uISpgAF8ivDaMU&page=2", "sk_org_live_rQ1JNWU8Rqx1CCdy0JgbTe75w3uISpgAF8ivDaMU"),
            ("- echo sk_org_live_1J5jDmcm0UKFUVRZ6090jh9LUyP2r2Sbn8BnEBFw | tool login", "sk_org_live_1J5jDmcm0UKFUVRZ6090jh9LUyP2r2Sbn8BnEBFw"),
        ])
        .misses(&["# the console shows sk_org_FEVyb and asks for the rest"]),
    // Stripe, Svix, Clerk, OpenAI.
    prefixed("WEBHOOK_SIGNING_SECRET", &["whsec_"], Base64, (24, 100))
        .entropy(3.0)
        .hits(&[
            ("The value whsec_JHHtA9IWwYMIoGToChcpMaQVo6MagjKL was rotated last week.", "whsec_JHHtA9IWwYMIoGToChcpMaQVo6MagjKL"),
            ("export WEBHOOK_SIGNING_SECRET='whsec_s+P57UHNazp/q4Fjdqo4vSRt/Vk5/aK+Pt30yV4ltkC='", "whsec_s+P57UHNazp/q4Fjdqo4vSRt/Vk5/aK+Pt30yV4ltkC="),
        ])
        .misses(&["# the console shows whsec_bqutnC and asks for the rest"]),
    prefixed("SQUARE_ACCESS_TOKEN", &["EAAA"], Token, (58, 64))
        .entropy(3.5)
        .hits(&[
            ("export SQUARE_ACCESS_TOKEN='EAAAETvHQA8xxFpbu3e_B-2y-HNJj0vh0lPOxn1hrE6SIvwYvceZJytef8lKRKo4'", "EAAAETvHQA8xxFpbu3e_B-2y-HNJj0vh0lPOxn1hrE6SIvwYvceZJytef8lKRKo4"),
            ("args: ['--auth', 'EAAAE95GGLcazltzA9gQL92uflHUUo9krKDLMp1Z_LsoiMyU-oRn1OntUXL2GVii']", "EAAAE95GGLcazltzA9gQL92uflHUUo9krKDLMp1Z_LsoiMyU-oRn1OntUXL2GVii"),
        ])
        .misses(&["# the console shows EAAAeCS1wR and asks for the rest"]),
    prefixed("SQUARE_OAUTH_SECRET", &["sq0csp-", "sq0csb-", "sq0atp-"], Token, (20, 50))
        .hits(&[
            ("The value sq0csp-u467WbiLAsvHD1jVhk5IYzpDB7K_mwfV0zWkw_MXEpz was rotated last week.", "sq0csp-u467WbiLAsvHD1jVhk5IYzpDB7K_mwfV0zWkw_MXEpz"),
            ("export SQUARE_OAUTH_SECRET='sq0csb-Z53YyZlxV_T3bYhBCuPE_kYFmBvRc4cwyKeJUWtjX55'", "sq0csb-Z53YyZlxV_T3bYhBCuPE_kYFmBvRc4cwyKeJUWtjX55"),
            ("args: ['--auth', 'sq0atp-TVqebCG8Vuetb2yFUp9gRw']", "sq0atp-TVqebCG8Vuetb2yFUp9gRw"),
        ])
        .misses(&["# the console shows sq0csp-RVwGWW and asks for the rest"]),
    pattern(
        "BRAINTREE_ACCESS_TOKEN",
        &["access_token$"],
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    )
        .hits(&[
            ("BRAINTREE_ACCESS_TOKEN=access_token$production$9jfsklmk2oylvp0e$f861e0297e8874e948eefa9e13760a93", "access_token$production$9jfsklmk2oylvp0e$f861e0297e8874e948eefa9e13760a93"),
            (r#"gateway("access_token$sandbox$x09pem5ov1cducoq$c05f8423c095675ebdab2abd0b9c2ad7")"#, "access_token$sandbox$x09pem5ov1cducoq$c05f8423c095675ebdab2abd0b9c2ad7"),
        ])
        .misses(&["access_token$production$<id>"]),
    assigned("BRAINTREE_PRIVATE_KEY", &["braintreeprivatekey", "btprivatekey", "braintreekey"], HexLower, (32, 32))
        .hits(&[
            ("BRAINTREE_PRIVATE_KEY=fae39b2567390ecb4e7f08319f0dc595", "fae39b2567390ecb4e7f08319f0dc595"),
            ("bt_private_key: a4fe3420b12f5c8496e151995ec080b3", "a4fe3420b12f5c8496e151995ec080b3"),
        ])
        .misses(&[r#"braintree_region = "eu-central-1""#]),
    prefixed("PAYPAL_ACCESS_TOKEN", &["A21AA"], Token, (60, 130))
        .entropy(3.5)
        .hits(&[
            ("The value A21AAwCDShUyaUym0CprHuih4sKS1L7azI4rRtTGs_r3x8knRHmY68i5beLpokpoigTdAw7FvE3liK_fHrrnk9dNoNyWnTFSi was rotated last week.", "A21AAwCDShUyaUym0CprHuih4sKS1L7azI4rRtTGs_r3x8knRHmY68i5beLpokpoigTdAw7FvE3liK_fHrrnk9dNoNyWnTFSi"),
            ("export PAYPAL_ACCESS_TOKEN='A21AA-_zhv97aWj-Dk9IQ2--d793QIgXNAQ9HZHdVw2abLTv9Mkz07FRUJ3RqdjJCpDGN6LX3yWp3IAG1NSrNEq3F8uFbnvpg'", "A21AA-_zhv97aWj-Dk9IQ2--d793QIgXNAQ9HZHdVw2abLTv9Mkz07FRUJ3RqdjJCpDGN6LX3yWp3IAG1NSrNEq3F8uFbnvpg"),
        ])
        .misses(&["# the console shows A21AAQTDsAN and asks for the rest"]),
    assigned("PAYPAL_CLIENT_SECRET", &["paypal"], Token, (80, 80))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "paypal_client_secret": "E202ph1d4au_cGmipmTLwYG1tZGP9j90S8ftecNOZg7Fw2c_o7xHKnWeCrbJB-iCxmA67t2MyrKT7oQ6","#, "E202ph1d4au_cGmipmTLwYG1tZGP9j90S8ftecNOZg7Fw2c_o7xHKnWeCrbJB-iCxmA67t2MyrKT7oQ6"),
            ("const paypalSecret = 'EBPHhCghkNF1S6UWQqVQHPdC3KehHI3d6BkzT9f7p2Gw590zPoa9f5bI3HqPoX36aCbWoLOmF4eYbAop';", "EBPHhCghkNF1S6UWQqVQHPdC3KehHI3d6BkzT9f7p2Gw590zPoa9f5bI3HqPoX36aCbWoLOmF4eYbAop"),
        ])
        .misses(&[r#"paypal_mode = "sandbox""#]),
    pattern(
        "ADYEN_API_KEY",
        &["aqe"],
        r"\bAQE[a-z]hm[!#-&(-;=?-\[\]-_a-z|~{}]{40,}",
    )
        .hits(&[
            ("X-API-Key: AQEyhmfxr4eaRXenVXg+RVBtMo05YKImghfR/0Lu0qgMg3ol4ONNOwxacAbWWg6HFsQE-y6IuVG4qXGODQ4E8OGC0t6iz4DoYGN=-FFgpejhZVkC4tSd3", "AQEyhmfxr4eaRXenVXg+RVBtMo05YKImghfR/0Lu0qgMg3ol4ONNOwxacAbWWg6HFsQE-y6IuVG4qXGODQ4E8OGC0t6iz4DoYGN=-FFgpejhZVkC4tSd3"),
            (r#""adyen": "AQEthmfuPIRjKdwIXwjvrkyJ8dPXW+4qBGfLGgUmO1e3JKVVd7ypfQHWJrzto7rMPi1u-NW/ZFV2YOK9iviSigWRdN+G+7gXAju=-7N6kCKj32Ss0kIGL""#, "AQEthmfuPIRjKdwIXwjvrkyJ8dPXW+4qBGfLGgUmO1e3JKVVd7ypfQHWJrzto7rMPi1u-NW/ZFV2YOK9iviSigWRdN+G+7gXAju=-7N6kCKj32Ss0kIGL"),
        ])
        .misses(&["AQEyhm is how they start"]),
    prefixed("RAZORPAY_KEY", &["rzp_live_", "rzp_test_"], Alnum, (14, 14))
        .hits(&[
            ("https://api.example.com/v1/items?auth=rzp_live_RKJbuIGYAgXqEo&page=2", "rzp_live_RKJbuIGYAgXqEo"),
            ("- echo rzp_test_n0Q4RfXweD2uou | tool login", "rzp_test_n0Q4RfXweD2uou"),
        ])
        .misses(&["# the console shows rzp_live_BcGc and asks for the rest"]),
    assigned("RAZORPAY_SECRET", &["razorpay"], Alnum, (24, 24))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"razorpay_key_secret = "t6zy0wTSRnGfS5n1YPnvNMoR""#, "t6zy0wTSRnGfS5n1YPnvNMoR"),
            ("RAZORPAY_SECRET=5qpm6Y76qI2ZWUgpewBioaXW", "5qpm6Y76qI2ZWUgpewBioaXW"),
        ])
        .misses(&[r#"razorpay_region = "eu-central-1""#]),
    prefixed("PLAID_ACCESS_TOKEN", &["access-production-", "access-sandbox-", "access-development-"], Uuid, (36, 36))
        .hits(&[
            ("export PLAID_ACCESS_TOKEN='access-production-33675738-66d5-4c0d-baa9-bba718874c68'", "access-production-33675738-66d5-4c0d-baa9-bba718874c68"),
            ("args: ['--auth', 'access-sandbox-1e2ae443-f0d9-4719-a4d0-37581a7df4de']", "access-sandbox-1e2ae443-f0d9-4719-a4d0-37581a7df4de"),
            ("https://api.example.com/v1/items?auth=access-development-8df01931-229c-47ad-90b8-ef37ae706c19&page=2", "access-development-8df01931-229c-47ad-90b8-ef37ae706c19"),
        ])
        .misses(&["# the console shows access-production-0ad7e9 and asks for the rest"]),
    assigned("PLAID_SECRET", &["plaid"], HexLower, (30, 30))
        .hits(&[
            ("const plaidSecret = '478c0ae2c4dd9e58ae876870457316';", "478c0ae2c4dd9e58ae876870457316"),
            (r#"plaid_sandbox_secret = "8448ef649895baeaeaa448db978f32""#, "8448ef649895baeaeaa448db978f32"),
        ])
        .misses(&[r#"plaid_region = "eu-central-1""#]),
    assigned("MOLLIE_API_KEY", &["mollie"], Word, (35, 40))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("MOLLIE_API_KEY=live_NJsK5aPlGDDRecmhrCBwbQuJK3uPM2", "live_NJsK5aPlGDDRecmhrCBwbQuJK3uPM2"),
            ("mollie_key: live_3Hj8aLkw3XYXeuiDm7IO5ZFMiQ5gdl", "live_3Hj8aLkw3XYXeuiDm7IO5ZFMiQ5gdl"),
        ])
        .misses(&[r#"mollie_mode = "test""#]),
    prefixed("PADDLE_API_KEY", &["pdl_live_apikey_", "pdl_sdbx_apikey_", "pdl_ntfset_"], Word, (30, 90))
        .hits(&[
            ("  paddle_api_key: pdl_live_apikey_8flxvtnlzwzj6i3phsd9a1x4fn_urZe5t1U0kfNSGrCnOGsyb_wfj", "pdl_live_apikey_8flxvtnlzwzj6i3phsd9a1x4fn_urZe5t1U0kfNSGrCnOGsyb_wfj"),
            (r#"    "paddle_api_key": "pdl_sdbx_apikey_7rl4rniauar2t5ol3t8j6pusm4_EDgBVKskhhlA8ygEkkjYNa_YAd","#, "pdl_sdbx_apikey_7rl4rniauar2t5ol3t8j6pusm4_EDgBVKskhhlA8ygEkkjYNa_YAd"),
            ("The value pdl_ntfset_5xi6nnsi09iapb31xx1br3yjd5_VUukQTwHKzOO4PAfc3fVjx_hmG was rotated last week.", "pdl_ntfset_5xi6nnsi09iapb31xx1br3yjd5_VUukQTwHKzOO4PAfc3fVjx_hmG"),
        ])
        .misses(&["# the console shows pdl_live_apikey_oz659y and asks for the rest"]),
    prefixed("FLUTTERWAVE_KEY", &["FLWSECK_TEST-", "FLWSECK-", "FLWSECK_PROD-"], Token, (12, 60))
        .hits(&[
            ("  flutterwave_key: FLWSECK_TEST-c0bc3c511ad812f8008098b2838dfb86-X", "FLWSECK_TEST-c0bc3c511ad812f8008098b2838dfb86-X"),
            (r#"    "flutterwave_key": "FLWSECK-c626d055f54b68aefe31a221a0cd5614-X","#, "FLWSECK-c626d055f54b68aefe31a221a0cd5614-X"),
            ("The value FLWSECK_PROD-bfeb7084412c690c5630f2496215f99a-X was rotated last week.", "FLWSECK_PROD-bfeb7084412c690c5630f2496215f99a-X"),
        ])
        .misses(&["# the console shows FLWSECK_TEST-Y9Gx and asks for the rest"]),
    assigned("COINBASE_SECRET", &["coinbase"], AnyBase64, (60, 90))
        .entropy(3.5)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("COINBASE_API_SECRET=zAuK5Y8SE3YdTPSotxXiPnp+KX4Trm1eWaq/9xaU8C2bQGTMxUa8pY8S+bImdxsM/ZjzcigjZQTaYbGHPbJgPe==", "zAuK5Y8SE3YdTPSotxXiPnp+KX4Trm1eWaq/9xaU8C2bQGTMxUa8pY8S+bImdxsM/ZjzcigjZQTaYbGHPbJgPe=="),
            ("coinbase_key: curTRB7wKoF9PZiTZSsAdfRFE0ooYhpi2foCcB+riqh1f8lbUcl9Uj8E4dDSHqUi2k9yxyK5HnTnDo/N+IBxcM==", "curTRB7wKoF9PZiTZSsAdfRFE0ooYhpi2foCcB+riqh1f8lbUcl9Uj8E4dDSHqUi2k9yxyK5HnTnDo/N+IBxcM=="),
        ])
        .misses(&[r#"coinbase_region = "eu-central-1""#]),
    assigned("GOCARDLESS_TOKEN", &["gocardless"], Token, (45, 48))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("GOCARDLESS_ACCESS_TOKEN=live_z2BHNka499L-oqe7zpwuJpZQZ1oS_6Ig3rtEMaTa", "live_z2BHNka499L-oqe7zpwuJpZQZ1oS_6Ig3rtEMaTa"),
            ("gocardless_token: live_p9FxsPlZvU1A8OYglaLj5_z9LR187t1WP3276AD6", "live_p9FxsPlZvU1A8OYglaLj5_z9LR187t1WP3276AD6"),
        ])
        .misses(&[r#"gocardless_region = "eu-central-1""#]),
    prefixed("KLARNA_API_KEY", &["klarna_live_api_", "klarna_test_api_"], AnyBase64, (20, 300))
        .hits(&[
            ("export KLARNA_API_KEY='klarna_live_api_eAJuwP6SGx3PMLzhw5ZUg5gZRmm2T1mXLHMQZURYddGF7NNJAG3Dbli5M5S9kK8thdWrjsLrCA3D9MF3UebICNC1FGLRBEU28M'", "klarna_live_api_eAJuwP6SGx3PMLzhw5ZUg5gZRmm2T1mXLHMQZURYddGF7NNJAG3Dbli5M5S9kK8thdWrjsLrCA3D9MF3UebICNC1FGLRBEU28M"),
            ("args: ['--auth', 'klarna_test_api_uSSOTWZqX9LiYIcfSLJ0xK9HwFNjZArmzqCp04H2P903ZVoCrsy2JZmcbdPrguAuv8VUh7CCHnhBhkonU8AYCdDoEQ9XuLrGtm']", "klarna_test_api_uSSOTWZqX9LiYIcfSLJ0xK9HwFNjZArmzqCp04H2P903ZVoCrsy2JZmcbdPrguAuv8VUh7CCHnhBhkonU8AYCdDoEQ9XuLrGtm"),
        ])
        .misses(&["# the console shows klarna_live_api_BlCPZe and asks for the rest"]),
    prefixed("CHECKOUT_SECRET_KEY", &["sk_sbox_"], Lower, (20, 40))
        .hits(&[
            ("- echo sk_sbox_yp4tf3k1ixv0qz55zlxuxfodg64 | tool login", "sk_sbox_yp4tf3k1ixv0qz55zlxuxfodg64"),
            (r#"<add key="checkout_secret_key" value="sk_sbox_7ibr2g92rp2c1le7n3op9564bwr" />"#, "sk_sbox_7ibr2g92rp2c1le7n3op9564bwr"),
        ])
        .misses(&["# the console shows sk_sbox_s0srg0 and asks for the rest"]),
    pattern(
        "CHECKOUT_LIVE_KEY",
        &["checkout"],
        r"\bsk_[a-z0-9]{27}\b",
    )
        .entropy(3.0)
        .hits(&[
            ("CHECKOUT_SECRET=sk_gt71bgyaqarwd61wh7rj6q7uvni", "sk_gt71bgyaqarwd61wh7rj6q7uvni"),
            (r#"checkout.secret("sk_7odc2ykbemjnz25dicf87n4vmzu")"#, "sk_7odc2ykbemjnz25dicf87n4vmzu"),
        ])
        .misses(&["checkout sk_buff"]),
    prefixed("MERCADOPAGO_TOKEN", &["APP_USR-", "TEST-"], Token, (48, 80))
        .allow(&["^(?:APP_USR|TEST)-[^0-9]", "^(?:APP_USR|TEST)-[0-9]{0,9}-"])
        .hits(&[
            (r#"    "mercadopago_token": "APP_USR-6716333322961329-215529-686ec1a7016ea2cb4e214985fd9de50e-091423900","#, "APP_USR-6716333322961329-215529-686ec1a7016ea2cb4e214985fd9de50e-091423900"),
            ("The value TEST-2081984732256713-796352-4dc3d2ae1464af23a3ab15d6c2b58c46-158231835 was rotated last week.", "TEST-2081984732256713-796352-4dc3d2ae1464af23a3ab15d6c2b58c46-158231835"),
        ])
        .misses(&["TEST-2024-01-integration-of-the-whole-payment-flow-with-refunds"]),
    prefixed("XENDIT_KEY", &["xnd_development_", "xnd_production_"], Alnum, (30, 90))
        .hits(&[
            ("args: ['--auth', 'xnd_development_JJRgI152VzqnZeTzg28bgmB4Fooi10iRwEEU0sfBTHh7V8dMWyN7oYzF69s']", "xnd_development_JJRgI152VzqnZeTzg28bgmB4Fooi10iRwEEU0sfBTHh7V8dMWyN7oYzF69s"),
            ("https://api.example.com/v1/items?auth=xnd_production_7eAzRDnz2j6EN7GF6fzIHxDt51Cc4LLlER2rStkV9Rd7DIRDOnq9JQkj4X6&page=2", "xnd_production_7eAzRDnz2j6EN7GF6fzIHxDt51Cc4LLlER2rStkV9Rd7DIRDOnq9JQkj4X6"),
        ])
        .misses(&["# the console shows xnd_development_DMPfAU and asks for the rest"]),
    prefixed("MIDTRANS_SERVER_KEY", &["SB-Mid-server-", "Mid-server-"], Token, (16, 48))
        .hits(&[
            ("https://api.example.com/v1/items?auth=SB-Mid-server-F-lmtTmTeQLcvuX-olbAXNpb&page=2", "SB-Mid-server-F-lmtTmTeQLcvuX-olbAXNpb"),
            ("- echo Mid-server-jDUr2vCqvW3il3oAmYZT_s8j | tool login", "Mid-server-jDUr2vCqvW3il3oAmYZT_s8j"),
        ])
        .misses(&["# the console shows SB-Mid-server-vXFwR and asks for the rest"]),
    prefixed("OMISE_SECRET_KEY", &["skey_test_", "skey_"], Alnum, (16, 40))
        .entropy(3.0)
        .hits(&[
            ("  omise_secret_key: skey_test_yku4yt5pn11g1gv181r", "skey_test_yku4yt5pn11g1gv181r"),
            (r#"    "omise_secret_key": "skey_i9muqpde4hqsmansmbq","#, "skey_i9muqpde4hqsmansmbq"),
        ])
        .misses(&["skey_index = 4"]),
    prefixed("ASAAS_API_KEY", &["$aact_prod_", "$aact_hmlg_", "$aact_"], AnyBase64, (40, 300))
        .hits(&[
            ("- echo $aact_prod_000YNW3kVUo5VU9r8KFMpJNPNhXtxqmvFR1OE8MIqMlPE190HKPLQXhtx6n2kmtlXxmqSwEgUQC9n4AxIkS5 | tool login", "$aact_prod_000YNW3kVUo5VU9r8KFMpJNPNhXtxqmvFR1OE8MIqMlPE190HKPLQXhtx6n2kmtlXxmqSwEgUQC9n4AxIkS5"),
            (r#"<add key="asaas_api_key" value="$aact_hmlg_000RVImYWNgeqTDamxZgYUbZ0wF7D8RO3NVsMCqXrEzgLsPuON6cywZLHTlT1hlqSZhuSUT1ZYcdZqcicML0" />"#, "$aact_hmlg_000RVImYWNgeqTDamxZgYUbZ0wF7D8RO3NVsMCqXrEzgLsPuON6cywZLHTlT1hlqSZhuSUT1ZYcdZqcicML0"),
            (r#"let client = Client::new("$aact_000wnDmlP04jx4yn2yw1oFjrDrOXVbCb7dbnlNU4liH0wCGY3ulfp3s2sCnuiG5S2bXhLVNzDH7o60NNIRGt");"#, "$aact_000wnDmlP04jx4yn2yw1oFjrDrOXVbCb7dbnlNU4liH0wCGY3ulfp3s2sCnuiG5S2bXhLVNzDH7o60NNIRGt"),
        ])
        .misses(&["# the console shows $aact_prod_oKP_kW and asks for the rest"]),
    prefixed("PAGARME_KEY", &["ak_live_", "ak_test_", "ek_live_", "ek_test_"], Alnum, (20, 40))
        .hits(&[
            ("export PAGARME_KEY='ak_live_pmmX6ArBrYhcn3yK1w2pMho67uSdm3'", "ak_live_pmmX6ArBrYhcn3yK1w2pMho67uSdm3"),
            ("args: ['--auth', 'ak_test_JjhfX6vOeSlvnf71bPkd5YbUUum6Hf']", "ak_test_JjhfX6vOeSlvnf71bPkd5YbUUum6Hf"),
            ("https://api.example.com/v1/items?auth=ek_live_8Br91a9bx1idMN9hnAqjeUQHvpWAAQ&page=2", "ek_live_8Br91a9bx1idMN9hnAqjeUQHvpWAAQ"),
            ("- echo ek_test_u4Gz0bxxd9liVRoiEoEiCLdUzRsql6 | tool login", "ek_test_u4Gz0bxxd9liVRoiEoEiCLdUzRsql6"),
        ])
        .misses(&["# the console shows ak_live_3MzdG5 and asks for the rest"]),
    prefixed("REVOLUT_TOKEN", &["oa_sand_", "oa_prod_"], Token, (30, 80))
        .hits(&[
            ("args: ['--auth', 'oa_sand_HwXSBW5FoysbmfUWqkti44im3LMGttNrLNJU4hEIWfr']", "oa_sand_HwXSBW5FoysbmfUWqkti44im3LMGttNrLNJU4hEIWfr"),
            ("https://api.example.com/v1/items?auth=oa_prod_zJm5MTHX1ABw2Q996RL5vYFG3dQER5n9er28lZMlCqc&page=2", "oa_prod_zJm5MTHX1ABw2Q996RL5vYFG3dQER5n9er28lZMlCqc"),
        ])
        .misses(&["# the console shows oa_sand_VaIGlM and asks for the rest"]),
    assigned("CHARGEBEE_KEY", &["chargebee"], Word, (30, 50))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"  "chargebee_api_key": "live_ZXTG80clBmXdU4DEqsDrOoUZzQCSmkdg","#, "live_ZXTG80clBmXdU4DEqsDrOoUZzQCSmkdg"),
            ("const chargebeeKey = 'live_uClIcltP3HG0goNTubQpGKqpfE9z0u5c';", "live_uClIcltP3HG0goNTubQpGKqpfE9z0u5c"),
        ])
        .misses(&[r#"chargebee_region = "eu-central-1""#]),
    assigned("RECURLY_KEY", &["recurly"], HexLower, (32, 32))
        .hits(&[
            ("recurly_api_key: cc43de51f294391ee655c0c8565df826", "cc43de51f294391ee655c0c8565df826"),
            (r#"  "recurly_private_key": "7f4f2c58039e433017bd5f2806645778","#, "7f4f2c58039e433017bd5f2806645778"),
        ])
        .misses(&[r#"recurly_region = "eu-central-1""#]),
    assigned("GUMROAD_TOKEN", &["gumroad"], Token, (43, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"gumroad_access_token = "FE1B3Q2mdn3cVuKxEUFAwtjaS8SSDGpKZXJ9NXnmdiw""#, "FE1B3Q2mdn3cVuKxEUFAwtjaS8SSDGpKZXJ9NXnmdiw"),
            ("GUMROAD_TOKEN=fDW1g3ozVf9LCL9fdWtdO9LfkAhDSa9QQ05dAGlzkya", "fDW1g3ozVf9LCL9fdWtdO9LfkAhDSa9QQ05dAGlzkya"),
        ])
        .misses(&[r#"gumroad_region = "eu-central-1""#]),
    assigned("WISE_TOKEN", &["transferwise", "wiseapitoken", "wisetoken"], Uuid, (36, 36))
        .hits(&[
            ("wise_api_token: 44267239-d3e4-4aa9-af6d-180c36ce6d48", "44267239-d3e4-4aa9-af6d-180c36ce6d48"),
            (r#"  "transferwise_key": "0215214b-e553-4cdf-b9ba-5108069585ac","#, "0215214b-e553-4cdf-b9ba-5108069585ac"),
        ])
        .misses(&[r#"wise_profile = "12345678""#]),
    assigned("DWOLLA_SECRET", &["dwolla"], Alnum, (50, 50))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "dwolla_secret": "PxsoaNvslV93dgSpUOPqin4pT6xKV9uF0mwnznEox28hjkEAk4","#, "PxsoaNvslV93dgSpUOPqin4pT6xKV9uF0mwnznEox28hjkEAk4"),
            ("const dwollaKey = 'O8kJJOnOnbzt7GtgnOkjbpYytdjSQNdZVBWf5GpXR7t7CPxQuL';", "O8kJJOnOnbzt7GtgnOkjbpYytdjSQNdZVBWf5GpXR7t7CPxQuL"),
        ])
        .misses(&[r#"dwolla_region = "eu-central-1""#]),

    // Commerce and shipping.

    prefixed("SHOPIFY_TOKEN", &["shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"], Hex, (32, 64))
        .hits(&[
            (r#"<add key="shopify_token" value="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" />"#, "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"),
            (r#"let client = Client::new("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");"#, "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"),
            ("SHOPIFY_TOKEN=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", "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"),
            ("  shopify_token: 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", "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"),
            (r#"    "shopify_token": "shpua_750eb827ba9394ff7e1de92aeed5fdae","#, "shpua_750eb827ba9394ff7e1de92aeed5fdae"),
            ("The value shptka_cf05fda7f40acaeb633840fadb180ede was rotated last week.", "shptka_cf05fda7f40acaeb633840fadb180ede"),
        ])
        .misses(&["shpat_ tokens", "path shpat_example"]),
    prefixed("WOOCOMMERCE_KEY", &["ck_", "cs_"], HexLower, (40, 40))
        .hits(&[
            ("- echo ck_dfbc25daa2fcfce2728d3109ce1761e0b42c3089 | tool login", "ck_dfbc25daa2fcfce2728d3109ce1761e0b42c3089"),
            (r#"<add key="woocommerce_key" value="cs_87c905a54745b7695ac52b8a0807936db7678989" />"#, "cs_87c905a54745b7695ac52b8a0807936db7678989"),
        ])
        .misses(&["# the console shows ck_0a692b and asks for the rest"]),
    prefixed("EASYPOST_API_KEY", &["EZAK", "EZTK"], Alnum, (50, 60))
        .hits(&[
            ("export EASYPOST_API_KEY='EZAK3zktLat1uoG2oDs5JQ2I894c4Kh8mv3vxwVtunEQ4EptE6GAGhF20v'", "EZAK3zktLat1uoG2oDs5JQ2I894c4Kh8mv3vxwVtunEQ4EptE6GAGhF20v"),
            ("args: ['--auth', 'EZTKgcRbMLa0s8MC2oqFm9RL8GAqxQMErCdjomKF0jmdIxyY5aVgZp6H9v']", "EZTKgcRbMLa0s8MC2oqFm9RL8GAqxQMErCdjomKF0jmdIxyY5aVgZp6H9v"),
        ])
        .misses(&["# the console shows EZAKX4yyPb and asks for the rest"]),
    prefixed("SHIPPO_TOKEN", &["shippo_live_", "shippo_test_"], HexLower, (40, 40))
        .hits(&[
            ("args: ['--auth', 'shippo_live_e0fa8b1502fd2968df9073a655b54a400ac62324']", "shippo_live_e0fa8b1502fd2968df9073a655b54a400ac62324"),
            ("https://api.example.com/v1/items?auth=shippo_test_e0412d7109b589ca2502936d947bfe9c03c4e359&page=2", "shippo_test_e0412d7109b589ca2502936d947bfe9c03c4e359"),
        ])
        .misses(&["# the console shows shippo_live_f58a2e and asks for the rest"]),
    assigned("LOB_API_KEY", &["lobapikey", "lobkey", "lobsecret", "lobapi"], Word, (35, 45))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("LOB_API_KEY=live_374856e03bf96c96fb056b380dac4944ab2", "live_374856e03bf96c96fb056b380dac4944ab2"),
            ("lob_key: live_2a643788dbc0876015ca0c6cffdc9089d5f", "live_2a643788dbc0876015ca0c6cffdc9089d5f"),
        ])
        .misses(&[r#"lob_region = "eu-central-1""#]),
    prefixed("DUFFEL_TOKEN", &["duffel_live_", "duffel_test_"], Token, (40, 50))
        .hits(&[
            ("- echo duffel_live_77LrXbDAUk1zS6ul2sdNktkcRzuCHK576Hdt6qwcOd9 | tool login", "duffel_live_77LrXbDAUk1zS6ul2sdNktkcRzuCHK576Hdt6qwcOd9"),
            (r#"<add key="duffel_token" value="duffel_test_KYtPDB-wF6mvRB_m9h4MkrAfDZ_8T7PPYFJl41YIpuj" />"#, "duffel_test_KYtPDB-wF6mvRB_m9h4MkrAfDZ_8T7PPYFJl41YIpuj"),
        ])
        .misses(&["# the console shows duffel_live_0uiJZf and asks for the rest"]),
    assigned("ETSY_KEY", &["etsy"], Lower, (24, 24))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("ETSY_API_KEY=fsodrstlaw9t6uv3cyb2g6pj", "fsodrstlaw9t6uv3cyb2g6pj"),
            ("etsy_keystring: ssh5i9emaqub97bp4tygrasi", "ssh5i9emaqub97bp4tygrasi"),
        ])
        .misses(&[r#"etsy_region = "eu-central-1""#]),
    assigned("BIGCOMMERCE_TOKEN", &["bigcommerce", "bcauthtoken"], Lower, (31, 31))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("bigcommerce_access_token: fjziwi8j4sglvzct9js8lo41dppk128", "fjziwi8j4sglvzct9js8lo41dppk128"),
            (r#"  "bc_auth_token": "lh6y68ddhwkpafdo408vhxsr1xp7eyq","#, "lh6y68ddhwkpafdo408vhxsr1xp7eyq"),
        ])
        .misses(&[r#"bigcommerce_region = "eu-central-1""#]),
    pattern(
        "AMAZON_SELLING_PARTNER",
        &["amzn1.application-oa2-client."],
        r"amzn1\.application-oa2-client\.[0-9a-f]{32}",
    )
        .hits(&[
            ("client: amzn1.application-oa2-client.887e7baf68b5b6f019c9b9ac8e298e36", "amzn1.application-oa2-client.887e7baf68b5b6f019c9b9ac8e298e36"),
            (r#""id": "amzn1.application-oa2-client.2edd3b000fffe7d07dc64afa689e9e26""#, "amzn1.application-oa2-client.2edd3b000fffe7d07dc64afa689e9e26"),
        ])
        .misses(&["amzn1.application-oa2-client.<id>"]),

    // More processors.

    prefixed("POLAR_TOKEN", &["polar_oat_", "polar_pat_", "polar_at_", "polar_rt_", "polar_whs_", "polar_cst_"], Alnum, (30, 60))
        .hits(&[
            ("POLAR_TOKEN=polar_oat_XKZOA4rwaYdJPISdpIB92OZHrNDqbAygQaF6GfP0kmJ", "polar_oat_XKZOA4rwaYdJPISdpIB92OZHrNDqbAygQaF6GfP0kmJ"),
            ("  polar_token: polar_pat_ShB52NBoar4xSSChtle3CkdtRionWW06lp5W8k16Qbe", "polar_pat_ShB52NBoar4xSSChtle3CkdtRionWW06lp5W8k16Qbe"),
            (r#"    "polar_token": "polar_at_ly5uf4ezXNCdnf3K9eWw0WpW9VvFycTIPeutqMDcU3F","#, "polar_at_ly5uf4ezXNCdnf3K9eWw0WpW9VvFycTIPeutqMDcU3F"),
            ("The value polar_rt_mvR97VJJWfTIMxfnHxhAr4N1fj1OGfZK41fZbe5AarJ was rotated last week.", "polar_rt_mvR97VJJWfTIMxfnHxhAr4N1fj1OGfZK41fZbe5AarJ"),
            ("export POLAR_TOKEN='polar_whs_UYHUCxPrv4BvehmPJhgG09k9IMHcZ5JdNF4EFdruSem'", "polar_whs_UYHUCxPrv4BvehmPJhgG09k9IMHcZ5JdNF4EFdruSem"),
            ("args: ['--auth', 'polar_cst_X0okpZ71yxf73twndRcFImwjWqS3JpLnPxXqyUNbNa1']", "polar_cst_X0okpZ71yxf73twndRcFImwjWqS3JpLnPxXqyUNbNa1"),
        ])
        .misses(&["# the console shows polar_oat_mJIUIp and asks for the rest"]),
    prefixed("CASHFREE_KEY", &["cfsk_ma_test_", "cfsk_ma_prod_"], Word, (40, 60))
        .hits(&[
            ("CASHFREE_KEY=cfsk_ma_test_23c888654c2208b8204590ef24a18e1e_e2d0c68e", "cfsk_ma_test_23c888654c2208b8204590ef24a18e1e_e2d0c68e"),
            ("  cashfree_key: cfsk_ma_prod_aaab9df1958d48a864c6b9266511897f_98578abb", "cfsk_ma_prod_aaab9df1958d48a864c6b9266511897f_98578abb"),
        ])
        .misses(&["# the console shows cfsk_ma_test_skjQfU and asks for the rest"]),
    prefixed("SUMUP_KEY", &["sup_sk_", "sup_pk_"], Alnum, (24, 48))
        .hits(&[
            ("SUMUP_KEY=sup_sk_pfyJGrb0siRg1aX7ltYwShWRFG4Jnpz8", "sup_sk_pfyJGrb0siRg1aX7ltYwShWRFG4Jnpz8"),
            ("  sumup_key: sup_pk_e1Ns6MdOOXcxBlnG6pLH2H6nMrp74pES", "sup_pk_e1Ns6MdOOXcxBlnG6pLH2H6nMrp74pES"),
        ])
        .misses(&["# the console shows sup_sk_HxO3So and asks for the rest"]),
    prefixed("MERCURY_TOKEN", &["mercury_production_", "mercury_sandbox_"], Word, (40, 120))
        .hits(&[
            (r#"<add key="mercury_token" value="mercury_production_rx54b2z8_81SJ6l0n1X2D2logNlP4VbKg2mhKvH6bMdi9hLsqtYf" />"#, "mercury_production_rx54b2z8_81SJ6l0n1X2D2logNlP4VbKg2mhKvH6bMdi9hLsqtYf"),
            (r#"let client = Client::new("mercury_sandbox_m0pgmtdj_V3hUk9kM0V8asUlrWj2PFFACAvvxcFpajOXpOYP9OQY");"#, "mercury_sandbox_m0pgmtdj_V3hUk9kM0V8asUlrWj2PFFACAvvxcFpajOXpOYP9OQY"),
        ])
        .misses(&["# the console shows mercury_production_mXFkNR and asks for the rest"]),
    prefixed("EBAY_KEY", &["PRD-", "SBX-"], Token, (36, 50))
        .hits(&[
            (r#"    "ebay_key": "PRD-f7d103f3fe74-0135-ef1f-cf7a-5b76a146","#, "PRD-f7d103f3fe74-0135-ef1f-cf7a-5b76a146"),
            ("The value SBX-6ea4c90b3cda-2fe1-7bda-4bb0-bd59019f was rotated last week.", "SBX-6ea4c90b3cda-2fe1-7bda-4bb0-bd59019f"),
        ])
        .misses(&["# the console shows PRD-lzXaHa and asks for the rest"]),
    prefixed("RAINFOREST_PAY_KEY", &["sbx_apikey_", "prod_apikey_", "apikey_"], Lower, (40, 80))
        .hits(&[
            ("The value sbx_apikey_9eee6d702b49ec2f2858ceb49f0bbbbd6b88e36403a0462be4d0bfdfd0613089 was rotated last week.", "sbx_apikey_9eee6d702b49ec2f2858ceb49f0bbbbd6b88e36403a0462be4d0bfdfd0613089"),
            ("export RAINFOREST_PAY_KEY='prod_apikey_8487f6828b78fd91c1cf38b6162729bb0d6089dbfa67b2de6fa4b759317ae227'", "prod_apikey_8487f6828b78fd91c1cf38b6162729bb0d6089dbfa67b2de6fa4b759317ae227"),
            ("args: ['--auth', 'apikey_e60cdf98ac505709372eb3fd8e55cc98f6127e00943fbbe91521d0a805b8f096']", "apikey_e60cdf98ac505709372eb3fd8e55cc98f6127e00943fbbe91521d0a805b8f096"),
        ])
        .misses(&["# the console shows sbx_apikey_1waqpi and asks for the rest"]),
    prefixed("HIGHNOTE_KEY", &["sk_tst_", "sk_lve_"], Word, (24, 80))
        .hits(&[
            ("export HIGHNOTE_KEY='sk_tst_qx0VwfFXJsP3SVLz92WcBjSj27KDplsb4t0zfU5I'", "sk_tst_qx0VwfFXJsP3SVLz92WcBjSj27KDplsb4t0zfU5I"),
            ("args: ['--auth', 'sk_lve_3EA5ri5MPCGy75epIA8Z2InCr7e7usqcUVwQcQab']", "sk_lve_3EA5ri5MPCGy75epIA8Z2InCr7e7usqcUVwQcQab"),
        ])
        .misses(&["# the console shows sk_tst_iEwf9q and asks for the rest"]),
    prefixed("LIVEBLOCKS_KEY", &["sk_prod_", "sk_dev_"], Token, (40, 80))
        .hits(&[
            ("export LIVEBLOCKS_KEY='sk_prod_f8Gmc4L9ZWlS7n_lEWYOjztnizgUmNgXIjMeZCSeC8SigePDyuF7PXqxbJmr4ROk'", "sk_prod_f8Gmc4L9ZWlS7n_lEWYOjztnizgUmNgXIjMeZCSeC8SigePDyuF7PXqxbJmr4ROk"),
            ("args: ['--auth', 'sk_dev_KnR1Iy7dH-J7glNd5r6RMA3fc-5Q4Eh2hHjNnlopiSWK258fin4azaUliwmUHqui']", "sk_dev_KnR1Iy7dH-J7glNd5r6RMA3fc-5Q4Eh2hHjNnlopiSWK258fin4azaUliwmUHqui"),
        ])
        .misses(&["# the console shows sk_prod_rBrxKz and asks for the rest"]),
    prefixed("ONFIDO_TOKEN", &["api_live.", "api_sandbox.", "api_live_us.", "api_live_ca."], Dotted, (30, 80))
        .hits(&[
            ("ONFIDO_TOKEN=api_live.orq72ltkJC8.de5QCnIEEizR55YUM41yTkFCAqLgfcXz", "api_live.orq72ltkJC8.de5QCnIEEizR55YUM41yTkFCAqLgfcXz"),
            ("  onfido_token: api_sandbox.6UcnSk25rIY.CPYb8hfmhLp0kLDahOt0P6u6ejnUboB7", "api_sandbox.6UcnSk25rIY.CPYb8hfmhLp0kLDahOt0P6u6ejnUboB7"),
            (r#"    "onfido_token": "api_live_us.uG03rJbhJG3.sIbgoByXmvBn9pCO0WwFiM2KtBVZiSb4","#, "api_live_us.uG03rJbhJG3.sIbgoByXmvBn9pCO0WwFiM2KtBVZiSb4"),
            ("The value api_live_ca.EyuvaAIeApi.2OvYKq52futCLJNwOwM0qp9wlqg9s5pU was rotated last week.", "api_live_ca.EyuvaAIeApi.2OvYKq52futCLJNwOwM0qp9wlqg9s5pU"),
        ])
        .misses(&["# the console shows api_live.v-9eyb and asks for the rest"]),
    prefixed("PERSONA_KEY", &["persona_production_", "persona_sandbox_"], Alnum, (24, 60))
        .hits(&[
            (r#"<add key="persona_key" value="persona_production_ba580b54bbd86728b2add0b812fab5652228" />"#, "persona_production_ba580b54bbd86728b2add0b812fab5652228"),
            (r#"let client = Client::new("persona_sandbox_8ccffe51232fe2797d8217a26a131e74c2a8");"#, "persona_sandbox_8ccffe51232fe2797d8217a26a131e74c2a8"),
        ])
        .misses(&["# the console shows persona_production_lbIfAO and asks for the rest"]),
    prefixed("RAMP_TOKEN", &["ramp_tok_", "ramp_sec_", "ramp_business_tok_"], Alnum, (30, 60))
        .hits(&[
            ("https://api.example.com/v1/items?auth=ramp_tok_wptMC2QCrbN35z4RZLAPN8c1KilDHBXxUzjRyN3AXtZ&page=2", "ramp_tok_wptMC2QCrbN35z4RZLAPN8c1KilDHBXxUzjRyN3AXtZ"),
            ("- echo ramp_sec_oi54hNx4g3dKxEAZ9oTi9l6E0kZmnpAjVrXwqZj03pw | tool login", "ramp_sec_oi54hNx4g3dKxEAZ9oTi9l6E0kZmnpAjVrXwqZj03pw"),
            (r#"<add key="ramp_token" value="ramp_business_tok_YLb0cmdVMMflE629aGBVoraEnSDcBbDmOiIgMqChcMU" />"#, "ramp_business_tok_YLb0cmdVMMflE629aGBVoraEnSDcBbDmOiIgMqChcMU"),
        ])
        .misses(&["# the console shows ramp_tok_fL3XCy and asks for the rest"]),
];

//! Hosting, build systems, delivery networks and domain names.

use super::super::rule::Charset::{Alnum, AnyBase64, Base64, Dotted, HexLower, Token, Upper, Uuid, Word};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Build and deploy.

    prefixed("CIRCLECI_TOKEN", &["CCIPAT_", "CCIPRJ_"], Word, (40, 80))
        .hits(&[
            ("  circleci_token: CCIPAT_45AvpAqebUC4WCa65ohKpr_97ca0051579c30571ae9da82b4f9fc0a6e4b4fb9", "CCIPAT_45AvpAqebUC4WCa65ohKpr_97ca0051579c30571ae9da82b4f9fc0a6e4b4fb9"),
            (r#"    "circleci_token": "CCIPRJ_SK1diqI2RZI8p3U2NOtbKJ_a71100fe2db4db4e57f1116def939154765e96ef","#, "CCIPRJ_SK1diqI2RZI8p3U2NOtbKJ_a71100fe2db4db4e57f1116def939154765e96ef"),
        ])
        .misses(&["# the console shows CCIPAT_cX0JY7 and asks for the rest"]),
    assigned("CIRCLECI_LEGACY_TOKEN", &["circleci", "circletoken"], HexLower, (40, 40))
        .hits(&[
            ("const circleciToken = 'd25a26b753c343ea3be4b673fb38e969d23db8fb';", "d25a26b753c343ea3be4b673fb38e969d23db8fb"),
            (r#"circle_token = "9538b72588c77876dc1cef027527fa7d0391aded""#, "9538b72588c77876dc1cef027527fa7d0391aded"),
        ])
        .misses(&["circle_sha1: 3f786850e387550fdab836ed7e6dc881de23001b"]),
    prefixed("BUILDKITE_TOKEN", &["bkua_", "bkat_", "bkct_", "bkaj_", "bkar_", "bkur_", "bkrt_", "bktr_", "bkpt_", "bkpat_", "bkps_", "bktx_", "bkcqt_", "bkjat_"], Dotted, (30, 800))
        .hits(&[
            ("https://api.example.com/v1/items?auth=bkua_2b83fd13e3dcf74ca8347d23cb7ee3ab6d28d860&page=2", "bkua_2b83fd13e3dcf74ca8347d23cb7ee3ab6d28d860"),
            ("- echo bkat_a9fd7136c86240092759b53d7e96b140b2851f67 | tool login", "bkat_a9fd7136c86240092759b53d7e96b140b2851f67"),
            (r#"<add key="buildkite_token" value="bkct_7386e6babb82ff1f7c1bbe46f687bfc7dc733d17" />"#, "bkct_7386e6babb82ff1f7c1bbe46f687bfc7dc733d17"),
            (r#"let client = Client::new("bkaj_87af98d91094509ed33ac8b0ca4bec92b7f43e29");"#, "bkaj_87af98d91094509ed33ac8b0ca4bec92b7f43e29"),
        ])
        .misses(&["bkua_short"]),
    assigned("TRAVIS_TOKEN", &["travistoken", "travisapi", "travisci"], Token, (22, 22))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("TRAVIS_TOKEN=OeEFambd3OKVQcvrtj20Kd", "OeEFambd3OKVQcvrtj20Kd"),
            ("travisci_token: fhPDsfGw01y_FjdXD86Vs0", "fhPDsfGw01y_FjdXD86Vs0"),
        ])
        .misses(&[r#"travis_region = "eu-central-1""#]),
    assigned("JENKINS_TOKEN", &["jenkins"], HexLower, (32, 34))
        .hits(&[
            ("jenkins_api_token: 11c3546419d094e5c4aa54847e74a92aae", "11c3546419d094e5c4aa54847e74a92aae"),
            (r#"  "jenkins_token": "111747d2ac82a9185c93c9b7f00b00d360","#, "111747d2ac82a9185c93c9b7f00b00d360"),
        ])
        .misses(&[r#"jenkins_region = "eu-central-1""#]),
    prefixed("TEAMCITY_TOKEN", &["eyJ0eXAiOiAiVENWMiJ9."], Dotted, (40, 200))
        .hits(&[
            ("args: ['--auth', 'eyJ0eXAiOiAiVENWMiJ9.5UfjoUsok7XiEZzht1ZE_zX8am3RW3C423J7.WGRuvEwFfxEWMosLYVgtiPZUnzBQf98wAW_i7ULURtw']", "eyJ0eXAiOiAiVENWMiJ9.5UfjoUsok7XiEZzht1ZE_zX8am3RW3C423J7.WGRuvEwFfxEWMosLYVgtiPZUnzBQf98wAW_i7ULURtw"),
            ("https://api.example.com/v1/items?auth=eyJ0eXAiOiAiVENWMiJ9.WoeQ6axORcW_PJ79UsG5LoOzwtcuR43Wly2N.Ah58w4G-G4aemAHj1oLPrKwx1XVd5roCavOhlp7A-u8&page=2", "eyJ0eXAiOiAiVENWMiJ9.WoeQ6axORcW_PJ79UsG5LoOzwtcuR43Wly2N.Ah58w4G-G4aemAHj1oLPrKwx1XVd5roCavOhlp7A-u8"),
        ])
        .misses(&["# the console shows eyJ0eXAiOiAiVENWMiJ9.NWizvQ and asks for the rest"]),
    assigned("DRONE_TOKEN", &["dronetoken", "droneci", "dronerpcsecret", "droneserver"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"drone_token = "PBMWnD2jRyOSY98Hx9JQvfCVWXEShSld""#, "PBMWnD2jRyOSY98Hx9JQvfCVWXEShSld"),
            ("DRONE_RPC_SECRET=hWIgHQg35OhzUMzppR6Jgue5dSTjNssr", "hWIgHQg35OhzUMzppR6Jgue5dSTjNssr"),
        ])
        .misses(&[r#"drone_region = "eu-central-1""#]),
    assigned("CI_TOKEN", &["bitrise", "codefresh", "semaphoretoken", "appveyor", "codemagic", "buddyworks", "gocdtoken", "bambootoken", "wercker", "cirrustoken", "codeship"], Dotted, (20, 100))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const bitriseToken = '0SZyKS8SQ8hXvVrfECLJgLadYsu4fKFnDehEViJs';", "0SZyKS8SQ8hXvVrfECLJgLadYsu4fKFnDehEViJs"),
            (r#"appveyor_token = "k6WIZlIJcidu4efYO8b2BOxKNGXV12xuMqBLT0TU""#, "k6WIZlIJcidu4efYO8b2BOxKNGXV12xuMqBLT0TU"),
            ("CODEFRESH_API=vTbirycfTuW7qgo4rHx9lYapXrW5NF5KcUCSD004", "vTbirycfTuW7qgo4rHx9lYapXrW5NF5KcUCSD004"),
        ])
        .misses(&[r#"bitrise_region = "eu-central-1""#]),
    prefixed("HARNESS_TOKEN", &["pat.", "sat."], Dotted, (64, 76))
        .entropy(3.5)
        .hits(&[
            ("  harness_token: pat.uS8bOk9RTpAoBwCLmny1qF.8f3475a6d822ecc5e06c3728.C83WIXjXjSfV9bFElKVg", "pat.uS8bOk9RTpAoBwCLmny1qF.8f3475a6d822ecc5e06c3728.C83WIXjXjSfV9bFElKVg"),
            (r#"    "harness_token": "sat.LaYE-10Z1wWYGy01948D7-.7b7946e73d92670a67e9ae4e.Ku7SAjeMCne3PNM0p9nx","#, "sat.LaYE-10Z1wWYGy01948D7-.7b7946e73d92670a67e9ae4e.Ku7SAjeMCne3PNM0p9nx"),
        ])
        .misses(&["# the console shows pat.3AsIFo and asks for the rest"]),
    prefixed("OCTOPUS_API_KEY", &["API-"], Upper, (25, 36))
        .entropy(3.0)
        .allow(&["^API-[A-Z]+$"])
        .hits(&[
            ("args: ['--auth', 'API-KI1HLKUVZTFS1K480I9JLSL2S']", "API-KI1HLKUVZTFS1K480I9JLSL2S"),
            ("https://api.example.com/v1/items?auth=API-HK83UQB6ZI8D9H202Q003UCDC&page=2", "API-HK83UQB6ZI8D9H202Q003UCDC"),
        ])
        .misses(&["# the console shows API-GDDPU4 and asks for the rest"]),
    prefixed("DEPOT_TOKEN", &["depot_project_", "depot_org_", "depot_user_"], HexLower, (40, 80))
        .hits(&[
            ("- echo depot_project_2d8f93a7c3563580394cc40c4750a51753ce55baf902616ada47ec01a48899fb | tool login", "depot_project_2d8f93a7c3563580394cc40c4750a51753ce55baf902616ada47ec01a48899fb"),
            (r#"<add key="depot_token" value="depot_org_53f51eea07fb766479a3800b8ddc2fe5f470042d67252474bc155d1d46b26847" />"#, "depot_org_53f51eea07fb766479a3800b8ddc2fe5f470042d67252474bc155d1d46b26847"),
            (r#"let client = Client::new("depot_user_fdf9afaff01033c9500c737f64a3999af2e64f7f10cb41514d28dd85bf08baa7");"#, "depot_user_fdf9afaff01033c9500c737f64a3999af2e64f7f10cb41514d28dd85bf08baa7"),
        ])
        .misses(&["# the console shows depot_project_2b396e and asks for the rest"]),

    // Platforms.

    prefixed("NETLIFY_TOKEN", &["nfp_", "nfc_", "nfb_", "nfo_", "nfu_"], Alnum, (30, 50))
        .hits(&[
            (r#"    "netlify_token": "nfp_wuHDSDh2xWZj840km6kvZBjW3ABG2bc6Oohz","#, "nfp_wuHDSDh2xWZj840km6kvZBjW3ABG2bc6Oohz"),
            ("The value nfc_vx5eFsqtlk0LUg57fMP6F9CNGI58Csz3rphs was rotated last week.", "nfc_vx5eFsqtlk0LUg57fMP6F9CNGI58Csz3rphs"),
            ("export NETLIFY_TOKEN='nfb_9q0V2wkcqsKMlNBNeEEcFnjT5wiI0wounJGc'", "nfb_9q0V2wkcqsKMlNBNeEEcFnjT5wiI0wounJGc"),
            ("args: ['--auth', 'nfo_sMDs2kkG3BGDugPsunUjVvJy3beY4Z5RJsWZ']", "nfo_sMDs2kkG3BGDugPsunUjVvJy3beY4Z5RJsWZ"),
            ("https://api.example.com/v1/items?auth=nfu_vRY6SXu6vnXg7YGTp3tU6dMLop1gjFWFEVlN&page=2", "nfu_vRY6SXu6vnXg7YGTp3tU6dMLop1gjFWFEVlN"),
        ])
        .misses(&["# the console shows nfp_aeak7m and asks for the rest"]),
    assigned("NETLIFY_LEGACY_TOKEN", &["netlify"], Token, (40, 46))
        .entropy(3.5)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("NETLIFY_AUTH_TOKEN=3biKDNqq9YNCra5mL3FQy4NktGnXJOAoPR-B3K91XPr", "3biKDNqq9YNCra5mL3FQy4NktGnXJOAoPR-B3K91XPr"),
            ("netlify_token: bC7EMsIvldTVJPf9HJXInCmjf1p-jwZYk_fsRlXbudk", "bC7EMsIvldTVJPf9HJXInCmjf1p-jwZYk_fsRlXbudk"),
        ])
        .misses(&[r#"netlify_region = "eu-central-1""#]),
    prefixed("VERCEL_TOKEN", &["vcp_", "vck_", "vca_", "vcr_", "vci_"], Token, (40, 80))
        .hits(&[
            (r#"    "vercel_token": "vcp_Vopce-RANV_4Ou9eSPMYBE2gIEgGpB6slBfZGpZrPo_Mqk-AjzF0_aQ0","#, "vcp_Vopce-RANV_4Ou9eSPMYBE2gIEgGpB6slBfZGpZrPo_Mqk-AjzF0_aQ0"),
            ("The value vck_m-1jdAhsIp61FTmtV4-setnBBLPl_gBfiHb8ag-__UecvV-1AUDiTa9e was rotated last week.", "vck_m-1jdAhsIp61FTmtV4-setnBBLPl_gBfiHb8ag-__UecvV-1AUDiTa9e"),
            ("export VERCEL_TOKEN='vca_whU9SgUyBAKEhrWkVwGHhAy2uvfEsFVPUsKzYoEzW-vobxvMiS648eUo'", "vca_whU9SgUyBAKEhrWkVwGHhAy2uvfEsFVPUsKzYoEzW-vobxvMiS648eUo"),
            ("args: ['--auth', 'vcr_qxbbePhPUWfLb6LTzzEKYdjHp_1WgWVO4WVb0-wcJQXMRObVK8WD73Ao']", "vcr_qxbbePhPUWfLb6LTzzEKYdjHp_1WgWVO4WVb0-wcJQXMRObVK8WD73Ao"),
            ("https://api.example.com/v1/items?auth=vci_A3I6DhcN1HXou9cTGjIS3wo1Zf8UbRy5i33daSavn1mDMvaDdc6icyoz&page=2", "vci_A3I6DhcN1HXou9cTGjIS3wo1Zf8UbRy5i33daSavn1mDMvaDdc6icyoz"),
        ])
        .misses(&["# the console shows vcp_YSRGuv and asks for the rest"]),
    prefixed("VERCEL_BLOB_TOKEN", &["vercel_blob_rw_"], Word, (30, 80))
        .hits(&[
            ("The value vercel_blob_rw_v2hxldFc5exoKGOv_FhWuTVVTWdV51nyLigJhh65ysGoDRy was rotated last week.", "vercel_blob_rw_v2hxldFc5exoKGOv_FhWuTVVTWdV51nyLigJhh65ysGoDRy"),
            ("export VERCEL_BLOB_TOKEN='vercel_blob_rw_CSExd84DYuxTjGzl_UfjsDSYEk5icUPOhhGdy9FiUY86jzz'", "vercel_blob_rw_CSExd84DYuxTjGzl_UfjsDSYEk5icUPOhhGdy9FiUY86jzz"),
        ])
        .misses(&["# the console shows vercel_blob_rw_HKAx4O and asks for the rest"]),
    assigned("VERCEL_LEGACY_TOKEN", &["vercel", "zeittoken", "nowtoken"], Alnum, (24, 24))
        .entropy(3.3)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("VERCEL_TOKEN=CJEdFd4Uar3WUYpRfeRLLMSG", "CJEdFd4Uar3WUYpRfeRLLMSG"),
            ("vercel_api: ey1iayNdYUkov45sLfc46hOJ", "ey1iayNdYUkov45sLfc46hOJ"),
        ])
        .misses(&[r#"vercel_region = "eu-central-1""#]),
    pattern(
        "VERCEL_DEPLOY_HOOK",
        &["/integrations/deploy/", "netlify.com/build_hooks/", "cloudflare.com/client/v4/pages/webhooks/", "onrender.com/deploy", "render.com/deploy/"],
        r"(?:/integrations/deploy/prj_\w{10,40}|netlify\.com/build_hooks|pages/webhooks/deploy_hooks|render\.com/deploy/srv-\w{10,40}\?key=)/?([\w-]{10,48})",
    )
        .hits(&[
            ("https://api.vercel.com/v1/integrations/deploy/prj_8sYc2Lm0QwZ1/pJpPh84gzR", "pJpPh84gzR"),
            ("curl -X POST https://api.netlify.com/build_hooks/b2119d4f06924332a97d9a56", "b2119d4f06924332a97d9a56"),
            ("https://api.render.com/deploy/srv-cmk2l0ol6cac73b5h6v0?key=0HANz1MIHYk", "0HANz1MIHYk"),
        ])
        .misses(&["https://api.netlify.com/build_hooks/$HOOK"]),
    prefixed("HEROKU_API_KEY", &["HRKU-"], Token, (36, 70))
        .hits(&[
            (r#"let client = Client::new("HRKU-AAGHFjAUE02KyGwaUsIEZoiqJVeeVgxhgYO_FeSIfLOHhx6ZSNjCsVcL1S8u");"#, "HRKU-AAGHFjAUE02KyGwaUsIEZoiqJVeeVgxhgYO_FeSIfLOHhx6ZSNjCsVcL1S8u"),
            ("HEROKU_API_KEY=HRKU-51940b2f-f172-471b-b6fb-9b4a4d1d3cee", "HRKU-51940b2f-f172-471b-b6fb-9b4a4d1d3cee"),
        ])
        .misses(&["# the console shows HRKU-lvXO2Z and asks for the rest"]),
    assigned("HEROKU_LEGACY_KEY", &["heroku"], Uuid, (36, 36))
        .hits(&[
            (r#"  "heroku_api_key": "3fa64633-6ca8-4c75-a942-aa0c8a181e52","#, "3fa64633-6ca8-4c75-a942-aa0c8a181e52"),
            ("const herokuKey = 'f02ca368-7012-4e34-8c09-c5c882b436f2';", "f02ca368-7012-4e34-8c09-c5c882b436f2"),
        ])
        .misses(&[r#"heroku_app = "shop""#]),
    prefixed("FLY_TOKEN", &["fo1_", "fm1r_", "fm1a_", "fm2_"], AnyBase64, (30, 2000))
        .hits(&[
            ("  fly_token: fo1_Sl0aomww-bp_rNV3nzGGDAHnP_xGJzxWU6Qj1hcSON7", "fo1_Sl0aomww-bp_rNV3nzGGDAHnP_xGJzxWU6Qj1hcSON7"),
            (r#"    "fly_token": "fm1r_3pT9QbXXGZ9B5TW40++HW8EklhB5mJ+O2cH+25aVVNOsiTwdWO87Wfn2Z0hJ0Qyq82pgtRb0mKl3XCHOnB1UnRhmpkymzmfIYysY18QuY/uXgNRlUttN7LToc","#, "fm1r_3pT9QbXXGZ9B5TW40++HW8EklhB5mJ+O2cH+25aVVNOsiTwdWO87Wfn2Z0hJ0Qyq82pgtRb0mKl3XCHOnB1UnRhmpkymzmfIYysY18QuY/uXgNRlUttN7LToc"),
            ("The value fm1a_gqNAiWgLTr+fRRPjeNkmUVoWO+GhlxstTlLbKBarcl2bQXD1FMH7eMyMloNojKD0i9syq7I/RAsdeqcnVX27IblAA1xmT+55YUX4Ymhol606xYW9v4nmuzA+a was rotated last week.", "fm1a_gqNAiWgLTr+fRRPjeNkmUVoWO+GhlxstTlLbKBarcl2bQXD1FMH7eMyMloNojKD0i9syq7I/RAsdeqcnVX27IblAA1xmT+55YUX4Ymhol606xYW9v4nmuzA+a"),
            ("export FLY_TOKEN='fm2_lJPECd7vyaMMNFhh6YqzFO8dH1yd+ftHxHPWPfXEK9Jb7VIcKKLb6Uvubk8/qSPbfPych3YYS5Er4qjqsk+zCGgN/6smPZK+8D3hkurQrNWH44ktylxc5CwYRLPqO6'", "fm2_lJPECd7vyaMMNFhh6YqzFO8dH1yd+ftHxHPWPfXEK9Jb7VIcKKLb6Uvubk8/qSPbfPych3YYS5Er4qjqsk+zCGgN/6smPZK+8D3hkurQrNWH44ktylxc5CwYRLPqO6"),
        ])
        .misses(&["# the console shows fo1_1bcFa4 and asks for the rest"]),
    assigned("RAILWAY_TOKEN", &["railway"], Uuid, (36, 36))
        .hits(&[
            ("const railwayToken = '4b09fe76-880a-449a-853b-74b5986470a9';", "4b09fe76-880a-449a-853b-74b5986470a9"),
            (r#"railway_api_token = "203cc535-bfb8-4a41-b02c-cbdfad8d7b39""#, "203cc535-bfb8-4a41-b02c-cbdfad8d7b39"),
        ])
        .misses(&[r#"railway_service = "web""#, "RAILWAY_PROJECT_ID=7b2e4d1c-9f3a-4c8b-a5d6-1e2f3a4b5c6d"]),
    prefixed("RENDER_API_KEY", &["rnd_"], Alnum, (24, 48))
        .entropy(3.0)
        .allow(&["^rnd_[a-z]+$"])
        .hits(&[
            ("The value rnd_aidyJFWzs7T0WSfpRepxJkGKKuUW8Lx2 was rotated last week.", "rnd_aidyJFWzs7T0WSfpRepxJkGKKuUW8Lx2"),
            ("export RENDER_API_KEY='rnd_AT3Z7IgNufBHr6Y9lSRvSB8pibXyebaH'", "rnd_AT3Z7IgNufBHr6Y9lSRvSB8pibXyebaH"),
        ])
        .misses(&["# the console shows rnd_yP0sie and asks for the rest"]),
    prefixed("SCALINGO_TOKEN", &["tk-us-"], Token, (40, 60))
        .hits(&[
            (r#"let client = Client::new("tk-us-4NcM7bGYEmpSDVpHe2FFpA7Uy3YU_SdSXdOxNNTeKZxLhoum");"#, "tk-us-4NcM7bGYEmpSDVpHe2FFpA7Uy3YU_SdSXdOxNNTeKZxLhoum"),
            ("SCALINGO_TOKEN=tk-us-oQoixlOHqFSfjoJRk8XFL3uqUzoqICELZHcjsEpglbJz2zrt", "tk-us-oQoixlOHqFSfjoJRk8XFL3uqUzoqICELZHcjsEpglbJz2zrt"),
        ])
        .misses(&["# the console shows tk-us-secpg8 and asks for the rest"]),
    assigned("PAAS_TOKEN", &["koyeb", "northflank", "platformsh", "clevercloud", "zeabur", "qovery", "aptible", "pantheon", "acquia", "kinsta", "wpengine", "cloudways", "surgetoken", "gigalixir"], Token, (32, 80))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("KOYEB_TOKEN=05ztStMwLRl2Fqmxbrb0nzmRb7pat2vjctVz18nCzLjhPmXYw4fsENzd0R2Kya9E", "05ztStMwLRl2Fqmxbrb0nzmRb7pat2vjctVz18nCzLjhPmXYw4fsENzd0R2Kya9E"),
            ("platformsh_cli_token: JEOYl0g55qJ61RZOsa4CtJfOmrgvuhnCFBsQ5JCWOtYZCc5RgT9xuC8NsvySHAmw", "JEOYl0g55qJ61RZOsa4CtJfOmrgvuhnCFBsQ5JCWOtYZCc5RgT9xuC8NsvySHAmw"),
            (r#"  "surge_token": "dF9W6AGyXx04Q0QngkZpPUeNfPHVT8ww1zOLntnvmqoza1xPNgmrwaAN0M4txAgQ","#, "dF9W6AGyXx04Q0QngkZpPUeNfPHVT8ww1zOLntnvmqoza1xPNgmrwaAN0M4txAgQ"),
        ])
        .misses(&[r#"koyeb_region = "eu-central-1""#]),

    // Smaller clouds.

    prefixed("DIGITALOCEAN_TOKEN", &["dop_v1_", "doo_v1_", "dor_v1_"], HexLower, (60, 70))
        .hits(&[
            ("export DIGITALOCEAN_TOKEN='dop_v1_cd814fa4730ffdcaad1ea670c818001586215d3ea436771542089d5799b263de'", "dop_v1_cd814fa4730ffdcaad1ea670c818001586215d3ea436771542089d5799b263de"),
            ("args: ['--auth', 'doo_v1_bbb93479d32ba5260146d9ef83290ad660a0e08052b052830fb21b92295be08b']", "doo_v1_bbb93479d32ba5260146d9ef83290ad660a0e08052b052830fb21b92295be08b"),
            ("https://api.example.com/v1/items?auth=dor_v1_df339243a4db7cdada3d0184cbfda1264e42414147b3124b041824d1fbea95d7&page=2", "dor_v1_df339243a4db7cdada3d0184cbfda1264e42414147b3124b041824d1fbea95d7"),
        ])
        .misses(&["# the console shows dop_v1_c97272 and asks for the rest"]),
    prefixed("DIGITALOCEAN_SPACES_KEY", &["DO00", "DO80"], Upper, (16, 18))
        .entropy(3.0)
        .hits(&[
            ("- echo DO00YJUYKEH6TFMPF3GE | tool login", "DO00YJUYKEH6TFMPF3GE"),
            (r#"<add key="digitalocean_spaces_key" value="DO80DCU0QZ8591C4EHD6" />"#, "DO80DCU0QZ8591C4EHD6"),
        ])
        .misses(&["# the console shows DO00F9HPP and asks for the rest"]),
    prefixed("DIGITALOCEAN_AI_KEY", &["sk-do-"], Token, (40, 90))
        .hits(&[
            ("https://api.example.com/v1/items?auth=sk-do-bYHuxAGAl8tS_4Mjq86XwoATc5uxwzi08v_qWt-bCRqTuRmE8XF70yUw1ILIng6y&page=2", "sk-do-bYHuxAGAl8tS_4Mjq86XwoATc5uxwzi08v_qWt-bCRqTuRmE8XF70yUw1ILIng6y"),
            ("- echo sk-do-F6wUA2htuPh1NCitWtk3GjnUDPrqc-K5q4bHgqrYjkaA-lzC5PbFbESOThiK-Tks | tool login", "sk-do-F6wUA2htuPh1NCitWtk3GjnUDPrqc-K5q4bHgqrYjkaA-lzC5PbFbESOThiK-Tks"),
        ])
        .misses(&["# the console shows sk-do-aNLupR and asks for the rest"]),
    assigned("LINODE_TOKEN", &["linode"], HexLower, (64, 64))
        .hits(&[
            ("linode_token: c0e52393209140fbe7cbe65e38746eceedcc6efda1f6581e4e68327a2f74d0f2", "c0e52393209140fbe7cbe65e38746eceedcc6efda1f6581e4e68327a2f74d0f2"),
            (r#"  "linode_cli_token": "21e3d64a8239888abbe9336e79b72975d0121b416b72c9409197d9c4ea2faa71","#, "21e3d64a8239888abbe9336e79b72975d0121b416b72c9409197d9c4ea2faa71"),
        ])
        .misses(&[r#"linode_region = "eu-central-1""#]),
    assigned("VULTR_KEY", &["vultr"], Upper, (36, 36))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const vultrApiKey = 'FBM743SRFEA7CYVZ665MX752Q4ZI6AQWQS7U';", "FBM743SRFEA7CYVZ665MX752Q4ZI6AQWQS7U"),
            (r#"vultr_key = "U4G28Z8P6EG6E4V2M25ZV19NXXV1PSY04XOC""#, "U4G28Z8P6EG6E4V2M25ZV19NXXV1PSY04XOC"),
        ])
        .misses(&[r#"vultr_region = "eu-central-1""#]),
    assigned("HETZNER_TOKEN", &["hcloud", "hetzner"], Alnum, (64, 64))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "hcloud_token": "WC3Ax2iQ69EV8ifNZ3PLjXjrSB8dpZ2DI0Xv7sGktt3WS16oXQ7eQzuffqADW33x","#, "WC3Ax2iQ69EV8ifNZ3PLjXjrSB8dpZ2DI0Xv7sGktt3WS16oXQ7eQzuffqADW33x"),
            ("const hetznerApiToken = 'RUFTaHZDvtb7RFcr4iF6MwLwwNFdnY2FO7uJPOOM3GhR5wOuEQPzT0ZautUe9NHV';", "RUFTaHZDvtb7RFcr4iF6MwLwwNFdnY2FO7uJPOOM3GhR5wOuEQPzT0ZautUe9NHV"),
        ])
        .misses(&[r#"hcloud_region = "eu-central-1""#]),
    assigned("HETZNER_DNS_TOKEN", &["hetznerdns", "hdnstoken"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "hetzner_dns_token": "io6APZVrIfGTu4iIRqT0snU85mY8jFuT","#, "io6APZVrIfGTu4iIRqT0snU85mY8jFuT"),
            ("const hetznerDnsApi = 'jxnJSzV1EGU4F17VRxo2b6YKvkITnxYM';", "jxnJSzV1EGU4F17VRxo2b6YKvkITnxYM"),
        ])
        .misses(&[r#"hetzner_region = "eu-central-1""#]),
    prefixed("SCALEWAY_ACCESS_KEY", &["SCW"], Upper, (17, 17))
        .entropy(3.0)
        .allow(&["^SCW[A-Z]+$"])
        .hits(&[
            ("  scaleway_access_key: SCWRRQ32EL17A1B71WDH", "SCWRRQ32EL17A1B71WDH"),
            (r#"    "scaleway_access_key": "SCWRGBNQEFOKLHTCC2RN","#, "SCWRGBNQEFOKLHTCC2RN"),
        ])
        .misses(&["# the console shows SCWZH0DZ and asks for the rest"]),
    assigned("SCALEWAY_SECRET", &["scaleway", "scwsecretkey", "scwtoken"], Uuid, (36, 36))
        .hits(&[
            ("scw_secret_key: 9bc5c735-e912-4f69-853c-61755a0cda56", "9bc5c735-e912-4f69-853c-61755a0cda56"),
            (r#"  "scaleway_token": "c9a4c42f-aaea-4bc3-a599-2d9ea3e19a05","#, "c9a4c42f-aaea-4bc3-a599-2d9ea3e19a05"),
        ])
        .misses(&[r#"scw_default_zone = "fr-par-1""#]),
    assigned("OVH_SECRET", &["ovh"], Alnum, (32, 32))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("OVH_APPLICATION_SECRET=ihEJxrJN6JN2xMANLSrcDS9byHAy4SOj", "ihEJxrJN6JN2xMANLSrcDS9byHAy4SOj"),
            ("ovh_consumer_key: 0cMv8CvJ2TlB17RhM907rg97dyyouRZj", "0cMv8CvJ2TlB17RhM907rg97dyyouRZj"),
        ])
        .misses(&[r#"ovh_region = "eu-central-1""#]),
    assigned("OVH_APPLICATION_KEY", &["applicationkey", "ovhappkey"], Alnum, (16, 16))
        .entropy(2.5)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "ovh_application_key": "kc0otOdK8pImQf94","#, "kc0otOdK8pImQf94"),
            ("const ovhApplicationKey = 'SzphseoTFDfpOVq5';", "SzphseoTFDfpOVq5"),
        ])
        .misses(&[r#"ovh_region = "eu-central-1""#]),
    prefixed("EXOSCALE_KEY", &["EXO"], Alnum, (24, 30))
        .entropy(3.0)
        .allow(&["^EXO[A-Za-z]+$"])
        .hits(&[
            ("export EXOSCALE_KEY='EXOff64b01d889c624b75201c4c'", "EXOff64b01d889c624b75201c4c"),
            ("args: ['--auth', 'EXO8139751ee7ebc88f2124a469']", "EXO8139751ee7ebc88f2124a469"),
        ])
        .misses(&["# the console shows EXOMYQU0U and asks for the rest"]),
    prefixed("UPCLOUD_TOKEN", &["ucat_"], Alnum, (20, 40))
        .hits(&[
            ("args: ['--auth', 'ucat_82R9H0U45RT4PHXUC6821YF706']", "ucat_82R9H0U45RT4PHXUC6821YF706"),
            ("https://api.example.com/v1/items?auth=ucat_IWPO3R12M97POP7RDJVPD40FOZ&page=2", "ucat_IWPO3R12M97POP7RDJVPD40FOZ"),
        ])
        .misses(&["# the console shows ucat_MzvCi8 and asks for the rest"]),
    assigned("CIVO_KEY", &["civo", "infomaniak", "ionos", "contabo", "kamatera", "gridscale", "latitudesh", "equinixmetal", "packetauthtoken", "metalauthtoken", "vastai", "lambdalabs", "paperspace"], Token, (32, 100))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"civo_token = "PNw8XYVs1qLqD9r3AeSsJPRmxCnFKCdUATSvyNg4EF4cBZay2r""#, "PNw8XYVs1qLqD9r3AeSsJPRmxCnFKCdUATSvyNg4EF4cBZay2r"),
            ("EQUINIXMETAL_TOKEN=nJqadHSOyZMuuytHw8kc9LNYj0gz9SBx06weSqdhy4GjU7S8S8", "nJqadHSOyZMuuytHw8kc9LNYj0gz9SBx06weSqdhy4GjU7S8S8"),
            ("vastai_key: maLx8fNVnh5KwavcSR1QUr7l4EvwIhTC9wSi1hfkx68RvYRh1b", "maLx8fNVnh5KwavcSR1QUr7l4EvwIhTC9wSi1hfkx68RvYRh1b"),
        ])
        .misses(&[r#"civo_region = "eu-central-1""#]),
    prefixed("BACKBLAZE_KEY", &["K00"], Base64, (28, 28))
        .entropy(3.5)
        .hits(&[
            ("- echo K000869HwVcH43BVLhXsdGTjFFB3xhg | tool login", "K000869HwVcH43BVLhXsdGTjFFB3xhg"),
            (r#"<add key="backblaze_key" value="K002jn0YxJxkD5+TlxCMdW8a7DmnhVu" />"#, "K002jn0YxJxkD5+TlxCMdW8a7DmnhVu"),
        ])
        .misses(&["# the console shows K00EW3bHr and asks for the rest"]),
    assigned("BUNNY_KEY", &["bunnynet", "bunnycdn", "bunnyapikey", "bunnyaccesskey"], Token, (36, 72))
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const bunnyApiKey = '02ebe553-98ad-4e85-ac8d-281fb8617b40';", "02ebe553-98ad-4e85-ac8d-281fb8617b40"),
            (r#"bunnycdn_key = "93386494-5cc0-4039-97d1-502d76420663""#, "93386494-5cc0-4039-97d1-502d76420663"),
        ])
        .misses(&[r#"bunny_region = "eu-central-1""#]),

    // Networks and names.

    prefixed("CLOUDFLARE_TOKEN", &["cfut_", "cfat_", "cfk_"], Token, (36, 64))
        .hits(&[
            ("CLOUDFLARE_TOKEN=cfut_9jJkzN8iru7yO3pHIoAJOmaIZyOUvq2T6GZDCho5d0b168a3", "cfut_9jJkzN8iru7yO3pHIoAJOmaIZyOUvq2T6GZDCho5d0b168a3"),
            ("  cloudflare_token: cfat_T8DA1IrfhpxDqiaetqCgLWcAbWm5PGhUPKAcdFlP7e3d108f", "cfat_T8DA1IrfhpxDqiaetqCgLWcAbWm5PGhUPKAcdFlP7e3d108f"),
            (r#"    "cloudflare_token": "cfk_8ZScxUny5xNiZ6j8TriavF22DGjkxGK1hTH6G9SQbf37c033","#, "cfk_8ZScxUny5xNiZ6j8TriavF22DGjkxGK1hTH6G9SQbf37c033"),
        ])
        .misses(&["# the console shows cfut_QhYAKn and asks for the rest"]),
    assigned("CLOUDFLARE_API_TOKEN", &["cloudflare", "cfapitoken", "cftoken", "cfdnsapitoken", "cfapikey"], Token, (40, 40))
        .entropy(3.3)
        .allow(&["^[0-9a-f]{40}$", "^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"cloudflare_api_token = "Sv4cFlixkCRFHeZIXhIUMvmHiSqU-6AcZkSo44Ob""#, "Sv4cFlixkCRFHeZIXhIUMvmHiSqU-6AcZkSo44Ob"),
            ("CF_API_TOKEN=SV4cm99KN4UeRb8rVBTgPNR7hWmSmRk2_huKHMrf", "SV4cm99KN4UeRb8rVBTgPNR7hWmSmRk2_huKHMrf"),
        ])
        .misses(&[r#"cloudflare_zone = "example.com""#]),
    assigned("CLOUDFLARE_GLOBAL_KEY", &["cloudflare", "cfapikey", "cfkey", "xauthkey"], HexLower, (37, 37))
        .hits(&[
            ("CLOUDFLARE_API_KEY=c40324d5feea4389a1a6c5263c9a661babd36", "c40324d5feea4389a1a6c5263c9a661babd36"),
            ("cf_key: 810ba8192dc9911a7bf170f5b9a6d3bd8f33c", "810ba8192dc9911a7bf170f5b9a6d3bd8f33c"),
        ])
        .misses(&[r#"cloudflare_region = "eu-central-1""#]),
    pattern(
        "CLOUDFLARE_ORIGIN_CA_KEY",
        &["v1.0-"],
        r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{140,150}\b",
    )
        .hits(&[
            ("CF_ORIGIN_CA_KEY=v1.0-3d9bd21f2fb7c38e4c6e39a8-1c42bdd18440730e8e183f86ef1028735d21787c6386947dacfa647398fd28d42bdfc90de73e548a4596dc6964741c5f19e28e44408422b18be6e49376c069b82d7f27fa21127fad1e", "v1.0-3d9bd21f2fb7c38e4c6e39a8-1c42bdd18440730e8e183f86ef1028735d21787c6386947dacfa647398fd28d42bdfc90de73e548a4596dc6964741c5f19e28e44408422b18be6e49376c069b82d7f27fa21127fad1e"),
            (r#""ca": "v1.0-677b1de895a735c96c21b738-8d0e377fa661b94edcec02a6d974747fd2e5a597dbea1d08e5269cdf3fe2b63895792d27806a32914c5cac3f7473e2f385c0da527bc94774233dae7e7ceb813b7c7995a397399c9f52""#, "v1.0-677b1de895a735c96c21b738-8d0e377fa661b94edcec02a6d974747fd2e5a597dbea1d08e5269cdf3fe2b63895792d27806a32914c5cac3f7473e2f385c0da527bc94774233dae7e7ceb813b7c7995a397399c9f52"),
        ])
        .misses(&["release v1.0-beta"]),
    prefixed("CLOUDFLARE_TUNNEL_TOKEN", &["eyJhIjoi"], AnyBase64, (80, 400))
        .hits(&[
            (r#"let client = Client::new("eyJhIjoiJYtMr58Sj9mCfwYdxDZxvcIxoX5Oaznv40JRlEjrfBYhukKyYsDq0miKR1eK2gheKVCrGT90LMu7DXcKD3pYNycNR5Lgc5uiOafWgV2xiSfqqpwgY6GmyubmwTeuNI81lFXyqpEXUHfAOMCANKsOyS");"#, "eyJhIjoiJYtMr58Sj9mCfwYdxDZxvcIxoX5Oaznv40JRlEjrfBYhukKyYsDq0miKR1eK2gheKVCrGT90LMu7DXcKD3pYNycNR5Lgc5uiOafWgV2xiSfqqpwgY6GmyubmwTeuNI81lFXyqpEXUHfAOMCANKsOyS"),
            ("CLOUDFLARE_TUNNEL_TOKEN=eyJhIjoiidIrffNv5hszwNEHuZdRo0IO5t0CNFcc9bEMTUJS1gCtNj5sJ2Qycun8FpqZoiwMCE7eyWwfUNlxK8EawWiirxmcU00ufvEZkQ9NOBctY4clT94UmzpUZLcfNCP18NYBAL1Ay5mGToHC38tpVRn4pd", "eyJhIjoiidIrffNv5hszwNEHuZdRo0IO5t0CNFcc9bEMTUJS1gCtNj5sJ2Qycun8FpqZoiwMCE7eyWwfUNlxK8EawWiirxmcU00ufvEZkQ9NOBctY4clT94UmzpUZLcfNCP18NYBAL1Ay5mGToHC38tpVRn4pd"),
        ])
        .misses(&["# the console shows eyJhIjoiS7hkRF and asks for the rest"]),
    prefixed("CLOUDFLARE_TURNSTILE_SECRET", &["0x4AAAAAA"], Token, (24, 32))
        .hits(&[
            ("https://api.example.com/v1/items?auth=0x4AAAAAAARR6YGQV1jIc7DDWPVQBumkYKIv&page=2", "0x4AAAAAAARR6YGQV1jIc7DDWPVQBumkYKIv"),
            ("- echo 0x4AAAAAAAgVX7BDsUVy-wMBZyL1OdhHcQ97 | tool login", "0x4AAAAAAAgVX7BDsUVy-wMBZyL1OdhHcQ97"),
        ])
        .misses(&["# the console shows 0x4AAAAAAkZvywi and asks for the rest"]),
    assigned("FASTLY_TOKEN", &["fastly"], Token, (32, 32))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const fastlyApiToken = 'E668Gk0OC8EtI_ijWbbMC26Vvg6EheBn';", "E668Gk0OC8EtI_ijWbbMC26Vvg6EheBn"),
            (r#"fastly_key = "Nb84kMV7kCKWEQzFXPTnzPZfaa_ndbca""#, "Nb84kMV7kCKWEQzFXPTnzPZfaa_ndbca"),
        ])
        .misses(&[r#"fastly_region = "eu-central-1""#]),
    pattern(
        "AKAMAI_TOKEN",
        &["akab-"],
        r"\b(akab-[0-9a-z]{16}-[0-9a-z]{16})(?:[^0-9a-z.-]|$)",
    )
        .hits(&[
            ("client_token = akab-qycqfz14vacsyfv3-ydfgrqks7mfkytfo", "akab-qycqfz14vacsyfv3-ydfgrqks7mfkytfo"),
            (r#"access_token: "akab-ie52h0anls3139ge-q7pbz5uisun6ccm3""#, "akab-ie52h0anls3139ge-q7pbz5uisun6ccm3"),
        ])
        .misses(&["host = akab-h05tnam3wl42son7-nktnlvnbov2zf44x.luna.akamaiapis.net"]),
    assigned("AKAMAI_CLIENT_SECRET", &["akamai", "edgegrid"], Base64, (44, 44))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "akamai_client_secret": "dAsnu+kkeaIfBnFdWh2HcE2wuUinELLvHdlx1nQcX/M=","#, "dAsnu+kkeaIfBnFdWh2HcE2wuUinELLvHdlx1nQcX/M="),
            ("const edgegridSecret = 'amirJ5cOpL94g3MAivESyxeOHKUVsUA76ar58brwYfz=';", "amirJ5cOpL94g3MAivESyxeOHKUVsUA76ar58brwYfz="),
        ])
        .misses(&[r#"akamai_region = "eu-central-1""#]),
    prefixed("PORKBUN_KEY", &["pk1_", "sk1_"], HexLower, (60, 66))
        .hits(&[
            ("PORKBUN_KEY=pk1_c9affdf167792eecc79ddc575c76193c731d50707c66cb569862987432eacaa9", "pk1_c9affdf167792eecc79ddc575c76193c731d50707c66cb569862987432eacaa9"),
            ("  porkbun_key: sk1_6382139c3bc695953d645e7a457edc8bde6d2dde6dd7a796cccc2dc332ab41b8", "sk1_6382139c3bc695953d645e7a457edc8bde6d2dde6dd7a796cccc2dc332ab41b8"),
        ])
        .misses(&["# the console shows pk1_023abc and asks for the rest"]),
    prefixed("DNSIMPLE_TOKEN", &["dnsimple_a_", "dnsimple_u_"], Alnum, (20, 48))
        .hits(&[
            ("export DNSIMPLE_TOKEN='dnsimple_a_UtKsunAvUhNeSr4ZCjMIhcWjk3yeOnWr'", "dnsimple_a_UtKsunAvUhNeSr4ZCjMIhcWjk3yeOnWr"),
            ("args: ['--auth', 'dnsimple_u_mRYQ23876axfWbcUMun0d4OSuzKl6epJ']", "dnsimple_u_mRYQ23876axfWbcUMun0d4OSuzKl6epJ"),
        ])
        .misses(&["# the console shows dnsimple_a_UXFrON and asks for the rest"]),
    assigned("REGISTRAR_KEY", &["godaddy", "namecheap", "gandi", "nsone", "ns1apikey", "dnsmadeeasy", "desec", "duckdns", "cloudns", "dynuapi", "luadns", "powerdns", "rfc2136"], AnyBase64, (20, 96))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("godaddy_api_secret: JmSY50ai7XQ15lwZUIgO7X", "JmSY50ai7XQ15lwZUIgO7X"),
            (r#"  "gandi_key": "cdqlWjSy8YoqM63ikFXjoMyl","#, "cdqlWjSy8YoqM63ikFXjoMyl"),
            ("const ns1ApiKey = 'ahgZTo0K8zhxWa6UtdUb';", "ahgZTo0K8zhxWa6UtdUb"),
            (r#"duckdns_token = "8321ebff-23a0-4ee1-b025-6ccaba90bd5b""#, "8321ebff-23a0-4ee1-b025-6ccaba90bd5b"),
        ])
        .misses(&[r#"godaddy_region = "eu-central-1""#]),

    // More.

    prefixed("RAILWAY_PREFIXED_TOKEN", &["rw_"], Alnum, (30, 60))
        .entropy(3.3)
        .allow(&["^rw_[^0-9]+$"])
        .hits(&[
            ("export RAILWAY_PREFIXED_TOKEN='rw_4W7JcqMB0FPfLI5eNnpr0rhqVSTo9BvNyYiTFc9Bkcq'", "rw_4W7JcqMB0FPfLI5eNnpr0rhqVSTo9BvNyYiTFc9Bkcq"),
            ("args: ['--auth', 'rw_T9McGqNRvdlWeIfUjrTs1z6Ky57tHW503kuBKokGjRm']", "rw_T9McGqNRvdlWeIfUjrTs1z6Ky57tHW503kuBKokGjRm"),
        ])
        .misses(&["# the console shows rw_KmTKVV and asks for the rest"]),
    prefixed("UNKEY_KEY", &["unkey_"], Alnum, (18, 40))
        .entropy(3.3)
        .allow(&["^unkey_[^0-9]+$"])
        .hits(&[
            ("https://api.example.com/v1/items?auth=unkey_LBeILlcNbx4EdskU5ETf1l&page=2", "unkey_LBeILlcNbx4EdskU5ETf1l"),
            ("- echo unkey_PKNcIaqaAS1OZqUZV6Wuq4 | tool login", "unkey_PKNcIaqaAS1OZqUZV6Wuq4"),
        ])
        .misses(&["# the console shows unkey_i6NJyX and asks for the rest"]),
    prefixed("ZUPLO_KEY", &["zpka_"], Word, (30, 60))
        .hits(&[
            ("https://api.example.com/v1/items?auth=zpka_738abvo0hgfmb0x4zn1upolncccwprc7_d50bb426&page=2", "zpka_738abvo0hgfmb0x4zn1upolncccwprc7_d50bb426"),
            ("- echo zpka_uimx51aj45d6nm5qxxxmbip1ubqovdys_194c95e1 | tool login", "zpka_uimx51aj45d6nm5qxxxmbip1ubqovdys_194c95e1"),
        ])
        .misses(&["# the console shows zpka_HPddZY and asks for the rest"]),
    prefixed("TRIGGER_DEV_KEY", &["tr_prod_", "tr_dev_", "tr_stg_", "tr_pat_"], Alnum, (18, 48))
        .entropy(3.0)
        .hits(&[
            ("The value tr_prod_tbWgiT5Eiu3RBzJTtvtXx0nC was rotated last week.", "tr_prod_tbWgiT5Eiu3RBzJTtvtXx0nC"),
            ("export TRIGGER_DEV_KEY='tr_dev_HjQGYnwSuGZ5AECvfN2e5qLs'", "tr_dev_HjQGYnwSuGZ5AECvfN2e5qLs"),
            ("args: ['--auth', 'tr_stg_zyeMHFLzhE1NUskYLshpfqxa']", "tr_stg_zyeMHFLzhE1NUskYLshpfqxa"),
            ("https://api.example.com/v1/items?auth=tr_pat_F1J4jpTO0OYsCs3zmFk2snNd&page=2", "tr_pat_F1J4jpTO0OYsCs3zmFk2snNd"),
        ])
        .misses(&["# the console shows tr_prod_iSV3lo and asks for the rest"]),
    prefixed("INNGEST_KEY", &["signkey-prod-", "signkey-test-", "signkey-branch-"], HexLower, (30, 70))
        .hits(&[
            (r#"<add key="inngest_key" value="signkey-prod-88274133f40abf6aa2cdf1e1e9b077e7e2d6ffc826e219e5e0d158ca8266d9c2" />"#, "signkey-prod-88274133f40abf6aa2cdf1e1e9b077e7e2d6ffc826e219e5e0d158ca8266d9c2"),
            (r#"let client = Client::new("signkey-test-f318bce0c3d3911395df61fec3560607a9af7c267868c7351129980e0220f6e9");"#, "signkey-test-f318bce0c3d3911395df61fec3560607a9af7c267868c7351129980e0220f6e9"),
            ("INNGEST_KEY=signkey-branch-9a47e39428b8dd56bc08dadf7058112ee653f6bb60d970013ea2be5bdd778054", "signkey-branch-9a47e39428b8dd56bc08dadf7058112ee653f6bb60d970013ea2be5bdd778054"),
        ])
        .misses(&["# the console shows signkey-prod-f6fc61 and asks for the rest"]),
    prefixed("BITRISE_PAT", &["bitpat-"], HexLower, (60, 70))
        .hits(&[
            ("export BITRISE_PAT='bitpat-c7717832adb9297eb1bf307689bc82cc45694da46b5c0ebe2c5b25935d0bb03b'", "bitpat-c7717832adb9297eb1bf307689bc82cc45694da46b5c0ebe2c5b25935d0bb03b"),
            ("args: ['--auth', 'bitpat-d73ed1f2778787f2d55e13bf4d5fef3d553bbfa5075d4b442f3d93ed7f9085b4']", "bitpat-d73ed1f2778787f2d55e13bf4d5fef3d553bbfa5075d4b442f3d93ed7f9085b4"),
        ])
        .misses(&["# the console shows bitpat-c491ad and asks for the rest"]),
];

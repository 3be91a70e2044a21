//! Package registries and what publishes to them.

use super::super::rule::Charset::{Alnum, AnyBase64, HexLower, Lower, Token, Upper, Uuid, Word};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Language registries.

    prefixed("NPM_TOKEN", &["npm_"], Alnum, (36, 40))
        .hits(&[
            (r#"<add key="npm_token" value="npm_BaB7WqVEc4TcO9Dzhf66ScDj76XjqFFfmsaW" />"#, "npm_BaB7WqVEc4TcO9Dzhf66ScDj76XjqFFfmsaW"),
            (r#"let client = Client::new("npm_xp32lEb04n4Oh3DxyYxkHDEv7GGzNtU0XJJA");"#, "npm_xp32lEb04n4Oh3DxyYxkHDEv7GGzNtU0XJJA"),
        ])
        .misses(&["npm_config_registry", "npm_lifecycle_event"]),
    pattern(
        "NPMRC_AUTH",
        &["_authtoken", "_auth=", "_auth =", "_password=", "_password ="],
        r#"(?:^|[:\s+"\x27])_(?:authToken|auth|password)\s?=\s?["\x27]?([0-9A-Za-z+/=._-]{8,})"#,
    )
        .entropy(2.5)
        .allow(&["^[a-z_]+$", "^[A-Z_]+[0-9]?$", r"^(?:self|this|process|os|env|config)\."])
        .hits(&[
            ("//registry.npmjs.org/:_authToken=f765dad6-834d-4d3d-8a3b-039aa08defa9", "f765dad6-834d-4d3d-8a3b-039aa08defa9"),
            ("+//npm.example.com/:_auth=AuuDjNcrjGeRQu6b01L2hYzXooNh6V14fkS==", "AuuDjNcrjGeRQu6b01L2hYzXooNh6V14fkS=="),
            ("//npm.example.com/:_password=ysJEskK1Vn9HklwCQV2lscHgabQ==", "ysJEskK1Vn9HklwCQV2lscHgabQ=="),
        ])
        .misses(&["//registry.npmjs.org/:_authToken=${NPM_TOKEN}", "self._auth = None"]),
    prefixed("PYPI_TOKEN", &["pypi-"], Token, (70, 1000))
        .hits(&[
            (r#"    "pypi_token": "pypi-AgEIcHlwaS5vcmcKtSP-7bYnz9_Z1Jl1SWaj-c_Q7ReM4uKjNBcF0UtL8ABeHh96X2-Ls6sFodpSoPtUihQ2EDmZAKem_qK_jGwABDW0j1QXXK8TjkeAE6mSNixVmvs4LmEWygdTDZOXiKxb8boemtbNZVfh","#, "pypi-AgEIcHlwaS5vcmcKtSP-7bYnz9_Z1Jl1SWaj-c_Q7ReM4uKjNBcF0UtL8ABeHh96X2-Ls6sFodpSoPtUihQ2EDmZAKem_qK_jGwABDW0j1QXXK8TjkeAE6mSNixVmvs4LmEWygdTDZOXiKxb8boemtbNZVfh"),
            ("The value pypi-AgEIcHlwaS5vcmcSHZkU2LZEKGPbtDWxzuuFw5JB_u9MkHMpbzsy_NATbiauP45h2Wkgj6w09EoKsCcMGnvOcE828rqAHOF_bJyQ0byO1HAaPBCH_uiPELgQmXgfxuCXuoW7IhjZuTB20UGQDKDzc79q59D7 was rotated last week.", "pypi-AgEIcHlwaS5vcmcSHZkU2LZEKGPbtDWxzuuFw5JB_u9MkHMpbzsy_NATbiauP45h2Wkgj6w09EoKsCcMGnvOcE828rqAHOF_bJyQ0byO1HAaPBCH_uiPELgQmXgfxuCXuoW7IhjZuTB20UGQDKDzc79q59D7"),
        ])
        .misses(&["pypi-publish"]),
    prefixed("CARGO_REGISTRY_TOKEN", &["cio"], Alnum, (32, 32))
        .allow(&["^cio[a-z]+$"])
        .hits(&[
            (r#"<add key="cargo_registry_token" value="cioBoGqvn49dqbp5l1ybKzJax0eulzWM5iU" />"#, "cioBoGqvn49dqbp5l1ybKzJax0eulzWM5iU"),
            (r#"let client = Client::new("cio22p66YdpjAd0zeLkfPCZcyBeNHA2jvx7");"#, "cio22p66YdpjAd0zeLkfPCZcyBeNHA2jvx7"),
        ])
        .misses(&["ciosomething"]),
    prefixed("RUBYGEMS_API_KEY", &["rubygems_"], HexLower, (48, 48))
        .hits(&[
            ("  rubygems_api_key: rubygems_8d3c7de6312054001aa260fbe0d122efd1f2e31ad11bea33", "rubygems_8d3c7de6312054001aa260fbe0d122efd1f2e31ad11bea33"),
            (r#"    "rubygems_api_key": "rubygems_0671f8d17a5a61d8468ea827ac3ffff56e4ec179bd8310a9","#, "rubygems_0671f8d17a5a61d8468ea827ac3ffff56e4ec179bd8310a9"),
        ])
        .misses(&["# the console shows rubygems_642c0e and asks for the rest"]),
    prefixed("NUGET_API_KEY", &["oy2"], Lower, (43, 43))
        .hits(&[
            ("https://api.example.com/v1/items?auth=oy21vlimka06hbwqa3lqxbxay0i5tr2ybirp7rwq2g8w37&page=2", "oy21vlimka06hbwqa3lqxbxay0i5tr2ybirp7rwq2g8w37"),
            ("- echo oy2pdy2372c8phhjh6bs342uvuyxcyqur3vk8mtnaqrkzl | tool login", "oy2pdy2372c8phhjh6bs342uvuyxcyqur3vk8mtnaqrkzl"),
        ])
        .misses(&["# the console shows oy2ge1ptv and asks for the rest"]),
    pattern(
        "NUGET_CONFIG_PASSWORD",
        &["cleartextpassword", r#"key="password""#],
        r#"(?i)<add\s{1,8}key="(?:ClearText)?Password"\s{1,8}value="([^"%$<>]{6,200})""#,
    )
        .hits(&[
            (r#"<add key="ClearTextPassword" value="VfTkw0it!9Jzkdj9" />"#, "VfTkw0it!9Jzkdj9"),
            (r#"    <add key="Password" value="AQAAANCMnd81HYCw+fwOM3rxGB7qSoy4RHihyt+IMPEGv3U3AJ+4+JzjywkHVplzfDUiAhrmQv/J/F0CdVBUAe7GyFP==" />"#, "AQAAANCMnd81HYCw+fwOM3rxGB7qSoy4RHihyt+IMPEGv3U3AJ+4+JzjywkHVplzfDUiAhrmQv/J/F0CdVBUAe7GyFP=="),
        ])
        .misses(&[r#"<add key="ClearTextPassword" value="%NUGET_TOKEN%" />"#]),
    prefixed("CLOJARS_TOKEN", &["CLOJARS_"], Lower, (60, 60))
        .hits(&[
            ("https://api.example.com/v1/items?auth=CLOJARS_35e20df3fef2a6c5f763628f9c56705011133ac63e8d457d547832cae312&page=2", "CLOJARS_35e20df3fef2a6c5f763628f9c56705011133ac63e8d457d547832cae312"),
            ("- echo CLOJARS_79051ecdfeb900e74df26ef161ea5b6a0724daa1149703ca50354b20ec8d | tool login", "CLOJARS_79051ecdfeb900e74df26ef161ea5b6a0724daa1149703ca50354b20ec8d"),
        ])
        .misses(&["# the console shows CLOJARS_amlay0 and asks for the rest"]),
    prefixed("PACKAGIST_TOKEN", &["packagist_uut_", "packagist_ort_", "packagist_out_"], HexLower, (60, 80))
        .hits(&[
            (r#"    "packagist_token": "packagist_uut_960e9fed9c9bb746f26b2da023f6523e79ce311154d84b95c5807434e5d8b9df27da","#, "packagist_uut_960e9fed9c9bb746f26b2da023f6523e79ce311154d84b95c5807434e5d8b9df27da"),
            ("The value packagist_ort_1726ea5e903a5cf5334ac1d34e4a63d8edd6057b4bbcb75c716378e7ab04f9a15696 was rotated last week.", "packagist_ort_1726ea5e903a5cf5334ac1d34e4a63d8edd6057b4bbcb75c716378e7ab04f9a15696"),
            ("export PACKAGIST_TOKEN='packagist_out_8de2e71c8ae83ccfc1b91960cb7da9c05338cc93f3c9a0788090de42f4f66e7fbf49'", "packagist_out_8de2e71c8ae83ccfc1b91960cb7da9c05338cc93f3c9a0788090de42f4f66e7fbf49"),
        ])
        .misses(&["# the console shows packagist_uut_514b57 and asks for the rest"]),
    assigned("HEXPM_KEY", &["hexapikey", "hexpm"], HexLower, (32, 32))
        .hits(&[
            ("hex_api_key: 264544930c6f5b9efe7c2d29da2e3815", "264544930c6f5b9efe7c2d29da2e3815"),
            (r#"  "hexpm_key": "0819551bfc68c1ae11a412e0260ec6ba","#, "0819551bfc68c1ae11a412e0260ec6ba"),
        ])
        .misses(&[r#"hex_region = "eu-central-1""#]),
    prefixed("JSR_TOKEN", &["jsrp_", "jsrd_"], Alnum, (30, 70))
        .hits(&[
            (r#"<add key="jsr_token" value="jsrp_gGtHZr2T04RBhCp82MXi3baF2hCGZhPk8Pnh" />"#, "jsrp_gGtHZr2T04RBhCp82MXi3baF2hCGZhPk8Pnh"),
            (r#"let client = Client::new("jsrd_lyRdZCNFavUQyEGG2sTDQedP315DQiRv6j3P");"#, "jsrd_lyRdZCNFavUQyEGG2sTDQedP315DQiRv6j3P"),
        ])
        .misses(&["# the console shows jsrp_quUTWP and asks for the rest"]),
    prefixed("DENO_DEPLOY_TOKEN", &["ddp_", "ddw_", "ddo_"], Alnum, (36, 40))
        .hits(&[
            ("  deno_deploy_token: ddp_4ivncdWLEw2bSOttVoqbn4qKR9a1WmvSMmVX", "ddp_4ivncdWLEw2bSOttVoqbn4qKR9a1WmvSMmVX"),
            (r#"    "deno_deploy_token": "ddw_6Bu0RWpGPjbh1YXFG1fjwNNBFqMuxprv41sb","#, "ddw_6Bu0RWpGPjbh1YXFG1fjwNNBFqMuxprv41sb"),
            ("The value ddo_iga4QBsJl2ecKDvdg8k1g9rweMNkmBLK5iYh was rotated last week.", "ddo_iga4QBsJl2ecKDvdg8k1g9rweMNkmBLK5iYh"),
        ])
        .misses(&["# the console shows ddp_6jmzKw and asks for the rest"]),
    prefixed("OPENVSX_TOKEN", &["ovsxat_"], Uuid, (36, 36))
        .hits(&[
            ("https://api.example.com/v1/items?auth=ovsxat_76f69226-226c-4a45-9150-1270a0aeb14a&page=2", "ovsxat_76f69226-226c-4a45-9150-1270a0aeb14a"),
            ("- echo ovsxat_fdf50161-f5bf-4bb7-8b38-82984d5679ba | tool login", "ovsxat_fdf50161-f5bf-4bb7-8b38-82984d5679ba"),
        ])
        .misses(&["# the console shows ovsxat_beb658 and asks for the rest"]),
    pattern(
        "CONDA_TOKEN",
        &["anaconda.org/t/", "/t/"],
        r"/t/([a-z]{2}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b",
    )
        .hits(&[
            ("conda config --add channels https://conda.anaconda.org/t/an-e6c1147b-f516-4b3f-b87f-2069f6f6d5f7/acme", "an-e6c1147b-f516-4b3f-b87f-2069f6f6d5f7"),
            ("  - https://repo.anaconda.cloud/t/mu-39ef533a-b62d-4143-b004-3124d79d4018/main", "mu-39ef533a-b62d-4143-b004-3124d79d4018"),
        ])
        .misses(&["https://conda.anaconda.org/t/<token>/acme"]),

    // Containers and artifact stores.

    prefixed("DOCKER_PAT", &["dckr_pat_", "dckr_oat_"], Token, (20, 48))
        .hits(&[
            ("  docker_pat: dckr_pat_btloEJG1VZQctDon6spX3QSvbKs", "dckr_pat_btloEJG1VZQctDon6spX3QSvbKs"),
            (r#"    "docker_pat": "dckr_oat_lygKs9Zq2eMYpe_giM_Qri5KFqf","#, "dckr_oat_lygKs9Zq2eMYpe_giM_Qri5KFqf"),
        ])
        .misses(&["# the console shows dckr_pat_irEWdj and asks for the rest"]),
    pattern(
        "DOCKER_CONFIG_AUTH",
        &[r#""auth""#, ".dockerconfigjson", "identitytoken", "registrytoken"],
        r#""(?:auth|identitytoken|registrytoken)"\s{0,3}:\s{0,3}"([0-9A-Za-z+/=._-]{12,})""#,
    )
        .entropy(3.0)
        .allow(&["^[a-z._-]+$", "^[A-Za-z]+$"])
        .hits(&[
            (r#"      "auth": "GqboLoHyhTr7lpBALuVjbRVjV34MkkdZn==""#, "GqboLoHyhTr7lpBALuVjbRVjV34MkkdZn=="),
            (r#""https://index.docker.io/v1/": { "auth": "AeS0GcwC1JyMVCicNOhQGBBj5mXDmkuIns1Q==" }"#, "AeS0GcwC1JyMVCicNOhQGBBj5mXDmkuIns1Q=="),
        ])
        .misses(&[r#""auth": "required""#, r#""auth": "authentication.module""#]),
    prefixed("DOCKER_SWARM_TOKEN", &["SWMTKN-1-"], Token, (60, 90))
        .hits(&[
            (r#"let client = Client::new("SWMTKN-1-y0gqblwy3k0sin7bz1ql8kb13w4s13s8079u63xxpm9r71e5e3-88q0bkadrzzal4f3c2ks5p5sf");"#, "SWMTKN-1-y0gqblwy3k0sin7bz1ql8kb13w4s13s8079u63xxpm9r71e5e3-88q0bkadrzzal4f3c2ks5p5sf"),
            ("DOCKER_SWARM_TOKEN=SWMTKN-1-bwqqng1c3ltl960lip8dpsc1ld8gtck53p6z16q7r1g02atqhq-20jb41wfpyfvctxih7o44cfud", "SWMTKN-1-bwqqng1c3ltl960lip8dpsc1ld8gtck53p6z16q7r1g02atqhq-20jb41wfpyfvctxih7o44cfud"),
        ])
        .misses(&["# the console shows SWMTKN-1-gWp-Nj and asks for the rest"]),
    prefixed("DOCKER_SWARM_KEY", &["SWMKEY-1-"], AnyBase64, (40, 60))
        .hits(&[
            ("export DOCKER_SWARM_KEY='SWMKEY-1-aitiomUqxrgDlQEbUh0M0T8gllT1wRQuonSXBDJ1q2e'", "SWMKEY-1-aitiomUqxrgDlQEbUh0M0T8gllT1wRQuonSXBDJ1q2e"),
            ("args: ['--auth', 'SWMKEY-1-BZChgmk8UO681WGT1NLUbjtSrTQ4FJ7gPhiFPiMzrtD']", "SWMKEY-1-BZChgmk8UO681WGT1NLUbjtSrTQ4FJ7gPhiFPiMzrtD"),
        ])
        .misses(&["# the console shows SWMKEY-1-KR-rod and asks for the rest"]),
    prefixed("ARTIFACTORY_API_KEY", &["AKC"], Alnum, (60, 80))
        .hits(&[
            ("  artifactory_api_key: AKCps1JfNC2n9bBpmG1mKXfMORGgBRorDrkmS3JEd2qQcZ1Dm5AHWcJRwvFsl0ZVD95FJVNcb", "AKCps1JfNC2n9bBpmG1mKXfMORGgBRorDrkmS3JEd2qQcZ1Dm5AHWcJRwvFsl0ZVD95FJVNcb"),
            (r#"    "artifactory_api_key": "AKCpUhnQTQJsWNcYrhy2HqHqgjKeS9B9z9pSqVJxqQXC42llhXLpL5gbcmCC4WQQUYfSigrQG","#, "AKCpUhnQTQJsWNcYrhy2HqHqgjKeS9B9z9pSqVJxqQXC42llhXLpL5gbcmCC4WQQUYfSigrQG"),
        ])
        .misses(&["# the console shows AKCHn9Oso and asks for the rest"]),
    prefixed("ARTIFACTORY_REFERENCE_TOKEN", &["cmVmdGtu"], AnyBase64, (40, 80))
        .hits(&[
            ("- echo cmVmdGtuOjAxOjX0sWl6EMg6P6E1ybFMcgXDr39ySTLWanRi3iDCHWB7Z07vSbzx | tool login", "cmVmdGtuOjAxOjX0sWl6EMg6P6E1ybFMcgXDr39ySTLWanRi3iDCHWB7Z07vSbzx"),
            (r#"<add key="artifactory_reference_token" value="cmVmdGtuOjAxOjbdytyTU2LDBoOA3AMQWya2vsYIZMDdTU6mHNbRTrjbBL84TgOT" />"#, "cmVmdGtuOjAxOjbdytyTU2LDBoOA3AMQWya2vsYIZMDdTU6mHNbRTrjbBL84TgOT"),
        ])
        .misses(&["# the console shows cmVmdGtuM6WVq3 and asks for the rest"]),
    assigned("CLOUDSMITH_KEY", &["cloudsmith", "gemfury", "furytoken", "packagecloud"], Alnum, (20, 48))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const cloudsmithApiKey = '445be45a5f61c9e5f41d9f4fd17c03dba2766d7b';", "445be45a5f61c9e5f41d9f4fd17c03dba2766d7b"),
            (r#"fury_token = "be0acda8612475487ed37989d6adc58f3af56768""#, "be0acda8612475487ed37989d6adc58f3af56768"),
            ("PACKAGECLOUD_TOKEN=09ce899f3aefee5d28bc21c4916e1816a5f15dc8", "09ce899f3aefee5d28bc21c4916e1816a5f15dc8"),
        ])
        .misses(&[r#"cloudsmith_region = "eu-central-1""#]),
    assigned("JFROG_KEY", &["jfrog", "artifactory"], AnyBase64, (64, 80))
        .entropy(3.5)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("JFROG_TOKEN=O3cWNDFsFf6uVXj5tNQrAH51NntaBVtukW0rCRSgTlNuBmi7uNbRzQfEv2ql03zlzsvK306pT", "O3cWNDFsFf6uVXj5tNQrAH51NntaBVtukW0rCRSgTlNuBmi7uNbRzQfEv2ql03zlzsvK306pT"),
            ("artifactory_api_key: zEOpP4upmMtzZw5OWP0rA72TR0JHKpgSURr0OctTZAFRUQnqGmnKwIzk50KeiSs0QNfpgF1nv", "zEOpP4upmMtzZw5OWP0rA72TR0JHKpgSURr0OctTZAFRUQnqGmnKwIzk50KeiSs0QNfpgF1nv"),
        ])
        .misses(&[r#"jfrog_region = "eu-central-1""#]),
    assigned("QUAY_TOKEN", &["quayiotoken", "quaytoken", "quaypassword", "quayrobot"], Upper, (64, 80))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("QUAY_TOKEN=CV6C4P0GXUI7YR8L41Y2XHZWINDPW2LR3UK6W84W8QLVYX62TVKCWB0B13MY8NPA", "CV6C4P0GXUI7YR8L41Y2XHZWINDPW2LR3UK6W84W8QLVYX62TVKCWB0B13MY8NPA"),
            ("quay_robot: IH9CKWAPQBD5FNH868CQKSDDYO9B2X8SSPFXX7LVL1NQL61Q73HPALF8XZMHG318", "IH9CKWAPQBD5FNH868CQKSDDYO9B2X8SSPFXX7LVL1NQL61Q73HPALF8XZMHG318"),
        ])
        .misses(&[r#"quay_region = "eu-central-1""#]),

    // Mods and builds.

    prefixed("THUNDERSTORE_TOKEN", &["tss_"], Alnum, (30, 50))
        .hits(&[
            ("args: ['--auth', 'tss_CJy3qOaYlOJp2y74cZZg7prEWzIdnX9ekIC1pA']", "tss_CJy3qOaYlOJp2y74cZZg7prEWzIdnX9ekIC1pA"),
            ("https://api.example.com/v1/items?auth=tss_Tl6Ify7O1a3PkNSWNpNgbRsmKKc0D1gEHTDf9d&page=2", "tss_Tl6Ify7O1a3PkNSWNpNgbRsmKKc0D1gEHTDf9d"),
        ])
        .misses(&["# the console shows tss_BEzNnZ and asks for the rest"]),
    prefixed("LICHESS_TOKEN", &["lip_", "lio_"], Alnum, (18, 28))
        .entropy(3.3)
        .allow(&["^li[po]_[^0-9]+$"])
        .hits(&[
            ("https://api.example.com/v1/items?auth=lip_n7IyIh6nUrokTAYGV4Nn&page=2", "lip_n7IyIh6nUrokTAYGV4Nn"),
            ("- echo lio_JbjhV7AsbEhzYYE3js34 | tool login", "lio_JbjhV7AsbEhzYYE3js34"),
        ])
        .misses(&["# the console shows lip_o8ZquP and asks for the rest"]),
    prefixed("CFX_KEY", &["cfxk_"], Word, (20, 50))
        .hits(&[
            ("The value cfxk_Pe0enAsStKEVQxzlKVyE_Qzdj89 was rotated last week.", "cfxk_Pe0enAsStKEVQxzlKVyE_Qzdj89"),
            ("export CFX_KEY='cfxk_1UMMug2JhLbIzcJQyRZJ_AS5zRc'", "cfxk_1UMMug2JhLbIzcJQyRZJ_AS5zRc"),
        ])
        .misses(&["# the console shows cfxk_BjmN8i and asks for the rest"]),
    assigned("EXPO_TOKEN", &["expotoken", "expoaccesstoken", "easbuild", "appcenter", "fastlanesession", "matchpassword"], Token, (20, 64))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            (r#"expo_token = "N6PyneVSJUmWIZILlG07EY1rlb4EYPf6bsHbxvJk""#, "N6PyneVSJUmWIZILlG07EY1rlb4EYPf6bsHbxvJk"),
            ("APPCENTER_ACCESS=n4-hNp408iFzjWqidGNAWYNlXdzJxjcdGGylypXi", "n4-hNp408iFzjWqidGNAWYNlXdzJxjcdGGylypXi"),
        ])
        .misses(&[r#"expo_region = "eu-central-1""#]),
];

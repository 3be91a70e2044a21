//! Social networks, streaming and games.

use super::super::rule::Charset::{Alnum, Dotted, HexLower, HexUpper, Lower, Token, Uuid, Word};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Meta, X, LinkedIn.

    prefixed("FACEBOOK_ACCESS_TOKEN", &["EAA"], Alnum, (80, 500))
        .hits(&[
            ("args: ['--auth', 'EAAG2fAsN6CGlMkBLG8G0NVFdZwo8Ouw5HtmcDRcdyepou4C8rYYxM0J912beQ3bDVzRyNF7OQ6RRkcXzW8xDPfEbIxJ2Fux6g5FrB2IQb40OREzzNlozKDHc2eomE1gXvwJhsSx1hhFfXs6LyLB0fPsT6YEpTA9jemR']", "EAAG2fAsN6CGlMkBLG8G0NVFdZwo8Ouw5HtmcDRcdyepou4C8rYYxM0J912beQ3bDVzRyNF7OQ6RRkcXzW8xDPfEbIxJ2Fux6g5FrB2IQb40OREzzNlozKDHc2eomE1gXvwJhsSx1hhFfXs6LyLB0fPsT6YEpTA9jemR"),
            ("https://api.example.com/v1/items?auth=EAAC8RKRjXgN5osEQ7zXF0Jbd9qiXNhG610lL1ZjbQ7lyOePpKtg1jDcPCwfvbDfegtzysU3HxtyftfSVWJIig8UHYhzWFjyz0C8hMb5Le5lNe20FY1f4yWawm2ULzMbvpfBA1ZKDXdDfQgkn9iMZpWVhLsd2gmla5aH&page=2", "EAAC8RKRjXgN5osEQ7zXF0Jbd9qiXNhG610lL1ZjbQ7lyOePpKtg1jDcPCwfvbDfegtzysU3HxtyftfSVWJIig8UHYhzWFjyz0C8hMb5Le5lNe20FY1f4yWawm2ULzMbvpfBA1ZKDXdDfQgkn9iMZpWVhLsd2gmla5aH"),
        ])
        .misses(&["# the console shows EAA5QwpDh and asks for the rest"]),
    pattern(
        "FACEBOOK_APP_TOKEN",
        &["facebook", "fb_", "fbgraph", "graph.", "access_token"],
        r"\b\d{13,18}(?:\||%7C)[\w-]{20,40}\b",
    )
        .hits(&[
            ("FACEBOOK_APP_TOKEN=8646627844983700|Sfxo1OveIGo7FnzUK5hfnX8duK8", "8646627844983700|Sfxo1OveIGo7FnzUK5hfnX8duK8"),
            ("https://graph.facebook.com/me?access_token=289470934211881%7CitkIdqHcpFFIwp-JgBV453Sjx_x", "289470934211881%7CitkIdqHcpFFIwp-JgBV453Sjx_x"),
        ])
        .misses(&["fb_id | 1234567890123456"]),
    assigned("FACEBOOK_SECRET", &["facebook", "fbappsecret", "fbsecret", "instagramsecret", "instagramappsecret", "metaappsecret"], HexLower, (32, 32))
        .hits(&[
            ("FACEBOOK_APP_SECRET=572db640c781a6e4ed8797d5e1fd4156", "572db640c781a6e4ed8797d5e1fd4156"),
            ("fb_secret: dad699fb31515acc66435c5487ecc8c7", "dad699fb31515acc66435c5487ecc8c7"),
        ])
        .misses(&[r#"facebook_page = "acme""#]),
    prefixed("INSTAGRAM_TOKEN", &["IGQV", "IGQW", "IGAA", "IGG"], Token, (80, 500))
        .hits(&[
            (r#"let client = Client::new("IGQV8UY2NNIGoi3uL4FPRcAk1IBRyb-r6wYQ21rwACqcsHlgxO7gHacY-AzaNQ66QO_qyDB5cGR3tbWj_V7kr7QUCFTo2d9ZIEFP_vlFV2bGQLBLSlu_xzCCZZLB7kcipgDUQhVu3HS12HMV7");"#, "IGQV8UY2NNIGoi3uL4FPRcAk1IBRyb-r6wYQ21rwACqcsHlgxO7gHacY-AzaNQ66QO_qyDB5cGR3tbWj_V7kr7QUCFTo2d9ZIEFP_vlFV2bGQLBLSlu_xzCCZZLB7kcipgDUQhVu3HS12HMV7"),
            ("INSTAGRAM_TOKEN=IGQW8ziXmsclSAx98JGDf7_UUA8svOk36empeUv4ahqmE8B8xwyJEtEMBM-OZuHeEjTq_pFGX7_P8qLj1rlagcx3piNFVXJMkSpazOFJL1_bVJCl8GtkNR7OUqtib2PZSQ32oDaVmwD7g4u5k", "IGQW8ziXmsclSAx98JGDf7_UUA8svOk36empeUv4ahqmE8B8xwyJEtEMBM-OZuHeEjTq_pFGX7_P8qLj1rlagcx3piNFVXJMkSpazOFJL1_bVJCl8GtkNR7OUqtib2PZSQ32oDaVmwD7g4u5k"),
            ("  instagram_token: IGAAJOItUEcGk4gw2kzOX59JxVJFguZBDv9whE07mm2oRKB64cK_XNzYB7DaodIobcoJSPvTQowZsiXyCw-EIod4FLZxsayipIZLb_2AU8fNJaoiPcSO8p9ZDO1YuiG1V0XvSZglv4O4FHHp9", "IGAAJOItUEcGk4gw2kzOX59JxVJFguZBDv9whE07mm2oRKB64cK_XNzYB7DaodIobcoJSPvTQowZsiXyCw-EIod4FLZxsayipIZLb_2AU8fNJaoiPcSO8p9ZDO1YuiG1V0XvSZglv4O4FHHp9"),
            (r#"    "instagram_token": "IGGaBUVwt1TEqxT-plP6IkDXf7w1Shwps4ONWsNO2BRIyY6Q70KZMsDJzG03ITQj3Ik0nzx3s4Tu1PaqaEPgWfL_2hIDqQsIHR8p-ftmhjUJHE0MBUKGJ2GamVAXFOV5BpzIk6p5X40TJ_re","#, "IGGaBUVwt1TEqxT-plP6IkDXf7w1Shwps4ONWsNO2BRIyY6Q70KZMsDJzG03ITQj3Ik0nzx3s4Tu1PaqaEPgWfL_2hIDqQsIHR8p-ftmhjUJHE0MBUKGJ2GamVAXFOV5BpzIk6p5X40TJ_re"),
        ])
        .misses(&["# the console shows IGQVeRlpK8 and asks for the rest"]),
    pattern(
        "TWITTER_BEARER_TOKEN",
        &["aaaaaaaaaaaaaaaaaaaaa"],
        r"\bA{20,24}[0-9A-Za-z%]{60,120}\b",
    )
        .entropy(3.5)
        .hits(&[
            ("TWITTER_BEARER=AAAAAAAAAAAAAAAAAAAAABEUFvILHWmkaaFgH3rmfm%2B2pi2O7Dr47J2KwztcOaQCSwz0MEjEnp2UIlVLdFcB6r5Y5VsBd", "AAAAAAAAAAAAAAAAAAAAABEUFvILHWmkaaFgH3rmfm%2B2pi2O7Dr47J2KwztcOaQCSwz0MEjEnp2UIlVLdFcB6r5Y5VsBd"),
            ("Authorization: Bearer AAAAAAAAAAAAAAAAAAAAAFFBTxrncQAZ9R2Wasjj07%3DzqrDrPER7l96zKzZP8yImOUY8HIX6J0xJQaHHOtdSPNl02FKI8", "AAAAAAAAAAAAAAAAAAAAAFFBTxrncQAZ9R2Wasjj07%3DzqrDrPER7l96zKzZP8yImOUY8HIX6J0xJQaHHOtdSPNl02FKI8"),
        ])
        .misses(&["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]),
    pattern(
        "TWITTER_ACCESS_TOKEN",
        &["twitter", "tweepy", "x_access", "oauth_token", "access_token", "tw_"],
        r"\b\d{15,20}-[0-9A-Za-z]{25,45}\b",
    )
        .entropy(3.3)
        .hits(&[
            ("TWITTER_ACCESS_TOKEN=9971012357417403384-RXzJz39oRnZzE8ZPy7zqrxPIArt6FR", "9971012357417403384-RXzJz39oRnZzE8ZPy7zqrxPIArt6FR"),
            (r#"access_token="608874817723356679-8zvD8LhDC0NLn5KRCNOhHET3XUgddPqeQXZwQ5Sy","#, "608874817723356679-8zvD8LhDC0NLn5KRCNOhHET3XUgddPqeQXZwQ5Sy"),
        ])
        .misses(&["twitter status 1234567890123456789"]),
    assigned("TWITTER_SECRET", &["twitter", "tweepy", "xapisecret", "xconsumersecret"], Alnum, (25, 50))
        .entropy(3.3)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "twitter_consumer_secret": "A7tRYcc90K4vAdrHESVi0pB4u5o4XjiQSvJSpyNf4Q15aWLDBH","#, "A7tRYcc90K4vAdrHESVi0pB4u5o4XjiQSvJSpyNf4Q15aWLDBH"),
            ("const twitterApiKey = '3OM5BSKtD1RqBwdJ4GjgfB5uo';", "3OM5BSKtD1RqBwdJ4GjgfB5uo"),
        ])
        .misses(&[r#"twitter_handle = "acme""#]),
    assigned("LINKEDIN_SECRET", &["linkedin"], Alnum, (16, 16))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("LINKEDIN_CLIENT_SECRET=6AAnHkYMkIljcaAg", "6AAnHkYMkIljcaAg"),
            ("linkedin_secret: YOazW6WSAR7YSwH7", "YOazW6WSAR7YSwH7"),
        ])
        .misses(&[r#"linkedin_region = "eu-central-1""#]),
    pattern(
        "LINKEDIN_CLIENT_SECRET_V2",
        &["wpl_ap"],
        r"\bWPL_AP[01]\.[0-9A-Za-z]{16}(?:\.[0-9A-Za-z+/]{4,8}={0,2})?",
    )
        .hits(&[
            ("LINKEDIN_CLIENT_SECRET=WPL_AP1.ziHe8eZ7bG3Rn2vC.malCA9==", "WPL_AP1.ziHe8eZ7bG3Rn2vC.malCA9=="),
            (r#"secret: "WPL_AP0.AVpw3h68XRhJy8BH.rkMJzt==""#, "WPL_AP0.AVpw3h68XRhJy8BH.rkMJzt=="),
        ])
        .misses(&["WPL_AP1.<secret>"]),
    prefixed("LINKEDIN_ACCESS_TOKEN", &["AQX", "AQV", "AQW", "AQU"], Token, (200, 500))
        .hits(&[
            ("The value AQXJQkcZ8PYz-joR5RF8JbuiIKfefJVi0AI4P5YJym1ZnH36jLPdg7ffQipx6rsx1IvbkHCrYKWea6DDZqoUiUwLA6PwfCGzOgNKkft8SVPJy1QTPCXYMt3dvXDSwzStEZWLxtsm01-9vZFb2AaS6jR6ktwqzN7CGk8k0nGMbq-cuUL1nmiLZkNQ_cbA7XzikzvUKdGdknsbswf4nITLGpl5KbwkPrJD7RdpzIOIBSJNgVcbmhdA2VhjWufNaWJXSqbrBsf7kv6BEq4RoJdDh1hHK2f1EnBzeBYWOeZzr4KFWtDFa4GUufY1L81RytJ8xxB6 was rotated last week.", "AQXJQkcZ8PYz-joR5RF8JbuiIKfefJVi0AI4P5YJym1ZnH36jLPdg7ffQipx6rsx1IvbkHCrYKWea6DDZqoUiUwLA6PwfCGzOgNKkft8SVPJy1QTPCXYMt3dvXDSwzStEZWLxtsm01-9vZFb2AaS6jR6ktwqzN7CGk8k0nGMbq-cuUL1nmiLZkNQ_cbA7XzikzvUKdGdknsbswf4nITLGpl5KbwkPrJD7RdpzIOIBSJNgVcbmhdA2VhjWufNaWJXSqbrBsf7kv6BEq4RoJdDh1hHK2f1EnBzeBYWOeZzr4KFWtDFa4GUufY1L81RytJ8xxB6"),
            ("export LINKEDIN_ACCESS_TOKEN='AQVZm7n5FYwwSm5uGauIGk3l70K9n3eMrqset4N7URpturOMumcLFXIEJPdvVF9WHX_KNpNh4_XreYJx8QbL0qnvB4Boxfj4Rc-uG5rKj0_ErTz7CRAVEw-6MQdnbMTOEwNFxqf6N7hrpZV8-9A7B0wersUEDYNSOhcuxeNqa9pESZ8N2lLYAqG9cUOUORjaUsD8XOAgQLyJR3pww0iR01wPLK4y2Scr-0WAxs3FujbPOdQ-XygZiInITqboJ2jzSGTJByMOd-2-2yENEzs_r0D229NooFKxPpvzRb2C-Zt6ig3Qlz04-XXpzjSyEb21BqZi'", "AQVZm7n5FYwwSm5uGauIGk3l70K9n3eMrqset4N7URpturOMumcLFXIEJPdvVF9WHX_KNpNh4_XreYJx8QbL0qnvB4Boxfj4Rc-uG5rKj0_ErTz7CRAVEw-6MQdnbMTOEwNFxqf6N7hrpZV8-9A7B0wersUEDYNSOhcuxeNqa9pESZ8N2lLYAqG9cUOUORjaUsD8XOAgQLyJR3pww0iR01wPLK4y2Scr-0WAxs3FujbPOdQ-XygZiInITqboJ2jzSGTJByMOd-2-2yENEzs_r0D229NooFKxPpvzRb2C-Zt6ig3Qlz04-XXpzjSyEb21BqZi"),
            ("args: ['--auth', 'AQWyKVV9WiVZAd4LdDFBoxbsUsXmrsW_N_B7PX9s20lsyIFtUyJ8VS0jAc3360OCLm3Y-PBXbSycQycJQ4WlPRWZZCKEL0W4nt7vVLQ1CN1li3LjvSdo-D0y0vcKZh_qjHWiyIDC-cuwgBc4G4a3AWxQmR2NemP6IRSQqmR7YDlljcPJUw85L4wZeYx9NLxJoH-LnHUn6HFrU2ySkhlw1l0sj4gGsz_T1hOQi-Wv9LXk-ZJMcXB3OWb4Fbdp8mxXaaiWmHd4uPOjn_bRa-UJNvrORUGRVW4wRfCK2AARqXXt7lgNh3NQwEgexBS_mNL8T-x1']", "AQWyKVV9WiVZAd4LdDFBoxbsUsXmrsW_N_B7PX9s20lsyIFtUyJ8VS0jAc3360OCLm3Y-PBXbSycQycJQ4WlPRWZZCKEL0W4nt7vVLQ1CN1li3LjvSdo-D0y0vcKZh_qjHWiyIDC-cuwgBc4G4a3AWxQmR2NemP6IRSQqmR7YDlljcPJUw85L4wZeYx9NLxJoH-LnHUn6HFrU2ySkhlw1l0sj4gGsz_T1hOQi-Wv9LXk-ZJMcXB3OWb4Fbdp8mxXaaiWmHd4uPOjn_bRa-UJNvrORUGRVW4wRfCK2AARqXXt7lgNh3NQwEgexBS_mNL8T-x1"),
            ("https://api.example.com/v1/items?auth=AQUv6EEJILbJnaAdegq--Kb95sb8XeQrKayCbvbyZ5PUURiVghINsJMiunBVPcRpkPdYpjlBA0THVRUVpUJ_hCTwEvoWHbN8HTds615p6fkpB9Kc-wCGwZwnZdYVGBa4wCf9Z3LbTp9w9DO-s9p5g7xip48EViC5kztf4oldvvRo3YWY_UAFmgYGrL7OhzAsM2XjpLiM3p43w3X-xJMLqMezSQQMNde8ZpEYWvW2--RWp4Nlsvl1Atyxzr0FLUD9S2p_37H3aPA1I0-qR5ueJzk_2Nm4-gTAK6bGsrmGuOs_GRorIYjmCzXt1Y_gJpkbX5gm&page=2", "AQUv6EEJILbJnaAdegq--Kb95sb8XeQrKayCbvbyZ5PUURiVghINsJMiunBVPcRpkPdYpjlBA0THVRUVpUJ_hCTwEvoWHbN8HTds615p6fkpB9Kc-wCGwZwnZdYVGBa4wCf9Z3LbTp9w9DO-s9p5g7xip48EViC5kztf4oldvvRo3YWY_UAFmgYGrL7OhzAsM2XjpLiM3p43w3X-xJMLqMezSQQMNde8ZpEYWvW2--RWp4Nlsvl1Atyxzr0FLUD9S2p_37H3aPA1I0-qR5ueJzk_2Nm4-gTAK6bGsrmGuOs_GRorIYjmCzXt1Y_gJpkbX5gm"),
        ])
        .misses(&["# the console shows AQXpbcmwu and asks for the rest"]),

    // Media and games.

    prefixed("TWITCH_OAUTH_TOKEN", &["oauth:"], Lower, (30, 30))
        .entropy(3.0)
        .allow(&["^oauth:[a-z]+$"])
        .hits(&[
            ("  twitch_oauth_token: oauth:ug0mkpe9ohi7ayj19gnui8gprvvz7v", "oauth:ug0mkpe9ohi7ayj19gnui8gprvvz7v"),
            (r#"    "twitch_oauth_token": "oauth:je090rnuvux46h9pfsfwiopm9vy0dq","#, "oauth:je090rnuvux46h9pfsfwiopm9vy0dq"),
        ])
        .misses(&["# the console shows oauth:0f09r7 and asks for the rest"]),
    assigned("TWITCH_SECRET", &["twitch"], Lower, (30, 30))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const twitchClientSecret = 'xwi3eycb8yaanmo5gm5e1v5onemd22';", "xwi3eycb8yaanmo5gm5e1v5onemd22"),
            (r#"twitch_token = "gm1y64xcn7cm7q37alebd30etsll80""#, "gm1y64xcn7cm7q37alebd30etsll80"),
        ])
        .misses(&[r#"twitch_region = "eu-central-1""#]),
    assigned("SPOTIFY_SECRET", &["spotify"], HexLower, (32, 32))
        .hits(&[
            ("spotify_client_secret: 7d8bb785f39afff6b4a3a6be41a81cbe", "7d8bb785f39afff6b4a3a6be41a81cbe"),
            (r#"  "spotify_secret": "6f8a686a1c4e86799adf7b9d2adf4184","#, "6f8a686a1c4e86799adf7b9d2adf4184"),
        ])
        .misses(&[
            r#"spotify_market = "DE""#,
            r#"spotify_client_id = "3f9a1c7be2d84056a1b2c3d4e5f60718""#,
            r#"spotifyClientId: "3f9a1c7be2d84056a1b2c3d4e5f60718","#,
        ]),
    prefixed("SPOTIFY_ACCESS_TOKEN", &["BQA", "BQB", "BQC", "BQD"], Token, (120, 300))
        .entropy(3.8)
        .hits(&[
            (r#"<add key="spotify_access_token" value="BQALi9hpxXVxuwJASKbIvQx692HR2b56Il_vjovnh02gP4YAOZ8XEy1QiCxnzuE62FUWjGoocizspt-Tb9HwHuOuUdc-JXMWG_xAAr7d1vtNX0dWQsolK8HUHr1aHfTQecqwgqQnb2hHyndXX_Ys1fIlYHFYIefBqL2qmOH8TkSDeysZzePYNnUh" />"#, "BQALi9hpxXVxuwJASKbIvQx692HR2b56Il_vjovnh02gP4YAOZ8XEy1QiCxnzuE62FUWjGoocizspt-Tb9HwHuOuUdc-JXMWG_xAAr7d1vtNX0dWQsolK8HUHr1aHfTQecqwgqQnb2hHyndXX_Ys1fIlYHFYIefBqL2qmOH8TkSDeysZzePYNnUh"),
            (r#"let client = Client::new("BQBzfhA-txxA1mmck3t8C5Cv3DBXlAFSJzZIRv6towiky05bUoOjRz1q7pa5E8vToAPWW6t-KkmjMMsqlrTK7S5FztmfTuY1gATyWRcG-7UBJR2UCTcBOEOaGuN0gAaKN7DZT_TJ0kxgUQO1FrM1dyXzEFACTxw-6vNlDNh5zEGXxLUjIGR2rY7t");"#, "BQBzfhA-txxA1mmck3t8C5Cv3DBXlAFSJzZIRv6towiky05bUoOjRz1q7pa5E8vToAPWW6t-KkmjMMsqlrTK7S5FztmfTuY1gATyWRcG-7UBJR2UCTcBOEOaGuN0gAaKN7DZT_TJ0kxgUQO1FrM1dyXzEFACTxw-6vNlDNh5zEGXxLUjIGR2rY7t"),
            ("SPOTIFY_ACCESS_TOKEN=BQCIwNMZaaKcofOdifFornIrlvOL5M4QlAnTracn_VS16nloJMtUbK5YMZLzUKZmxXl2Ki7gkQ89xDhN6vjbi1uVFfceIsNnvPhit8VGF9LJyoK8v7qBuWNwYr5ZFYsDUdo8pV-OaL0mcigpzwKj-0SmEp84NSdoySwv-hWVo-EehRTCj1QuInRz", "BQCIwNMZaaKcofOdifFornIrlvOL5M4QlAnTracn_VS16nloJMtUbK5YMZLzUKZmxXl2Ki7gkQ89xDhN6vjbi1uVFfceIsNnvPhit8VGF9LJyoK8v7qBuWNwYr5ZFYsDUdo8pV-OaL0mcigpzwKj-0SmEp84NSdoySwv-hWVo-EehRTCj1QuInRz"),
            ("  spotify_access_token: BQDcfEVv4QlPok_gFXYSCg9tzquhFL_e3FzT11SLaaKo9q45yF6uQr8z0DjLjWfRIm1N0axTA_EiJrU_TVT_5S5QvVhto4DVrb_RKZhOUiXh9PBuinuRxuRk5uz4Cm87fD9XMBEHODuC1YWyh5MYI0zaI4EouhKYt13pfHaSNFix8gx2IwpMQkn5", "BQDcfEVv4QlPok_gFXYSCg9tzquhFL_e3FzT11SLaaKo9q45yF6uQr8z0DjLjWfRIm1N0axTA_EiJrU_TVT_5S5QvVhto4DVrb_RKZhOUiXh9PBuinuRxuRk5uz4Cm87fD9XMBEHODuC1YWyh5MYI0zaI4EouhKYt13pfHaSNFix8gx2IwpMQkn5"),
        ])
        .misses(&["# the console shows BQArU0jhJ and asks for the rest"]),
    prefixed("PINTEREST_TOKEN", &["pina_", "pinr."], Dotted, (28, 200))
        .hits(&[
            (r#"<add key="pinterest_token" value="pina_T6169Z2QXF5ELAX9OJMQ4EOCN54Q8NBDGG1IFD81AEKX2IMCREN4UJJLDHKVEISI" />"#, "pina_T6169Z2QXF5ELAX9OJMQ4EOCN54Q8NBDGG1IFD81AEKX2IMCREN4UJJLDHKVEISI"),
            (r#"let client = Client::new("pinr.67A8SC6MGL8402463ZH03TPNR7OMN4G17RVZ0QPNGBLBFSPME1ZR8QQMYE0MNK7O");"#, "pinr.67A8SC6MGL8402463ZH03TPNR7OMN4G17RVZ0QPNGBLBFSPME1ZR8QQMYE0MNK7O"),
        ])
        .misses(&["# the console shows pina_R5EmTx and asks for the rest"]),
    assigned("REDDIT_SECRET", &["reddit", "praw"], Token, (27, 30))
        .entropy(3.3)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("reddit_client_secret: AJLED3zNh7r2hbq26_-t00-sdQ5", "AJLED3zNh7r2hbq26_-t00-sdQ5"),
            (r#"  "reddit_secret": "yX9-DD5HkiqN3EeFecNP9JIEVz4","#, "yX9-DD5HkiqN3EeFecNP9JIEVz4"),
        ])
        .misses(&[r#"reddit_region = "eu-central-1""#]),
    assigned("MEDIA_API_SECRET", &["vimeo", "strava", "tumblr", "flickr", "soundcloud", "lastfm", "dailymotion", "wistia", "trakt", "musixmatch", "deezer", "bitly", "tinyurl", "rebrandly", "eventbrite", "foursquare"], Token, (32, 128))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("vimeo_secret: VsMk8dTLrJK2zXsG7l0fBXaoJs3kdPaIOFuMOCLm", "VsMk8dTLrJK2zXsG7l0fBXaoJs3kdPaIOFuMOCLm"),
            (r#"  "strava_client_secret": "746e650326e7542787aa4778c5d0790957652449","#, "746e650326e7542787aa4778c5d0790957652449"),
            ("const flickrSecret = 'fe07558abd8d636f8ceef84b029e39db';", "fe07558abd8d636f8ceef84b029e39db"),
            (r#"bitly_token = "935768aa55b241aefc154a857eade50049c4fb8b""#, "935768aa55b241aefc154a857eade50049c4fb8b"),
        ])
        .misses(&[r#"vimeo_region = "eu-central-1""#]),
    prefixed("TIKTOK_TOKEN", &["act.", "rft."], Token, (40, 300))
        .entropy(3.5)
        .hits(&[
            ("export TIKTOK_TOKEN='act.tbjQsYHq2jhBIdmGWxrZ0XIpNMpuuNYOXKyVdKDyMQYPdfFgEhcXwwLZDlJ1IwUlVK'", "act.tbjQsYHq2jhBIdmGWxrZ0XIpNMpuuNYOXKyVdKDyMQYPdfFgEhcXwwLZDlJ1IwUlVK"),
            ("args: ['--auth', 'rft.7zAu4eFmF52egGpFDkcoIwKYzUQNgntVZxdUEgYNswgn5deTAxhOMkP9GVTsGgqUHS']", "rft.7zAu4eFmF52egGpFDkcoIwKYzUQNgntVZxdUEgYNswgn5deTAxhOMkP9GVTsGgqUHS"),
        ])
        .misses(&["# the console shows act.UxGSSS and asks for the rest"]),
    assigned("TIKTOK_SECRET", &["tiktok", "snapchat", "snapkit", "kakao", "navercli", "naverclientsecret", "vkservice", "vktoken", "mailru", "odnoklassniki"], Token, (20, 90))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("tiktok_client_secret: 0cWF3hGzoreeumFgVhLGmNGdnLbNLLCs", "0cWF3hGzoreeumFgVhLGmNGdnLbNLLCs"),
            (r#"  "kakao_rest_key": "ZxkbExhJ1HGU6A3wBJUx8IS2YSKv8CcE","#, "ZxkbExhJ1HGU6A3wBJUx8IS2YSKv8CcE"),
            ("const naverClientSecret = 'nXbx7eMIDoZV18M6Dl0apBaxUXW5Y9WP';", "nXbx7eMIDoZV18M6Dl0apBaxUXW5Y9WP"),
        ])
        .misses(&[r#"tiktok_region = "eu-central-1""#]),
    prefixed("VK_TOKEN", &["vk1.a."], Token, (80, 400))
        .hits(&[
            ("args: ['--auth', 'vk1.a.6nJk43CoJeWnIK5Bi48JMuV9OIHhw7MhbIh1HO9flSzOEoKWrXWK7GoKHmR1wMwuQjNxJ_aGc0tue9mTupt1N5c-hM8ruMs9NHarGUE9RkTwATjPm3LAb6p-mxroz7hD7noFMPVqVERKcgVeZoNZiHj0PPdLYT6FQWu9j_eS1ewQNw7QJ8tXHoMDMTntR7SNvL-qYKl']", "vk1.a.6nJk43CoJeWnIK5Bi48JMuV9OIHhw7MhbIh1HO9flSzOEoKWrXWK7GoKHmR1wMwuQjNxJ_aGc0tue9mTupt1N5c-hM8ruMs9NHarGUE9RkTwATjPm3LAb6p-mxroz7hD7noFMPVqVERKcgVeZoNZiHj0PPdLYT6FQWu9j_eS1ewQNw7QJ8tXHoMDMTntR7SNvL-qYKl"),
            ("https://api.example.com/v1/items?auth=vk1.a.EgL-pCNz_hSQ855jgnpQbW9VN4mtoa--MDHinxjWskBKE5TKb5XCrDYPAuSus5zHC9FpulZd2HaIpxO_eNZf-f_Xp3tKQmr_RE1CVR3ESdT4GXJ8zilcfTb1TGichX__1YDAcR-0yZkzsLQ2C1YNHDOUwEOW-nbxGalvsai1rBi3u9qJYWxaC4yUpNIDFd48kV75rNx&page=2", "vk1.a.EgL-pCNz_hSQ855jgnpQbW9VN4mtoa--MDHinxjWskBKE5TKb5XCrDYPAuSus5zHC9FpulZd2HaIpxO_eNZf-f_Xp3tKQmr_RE1CVR3ESdT4GXJ8zilcfTb1TGichX__1YDAcR-0yZkzsLQ2C1YNHDOUwEOW-nbxGalvsai1rBi3u9qJYWxaC4yUpNIDFd48kV75rNx"),
        ])
        .misses(&["# the console shows vk1.a.ozURWm and asks for the rest"]),
    assigned("STEAM_KEY", &["steamapikey", "steamwebapi", "steamkey"], HexUpper, (32, 32))
        .hits(&[
            (r#"steam_api_key = "8E9F85BACE5DF8B0ADA71D80DEC4E653""#, "8E9F85BACE5DF8B0ADA71D80DEC4E653"),
            ("STEAM_WEB_API_KEY=C4D420918B614AB3DE6E303A2FBFB5C5", "C4D420918B614AB3DE6E303A2FBFB5C5"),
        ])
        .misses(&[r#"steam_region = "eu-central-1""#]),
    prefixed("RIOT_API_KEY", &["RGAPI-"], Uuid, (36, 36))
        .hits(&[
            ("args: ['--auth', 'RGAPI-429aae4a-e40e-40ee-94e8-708ceed60ed9']", "RGAPI-429aae4a-e40e-40ee-94e8-708ceed60ed9"),
            ("https://api.example.com/v1/items?auth=RGAPI-8511da64-06ec-4483-b732-a7b44114ff13&page=2", "RGAPI-8511da64-06ec-4483-b732-a7b44114ff13"),
        ])
        .misses(&["# the console shows RGAPI-6bfc5c and asks for the rest"]),
    pattern(
        "ROBLOX_COOKIE",
        &["_|warning:-do-not-share-this"],
        r"_\|WARNING:-DO-NOT-SHARE-THIS[^|]{10,200}\|_([0-9A-Fa-f]{100,})",
    )
        .hits(&[
            (".ROBLOSECURITY=_|WARNING:-DO-NOT-SHARE-THIS.--Sharing-this-will-allow-someone-to-log-in-as-you-and-to-steal-your-ROBUX-and-items.|_E2BDD0F9BEA3AD378CE0E8726960642C6435F3D25B59EF80D6E7DA01FFEE1F2DE0AF04B1C0CF89FE6A086B1E4D9DE9A97C74ED97611CAA4D6E1F10C0668088870C65175BBEEF1B444919A887E23A8F54519E5B86059537746D0DCA9EA7A55AA2548A189E1C2594DB604AF1E757B1DE4110314892DB6981D6D9D7723C6BCDD3CD771767340A0831C9614DDA1D5C034773720EC7F69E5F48F0E1709E509F1C20CD494626A12D5EED46308753FFF925F961577958B24FD7C3F198EC133A489AE5D8CCCB423E5AADA4CD", "E2BDD0F9BEA3AD378CE0E8726960642C6435F3D25B59EF80D6E7DA01FFEE1F2DE0AF04B1C0CF89FE6A086B1E4D9DE9A97C74ED97611CAA4D6E1F10C0668088870C65175BBEEF1B444919A887E23A8F54519E5B86059537746D0DCA9EA7A55AA2548A189E1C2594DB604AF1E757B1DE4110314892DB6981D6D9D7723C6BCDD3CD771767340A0831C9614DDA1D5C034773720EC7F69E5F48F0E1709E509F1C20CD494626A12D5EED46308753FFF925F961577958B24FD7C3F198EC133A489AE5D8CCCB423E5AADA4CD"),
            (r#"client.login("_|WARNING:-DO-NOT-SHARE-THIS.--Sharing-this-is-unwise.|_BD694C5868B66FDF87249478A9FCA3630AF04B690B8EDAC92C1B42BB96BC2E66F03CDCCF202A5A9D65719C16C6A8EF2BD452B2A7F672A9A0602E448C58A2E69596738E33FC24FFB1B51D6FAA09C55EACE0B927F17F1379821A2A834B41693B93AEC5B31FA343DB6DE30CB9F61272FA5910F90DA48E82C24800EE36AF02396AC791E7A557D4D4F4FC3175C2DE4F991E881ADB0D3BF1C3134458EE8905306E8D6ECFB2F0374886549E4779524D2F3D94E8423206011D6F51C65FFDC98BD33753A82BD3F362A8AAC40E")"#, "BD694C5868B66FDF87249478A9FCA3630AF04B690B8EDAC92C1B42BB96BC2E66F03CDCCF202A5A9D65719C16C6A8EF2BD452B2A7F672A9A0602E448C58A2E69596738E33FC24FFB1B51D6FAA09C55EACE0B927F17F1379821A2A834B41693B93AEC5B31FA343DB6DE30CB9F61272FA5910F90DA48E82C24800EE36AF02396AC791E7A557D4D4F4FC3175C2DE4F991E881ADB0D3BF1C3134458EE8905306E8D6ECFB2F0374886549E4779524D2F3D94E8423206011D6F51C65FFDC98BD33753A82BD3F362A8AAC40E"),
        ])
        .misses(&["_|WARNING:-DO-NOT-SHARE-THIS.--|_"]),
    // Twitch stream keys, Mollie, GoCardless, Adyen.
    prefixed("LIVE_KEY", &["live_"], Word, (30, 60))
        .entropy(3.0)
        .allow(&["^live_(?:[a-z]+[0-9]{0,3}_?)+$"])
        .hits(&[
            ("LIVE_KEY=live_799714363_QGI2k4NZrbCIttjqNXga6obeWbo0SR", "live_799714363_QGI2k4NZrbCIttjqNXga6obeWbo0SR"),
            ("  live_key: live_936074364_JiL4NJSEJsiNeMXuFxaxQTonD7zjzz", "live_936074364_JiL4NJSEJsiNeMXuFxaxQTonD7zjzz"),
        ])
        .misses(&["live_reload_enabled_for_all_the_pages"]),
];

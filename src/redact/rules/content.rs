//! Content systems, maps and data services.

use super::super::rule::Charset::{Alnum, AnyBase64, Dotted, HexLower, Token, Uuid};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
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
    pattern(
        "SIDEKIQ_CREDENTIAL",
        &["contribsys"],
        r#"(?i)BUNDLE_(?:GEMS|ENTERPRISE)__CONTRIBSYS__COM["\x27]?\s{0,3}[:=]\s{0,3}["\x27]?([0-9a-f]{8}:[0-9a-f]{8})\b"#,
    )
        .hits(&[
            ("BUNDLE_GEMS__CONTRIBSYS__COM=0caa41e1:c0484905", "0caa41e1:c0484905"),
            (r#"bundle_enterprise__contribsys__com: "23a1fa08:69ca0d26""#, "23a1fa08:69ca0d26"),
        ])
        .misses(&[r#"source "https://gems.contribsys.com/" do"#]),
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

    // Makers.

    assigned("ADAFRUIT_IO_KEY", &["adafruit", "blynk", "thingspeak", "ubidots", "losant", "particleio"], Token, (16, 48))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("const adafruitIoKey = '0749dbcdf5db7b6c6fd1b11453c5fa78';", "0749dbcdf5db7b6c6fd1b11453c5fa78"),
            (r#"blynk_auth = "Fg14tHx-nc-NRyAlT7eH6g7FpFVBxprn""#, "Fg14tHx-nc-NRyAlT7eH6g7FpFVBxprn"),
            ("THINGSPEAK_KEY=MHDSCTX6ET09FFHI", "MHDSCTX6ET09FFHI"),
        ])
        .misses(&[r#"adafruit_feed = "temperature""#]),
    assigned("HELIUS_KEY", &["helius", "moralis", "quicknode", "tenderly", "thirdweb", "pinata", "web3storage", "nftstorage"], Dotted, (32, 400))
        .entropy(3.0)
        .allow(&["^[^0-9]+$", "^(?:[A-Za-z]+[0-9]{0,2}[-_.])+[A-Za-z]+[0-9]{0,2}$"])
        .hits(&[
            ("helius_api_key: f4c3738a-d8d5-488d-b2f6-686c49c7fb88", "f4c3738a-d8d5-488d-b2f6-686c49c7fb88"),
            (r#"  "moralis_key": "S2FWb2Spwli8Gc6pTRdCQt4wQ42ZU8nastvyTodULh6gPj1q3nrRT7gZYmbOA3NY","#, "S2FWb2Spwli8Gc6pTRdCQt4wQ42ZU8nastvyTodULh6gPj1q3nrRT7gZYmbOA3NY"),
            ("const thirdwebSecret = '2tmqsF7liOzuf1rTjjJGbYN8og88R3izlUOUn1I7loe_3g4l7GdRXNNkZ9gLkM0AHQdohTTKtScT6xPeZD4Mh9';", "2tmqsF7liOzuf1rTjjJGbYN8og88R3izlUOUn1I7loe_3g4l7GdRXNNkZ9gLkM0AHQdohTTKtScT6xPeZD4Mh9"),
        ])
        .misses(&[r#"helius_region = "eu-central-1""#]),
];

//! Exchanges, chains and wallets.

use super::super::rule::Charset::{Alnum, Base64, Hex, HexLower, Upper, Uuid};
use super::super::rule::Rule;
use super::{assigned, pattern, prefixed};

pub(super) static RULES: &[Rule] = &[
    // Exchanges, chains and wallets.

    assigned("BINANCE_KEY", &["binance"], Alnum, (64, 64))
        .entropy(3.5)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("BINANCE_API_SECRET=RcwfRTLt4DhPoTwcCt2FB9uSrPo0hzDT3z5HPlgrSOpRkErXDEhHbPiLfKf9c9BO", "RcwfRTLt4DhPoTwcCt2FB9uSrPo0hzDT3z5HPlgrSOpRkErXDEhHbPiLfKf9c9BO"),
            ("binance_key: AFvQgTJmexXcMZhds1s1uuESeHr2tFFUE8DOjgdQoPLeXQFY5NDJD9MrwNAHjIWs", "AFvQgTJmexXcMZhds1s1uuESeHr2tFFUE8DOjgdQoPLeXQFY5NDJD9MrwNAHjIWs"),
        ])
        .misses(&[r#"binance_region = "eu-central-1""#]),
    assigned("KRAKEN_SECRET", &["krakenapi", "krakensecret", "krakenprivate", "krakenkey"], Base64, (80, 90))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"kraken_api_secret = "fLGYnp6jREP/kaSSo/gVjTMUOvIkivZ+Fm2EBDL7ZrgZVdnXG1lH/Bc8r8pgEvA7mofybKZw37QvK81YUc4lJP==""#, "fLGYnp6jREP/kaSSo/gVjTMUOvIkivZ+Fm2EBDL7ZrgZVdnXG1lH/Bc8r8pgEvA7mofybKZw37QvK81YUc4lJP=="),
            ("KRAKEN_PRIVATE_KEY=Rj66KisCeID/om34XOcfgoJycrYgwCYHhSALcRy0RPOi9YR3dLgXqD5INhsCb8knNfdibP5DeCYRr82io9zt8R==", "Rj66KisCeID/om34XOcfgoJycrYgwCYHhSALcRy0RPOi9YR3dLgXqD5INhsCb8knNfdibP5DeCYRr82io9zt8R=="),
        ])
        .misses(&[r#"kraken_region = "eu-central-1""#]),
    assigned("KUCOIN_SECRET", &["kucoin"], Uuid, (36, 36))
        .hits(&[
            ("kucoin_api_secret: 01f61e1d-b5f2-4c0d-8185-ca8de426382a", "01f61e1d-b5f2-4c0d-8185-ca8de426382a"),
            (r#"  "kucoin_secret": "64c8821f-e1dd-4fbe-9374-4796cb7971bb","#, "64c8821f-e1dd-4fbe-9374-4796cb7971bb"),
        ])
        .misses(&[r#"kucoin_region = "eu-central-1""#]),
    assigned("KUCOIN_KEY", &["kucoin"], HexLower, (24, 24))
        .hits(&[
            (r#"kucoin_api_key = "d8f1e402612ab0bc1f78516f""#, "d8f1e402612ab0bc1f78516f"),
            ("KUCOIN_KEY=2668d1096c103002726b31f8", "2668d1096c103002726b31f8"),
        ])
        .misses(&[r#"kucoin_region = "eu-central-1""#]),
    assigned("BITTREX_KEY", &["bittrex", "poloniex", "bitfinex", "bitstamp", "bybit", "okxapi", "gateio", "huobi"], Alnum, (32, 64))
        .entropy(3.5)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"  "bittrex_api_secret": "jw8I2itCe4fI1mPkXj3pQHU5DQWqWdZdUh9WmSH5mKj","#, "jw8I2itCe4fI1mPkXj3pQHU5DQWqWdZdUh9WmSH5mKj"),
            ("const bitfinexKey = 'ritralSNl5P0dN5CO5NvHrfLXZRfdU7WxP84YtTeJfU';", "ritralSNl5P0dN5CO5NvHrfLXZRfdU7WxP84YtTeJfU"),
            (r#"bybit_api_secret = "P1QuTHdJ9B31FC7y5w2KkmM7k8NkjPVq2LCiJmcWjkT""#, "P1QuTHdJ9B31FC7y5w2KkmM7k8NkjPVq2LCiJmcWjkT"),
        ])
        .misses(&[r#"bittrex_region = "eu-central-1""#]),
    prefixed("ALCHEMY_KEY", &["alcht_"], Alnum, (20, 40))
        .hits(&[
            ("The value alcht_2EwcrjePYIQ6AYPLIrjXQWCNeVtNxQ was rotated last week.", "alcht_2EwcrjePYIQ6AYPLIrjXQWCNeVtNxQ"),
            ("export ALCHEMY_KEY='alcht_boY8G92IfE85eNK82znGJ8DnFFSIcc'", "alcht_boY8G92IfE85eNK82znGJ8DnFFSIcc"),
        ])
        .misses(&["# the console shows alcht_AFxTJB and asks for the rest"]),
    pattern(
        "RPC_PROVIDER_KEY",
        &["alchemy.com/v2/", "alchemyapi.io/v2/", "infura.io/v3/", "quiknode.pro/", "ankr.com/", "chainstack.com/", "getblock.io/"],
        r"(?:alchemy\.com/v2|alchemyapi\.io/v2|infura\.io(?:/ws)?/v3|quiknode\.pro|(?:rpc\.)?ankr\.com/\w{2,20}|chainstack\.com|getblock\.io(?:/\w{2,20}){0,2})/([\w-]{30,64})",
    )
        .hits(&[
            ("RPC=https://mainnet.infura.io/v3/eb53ee2cc9eef4e118dc9379c18569ca", "eb53ee2cc9eef4e118dc9379c18569ca"),
            (r#"url: "https://eth-mainnet.g.alchemy.com/v2/n-Ckn9kI4FfYeLQbdLJ4zxcTpia3OVFc""#, "n-Ckn9kI4FfYeLQbdLJ4zxcTpia3OVFc"),
            ("https://icy-dawn.quiknode.pro/a2c42ff8113f96d142e0ed61876f1850beb2f369/", "a2c42ff8113f96d142e0ed61876f1850beb2f369"),
        ])
        .misses(&["https://mainnet.infura.io/v3/${KEY}"]),
    assigned("INFURA_KEY", &["infura", "walletconnect"], HexLower, (32, 32))
        .hits(&[
            ("const infuraProjectSecret = '1985f02cab053cb543058528a84868ba';", "1985f02cab053cb543058528a84868ba"),
            (r#"walletconnect_key = "8b04927e78d5eb08ae8024ab1bceb5b2""#, "8b04927e78d5eb08ae8024ab1bceb5b2"),
        ])
        .misses(&[r#"infura_region = "eu-central-1""#]),
    assigned("ETHERSCAN_KEY", &["etherscan", "bscscan", "polygonscan", "arbiscan", "snowtrace", "basescan"], Upper, (34, 34))
        .entropy(3.0)
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const etherscanApiKey = 'I8KIO7Z3KKDZMH2WFUWMB4CS11E4WWVWQX';", "I8KIO7Z3KKDZMH2WFUWMB4CS11E4WWVWQX"),
            (r#"bscscan_key = "1FDYM1UYOD76HK7SVDAWN6L7RGQ9UMJIWD""#, "1FDYM1UYOD76HK7SVDAWN6L7RGQ9UMJIWD"),
        ])
        .misses(&[r#"etherscan_region = "eu-central-1""#]),
    pattern(
        "ETHEREUM_PRIVATE_KEY",
        &["private_key", "privatekey", "private-key", "privkey", "wallet(", "accounts:", "deployer", "eth_key", "evm_key", "cast send", "signer_key"],
        r"\b0x[0-9a-fA-F]{64}\b",
    )
        .entropy(3.0)
        .hits(&[
            ("DEPLOYER_PRIVATE_KEY=0x84a6aa8449f6c708d992b05894114249dd352d42accc51b9aeb4f100e64540a3", "0x84a6aa8449f6c708d992b05894114249dd352d42accc51b9aeb4f100e64540a3"),
            (r#"accounts: ["0xf89916f128d4ab2928995c86bce12b9b7243166c9f67f16a69e93e29bc9fcbed"],"#, "0xf89916f128d4ab2928995c86bce12b9b7243166c9f67f16a69e93e29bc9fcbed"),
            (r#"const wallet = new ethers.Wallet("0xafd04aa9ba1a6aa94f1a63ef26a3bfa73106ce4e9d8f9bbd6bee20478945ae1d", provider);"#, "0xafd04aa9ba1a6aa94f1a63ef26a3bfa73106ce4e9d8f9bbd6bee20478945ae1d"),
        ])
        .misses(&[
            "wallet_hash: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "deployer: 0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
        ]),
    assigned("HEX_PRIVATE_KEY", &["privatekey", "privkey", "walletkey", "deployerkey", "signingkey", "seedhex"], Hex, (64, 64))
        .hits(&[
            ("const privateKey = 'd742fc1ef48296ca1314860ab9b8d2b86feaec2ebad2f1cc2e5449c9330c2849';", "d742fc1ef48296ca1314860ab9b8d2b86feaec2ebad2f1cc2e5449c9330c2849"),
            (r#"signing_key = "186c9ba166c311934047cf8917b7fd1c79c43a62d4d013c354e6c176583780e1""#, "186c9ba166c311934047cf8917b7fd1c79c43a62d4d013c354e6c176583780e1"),
        ])
        .misses(&[r#"private_key_path = "/etc/keys/id""#]),
    prefixed("EXTENDED_PRIVATE_KEY", &["xprv", "yprv", "zprv", "tprv"], Alnum, (100, 112))
        .hits(&[
            ("export EXTENDED_PRIVATE_KEY='xprv9s21ZrQH143KcJZUrXdeQcwg9D7qxmiEhxx7Ck97sU3xAYWNY7p82DmJMmB1Qf4KZeBLVEWqRT5nMJCHsYLrWorQphcTdLABAfNWjpf7QuV'", "xprv9s21ZrQH143KcJZUrXdeQcwg9D7qxmiEhxx7Ck97sU3xAYWNY7p82DmJMmB1Qf4KZeBLVEWqRT5nMJCHsYLrWorQphcTdLABAfNWjpf7QuV"),
            ("args: ['--auth', 'yprv9s21ZrQH143KqkKJ9cBgYziXcNU14EcZvVTErT8XDhhFkDDWJ9BCZ63bAnZiccGPMVh9veUBahstJky7MtiRyWDjBs9dygTFpJGE26Moq5w']", "yprv9s21ZrQH143KqkKJ9cBgYziXcNU14EcZvVTErT8XDhhFkDDWJ9BCZ63bAnZiccGPMVh9veUBahstJky7MtiRyWDjBs9dygTFpJGE26Moq5w"),
            ("https://api.example.com/v1/items?auth=zprv9s21ZrQH143KShjHsmvtPzxH5WoVWi9P5eNcM9hb5kGxuTqpa7Fbb9zTRrjzNvZCFEnNwVXX6tnsffw2tniUpTmm4rgQKWhmodqHr8wCVyq&page=2", "zprv9s21ZrQH143KShjHsmvtPzxH5WoVWi9P5eNcM9hb5kGxuTqpa7Fbb9zTRrjzNvZCFEnNwVXX6tnsffw2tniUpTmm4rgQKWhmodqHr8wCVyq"),
            ("- echo tprv9s21ZrQH143KmmLZHquycuppC9keBv33LyfKmWRXTyjPspGYVYUbuPhkKhbA3VRWX3v5b1ymhbBmSafVMKJ57ViJthGJe2VhYkUuP3vb784 | tool login", "tprv9s21ZrQH143KmmLZHquycuppC9keBv33LyfKmWRXTyjPspGYVYUbuPhkKhbA3VRWX3v5b1ymhbBmSafVMKJ57ViJthGJe2VhYkUuP3vb784"),
        ])
        .misses(&["# the console shows xprvRh4cLS and asks for the rest"]),
    pattern(
        "BITCOIN_WIF",
        &["wif", "bitcoin", "privkey"],
        r"\b[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51}\b",
    )
        .entropy(3.8)
        .hits(&[
            ("bitcoin-cli importprivkey KaFWo4AnxM6rtv6XJTDDL3RozCMwoLMEBNygmbzswVfZHKAKeK5Z", "KaFWo4AnxM6rtv6XJTDDL3RozCMwoLMEBNygmbzswVfZHKAKeK5Z"),
            ("wif: LLNcxuK7Z1jYkmnGhXjJCvyYv1bLmUvRDfdfAsx85JDVabVUU7Hw", "LLNcxuK7Z1jYkmnGhXjJCvyYv1bLmUvRDfdfAsx85JDVabVUU7Hw"),
        ])
        .misses(&["bitcoin address 1BoatSLRHtKNngkdXEeobR76b53LETtpyT"]),
    pattern(
        "STELLAR_SECRET",
        &["stellar", "horizon", "xlm", "soroban"],
        r"\bS[A-Z2-7]{55}\b",
    )
        .hits(&[
            ("STELLAR_SECRET=SMQPCHCWQQIEI3YEERC4ECPUPSC5XMYWHJGSUEKY57TBY44IRRZRJT67", "SMQPCHCWQQIEI3YEERC4ECPUPSC5XMYWHJGSUEKY57TBY44IRRZRJT67"),
            ("stellar keys add x --secret SQOB2LS6VNOOHXRICSC6LGOIF5ZL7ST2EM4S6WS5Y2OFNUY3SF55LSFO", "SQOB2LS6VNOOHXRICSC6LGOIF5ZL7ST2EM4S6WS5Y2OFNUY3SF55LSFO"),
        ])
        .misses(&["stellar horizon url"]),
    assigned("SOLANA_PRIVATE_KEY", &["solana", "phantom"], Alnum, (86, 88))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            (r#"solana_private_key = "vGdwUr95yXpFV8PLfex3FqvHNAykFPMpEzw3TfKvHTUUvCdPnrcNTGzf62Hx9bMQ5DXuGQEK3qF81ATEAfQMsEYe""#, "vGdwUr95yXpFV8PLfex3FqvHNAykFPMpEzw3TfKvHTUUvCdPnrcNTGzf62Hx9bMQ5DXuGQEK3qF81ATEAfQMsEYe"),
            ("PHANTOM_KEY=SYuXWzpQLnva9Fdo36JNGUCQer4gtDM3NziW7URmLK86U7uEsrM16BkocC1mpY8bCpWe992NJPjhDZpdHnpJ97mi", "SYuXWzpQLnva9Fdo36JNGUCQer4gtDM3NziW7URmLK86U7uEsrM16BkocC1mpY8bCpWe992NJPjhDZpdHnpJ97mi"),
        ])
        .misses(&[r#"solana_region = "eu-central-1""#]),
    prefixed("COINGECKO_KEY", &["CG-"], Alnum, (24, 24))
        .entropy(3.0)
        .hits(&[
            ("COINGECKO_KEY=CG-ZHBJKDY24ZafiiRT3QrzqsXJ", "CG-ZHBJKDY24ZafiiRT3QrzqsXJ"),
            ("  coingecko_key: CG-uKSUmPSIMZulOqeYNuSz1AIf", "CG-uKSUmPSIMZulOqeYNuSz1AIf"),
        ])
        .misses(&["# the console shows CG-F2donC and asks for the rest"]),
];

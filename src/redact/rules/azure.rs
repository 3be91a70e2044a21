//! Microsoft Azure.

use super::super::rule::Charset::{HexLower, Lower, Uuid};
use super::super::rule::Rule;
use super::{assigned, pattern};

pub(super) static RULES: &[Rule] = &[
    // Microsoft. Keys with a fixed signature at a fixed place, then those known by the field that holds them.

    pattern(
        "AZURE_STORAGE_KEY",
        &["+ast"],
        r"[0-9A-Za-z+/]{76}\+ASt[0-9A-Za-z+/]{5,6}==?",
    )
        .hits(&[
            ("az storage blob list --account-key 6YHzv0zUJ34no1AoFIuHdT0+ezGN7Om8QmIawSwn8vHVYsg4IyLJOsQd74imuJxB9XFN3VKF3Ur3+AStOerfMQ==", "6YHzv0zUJ34no1AoFIuHdT0+ezGN7Om8QmIawSwn8vHVYsg4IyLJOsQd74imuJxB9XFN3VKF3Ur3+AStOerfMQ=="),
            (r#"key1: "rpOI9kF6NcigUU8cTxxwnXTvBU3+Lq/YVEHC5GVAs3TKJqQ0iKMVazp4XLyhpfhLZOCiyHV4Rx4A+AStjO/lHw==""#, "rpOI9kF6NcigUU8cTxxwnXTvBU3+Lq/YVEHC5GVAs3TKJqQ0iKMVazp4XLyhpfhLZOCiyHV4Rx4A+AStjO/lHw=="),
        ])
        .misses(&["the last+astonishing step"]),
    pattern(
        "AZURE_CONNECTION_STRING_KEY",
        &["accountkey=", "sharedaccesskey=", "accesskey=", "sharedsecretvalue="],
        r"(?i)\b(?:(?:Account|SharedAccess|Access)Key|SharedSecretValue)=([0-9A-Za-z+/%]{20,120}={0,2})",
    )
        .entropy(3.0)
        .hits(&[
            ("DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=Rb9/2dghNz6V8ObRxqQGF27D2ZpP1RdiQqr+URquTJoVQLhTQ7wbzPpJc73c0dajTzE58bmRvo6s0neT8DAQaG==;EndpointSuffix=core.windows.net", "Rb9/2dghNz6V8ObRxqQGF27D2ZpP1RdiQqr+URquTJoVQLhTQ7wbzPpJc73c0dajTzE58bmRvo6s0neT8DAQaG=="),
            ("Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=kfDbWPQcPVcjNCCyjHqUv90s8FP1x78cRRHSSqiPRA9=", "kfDbWPQcPVcjNCCyjHqUv90s8FP1x78cRRHSSqiPRA9="),
            ("AccountEndpoint=https://acme.documents.azure.com:443/;AccountKey=XnOYjCP188YDJU3a1bGNh27s8BTUKHtGRsMMv4n0UKJe18wm5WCn/aRWoxue4MHsqnyYrnu7s8QwHrQA8lEy0W==;", "XnOYjCP188YDJU3a1bGNh27s8BTUKHtGRsMMv4n0UKJe18wm5WCn/aRWoxue4MHsqnyYrnu7s8QwHrQA8lEy0W=="),
            (r#""SignalR": "Endpoint=https://acme.service.signalr.net;AccessKey=0zC9qDzoleh0DtnacPgr/tBnzSl57KdCOvpjr1BSnHi=;Version=1.0;""#, "0zC9qDzoleh0DtnacPgr/tBnzSl57KdCOvpjr1BSnHi="),
        ])
        .misses(&["AccountName=acme;AccountKey=<key>", "AccountKey=${AZURE_KEY}"]),
    pattern(
        "AZURE_BATCH_KEY",
        &["+aba"],
        r"[0-9A-Za-z+/]{76}\+ABa[0-9A-Za-z+/]{5,6}==?",
    )
        .hits(&[
            (r#"batch_key = "Pq8ehxk7/GHWH5KIwdXiUprTrsfbUnBkz1yE5/9Dbu96KqKDk3eLq7+ftlT0SfB80uJa73VJt/38+ABamWNfQQ==""#, "Pq8ehxk7/GHWH5KIwdXiUprTrsfbUnBkz1yE5/9Dbu96KqKDk3eLq7+ftlT0SfB80uJa73VJt/38+ABamWNfQQ=="),
            ("primary: aMk4nBWhwb5QKLFqAarjPKLPDqm6vunhQitEQi5bSQPvGVkC7dE7J6Cs99DY7DwWCNGB9c/tHPUH+ABa/MoQYA==", "aMk4nBWhwb5QKLFqAarjPKLPDqm6vunhQitEQi5bSQPvGVkC7dE7J6Cs99DY7DwWCNGB9c/tHPUH+ABa/MoQYA=="),
        ])
        .misses(&["a+abacus"]),
    pattern(
        "AZURE_COSMOS_KEY",
        &["acdb"],
        "[0-9A-Za-z+/]{76}ACDb[0-9A-Za-z+/]{5,6}==?",
    )
        .hits(&[
            (r#"client = CosmosClient(url, "NhC8goGuPHOxnMaSu8k0DgUuzT9vP+oFhgsxaf+6Ry7FASTqJxLIPZQN8r2k4ylvVkYSH5nrZubgACDbVo4asQ==")"#, "NhC8goGuPHOxnMaSu8k0DgUuzT9vP+oFhgsxaf+6Ry7FASTqJxLIPZQN8r2k4ylvVkYSH5nrZubgACDbVo4asQ=="),
            ("primary: ipk3mKC/Ld0NDsWXLfNoMJrTMJbD1bJVMuY3H3JCTbSbiZpYzt/eikwzI5VXAQQkkHJzxG6iIbHmACDbUggWcA==", "ipk3mKC/Ld0NDsWXLfNoMJrTMJbD1bJVMuY3H3JCTbSbiZpYzt/eikwzI5VXAQQkkHJzxG6iIbHmACDbUggWcA=="),
        ])
        .misses(&["macdb.open()"]),
    pattern(
        "AZURE_MESSAGING_KEY",
        &["+asb", "+aeh", "aiot", "+arm"],
        r"(?:^|[^0-9A-Za-z+/])([0-9A-Za-z+/]{33}(?:\+ASb|\+AEh|AIoT|\+ARm)[0-9A-Za-z+/]{5,6}={1,2})",
    )
        .hits(&[
            (r#"key = "uBIRWD8hdy9J/Eem5cKDf0HjAhjKc2SW2+ASb+t/naw=""#, "uBIRWD8hdy9J/Eem5cKDf0HjAhjKc2SW2+ASb+t/naw="),
            ("az eventhubs --key APfi8pqqfj7IwD2aGnzo/kVHkNQOJzIG5+AEhmI4tPg=", "APfi8pqqfj7IwD2aGnzo/kVHkNQOJzIG5+AEhmI4tPg="),
            ("iothubowner: dkcpfbeb+uQXEtdt9r6lixQ3kb8b3xeQRAIoTxSOoYA=", "dkcpfbeb+uQXEtdt9r6lixQ3kb8b3xeQRAIoTxSOoYA="),
        ])
        .misses(&["raiot of colour"]),
    pattern(
        "AZURE_CONTAINER_REGISTRY_KEY",
        &["+acr", "acra", "acrb", "acrc", "acrd", "azurecr.io"],
        r"(?:^|[^0-9A-Za-z+/])([0-9A-Za-z+/]{42}(?:\+ACR|ACR[A-D])[0-9A-Za-z+/]{6})(?:[^0-9A-Za-z+/]|$)",
    )
        .hits(&[
            ("docker login acme.azurecr.io -u acme -p UdzNxScobIlbE6OUHG1bJZWVyO8T5i4zhWpeTm8Z7N+ACRBNk1IF", "UdzNxScobIlbE6OUHG1bJZWVyO8T5i4zhWpeTm8Z7N+ACRBNk1IF"),
            (r#""acr": "zFDJGQpsETKYZqSk4VlEgFs1lWXQMd4jFPmlUZEy4K+ACRX9SgIz""#, "zFDJGQpsETKYZqSk4VlEgFs1lWXQMd4jFPmlUZEy4K+ACRX9SgIz"),
        ])
        .misses(&["one+acre"]),
    pattern(
        "AZURE_REDIS_KEY",
        &["azca"],
        "[0-9A-Za-z+/]{33}AzCa[0-9A-Za-z+/]{5,6}=",
    )
        .hits(&[
            ("acme.redis.cache.windows.net:6380,ssl=True,abortConnect=False,auth=coHaX5X4TiK0SF8bkOtlVquHfpGvVC2oJAzCaAKdMdQ=", "coHaX5X4TiK0SF8bkOtlVquHfpGvVC2oJAzCaAKdMdQ="),
            ("cache: c1pkRqUMUM4Yzz2uknlRV02KEFxuS2gV5AzCaB/BllA=", "c1pkRqUMUM4Yzz2uknlRV02KEFxuS2gV5AzCaB/BllA="),
        ])
        .misses(&["azcapi.load()"]),
    pattern(
        "AZURE_FUNCTION_KEY",
        &["azfu"],
        "[0-9A-Za-z_-]{44}AzFu[0-9A-Za-z_-]{4,5}[AQgw]==",
    )
        .hits(&[
            ("https://acme.example.net/api/run?code=DuleAt96AbnNS3txf6Nc1TZNBxJQbDEip5G2dTnJNbAEAzFuWP09Q==", "DuleAt96AbnNS3txf6Nc1TZNBxJQbDEip5G2dTnJNbAEAzFuWP09Q=="),
            ("x-functions-key: DUi1nQ3KrJee_HbjLm2evPCuRvLNVo63M7r5kgKaVubKAzFurflvA==", "DUi1nQ3KrJee_HbjLm2evPCuRvLNVo63M7r5kgKaVubKAzFurflvA=="),
        ])
        .misses(&["azfunc publish"]),
    pattern(
        "AZURE_FUNCTION_URL_CODE",
        &["azurewebsites.net"],
        r"azurewebsites\.net/[\w./-]{1,120}\?(?:[\w=&-]{0,80}&)?code=([0-9A-Za-z_/+%-]{30,80}={0,2})",
    )
        .hits(&[
            ("https://acme.azurewebsites.net/api/run?code=rkHSAOwvnJhl6ksHSeI6vNvN71cedw8d1BdF2wFP3OUHrMMlsga6aU==", "rkHSAOwvnJhl6ksHSeI6vNvN71cedw8d1BdF2wFP3OUHrMMlsga6aU=="),
            ("url: https://acme.azurewebsites.net/api/run?name=x&code=PETyBPqnIcpkeaX5hkJwJxmEDrYCBOoi0GvO06MYy9gTNknsQ1jfje==", "PETyBPqnIcpkeaX5hkJwJxmEDrYCBOoi0GvO06MYy9gTNknsQ1jfje=="),
        ])
        .misses(&["https://acme.azurewebsites.net/api/run?code=$CODE"]),
    pattern(
        "AZURE_SEARCH_KEY",
        &["azse"],
        r"\b[0-9A-Za-z]{42}AzSe[0-9A-Za-z]{6}\b",
    )
        .hits(&[
            ("api-key: 3gQenlAbWWY3ODYso7fchKz3pg3oZr4k4xBOrGcQ8dAzSeADt2MY", "3gQenlAbWWY3ODYso7fchKz3pg3oZr4k4xBOrGcQ8dAzSeADt2MY"),
            (r#"SearchClient(url, "idx", "CMMDitqNTZ9w4s2p2iFFbH248PLh0yVXE3vJwsn0UwAzSeDPxKHq")"#, "CMMDitqNTZ9w4s2p2iFFbH248PLh0yVXE3vJwsn0UwAzSeDPxKHq"),
        ])
        .misses(&["azse.query()"]),
    pattern(
        "AZURE_APIM_KEY",
        &["ocp-apim-subscription-key", "subscription-key="],
        r#"(?i)(?:Ocp-Apim-)?Subscription-Key["\x27]?\s{0,3}[:=,]\s{0,3}["\x27]?([0-9a-f]{32})\b"#,
    )
        .hits(&[
            ("Ocp-Apim-Subscription-Key: 15ef2cbb7c1f8b591fa98370cb1cc713", "15ef2cbb7c1f8b591fa98370cb1cc713"),
            (r#"h.put("Ocp-Apim-Subscription-Key", "e88c809c6b8bb321355c142f121d96f0""#, "e88c809c6b8bb321355c142f121d96f0"),
            ("https://acme.azure-api.net/v1?subscription-key=bd164d2fe7630d15cdbde207cb11951b", "bd164d2fe7630d15cdbde207cb11951b"),
        ])
        .misses(&["Ocp-Apim-Subscription-Key: {{key}}"]),
    pattern(
        "AZURE_AI_KEY",
        &["jqqj99", "jqqj9d", "jqqj9h"],
        r"\b[0-9A-Za-z]{40,60}JQQJ9[9DH][0-9A-Za-z]{20,36}\b",
    )
        .hits(&[
            ("AZURE_OPENAI_API_KEY=YLnNkdDq2t7AwsYZu7yM1C87fCNa1BTyluvsnS4FNzlf4CKRWcfkJQQJ99BDACfhMk5XJ3w3AAABACOGH0RA", "YLnNkdDq2t7AwsYZu7yM1C87fCNa1BTyluvsnS4FNzlf4CKRWcfkJQQJ99BDACfhMk5XJ3w3AAABACOGH0RA"),
            (r#"api_key="MnwhNEjIzUGk6fLpIpZ0p5duuiRZejau5tW5QefNQCrYYLfrlgSKJQQJ99ALACYeBjFXJ3w3AAABACOGs1Gb","#, "MnwhNEjIzUGk6fLpIpZ0p5duuiRZejau5tW5QefNQCrYYLfrlgSKJQQJ99ALACYeBjFXJ3w3AAABACOGs1Gb"),
        ])
        .misses(&["jqqj99 is the marker"]),
    pattern(
        "AZURE_SAS_SIGNATURE",
        &["sig="],
        r#"(?:[?&;"\x27 ]|&amp;|\\u0026)sig=([0-9A-Za-z%+/_-]{32,120}={0,2})"#,
    )
        .entropy(3.0)
        .hits(&[
            ("https://acme.blob.core.windows.net/c/f?sv=2022-11-02&se=2030-01-01&sr=b&sp=r&sig=4hV8AwcdJnlyd+CP0gzOU8jwTjgYYxPT1lr8Xx3ri%3D", "4hV8AwcdJnlyd+CP0gzOU8jwTjgYYxPT1lr8Xx3ri%3D"),
            ("SharedAccessSignature=sv=2022-11-02&ss=b&srt=sco&sp=rl&se=2030-01-01&sig=OOBqdrO8jzkHMf6tDM4riKXGAhHKB%jLddRVWd9mz%3D", "OOBqdrO8jzkHMf6tDM4riKXGAhHKB%jLddRVWd9mz%3D"),
            ("https://prod-07.westeurope.logic.azure.com/workflows/1/triggers/manual/paths/invoke?sp=%2Ftriggers&sv=1.0&sig=NYR1rg6_hMoyHkQJqUTZZTJ_Gw6uyiWP6Gb472E7Md8", "NYR1rg6_hMoyHkQJqUTZZTJ_Gw6uyiWP6Gb472E7Md8"),
        ])
        .misses(&["int sig = SIGTERM; &sig=x"]),
    pattern(
        "AZURE_AD_CLIENT_SECRET",
        &["0q~", "1q~", "2q~", "3q~", "4q~", "5q~", "6q~", "7q~", "8q~", "9q~"],
        r"(?:^|[^0-9A-Za-z_~.-])([\w~.-]{3}[0-9]Q~[\w~.-]{31,34})",
    )
        .hits(&[
            ("ARM_CLIENT_SECRET=I8L8Q~5YuOW9vGcPURvf4sO7X4YF0cGpculaVFxk", "I8L8Q~5YuOW9vGcPURvf4sO7X4YF0cGpculaVFxk"),
            (r#"clientSecret: "q7e7Q~8Fr9RpvsFAdOepqJwOpd-VCTsHAK2Jc","#, "q7e7Q~8Fr9RpvsFAdOepqJwOpd-VCTsHAK2Jc"),
            ("az login --service-principal -u x -p Vrp8Q~nC2K9bUMa.O21_p2iBKVO8.T14WRjxadx3", "Vrp8Q~nC2K9bUMa.O21_p2iBKVO8.T14WRjxadx3"),
        ])
        .misses(&["8Q~ is the marker"]),
    pattern(
        "AZURE_DEVOPS_PAT",
        &["azdo"],
        r"\b[0-9A-Za-z]{76}AZDO[0-9A-Za-z]{4,5}\b",
    )
        .hits(&[
            ("AZURE_DEVOPS_EXT_PAT=WqX3bN9J0aRMulpxprJKHNbMBDDaFkjACqlrN6Mbp0pDmKBMxyf6JQQJ99BAACAAAAAAAAAAAAASAZDOmzEH", "WqX3bN9J0aRMulpxprJKHNbMBDDaFkjACqlrN6Mbp0pDmKBMxyf6JQQJ99BAACAAAAAAAAAAAAASAZDOmzEH"),
            ("az devops login --pat C8HhhDiitlnXrs2Ns6XM2vp2mDGGg6OxuBHsUvCIdQk432aSsr2V8Kp3SRgGEXOOHY5hXE196qVYAZDOyde4", "C8HhhDiitlnXrs2Ns6XM2vp2mDGGg6OxuBHsUvCIdQk432aSsr2V8Kp3SRgGEXOOHY5hXE196qVYAZDOyde4"),
        ])
        .misses(&["azdo pipelines run"]),
    assigned("AZURE_DEVOPS_LEGACY_PAT", &["azuredevops", "vststoken", "vstspat", "adopat", "azdopat", "azpat", "azptoken", "vscepat", "tfspat", "systemaccesstoken"], Lower, (52, 52))
        .allow(&["^[^0-9]+$"])
        .hits(&[
            ("const azureDevopsPat = '2qewooft5htijuxx2f7zemidn6hxqemabmer2msynjzhsfc2pft2';", "2qewooft5htijuxx2f7zemidn6hxqemabmer2msynjzhsfc2pft2"),
            (r#"vsts_token = "pr6aswqo6ra5nzk2enkbla25byegflhkcjk2zg2k3omg36w4rsqd""#, "pr6aswqo6ra5nzk2enkbla25byegflhkcjk2zg2k3omg36w4rsqd"),
            ("AZP_TOKEN=ago24k2hj6wl3yk7pmxa7apt7v3iewcjegjfxusiea4dv62ktz2x", "ago24k2hj6wl3yk7pmxa7apt7v3iewcjegjfxusiea4dv62ktz2x"),
        ])
        .misses(&[r#"azure_region = "eu-central-1""#]),
    assigned("AZURE_COGNITIVE_KEY", &["azureopenai", "azurespeech", "azuretranslator", "cognitiveservices", "azurevision", "azuremaps", "bingsearch", "azureml", "azuresearch"], HexLower, (32, 32))
        .hits(&[
            ("const azureOpenaiKey = '536245cb92a757c62dbfd431bca4468f';", "536245cb92a757c62dbfd431bca4468f"),
            (r#"azure_speech = "412ba5d1b6f9fa14a5aeda91cc761317""#, "412ba5d1b6f9fa14a5aeda91cc761317"),
            ("COGNITIVE_SERVICES=13c2bf71b265ff816ff411cca8e7935e", "13c2bf71b265ff816ff411cca8e7935e"),
        ])
        .misses(&[r#"azure_openai_deployment = "gpt-4o""#]),
    pattern(
        "AZURE_APP_CONFIGURATION",
        &["azconfig.io"],
        r"(?i)azconfig\.io;Id=[^;\s]{2,80};Secret=([0-9A-Za-z+/]{30,120}={0,2})",
    )
        .hits(&[
            ("Endpoint=https://acme.azconfig.io;Id=a1B2-l0-s0:x;Secret=NdD7v5vXEZgH13fOUXIwGo0P2oGmce+UkU/pLZCwV83=", "NdD7v5vXEZgH13fOUXIwGo0P2oGmce+UkU/pLZCwV83="),
            (r#"AppConfig="Endpoint=https://acme.azconfig.io;Id=Zz9-l9-s0:q;Secret=iUN9nlqds6mYyihwjiVw1WHXV0NPWXbwl3vCtpp221S=""#, "iUN9nlqds6mYyihwjiVw1WHXV0NPWXbwl3vCtpp221S="),
        ])
        .misses(&["Endpoint=https://acme.azconfig.io;Id=<id>;Secret=<secret>"]),
    assigned("AZURE_INSTRUMENTATION_KEY", &["instrumentationkey", "appinsightskey", "applicationinsightskey"], Uuid, (36, 36))
        .hits(&[
            ("INSTRUMENTATION_KEY=083fbe16-c30f-4143-9e49-356a5d7e88a9", "083fbe16-c30f-4143-9e49-356a5d7e88a9"),
            ("appinsights_key: 124fa7b4-34ea-4797-8f56-a5302e2094df", "124fa7b4-34ea-4797-8f56-a5302e2094df"),
        ])
        .misses(&[r#"instrumentation_name = "web""#]),
];

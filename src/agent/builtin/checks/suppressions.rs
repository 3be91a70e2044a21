//! Linters, scanners and certificate checks that are told to look away.

use super::{BASE, C, CSHARP, Check, Family, Fix, GO, JS, JVM, PHP, PYTHON, RUBY, RUST};
use crate::contracts::{Category, Severity};

pub(super) const SUPPRESSIONS: &[Check] = &[
    Check {
        name: "eslint-blanket",
        files: JS,
        needles: &["eslint-disable", "oxlint-disable", "@ts-ignore", "@ts-nocheck", "tslint:disable"],
        pattern: r"(?://|/\*|<!--)\s*(?:(?:es|ox)lint-disable(?:-next-line|-line)?\s*(?:--.*)?(?:\*/.*|-->.*)?$|@ts-ignore\b|@ts-nocheck\b|tslint:disable(?:-next-line|-line)?\s*(?:\*/.*)?$)",
        fires: &[
            ("a.ts", "/* eslint-disable */"),
            ("a.ts", "x(); // eslint-disable-line"),
            ("a.ts", "  // @ts-ignore"),
            ("a.js", "// eslint-disable-next-line"),
        ],
        quiet: &[
            ("a.ts", "// @ts-expect-error: the type is wrong upstream"),
            ("a.ts", "// eslint-disable-next-line no-console"),
            ("a.ts", "const s = 'eslint-disable';"),
            ("a.md", "/* eslint-disable */"),
        ],
        ..BLANKET
    },
    Check {
        name: "eslint-rule",
        files: JS,
        needles: &["eslint-disable", "oxlint-disable", "tslint:disable", "biome-ignore", "deno-lint-ignore"],
        pattern: r"(?://|/\*|<!--)\s*(?:(?:es|ox)lint-disable(?:-next-line|-line)?\s+[@\w]|tslint:disable(?:-next-line|-line)?:|biome-ignore\b|deno-lint-ignore)",
        fires: &[("a.ts", "// eslint-disable-next-line no-console"), ("a.ts", "/* biome-ignore lint/a: x */")],
        quiet: &[("a.ts", "// eslint-enable no-console"), ("a.ts", "/* eslint-disable */")],
        ..SUPPRESSION
    },
    Check {
        name: "python-blanket",
        files: PYTHON,
        needles: &["noqa", "type:", "mypy:", "pyright:", "pylint:", "ruff:", "flake8:"],
        pattern: r"#\s*(?:noqa\s*(?:#.*)?$|type:\s*ignore\s*(?:#.*)?$|mypy:\s*ignore-errors|pyright:\s*(?:ignore\s*(?:#.*)?$|basic)|pylint:\s*(?:skip-file|disable-all|disable=all)|(?:ruff|flake8):\s*noqa\s*$)",
        fires: &[("a.py", "import x  # noqa"), ("a.py", "y = f()  # type: ignore"), ("a.py", "# pylint: disable=all")],
        quiet: &[
            ("a.py", "import x  # noqa: E402"),
            ("a.py", "y = f()  # type: ignore[arg-type]"),
            ("a.py", "# noqa is not used here at all"),
        ],
        ..BLANKET
    },
    Check {
        name: "python-rule",
        files: PYTHON,
        needles: &["noqa:", "type:", "pyright:", "pylint:", "pragma:"],
        pattern: r"#\s*(?:noqa:\s*[A-Z]|type:\s*ignore\[|pyright:\s*ignore\[|pylint:\s*disable=\w|pragma:\s*no\s*cover)",
        except: Some(
            r"(?:__name__|ImportError|TYPE_CHECKING|NotImplementedError).*#\s*pragma|#\s*(?:noqa:\s*(?:(?:E501|F401|E402)\b[,\s]*)+(?:#.*)?$|noqa:\s*S\d|pylint:\s*disable=all)",
        ),
        fires: &[
            ("a.py", "x = l  # noqa: E741"),
            ("a.py", "y = f()  # type: ignore[arg-type]"),
            ("a.py", "if DEBUG:  # pragma: no cover"),
        ],
        quiet: &[
            ("a/__init__.py", "from .x import y  # noqa: F401"),
            ("a.py", "long = 1  # noqa: E501"),
            ("a.py", "except ImportError:  # pragma: no cover"),
            ("a.py", "x = 1  # a pragma"),
        ],
        ..SUPPRESSION
    },
    Check {
        name: "jvm-suppress",
        files: JVM,
        needles: &["@Suppress", "@file:Suppress", "noinspection"],
        pattern: r"^\s*(?:@(?:file:)?Suppress(?:Warnings|Lint|FBWarnings)?\s*\(|//\s*noinspection\b)",
        fires: &[
            ("A.java", "    @SuppressWarnings(\"unchecked\")"),
            ("A.kt", "@file:Suppress(\"DEPRECATION\")"),
            ("A.java", "//noinspection rawtypes"),
        ],
        quiet: &[("A.java", "// @SuppressWarnings(\"x\")"), ("A.java", "@Suppressed")],
        ..SUPPRESSION
    },
    Check {
        name: "rust-allow",
        files: RUST,
        needles: &["[allow("],
        pattern: r"^\s*#!?\[allow\(",
        fires: &[("a.rs", "#[allow(dead_code)]"), ("a.rs", "#![allow(clippy::all)]")],
        quiet: &[
            ("a.rs", "// #[allow(dead_code)]"),
            ("a.rs", "#[expect(dead_code, reason = \"x\")]"),
            ("a.rs", "let s = \"#[allow(\";"),
        ],
        ..SUPPRESSION
    },
    Check {
        name: "go-nolint-blanket",
        files: GO,
        needles: &["nolint"],
        pattern: r"//\s*nolint(?:\s*$|\s*//|:all\b)",
        fires: &[("a.go", "\tf() //nolint"), ("a.go", "x() // nolint:all")],
        quiet: &[("a.go", "\tf() //nolint:errcheck"), ("a.go", "// nolinting here")],
        ..BLANKET
    },
    Check {
        name: "go-nolint",
        files: GO,
        needles: &["nolint:", "lint:ignore"],
        pattern: r"//\s*(?:nolint:\w|lint:ignore\s)",
        except: Some(r"nolint:(?:all|[\w,]*gosec)\b"),
        fires: &[("a.go", "\tf() //nolint:errcheck // closing"), ("a.go", "//lint:ignore SA1019 old API")],
        quiet: &[("a.go", "\tf() //nolint"), ("a.go", "\tf() //nolint:gosec")],
        ..SUPPRESSION
    },
    Check {
        name: "ruby-suppress",
        files: RUBY,
        needles: &["rubocop:", "standard:disable", ":nocov:"],
        pattern: r"#\s*(?:rubocop:(?:disable|todo)|standard:disable|:nocov:)",
        fires: &[("a.rb", "def x # rubocop:disable Metrics/MethodLength"), ("a.rb", "# :nocov:")],
        quiet: &[("a.rb", "# rubocop:enable Metrics"), ("a.rb", "s = 'rubocop:disable'")],
        ..SUPPRESSION
    },
    Check {
        name: "php-suppress",
        files: PHP,
        needles: &["@phpstan-ignore", "@psalm-suppress", "phpcs:", "@codingStandardsIgnore"],
        pattern: r"(?://|/\*|\*|#)\s*(?:@phpstan-ignore|@psalm-suppress|phpcs:(?:ignore|disable)|@codingStandardsIgnore)",
        fires: &[("a.php", "// @phpstan-ignore-next-line"), ("a.php", " * @psalm-suppress MixedArgument")],
        quiet: &[("a.php", "// phpcs:enable"), ("a.php", "$x = 'phpcs:ignore';")],
        ..SUPPRESSION
    },
    Check {
        name: "csharp-suppress",
        files: CSHARP,
        needles: &["#pragma warning disable", "SuppressMessage"],
        pattern: r"^\s*(?:#pragma\s+warning\s+disable|\[.*\bSuppressMessage\()",
        fires: &[("A.cs", "#pragma warning disable CS0618"), ("A.cs", "[SuppressMessage(\"a\", \"b\")]")],
        quiet: &[("A.cs", "#pragma warning restore CS0618"), ("A.cs", "// #pragma warning disable")],
        ..SUPPRESSION
    },
    Check {
        name: "c-suppress",
        files: C,
        needles: &["NOLINT", "diagnostic ignored", "warning(disable", "warning( disable", "cppcheck-suppress"],
        pattern: r"(?:(?://|/\*)\s*(?:NOLINT(?:NEXTLINE|BEGIN)?\b|cppcheck-suppress\b)|^\s*#\s*pragma\s+(?:(?:GCC|clang)\s+diagnostic\s+ignored|warning\s*\(\s*disable))",
        fires: &[("a.cc", "f(); // NOLINT(runtime/int)"), ("a.c", "#pragma GCC diagnostic ignored \"-Wfoo\"")],
        quiet: &[("a.cc", "// NOLINTEND"), ("a.cc", "int NOLINT = 1;")],
        ..SUPPRESSION
    },
    Check {
        name: "other-suppress",
        files: &[
            "swift",
            "kt",
            "kts",
            "dart",
            "sh",
            "bash",
            "zsh",
            "Dockerfile",
            "css",
            "scss",
            "less",
            "ex",
            "exs",
            "yml",
            "yaml",
            "tf",
            "hcl",
        ],
        needles: &[
            "swiftlint:disable",
            "ktlint-disable",
            "ignore",
            "shellcheck disable",
            "stylelint-disable",
            "credo:disable",
            "yamllint disable",
        ],
        pattern: r"(?://|#|/\*)\s*(?:swiftlint:disable|ktlint-disable|ignore(?:_for_file)?:\s*\w|shellcheck\s+disable=|hadolint\s+ignore=|stylelint-disable|credo:disable|yamllint\s+disable)",
        except: Some(r"#\s*ignore:\s"),
        fires: &[
            ("A.swift", "// swiftlint:disable force_cast"),
            ("a.dart", "// ignore: avoid_print"),
            ("a.sh", "# shellcheck disable=SC2086"),
            ("Dockerfile", "# hadolint ignore=DL3008"),
            ("a.css", "/* stylelint-disable */"),
        ],
        quiet: &[
            ("a.yml", "# ignore: this is prose"),
            ("a.sh", "# shellcheck source=lib.sh"),
            ("a.css", "/* ignore me */"),
        ],
        ..SUPPRESSION
    },
    Check {
        name: "coverage-suppress",
        files: JS,
        needles: &["istanbul ignore", "c8 ignore", "v8 ignore"],
        pattern: r"/\*\s*(?:istanbul|c8|v8)\s+ignore\b",
        category: Category::Testing,
        body: "Code is taken out of the coverage figure. Worth a second look: is it not tested because it cannot be, or because \
               it was not?",
        fires: &[("a.ts", "/* istanbul ignore next */"), ("a.ts", "  /* c8 ignore start */")],
        quiet: &[("a.ts", "// we use istanbul"), ("a.ts", "const x = 'v8 ignore';")],
        ..SUPPRESSION
    },
    Check {
        name: "security-suppress",
        needles: &[
            "nosec",
            "NOSONAR",
            "nosemgrep",
            "gosec",
            "tfsec:ignore",
            "checkov:skip",
            "trivy:ignore",
            "noqa",
            "brakeman:ignore",
            "lgtm[",
        ],
        pattern: r"(?://|#|/\*|--|<!--)\s*(?:#\s*)?(?:nosec\b|NOSONAR\b|nosemgrep\b|nolint:[\w,]*gosec\b|tfsec:ignore|checkov:skip|trivy:ignore|noqa:\s*(?:[A-Z]+\d+,\s*)*S\d{3}|brakeman:ignore|lgtm\[)",
        fires: &[
            ("a.py", "subprocess.call(cmd, shell=True)  # nosec"),
            ("A.java", "Random r = new Random(); // NOSONAR"),
            ("a.go", "x := md5.New() // #nosec G401"),
            ("a.go", "f() //nolint:gosec"),
            ("a.py", "eval(x)  # noqa: S307"),
            ("a.tf", "#tfsec:ignore:aws-s3-enable-versioning"),
        ],
        quiet: &[("a.py", "nosec = True"), ("a.md", "use nosec with care"), ("a.go", "import \"gosec\"")],
        ..SECURITY_SUPPRESSION
    },
    Check {
        name: "secret-scan-suppress",
        needles: &["gitleaks:allow", "allowlist secret", "allowlist nextline secret", "ggignore", "trufflehog:ignore"],
        pattern: r"\b(?:gitleaks:allow|pragma:\s*allowlist\s+(?:nextline\s+)?secret|ggignore|trufflehog:ignore)\b",
        except: Some(r"['\x22](?:gitleaks:allow|ggignore|trufflehog:ignore)"),
        fires: &[("a.py", "KEY = load()  # gitleaks:allow"), ("a.yml", "key: x # pragma: allowlist secret")],
        quiet: &[("a.py", "MARK = \"gitleaks:allow\""), ("a.py", "# secrets are not allowed")],
        ..SECURITY_SUPPRESSION
    },
    Check {
        name: "rust-certificate-check-off",
        files: RUST,
        needles: &["danger_accept_invalid"],
        pattern: r"\.danger_accept_invalid_(?:certs|hostnames)\(true\)",
        except: Some(r"^\s*//"),
        fires: &[("a.rs", "        .danger_accept_invalid_certs(true)")],
        quiet: &[("a.rs", ".danger_accept_invalid_certs(false)"), ("a.rs", "// .danger_accept_invalid_certs(true)")],
        ..UNVERIFIED
    },
    Check {
        name: "certificate-check-off",
        files: CONNECTING,
        needles: &[
            "verify=False",
            "InsecureSkipVerify",
            "rejectUnauthorized",
            "NODE_TLS_REJECT_UNAUTHORIZED",
            "_create_unverified_context",
            "CURLOPT_SSL_VERIFY",
            "StrictHostKeyChecking",
            "GIT_SSL_NO_VERIFY",
            "sslVerify",
            "VERIFY_NONE",
            "CERT_NONE",
            "ValidationCallback",
        ],
        pattern: r#"\bverify=False\b|InsecureSkipVerify:\s*true|rejectUnauthorized['"]?\s*:\s*false|NODE_TLS_REJECT_UNAUTHORIZED['"\]]*\s*[:=]\s*['"]?0|\bssl\._create_unverified_context\b|CURLOPT_SSL_VERIFY(?:PEER|HOST)['"]?\s*(?:,|=>)\s*(?:false|0)|StrictHostKeyChecking[= ]no\b|GIT_SSL_NO_VERIFY['"]?\s*[:=]\s*['"]?(?:1|true)|sslVerify\s*=?\s*false|=\s*OpenSSL::SSL::VERIFY_NONE|(?:verify_mode|cert_reqs)\s*=\s*['"]?(?:ssl\.)?CERT_NONE\b|ServerCertificate(?:Custom)?ValidationCallback\s*\+?=\s*(?:\([^)]*\)|delegate|_)\s*(?:=>|\{)\s*(?:\{\s*return\s+)?true"#,
        except: Some(r"^\s*(?:#|//|\*|--|def\s)|CERT_NONE\s+if\b"),
        fires: &[
            ("a.py", "requests.get(url, verify=False)"),
            ("a.py", "context.verify_mode = ssl.CERT_NONE"),
            ("a.py", "context = ssl._create_unverified_context()"),
            ("a.go", "tls.Config{InsecureSkipVerify: true}"),
            ("a.js", "agent = new Agent({ rejectUnauthorized: false })"),
            ("ci.yml", "  NODE_TLS_REJECT_UNAUTHORIZED: \"0\""),
            ("a.sh", "ssh -o StrictHostKeyChecking=no host"),
            ("a.rb", "http.verify_mode = OpenSSL::SSL::VERIFY_NONE"),
            ("a.php", "curl_setopt($c, CURLOPT_SSL_VERIFYPEER, false);"),
            ("a.sh", "git config --global http.sslVerify false"),
            ("A.cs", "handler.ServerCertificateCustomValidationCallback = (a, b, c, d) => true;"),
        ],
        quiet: &[
            ("a.py", "requests.get(url, verify=ca)"),
            ("a.py", "# never use verify=False"),
            ("a.py", "def __init__(self, name, verify=False):"),
            ("a.py", "if context.verify_mode != ssl.CERT_NONE:"),
            ("a.py", "context.verify_mode = ssl.CERT_NONE if insecure else ssl.CERT_REQUIRED"),
            ("a.go", "InsecureSkipVerify: false"),
            ("a.js", "rejectUnauthorized: true"),
            ("a.sh", "ssh -o StrictHostKeyChecking=yes host"),
            ("a.md", "Never write `verify=False`."),
        ],
        ..UNVERIFIED
    },
];

/// Programs and settings that open connections.
const CONNECTING: &[&str] = &[
    "py",
    "go",
    "js",
    "jsx",
    "ts",
    "tsx",
    "mjs",
    "cjs",
    "php",
    "rb",
    "cs",
    "sh",
    "bash",
    "yml",
    "yaml",
    "Dockerfile",
    "env",
    "ini",
    "cfg",
    "conf",
    "gitconfig",
    "ps1",
    "java",
    "kt",
    "scala",
];

const SUPPRESSION: Check = Check {
    family: Family::Suppression,
    severity: Severity::Info,
    category: Category::Maintainability,
    fix: Fix::None,
    body: "A new suppression of a named warning. Worth a second look by whoever approves this: either the code can avoid the \
           warning, or a comment should say why it does not apply here.",
    ..BASE
};

const BLANKET: Check = Check {
    severity: Severity::Low,
    body: "A suppression that names no rule. It hides every warning here, also those that nobody has seen yet. Name the rule \
           that does not apply, and say why.",
    ..SUPPRESSION
};

const SECURITY_SUPPRESSION: Check = Check {
    severity: Severity::Medium,
    category: Category::Security,
    body: "A security scanner is told to look away. Whoever approves this should know why the warning does not apply; put \
           the reason beside the suppression, or fix what it warns about.",
    ..SUPPRESSION
};

const UNVERIFIED: Check = Check {
    severity: Severity::High,
    category: Category::Security,
    body: "A certificate or host key check is switched off. Whoever sits between the two ends can read and change what is \
           sent. Trust the right certificate (a CA file or a known-hosts entry) instead.",
    ..SUPPRESSION
};

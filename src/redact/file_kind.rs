//! What kind of text a path promises: it decides whether a bare word can be a literal.

/// The notation of a file, as far as literals are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A programming language: literals are quoted.
    Code,
    /// YAML, env files, properties, INI, Dockerfiles: bare words are literals.
    Config,
    /// Shell scripts and the like.
    Shell,
    /// XML and HTML.
    Markup,
    /// JSON, TOML, HCL: literals are quoted, but everything is data.
    Data,
    /// Prose, and text without a path.
    Unknown,
}

/// What a path says beside the notation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// Names of packages and their releases, written by a tool.
    pub(super) is_lock: bool,
    /// Words of a program in some language.
    pub(super) is_translation: bool,
}

impl FileKind {
    pub(super) fn of(path: &[u8]) -> Self {
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path).to_ascii_lowercase();
        let extension = name.iter().rposition(|&b| b == b'.').map_or(&b""[..], |dot| &name[dot + 1..]);
        if name.starts_with(b".env")
            || name.starts_with(b"dockerfile")
            || name.starts_with(b"containerfile")
            || extension == b"env"
        {
            return Self::Config;
        }
        match extension {
            b"yml" | b"yaml" | b"properties" | b"ini" | b"cfg" | b"conf" | b"cnf" | b"config" | b"service"
            | b"npmrc" | b"pypirc" | b"netrc" | b"pgpass" | b"editorconfig" | b"dockerfile" | b"htpasswd" | b"toml"
            | b"sample" | b"example" | b"dist" | b"cf" | b"rc" | b"credentials" | b"envrc" | b"s3cfg" | b"boto"
            | b"my" | b"wgetrc" | b"curlrc" | b"list" => Self::Config,
            b"sh" | b"bash" | b"zsh" | b"fish" | b"ksh" | b"bat" | b"cmd" | b"ps1" | b"psm1" | b"mk" => Self::Shell,
            b"xml" | b"html" | b"htm" | b"xhtml" | b"plist" | b"csproj" | b"xaml" | b"svg" | b"jsp" => Self::Markup,
            b"json" | b"json5" | b"jsonc" | b"tf" | b"tfvars" | b"hcl" | b"tfstate" | b"ipynb" | b"har" => Self::Data,
            b"md" | b"txt" | b"rst" | b"adoc" | b"log" | b"csv" | b"tsv" | b"" => match name.as_slice() {
                b"makefile" | b"jenkinsfile" | b"procfile" | b"vagrantfile" => Self::Shell,
                b"credentials" | b"config" | b"hosts" => Self::Config,
                _ => Self::Unknown,
            },
            extension if extension.ends_with(b"rc") => Self::Config,
            extension if CODE.contains(&extension) => Self::Code,
            _ => Self::Unknown,
        }
    }

    /// Whether the file is there to hold one secret, so that a line by itself can be it.
    pub(super) fn is_secret_file(path: &[u8]) -> bool {
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path).to_ascii_lowercase();
        let stem = name.strip_suffix(b".txt").unwrap_or(&name);
        const NAMES: [&[u8]; 22] = [
            b"master.key",
            b".erlang.cookie",
            b".vault-token",
            b".vault_pass",
            b"vault_pass",
            b"vault-password",
            b".vault_password",
            b"secret",
            b"secrets",
            b".secret",
            b"token",
            b".token",
            b"password",
            b".password",
            b"passwd",
            b"api_key",
            b"apikey",
            b"secret_key",
            b"secret_token",
            b"credentials.yml.key",
            b".htsecret",
            b".token-file",
        ];
        NAMES.contains(&stem)
            || name.ends_with(b".secret")
            || name.ends_with(b".token")
            || name.ends_with(b".passwd")
            || name.ends_with(b".password")
            || path.starts_with(b"config/credentials/") && name.ends_with(b".key")
            || name.ends_with(b"_password.txt")
            || name.ends_with(b"_token.txt")
            || name.ends_with(b"_secret.txt")
    }

    /// Whether every line of the file is `user:password`.
    pub(super) fn is_user_file(path: &[u8]) -> bool {
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path).to_ascii_lowercase();
        name.ends_with(b"htpasswd")
            || name.ends_with(b".secrets")
            || matches!(name.as_slice(), b"shadow" | b"master.passwd" | b".htdigest" | b"sasl_passwd" | b"gshadow")
    }

    /// What else the path says about names and values in the file.
    pub(super) fn traits(path: &[u8]) -> Traits {
        let lower = path.to_ascii_lowercase();
        let name = lower.rsplit(|&b| b == b'/').next().unwrap_or(&lower);
        let is_lock = name.ends_with(b".lock")
            || name.ends_with(b".lockb")
            || name.ends_with(b".sum")
            || matches!(name, b"package-lock.json" | b"npm-shrinkwrap.json" | b"pnpm-lock.yaml" | b".secrets.baseline");
        const FOLDERS: [&[u8]; 9] =
            [b"locale", b"locales", b"i18n", b"l10n", b"lang", b"langs", b"translations", b"_locales", b"languages"];
        let is_translation = lower
            .split(|&b| b == b'/')
            .rev()
            .skip(1)
            .any(|folder| FOLDERS.contains(&folder) || folder.starts_with(b"values-"))
            || [&b".po"[..], b".pot", b".arb", b".xlf", b".xliff", b".resx", b".strings"]
                .iter()
                .any(|end| name.ends_with(end));
        Traits { is_lock, is_translation }
    }

    /// Whether a line that ends in a backslash goes on below.
    pub(super) fn goes_on_with_backslash(self) -> bool {
        !matches!(self, Self::Code | Self::Markup | Self::Data)
    }

    /// Whether `name: word` and `name=word` give a literal here.
    pub(super) fn has_bare_literals(self) -> bool {
        matches!(self, Self::Config | Self::Shell)
    }

    /// Whether a value runs to the end of the line, commas and all.
    pub(super) fn is_line_oriented(self) -> bool {
        matches!(self, Self::Config)
    }

    /// Whether `name value` at the start of a line is a setting.
    pub(super) fn has_directives(self) -> bool {
        matches!(self, Self::Config)
    }
}

/// Extensions of languages in which a bare word is never a literal.
#[rustfmt::skip]
static CODE: &[&[u8]] = &[
    b"rs", b"py", b"pyi", b"pyx", b"js", b"jsx", b"mjs", b"cjs", b"ts", b"tsx", b"mts", b"go",
    b"java", b"kt", b"kts", b"scala", b"groovy", b"gradle", b"c", b"h", b"cc", b"cpp", b"cxx",
    b"hpp", b"hh", b"m", b"mm", b"cs", b"vb", b"fs", b"fsx", b"swift", b"rb", b"php", b"pl",
    b"pm", b"lua", b"r", b"jl", b"ex", b"exs", b"erl", b"hrl", b"hs", b"ml", b"mli", b"clj",
    b"cljs", b"dart", b"vue", b"svelte", b"sql", b"proto", b"zig", b"nim", b"d", b"pas", b"asm",
    b"s", b"css", b"scss", b"less", b"sass", b"coffee", b"elm", b"sol", b"v", b"vhd", b"tcl",
    b"f90", b"pyc", b"graphql", b"cu", b"ino", b"robot", b"feature", b"nix", b"bzl", b"cmake",
];

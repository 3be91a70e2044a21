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
            _ => Self::Code,
        }
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

//! The keys that start a program or say where keys, tokens and text go.

/// Keys that are guarded by their whole name.
const KEYS: &[&str] = &[
    "workdir",
    "artifacts.raw_diff",
    "secrets.enabled",
    "agent.command",
    "agent.proxy_url",
    "agent.pass_env",
    "gitlab.base_url",
    "gitlab.project_id",
    "gitlab.mr_iid",
    "gitlab.token_env",
    "gitlab.ca_file",
];

/// Whether nobody but the job, the target branch or the user may set this key.
pub fn is_guarded(key: &str) -> bool {
    KEYS.contains(&key) || key.starts_with("secrets.allow_") || is_command(key)
}

/// Whether the key's value is a command that is started.
pub fn is_command(key: &str) -> bool {
    key.strip_prefix("agent.").is_some_and(|name| name == "command" || name.ends_with("_command"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guarded_name_is_a_key_and_every_key_that_smells_of_one_is_guarded() {
        let config = serde_json::to_value(crate::contracts::AppConfig::default()).expect("json");
        let mut keys = Vec::new();
        crate::config::walk(&config, &mut Vec::new(), &mut |path, _| keys.push(path.join(".")));
        for name in KEYS {
            assert!(keys.iter().any(|key| key == name), "{name} is no key");
        }
        for key in &keys {
            let smells = ["command", "_url", "token", "_env", "_id", "_iid", "ca_file", "allow_pa"];
            if smells.iter().any(|smell| key.contains(smell)) {
                assert!(is_guarded(key), "{key}");
            }
        }
        for harmless in ["gate.fail_on", "limits.max_files", "agent.model", "gate.allow_skips"] {
            assert!(!is_guarded(harmless), "{harmless}");
        }
    }
}

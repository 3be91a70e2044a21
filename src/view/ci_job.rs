//! What goes into `.gitlab-ci.yml`, and the variables that it needs.

use crate::VERSION;
use crate::contracts::AgentKind;

/// The include that is the whole set-up where components can be used.
pub fn component(agent: AgentKind) -> String {
    format!(
        "include:\n  - component: $CI_SERVER_FQDN/diffsan/diffsan/review@{VERSION}\n    inputs:\n      agent: {}\n",
        agent.name()
    )
}

/// The job that does the same without a component.
pub fn job(agent: AgentKind) -> String {
    format!(
        "diffsan:
  stage: test
  image: $CI_REGISTRY/diffsan/diffsan/agents:{VERSION}
  variables:
    GIT_STRATEGY: clone
  dependencies: []
  cache: []
  script:
    - diffsan --ci --agent {}
  rules:
    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"
  allow_failure:
    exit_codes: [1]
  artifacts:
    when: always
    expire_in: 1 week
    access: developer
    expose_as: diffsan
    paths: [.diffsan/]
    reports:
      codequality: .diffsan/gl-code-quality-report.json
",
        agent.name()
    )
}

/// Which variables to create, and where.
pub fn variables(agent: AgentKind) -> String {
    let key = match agent {
        AgentKind::Codex => Some("OPENAI_API_KEY"),
        AgentKind::Claude => Some("ANTHROPIC_API_KEY"),
        AgentKind::Gemini => Some("GEMINI_API_KEY"),
        AgentKind::Cursor => Some("CURSOR_API_KEY"),
        AgentKind::Opencode => Some("the key of the provider you use with opencode"),
        AgentKind::Command | AgentKind::Builtin => None,
    };
    let mut text = "Then create, under Settings > CI/CD > Variables, masked and not protected:\n  \
        GITLAB_TOKEN: a token with scope api and role Developer (Settings > Access tokens)\n"
        .to_owned();
    if let Some(key) = key {
        text.push_str(&format!("  {key}: for {}\n", agent.name()));
    }
    if agent == AgentKind::Cursor {
        text.push_str("The image has no program of Cursor's: use one of your own that has it.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_is_told_its_own_key_and_the_offline_checks_none() {
        for (agent, key) in [
            (AgentKind::Codex, "OPENAI_API_KEY"),
            (AgentKind::Claude, "ANTHROPIC_API_KEY"),
            (AgentKind::Gemini, "GEMINI_API_KEY"),
            (AgentKind::Cursor, "CURSOR_API_KEY"),
        ] {
            assert!(variables(agent).contains(key), "{agent:?}");
            assert!(component(agent).contains(agent.name()) && job(agent).contains(agent.name()));
        }
        assert!(!variables(AgentKind::Builtin).contains("KEY"));
    }
}

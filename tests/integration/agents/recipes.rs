//! Every recipe of docs/models.md, as it stands there, with its address replaced by a loopback server's.

use serde_json::json;

use super::model::Model;
use super::real;
use super::support::installed;
use crate::sandbox::Sandbox;

const ADDRESS: &str = "https://llm.example.com";
const KEY: &str = "synthetic-gateway-key";

fn recipes() -> Vec<Vec<(String, String)>> {
    let page = include_str!("../../../docs/models.md");
    let blocks = page.split("```sh recipe\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let pairs = |block: &str| {
        let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
        block.lines().map(pair).collect()
    };
    blocks.map(pairs).collect()
}

fn reply() -> String {
    json!({"summary_markdown": "One problem.", "findings": [{
        "finding_id": null, "severity": "high", "category": "correctness", "path": "src/app.py",
        "line_start": 10, "line_end": 10, "body_markdown": "Three is not enough.", "quote": "    return 3",
        "change_anchor": null, "suggested_patch": null
    }]})
    .to_string()
}

async fn assert_reviews(recipe: Vec<(String, String)>) {
    let name = recipe.iter().find(|(name, _)| name == "DIFFSAN_AGENT__AGENT").unwrap().1.clone();
    let Some(program) = installed(&name) else { return };
    let model = Model::says(&reply()).await;
    let sandbox = Sandbox::with_change();
    let mut command = sandbox.command(["review", "--base", "main"]);
    command.env(format!("DIFFSAN_AGENT__{}_COMMAND", name.to_uppercase()), program);
    command.env("DIFFSAN_REVIEW__SECOND_LOOK", "off");
    command.envs(recipe.iter().map(|(name, value)| (name, value.replace(ADDRESS, model.url()))));
    let finished = real::run(command).await;
    assert_eq!(finished.code, 0, "{recipe:?}: {}", finished.stderr);
    assert_eq!(sandbox.artifact("review.json")["findings"][0]["line_start"], 10, "{recipe:?}");
    let asked = model.questions();
    let is_known = asked.iter().any(|seen| seen.headers.iter().any(|(_, value)| value.contains(KEY)));
    assert_eq!(is_known, recipe.iter().any(|(_, value)| value == KEY), "{recipe:?}: {:?}", asked[0].headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recipe_reviews_a_branch_with_its_key_at_its_address() {
    let recipes = recipes();
    assert_eq!(recipes.len(), 10);
    let mut runs = tokio::task::JoinSet::new();
    for recipe in recipes {
        runs.spawn(assert_reviews(recipe));
    }
    runs.join_all().await;
}

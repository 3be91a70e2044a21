//! `report.sarif`: the findings in SARIF 2.1.0, for everything that reads that.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::code_quality::path;
use super::prose::{self, Block};
use super::shown::{Shown, clean};
use crate::contracts::{Category, Finding, Severity, Side};

const CATEGORIES: [Category; 8] = [
    Category::Correctness,
    Category::Security,
    Category::Performance,
    Category::Maintainability,
    Category::Style,
    Category::Testing,
    Category::Docs,
    Category::Other,
];

/// What may not stand in a path of a relative URI; a colon would make its first part a scheme.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b':');

/// The report.
pub fn sarif(shown: &Shown) -> Value {
    let record = &shown.record;
    let timings = &shown.review.meta.timings;
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "diffsan",
                "semanticVersion": crate::VERSION,
                "rules": CATEGORIES.map(rule),
            } },
            "automationDetails": { "id": format!("diffsan/{}", path(&record.run_id)) },
            "invocations": [{
                "executionSuccessful": record.ok,
                "exitCode": record.exit_code,
                "startTimeUtc": timings.started_at,
                "endTimeUtc": timings.ended_at,
            }],
            "originalUriBaseIds": { "SRCROOT": { "description": { "text": "The top of the repository." } } },
            "columnKind": "unicodeCodePoints",
            "results": shown.review.findings.iter().map(result).collect::<Vec<_>>(),
            "properties": {
                "agent": shown.review.meta.agent.name(),
                "headline": shown.headline(),
                "coverage": shown.truncation.coverage,
            },
        }],
    })
}

fn rule(category: Category) -> Value {
    let meaning = match category {
        Category::Correctness => "The change computes the wrong thing.",
        Category::Security => "The change can be abused.",
        Category::Performance => "The change is slower or larger than it needs to be.",
        Category::Maintainability => "The change will be hard to change again.",
        Category::Style => "The change reads unlike its surroundings.",
        Category::Testing => "The change is not tested, or its test proves nothing.",
        Category::Docs => "The documentation is wrong or missing.",
        Category::Other => "Something else about the change.",
    };
    json!({
        "id": rule_id(category),
        "name": category.name(),
        "shortDescription": { "text": meaning },
        "properties": { "tags": [category.name()] },
    })
}

fn result(finding: &Finding) -> Value {
    let mut result = json!({
        "ruleId": rule_id(finding.category),
        "ruleIndex": CATEGORIES.iter().position(|category| *category == finding.category),
        "level": level(finding.severity),
        "message": { "text": plain(&finding.body_markdown), "markdown": clean(&finding.body_markdown) },
        "locations": [{ "physicalLocation": location(finding) }],
        "partialFingerprints": { "diffsanFindingId/v1": finding.finding_id },
        "rank": rank(finding.severity),
        "properties": { "severity": finding.severity.name(), "category": finding.category.name() },
    });
    if let Some(patch) = &finding.suggested_patch {
        result["properties"]["suggestedPatch"] = clean(&patch.content).into();
    }
    if let Some(reason) = &finding.unplaced {
        result["properties"]["unplaced"] = clean(reason).into();
    }
    result
}

/// A removed line has no region: SARIF knows only the file as it is now.
fn location(finding: &Finding) -> Value {
    let path = path(&finding.path);
    let uri = utf8_percent_encode(&path, IN_PATH).to_string();
    let mut location = json!({ "artifactLocation": { "uri": uri, "uriBaseId": "SRCROOT" } });
    if finding.side == Side::New && finding.line_start > 0 {
        location["region"] =
            json!({ "startLine": finding.line_start, "endLine": finding.line_end.max(finding.line_start) });
    }
    location
}

fn rule_id(category: Category) -> String {
    format!("diffsan/{}", category.name())
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

fn rank(severity: Severity) -> f64 {
    match severity {
        Severity::Critical => 95.0,
        Severity::High => 80.0,
        Severity::Medium => 55.0,
        Severity::Low => 30.0,
        Severity::Info => 10.0,
    }
}

/// The text without its Markdown.
fn plain(markdown: &str) -> String {
    let blocks = prose::blocks(markdown).into_iter().map(|block| match block {
        Block::Heading(text) | Block::Paragraph(text) => text,
        Block::Item { marker, text, .. } => format!("{marker} {text}"),
        Block::Code(lines) => lines.join("\n"),
    });
    let text = blocks.collect::<Vec<_>>().join("\n");
    if text.is_empty() { clean(markdown) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::shown::sample::{empty, hostile, sample};

    fn schema() -> jsonschema::Validator {
        let schema = include_str!("../../fixtures/view/sarif-schema-2.1.0.json");
        // The published pattern of `language` has a stray bracket that strict readers of patterns refuse.
        let schema: Value = serde_json::from_str(&schema.replace("{2}]?$", "{2}$")).unwrap();
        jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
    }

    #[test]
    fn the_report_holds_against_the_published_schema() {
        let schema = schema();
        for shown in [sample(), hostile(), empty()] {
            let report = sarif(&shown);
            let errors: Vec<_> =
                schema.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{errors:#?}");
            assert_eq!(report["runs"][0]["results"].as_array().unwrap().len(), shown.review.findings.len());
        }
    }

    #[test]
    fn the_schema_refuses_what_is_not_sarif() {
        let mut report = sarif(&sample());
        report["runs"][0]["results"][0]["level"] = "blocker".into();
        assert!(!schema().is_valid(&report));
        let mut report = sarif(&sample());
        report["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0.into();
        assert!(!schema().is_valid(&report));
    }

    #[test]
    fn a_path_is_a_relative_uri_that_names_the_same_file() {
        let mut shown = sample();
        shown.review.findings[0].path = "./a b/c:d/é#?.py".into();
        let report = sarif(&shown);
        let place = &report["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(place, "a%20b/c%3Ad/%C3%A9%23%3F.py");
    }

    #[test]
    fn a_finding_on_a_removed_line_has_a_file_and_no_region() {
        let report = sarif(&sample());
        let results = report["runs"][0]["results"].as_array().unwrap();
        let removed =
            results.iter().find(|result| result["partialFingerprints"]["diffsanFindingId/v1"] == "f-bbbbbbbbbbbb");
        let place = &removed.unwrap()["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "web/shop/cart.ts");
        assert!(place.get("region").is_none());
    }
}

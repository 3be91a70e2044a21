//! Whether a review is due, decided before an agent is paid for.

use globset::{Glob, GlobSet, GlobSetBuilder};
use regex::{RegexSet, RegexSetBuilder};

use crate::contracts::{
    CarriedReview, Fingerprint, GateConfig, PriorDigest, SkipCode, SkipConfig, SkipDecision, SkipReason,
};

/// What the decision depends on.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    pub config: &'a SkipConfig,
    pub patterns: &'a Patterns,
    /// Fingerprint of the change.
    pub fingerprint: &'a Fingerprint,
    /// What earlier runs said.
    pub prior: &'a PriorDigest,
    /// A signed, whole and delivered review of the same change under the same policy.
    pub held: Option<&'a Held>,
    /// The change has no files at all.
    pub diff_is_empty: bool,
    /// It has files, and the configuration ignores every one of them.
    pub all_ignored: bool,
    /// The merge request merges by itself; none when that is not known.
    pub auto_merge: Option<bool>,
    /// The merge request is a draft; none when that is not known.
    pub draft: Option<bool>,
    /// Labels of the merge request.
    pub labels: &'a [String],
    /// User name of its author; empty when that is not known.
    pub author: &'a str,
    /// Its title; empty when that is not known.
    pub title: &'a str,
    /// Its source branch; empty when that is not known.
    pub branch: &'a str,
}

/// A review that still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The bytes of the diff are the same; else the change is, at another place of the history.
    pub same_bytes: bool,
    pub review: CarriedReview,
}

/// The patterns of the configuration, compiled.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    titles: RegexSet,
    branches: GlobSet,
}

impl Patterns {
    /// Compiles them; else the key that is wrong, and why.
    pub fn new(config: &SkipConfig) -> Result<Self, (&'static str, String)> {
        // A title is short, and so is what matches it: a pattern that needs more is a mistake.
        let titles = RegexSetBuilder::new(&config.skip_titles)
            .size_limit(1 << 20)
            .build()
            .map_err(|error| ("skip.skip_titles", error.to_string()))?;
        let mut branches = GlobSetBuilder::new();
        for glob in &config.skip_branches {
            branches.add(Glob::new(glob).map_err(|error| ("skip.skip_branches", error.to_string()))?);
        }
        let branches = branches.build().map_err(|error| ("skip.skip_branches", error.to_string()))?;
        Ok(Self { titles, branches })
    }
}

/// Decides. Every reason that applies is given; what is not known is no reason.
pub fn decide(inputs: &Inputs<'_>) -> SkipDecision {
    let reasons: Vec<SkipReason> =
        [no_diff, all_ignored, auto_merge, draft, label, author, title, branch, reviewed_already]
            .iter()
            .filter_map(|applies| applies(inputs))
            .map(|(code, message)| SkipReason { code, message })
            .collect();
    let same = |reason: &SkipReason| matches!(reason.code, SkipCode::SameFingerprint | SkipCode::SameChanges);
    SkipDecision {
        should_skip: !reasons.is_empty(),
        carried: inputs.held.filter(|_| reasons.iter().any(same)).map(|held| held.review.clone()),
        reasons,
        fingerprint: inputs.fingerprint.clone(),
        prior_digest: inputs.prior.clone(),
    }
}

/// The reasons that may count: with a gate, none that an author can cause, unless the gate allows it.
pub fn allowed(skip: &SkipConfig, gate: &GateConfig) -> SkipConfig {
    if gate.fail_on.is_none() || gate.allow_skips {
        return skip.clone();
    }
    SkipConfig {
        skip_on_auto_merge: false,
        skip_on_draft: false,
        skip_labels: Vec::new(),
        skip_titles: Vec::new(),
        skip_branches: Vec::new(),
        ..skip.clone()
    }
}

type Reason = Option<(SkipCode, String)>;

fn no_diff(inputs: &Inputs<'_>) -> Reason {
    inputs.diff_is_empty.then(|| (SkipCode::NoDiff, "There is no change to review".to_owned()))
}

fn all_ignored(inputs: &Inputs<'_>) -> Reason {
    let applies = inputs.all_ignored && !inputs.diff_is_empty;
    applies.then(|| (SkipCode::AllIgnored, "Every changed file is ignored by configuration".to_owned()))
}

fn auto_merge(inputs: &Inputs<'_>) -> Reason {
    let applies = inputs.config.skip_on_auto_merge && inputs.auto_merge == Some(true);
    applies.then(|| (SkipCode::AutoMerge, "MR has auto-merge enabled".to_owned()))
}

fn draft(inputs: &Inputs<'_>) -> Reason {
    let applies = inputs.config.skip_on_draft && inputs.draft == Some(true);
    applies.then(|| (SkipCode::Draft, "MR is a draft".to_owned()))
}

/// GitLab's labels keep their case but are found without it.
fn label(inputs: &Inputs<'_>) -> Reason {
    let skips =
        |label: &&String| inputs.config.skip_labels.iter().any(|skip| skip.to_lowercase() == label.to_lowercase());
    let label = inputs.labels.iter().find(skips)?;
    Some((SkipCode::Label, format!("MR has the label `{label}`")))
}

fn author(inputs: &Inputs<'_>) -> Reason {
    let is =
        |name: &&String| !inputs.author.is_empty() && name.trim_start_matches('@').eq_ignore_ascii_case(inputs.author);
    let name = inputs.config.skip_authors.iter().find(is)?;
    Some((SkipCode::Author, format!("MR is by `{name}`")))
}

fn title(inputs: &Inputs<'_>) -> Reason {
    let at = inputs.patterns.titles.matches(inputs.title).into_iter().next()?;
    let pattern = inputs.config.skip_titles.get(at)?;
    (!inputs.title.is_empty()).then(|| (SkipCode::Title, format!("MR has a title that matches `{pattern}`")))
}

fn branch(inputs: &Inputs<'_>) -> Reason {
    let at = inputs.patterns.branches.matches(inputs.branch).into_iter().next()?;
    let pattern = inputs.config.skip_branches.get(at)?;
    (!inputs.branch.is_empty()).then(|| (SkipCode::Branch, format!("MR is of a branch that matches `{pattern}`")))
}

fn reviewed_already(inputs: &Inputs<'_>) -> Reason {
    let held = inputs.held.filter(|_| inputs.config.skip_on_same_fingerprint && !inputs.diff_is_empty)?;
    let see = held.review.url.as_ref().map(|url| format!("; see {url}")).unwrap_or_default();
    Some(match held.same_bytes {
        true => (SkipCode::SameFingerprint, format!("This change was reviewed already{see}")),
        false => (SkipCode::SameChanges, format!("This change was reviewed already, before a rebase{see}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(value: &str) -> Fingerprint {
        Fingerprint { algo: "sha256".into(), value: value.into() }
    }

    fn held(same_bytes: bool) -> Held {
        let review = CarriedReview {
            note_id: 5,
            url: Some("https://x/1#note_5".into()),
            head_sha: None,
            by_severity: [("high".to_owned(), 1)].into_iter().collect(),
            coverage: Default::default(),
        };
        Held { same_bytes, review }
    }

    /// What is decided where nothing but this is known.
    fn decided(change: impl FnOnce(&mut SkipConfig), known: impl FnOnce(&mut Inputs<'_>)) -> SkipDecision {
        let mut config = SkipConfig::default();
        change(&mut config);
        let patterns = Patterns::new(&config).expect("patterns");
        let mut inputs = Inputs {
            config: &config,
            patterns: &patterns,
            fingerprint: &fingerprint("aa"),
            prior: &PriorDigest::default(),
            held: None,
            diff_is_empty: false,
            all_ignored: false,
            auto_merge: None,
            draft: None,
            labels: &[],
            author: "",
            title: "",
            branch: "",
        };
        known(&mut inputs);
        let decision = decide(&inputs);
        assert_eq!(decision.should_skip, !decision.reasons.is_empty());
        decision
    }

    fn codes(change: impl FnOnce(&mut SkipConfig), known: impl FnOnce(&mut Inputs<'_>)) -> Vec<SkipCode> {
        decided(change, known).reasons.iter().map(|reason| reason.code).collect()
    }

    #[test]
    fn nothing_known_is_no_reason_to_skip() {
        assert_eq!(codes(|_| {}, |_| {}), []);
    }

    #[test]
    fn auto_merge_skips_with_the_agreed_words_unless_it_is_off_or_unknown() {
        let skipped = decided(|_| {}, |inputs| inputs.auto_merge = Some(true));
        assert_eq!(skipped.reasons[0].message, "MR has auto-merge enabled");
        assert_eq!(codes(|_| {}, |inputs| inputs.auto_merge = Some(false)), []);
        assert_eq!(codes(|config| config.skip_on_auto_merge = false, |inputs| inputs.auto_merge = Some(true)), []);
    }

    #[test]
    fn a_change_whose_review_holds_skips_and_carries_its_verdict() {
        for (same_bytes, code) in [(true, SkipCode::SameFingerprint), (false, SkipCode::SameChanges)] {
            let held: &'static Held = Box::leak(Box::new(held(same_bytes)));
            let decision = decided(|_| {}, |inputs| inputs.held = Some(held));
            assert_eq!(decision.reasons[0].code, code);
            assert!(decision.reasons[0].message.ends_with("see https://x/1#note_5"));
            assert_eq!(decision.carried, Some(held.review.clone()));
            let off = decided(|config| config.skip_on_same_fingerprint = false, |inputs| inputs.held = Some(held));
            assert!(!off.should_skip && off.carried.is_none());
        }
    }

    #[test]
    fn a_fingerprint_that_nobody_signed_skips_nothing() {
        let known = PriorDigest { prior_fingerprint: Some(fingerprint("aa")), ..PriorDigest::default() };
        let known: &'static PriorDigest = Box::leak(Box::new(known));
        assert_eq!(codes(|_| {}, |inputs| inputs.prior = known), []);
    }

    #[test]
    fn an_empty_change_and_an_ignored_one_skip() {
        let empty = codes(|_| {}, |inputs| (inputs.diff_is_empty, inputs.all_ignored) = (true, true));
        assert_eq!(empty, [SkipCode::NoDiff]);
        assert_eq!(codes(|_| {}, |inputs| inputs.all_ignored = true), [SkipCode::AllIgnored]);
    }

    #[test]
    fn a_draft_skips_only_where_that_is_asked_for() {
        assert_eq!(codes(|_| {}, |inputs| inputs.draft = Some(true)), []);
        assert_eq!(codes(|config| config.skip_on_draft = true, |inputs| inputs.draft = Some(true)), [SkipCode::Draft]);
        assert_eq!(codes(|config| config.skip_on_draft = true, |inputs| inputs.draft = None), []);
    }

    #[test]
    fn a_label_skips_in_any_case_and_is_named() {
        let labels: &'static [String] = Box::leak(Box::new(["bug".to_owned(), "Skip-Review".to_owned()]));
        let decision = decided(|_| {}, |inputs| inputs.labels = labels);
        assert_eq!(decision.reasons[0].message, "MR has the label `Skip-Review`");
        assert_eq!(codes(|_| {}, |inputs| inputs.labels = &labels[..1]), []);
    }

    #[test]
    fn authors_titles_and_branches_skip_where_they_match_and_nowhere_else() {
        let set = |config: &mut SkipConfig| {
            config.skip_authors = vec!["@Renovate-Bot".into()];
            config.skip_titles = vec!["(?i)^chore\\(deps\\)".into()];
            config.skip_branches = vec!["renovate/**".into()];
        };
        let all = codes(set, |inputs| {
            (inputs.author, inputs.title, inputs.branch) = ("renovate-bot", "Chore(deps): bump", "renovate/a/b");
        });
        assert_eq!(all, [SkipCode::Author, SkipCode::Title, SkipCode::Branch]);
        let none = codes(set, |inputs| {
            (inputs.author, inputs.title, inputs.branch) = ("renovate", "x chore(deps)", "my/renovate")
        });
        assert_eq!(none, []);
        for (config, key) in [
            (SkipConfig { skip_titles: vec!["(".into()], ..SkipConfig::default() }, "skip.skip_titles"),
            (SkipConfig { skip_branches: vec!["[".into()], ..SkipConfig::default() }, "skip.skip_branches"),
        ] {
            assert_eq!(Patterns::new(&config).expect_err("refused").0, key);
        }
    }

    #[test]
    fn every_reason_that_applies_is_given() {
        let all = codes(|_| {}, |inputs| (inputs.auto_merge, inputs.all_ignored) = (Some(true), true));
        assert_eq!(all, [SkipCode::AllIgnored, SkipCode::AutoMerge]);
    }
}

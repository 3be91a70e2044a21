//! Whether a review is due, decided before an agent is paid for.

use crate::contracts::{Fingerprint, GateConfig, PriorDigest, SkipCode, SkipConfig, SkipDecision, SkipReason};

/// What the decision depends on.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    pub config: &'a SkipConfig,
    /// Fingerprint of the change.
    pub fingerprint: &'a Fingerprint,
    /// What earlier runs said; only own notes can put a fingerprint here.
    pub prior: &'a PriorDigest,
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
}

/// Decides. Every reason that applies is given; what is not known is no reason.
pub fn decide(inputs: &Inputs<'_>) -> SkipDecision {
    let reasons: Vec<SkipReason> = [no_diff, all_ignored, auto_merge, draft, label, same_fingerprint]
        .iter()
        .filter_map(|applies| applies(inputs))
        .map(|(code, message)| SkipReason { code, message })
        .collect();
    SkipDecision {
        should_skip: !reasons.is_empty(),
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
    SkipConfig { skip_on_auto_merge: false, skip_on_draft: false, skip_labels: Vec::new(), ..skip.clone() }
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

fn same_fingerprint(inputs: &Inputs<'_>) -> Reason {
    let same = inputs.prior.prior_fingerprint.as_ref() == Some(inputs.fingerprint);
    let applies = inputs.config.skip_on_same_fingerprint && same && !inputs.diff_is_empty;
    applies.then(|| (SkipCode::SameFingerprint, "This change was reviewed already".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(value: &str) -> Fingerprint {
        Fingerprint { algo: "sha256".into(), value: value.into() }
    }

    fn codes(change: impl FnOnce(&mut Inputs<'_>, &mut SkipConfig)) -> Vec<(SkipCode, String)> {
        let config = SkipConfig::default();
        let mut changed = config.clone();
        let (current, prior) = (fingerprint("aa"), PriorDigest::default());
        let mut inputs = Inputs {
            config: &config,
            fingerprint: &current,
            prior: &prior,
            diff_is_empty: false,
            all_ignored: false,
            auto_merge: None,
            draft: None,
            labels: &[],
        };
        change(&mut inputs, &mut changed);
        let inputs = Inputs { config: &changed, ..inputs };
        let decision = decide(&inputs);
        assert_eq!(decision.should_skip, !decision.reasons.is_empty());
        assert_eq!(decision.fingerprint, current);
        decision.reasons.into_iter().map(|reason| (reason.code, reason.message)).collect()
    }

    #[test]
    fn nothing_known_is_no_reason_to_skip() {
        assert_eq!(codes(|_, _| {}), []);
    }

    #[test]
    fn auto_merge_skips_with_the_agreed_words_unless_it_is_off_or_unknown() {
        let skipped = codes(|inputs, _| inputs.auto_merge = Some(true));
        assert_eq!(skipped, [(SkipCode::AutoMerge, "MR has auto-merge enabled".to_owned())]);
        assert_eq!(codes(|inputs, _| inputs.auto_merge = Some(false)), []);
        let off = codes(|inputs, config| {
            inputs.auto_merge = Some(true);
            config.skip_on_auto_merge = false;
        });
        assert_eq!(off, []);
    }

    #[test]
    fn a_change_reviewed_before_skips_and_another_does_not() {
        let same = PriorDigest { prior_fingerprint: Some(fingerprint("aa")), ..PriorDigest::default() };
        let other = PriorDigest { prior_fingerprint: Some(fingerprint("bb")), ..PriorDigest::default() };
        let run = |prior: &PriorDigest, on: bool| {
            let config = SkipConfig { skip_on_same_fingerprint: on, ..SkipConfig::default() };
            let decision = decide(&Inputs {
                config: &config,
                fingerprint: &fingerprint("aa"),
                prior,
                diff_is_empty: false,
                all_ignored: false,
                auto_merge: None,
                draft: None,
                labels: &[],
            });
            decision.reasons.iter().map(|reason| reason.code).collect::<Vec<_>>()
        };
        assert_eq!(run(&same, true), [SkipCode::SameFingerprint]);
        assert_eq!(run(&same, false), []);
        assert_eq!(run(&other, true), []);
    }

    #[test]
    fn an_empty_change_and_an_ignored_one_skip() {
        let empty = codes(|inputs, _| {
            inputs.diff_is_empty = true;
            inputs.all_ignored = true;
        });
        assert_eq!(empty.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [SkipCode::NoDiff]);
        let ignored = codes(|inputs, _| inputs.all_ignored = true);
        assert_eq!(ignored.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [SkipCode::AllIgnored]);
    }

    #[test]
    fn a_draft_skips_only_where_that_is_asked_for() {
        assert_eq!(codes(|inputs, _| inputs.draft = Some(true)), []);
        let skipped = codes(|inputs, config| {
            inputs.draft = Some(true);
            config.skip_on_draft = true;
        });
        assert_eq!(skipped[0].0, SkipCode::Draft);
        let unknown = codes(|inputs, config| {
            inputs.draft = None;
            config.skip_on_draft = true;
        });
        assert_eq!(unknown, []);
    }

    #[test]
    fn a_label_skips_in_any_case_and_is_named() {
        let config = SkipConfig::default();
        for (labels, expected) in
            [(vec!["bug", "Skip-Review"], Some("MR has the label `Skip-Review`")), (vec!["bug"], None)]
        {
            let labels: Vec<String> = labels.into_iter().map(str::to_owned).collect();
            let decision = decide(&Inputs {
                config: &config,
                fingerprint: &fingerprint("aa"),
                prior: &PriorDigest::default(),
                diff_is_empty: false,
                all_ignored: false,
                auto_merge: None,
                draft: None,
                labels: &labels,
            });
            assert_eq!(decision.reasons.first().map(|reason| reason.message.as_str()), expected);
        }
    }

    #[test]
    fn every_reason_that_applies_is_given() {
        let all = codes(|inputs, _| {
            inputs.auto_merge = Some(true);
            inputs.all_ignored = true;
        });
        assert_eq!(all.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [SkipCode::AllIgnored, SkipCode::AutoMerge]);
    }
}

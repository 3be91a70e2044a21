//! How long each stage of a run took, from its events.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::contracts::EventRecord;

/// One stage of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) name: String,
    /// Milliseconds after the first event.
    pub(super) start_ms: u64,
    pub(super) duration_ms: u64,
}

/// The stages in order; each lasts until the next begins, the last until the last event.
pub(super) fn stages(events: &[EventRecord]) -> Vec<Stage> {
    let moments: Vec<_> = events.iter().filter_map(|event| moment(&event.ts).map(|at| (event, at))).collect();
    let (Some((_, first)), Some((_, last))) = (moments.first(), moments.last()) else { return Vec::new() };
    let started: Vec<_> = moments
        .iter()
        .filter(|(event, _)| event.event == "stage.started")
        .filter_map(|(event, at)| event.data.get("stage")?.as_str().map(|name| (name, *at)))
        .collect();
    let ends = started.iter().skip(1).map(|(_, at)| *at).chain([*last]);
    let between =
        |from: OffsetDateTime, to: OffsetDateTime| u64::try_from((to - from).whole_milliseconds()).unwrap_or(0);
    let stage = |((name, at), end): (&(&str, OffsetDateTime), OffsetDateTime)| Stage {
        name: (*name).to_owned(),
        start_ms: between(*first, *at),
        duration_ms: between(*at, end),
    };
    started.iter().zip(ends).map(stage).collect()
}

/// A moment of an event.
pub(super) fn moment(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stage_lasts_until_the_next_begins() {
        let event = |ts: &str, name: &str, stage: &str| -> EventRecord {
            let event = json!({ "ts": ts, "level": "info", "event": name, "data": { "stage": stage } });
            serde_json::from_value(event).unwrap()
        };
        let events = [
            event("2026-01-01T00:00:00Z", "run.started", ""),
            event("2026-01-01T00:00:00.1Z", "stage.started", "fetch"),
            event("nonsense", "stage.started", "lost"),
            event("2026-01-01T00:00:00.4Z", "stage.started", "agent"),
            event("2026-01-01T00:00:02.4Z", "run.finished", ""),
        ];
        let stages = stages(&events);
        let facts: Vec<_> = stages.iter().map(|stage| (&*stage.name, stage.start_ms, stage.duration_ms)).collect();
        assert_eq!(facts, [("fetch", 100, 300), ("agent", 400, 2_000)]);
        assert!(super::stages(&[]).is_empty());
    }
}

//! The only reader of the wall clock.

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const MILLIS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// Now, in UTC.
#[expect(clippy::disallowed_methods, reason = "this module is the door for the clock")]
pub fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

/// Now, as events and artifacts spell it: RFC 3339, UTC, milliseconds.
pub fn now_text() -> String {
    text(now())
}

/// A moment, as events and artifacts spell it.
pub fn text(moment: OffsetDateTime) -> String {
    moment.to_offset(time::UtcOffset::UTC).format(MILLIS).unwrap_or_default()
}

/// Milliseconds between two moments as artifacts spell them; 0 where one cannot be read.
pub fn between(from: &str, to: &str) -> u64 {
    let read = |moment: &str| OffsetDateTime::parse(moment, &time::format_description::well_known::Rfc3339).ok();
    let apart = read(from).zip(read(to)).map(|(from, to)| (to - from).whole_milliseconds());
    apart.and_then(|millis| u64::try_from(millis).ok()).unwrap_or(0)
}

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

//! `note_timezone`: which clock the timestamps of a note are shown in.

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, UtcOffset};
use tz::TimeZoneRef;

/// A time zone that timestamps can be shown in.
#[derive(Debug, Clone, Copy)]
pub enum Zone {
    /// One of the IANA database.
    Named(&'static str, TimeZoneRef<'static>),
    /// A fixed offset from UTC.
    Fixed(UtcOffset),
}

/// Reads `system-local`, `local`, `UTC`, an IANA name or an offset such as `+02:00`. A system whose zone is unknown
/// is taken to run in UTC.
pub fn parse(text: &str) -> Result<Zone, String> {
    let name = text.trim();
    match name.to_ascii_lowercase().as_str() {
        "system-local" | "local" => {
            let system = iana_time_zone::get_timezone().ok();
            return Ok(system.and_then(|name| named(&name)).unwrap_or(Zone::Fixed(UtcOffset::UTC)));
        }
        "utc" | "z" => return Ok(Zone::Fixed(UtcOffset::UTC)),
        _ => {}
    }
    if let Some(offset) = offset(name) {
        return Ok(Zone::Fixed(offset));
    }
    named(name).ok_or_else(|| {
        format!(
            "`{name}` is not a time zone: use `system-local`, `UTC`, an IANA name such as `Europe/Berlin`, or an offset such as `+02:00`"
        )
    })
}

/// A zone of the IANA database, in any case; the tables are part of the program, so that an image needs none.
fn named(name: &str) -> Option<Zone> {
    let name = tzdb::TZ_NAMES.iter().find(|known| known.eq_ignore_ascii_case(name))?;
    Some(Zone::Named(name, tzdb::tz_by_name(name)?))
}

impl Zone {
    /// An RFC 3339 timestamp on this zone's clock, as people read it; anything else stays as it is.
    pub fn show(&self, timestamp: &str) -> String {
        let Ok(instant) = OffsetDateTime::parse(timestamp, &Rfc3339) else {
            return timestamp.to_owned();
        };
        let (local, name) = match self {
            Self::Named(name, zone) => {
                let seconds = zone.find_local_time_type(instant.unix_timestamp()).map_or(0, |kind| kind.ut_offset());
                (instant.to_offset(UtcOffset::from_whole_seconds(seconds).unwrap_or(UtcOffset::UTC)), *name)
            }
            Self::Fixed(offset) => (instant.to_offset(*offset), ""),
        };
        let shown = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
        let with_offset = format_description!(
            "[year]-[month]-[day] [hour]:[minute]:[second] [offset_hour sign:mandatory]:[offset_minute]"
        );
        let text = if local.offset().is_utc() {
            local.format(shown).map(|text| text + " UTC")
        } else {
            local.format(with_offset)
        };
        match text {
            Ok(text) if name.is_empty() || local.offset().is_utc() => text,
            Ok(text) => format!("{text} ({name})"),
            Err(_) => timestamp.to_owned(),
        }
    }
}

/// `+2`, `+02`, `+0200`, `+02:00`, with or without `UTC` or `GMT` before it.
fn offset(text: &str) -> Option<UtcOffset> {
    let bare = ["UTC", "GMT"]
        .iter()
        .find_map(|prefix| text.get(..3).filter(|start| start.eq_ignore_ascii_case(prefix)).map(|_| &text[3..]));
    let text = bare.unwrap_or(text);
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let number = |text: &str, most: i8| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i8>().ok().filter(|number| is_number && *number <= most)
    };
    let (hours, minutes) = (number(hours, 14)?, number(minutes, 59)?);
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_shown_on_the_clock_of_its_zone() {
        for (zone, expected) in [
            ("UTC", "2026-07-01 12:00:00 UTC"),
            ("utc", "2026-07-01 12:00:00 UTC"),
            ("Europe/Berlin", "2026-07-01 14:00:00 +02:00 (Europe/Berlin)"),
            ("europe/berlin", "2026-07-01 14:00:00 +02:00 (Europe/Berlin)"),
            ("Asia/Kolkata", "2026-07-01 17:30:00 +05:30 (Asia/Kolkata)"),
            ("+02:00", "2026-07-01 14:00:00 +02:00"),
            ("-0530", "2026-07-01 06:30:00 -05:30"),
            ("+2", "2026-07-01 14:00:00 +02:00"),
            ("UTC+2", "2026-07-01 14:00:00 +02:00"),
            ("-00:30", "2026-07-01 11:30:00 -00:30"),
        ] {
            assert_eq!(parse(zone).expect("zone").show("2026-07-01T12:00:00Z"), expected, "{zone}");
        }
        assert_eq!(parse("UTC").expect("zone").show("soon"), "soon");
    }

    #[test]
    fn the_system_always_has_a_zone() {
        for name in ["system-local", "local", "System-Local"] {
            assert!(parse(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn anything_else_is_an_error_that_says_what_is_possible() {
        for name in ["", "Mars/Olympus", "+25:00", "+1:2", "2", "+", "UTC+", "+02:00:00", "Berlin/", "+é"] {
            let error = parse(name).expect_err(name);
            assert!(error.contains("Europe/Berlin"), "{error}");
        }
    }
}

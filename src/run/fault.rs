//! Places where a test build can be told to fail; a release build has none.

/// Panics, stops or hangs here when a test asked for it by `DIFFSAN_FAULT=<what>:<stage>`.
#[cfg(debug_assertions)]
pub(crate) fn point(stage: &str) {
    #[expect(clippy::disallowed_methods, reason = "exists in test builds only")]
    let Ok(wanted) = std::env::var("DIFFSAN_FAULT") else { return };
    match wanted.split_once(':') {
        Some(("panic", at)) if at == stage => panic!("a fault was asked for in stage {stage}"),
        Some(("hang", at)) if at == stage => {
            let _ = crate::run::console::Console::default().result(&format!("hangs in stage {stage}\n"));
            loop {
                std::thread::park();
            }
        }
        _ => {}
    }
}

#[cfg(not(debug_assertions))]
pub(crate) fn point(_stage: &str) {}

/// Whether a test asked for a build without one defence (`DIFFSAN_FAULT=undefended:<name>`), to show what it is for.
#[cfg(debug_assertions)]
pub(crate) fn is_undefended(name: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "exists in test builds only")]
    let wanted = std::env::var("DIFFSAN_FAULT").unwrap_or_default();
    wanted.strip_prefix("undefended:") == Some(name)
}

#[cfg(not(debug_assertions))]
pub(crate) fn is_undefended(_name: &str) -> bool {
    false
}

//! What a change touches of that which guards the project; looked for in the raw diff, before anything is left out.

use super::Request;
use crate::diff::Diff;
use crate::diff::fetch::Fetched;
use crate::diff::git::Git;
use crate::error::Result;
use crate::policy::{self, roots};
use crate::run::events::Event;
use crate::run::record::Run;

/// Notes the guarding files that the change touches, the settings it would change, and the content it only points to.
pub(super) async fn watch(run: &Run, request: &Request, fetched: &Fetched) -> Result<()> {
    // A diff that does not add up ends the run a moment later.
    let Ok(diff) = Diff::parse(&fetched.raw) else { return Ok(()) };
    let loaded = &request.loaded;
    let pipeline = roots::pipeline_file(loaded.ci.config_path.as_deref());
    let guards = roots::Roots::new(&loaded.config.policy.trust_roots, loaded.policy.paths().chain(pipeline))
        .map_err(|error| loaded.invalid("policy.trust_roots", &error.to_string(), "fix or remove the glob"))?;
    let touched = guards.touched(&diff);
    let git = Git::new(&request.current, &request.env);
    let pending = policy::pending(&loaded.policy, &diff, &git, fetched.source.reference.head_sha.as_deref()).await;
    if !pending.is_empty() {
        let keys = pending.join(", ");
        run.events.emit(Event::Warning {
            message: format!(
                "the merge request changes the review's own settings ({keys}); they take effect once merged"
            ),
        });
    }
    run.note(|progress| {
        progress.elsewhere =
            roots::elsewhere(&diff).into_iter().map(|(path, reason)| (path, reason.to_owned())).collect();
        if let Some(policy) = &mut progress.policy {
            policy.pending = pending;
            policy.guards_touched = touched;
        }
    });
    Ok(())
}

//! Where programs are looked up: never in a folder that the branch under review fills.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::place::Checkout;
use crate::config::{CiContext, Environment};

/// What is searched when nothing else is left; an empty PATH would mean the current folder.
const LAST_RESORT: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment with a PATH that leads into no checkout: relative folders go, in a job also those below the checkout.
pub fn guarded(env: Environment, current: &Path, is_job: bool) -> Environment {
    if crate::run::fault::is_undefended("path") {
        return env;
    }
    let project_dir = CiContext::from_env(&env).project_dir;
    let checkout = if is_job { Checkout::new(project_dir.as_deref(), current) } else { Checkout::default() };
    let path = env.pairs().find(|(name, _)| *name == "PATH").map(|(_, value)| outside(value, &checkout));
    match path {
        Some(path) => env.with("PATH", path),
        None => env,
    }
}

fn outside(path: &OsStr, checkout: &Checkout) -> OsString {
    let kept: Vec<PathBuf> =
        std::env::split_paths(path).filter(|folder| folder.is_absolute() && !checkout.holds(folder)).collect();
    std::env::join_paths(kept).ok().filter(|path| !path.is_empty()).unwrap_or_else(|| LAST_RESORT.into())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make their own folders")]

    use super::*;

    #[test]
    fn no_folder_of_the_checkout_and_no_relative_one_is_searched() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let top = root.join("repo");
        std::fs::create_dir_all(top.join(".git")).unwrap();
        std::fs::create_dir_all(top.join("bin")).unwrap();
        std::os::unix::fs::symlink(top.join("bin"), root.join("link")).unwrap();
        let checkout = Checkout::new(None, &top);
        let path =
            format!("{0}/bin:/usr/bin:bin::.:{1}/link:{0}/gone/../bin:{1}/repo.tmp", top.display(), root.display());
        assert_eq!(outside(path.as_ref(), &checkout), OsString::from(format!("/usr/bin:{}/repo.tmp", root.display())));
        assert_eq!(outside(".:bin".as_ref(), &checkout), OsString::from(LAST_RESORT));
    }
}

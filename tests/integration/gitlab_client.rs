//! The GitLab client against the strict fake.

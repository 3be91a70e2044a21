//! What people look at: the terminal, failures explained, reports.

pub mod ci_job;
mod code_quality;
mod contract;
pub mod doctor;
pub mod explain;
mod html;
pub mod init;
pub mod inspect;
mod links;
mod markdown;
mod plain;
mod prose;
mod rich;
mod sarif;
mod shown;
mod terminal;
mod timeline;
mod words;

pub use code_quality::{code_quality, code_quality_baseline};
pub use contract::{contract, contract_text};
pub use html::{html, outcome};
pub use markdown::markdown;

pub use plain::{config, failure, printable, remedy, result, schema};
pub use sarif::sarif;
pub use shown::Shown;
pub use terminal::{Look, terminal};

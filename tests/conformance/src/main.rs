//! The command `ncz-conform`.

use std::path::Path;

use ncz_conform::cases;
use ncz_conform::check::{Scope, Target};
use ncz_conform::subject::Subject;
use ncz_conform::trial::{Progress, Settings, Trial};

struct Silent;

impl Progress for Silent {
    fn step(&mut self, what: &str) {
        if std::env::var_os("STEPS").is_some() {
            eprintln!("  {what}");
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else { return };
    let wanted: Vec<String> = arguments.collect();
    let level = std::env::var("LEVEL").ok().and_then(|level| level.parse().ok()).unwrap_or(5);
    let targets = Subject::open(Path::new(&path)).map_or(vec![Target::Library], |subject| subject.targets());
    for check in cases::all() {
        for target in targets.iter().filter(|target| check.scope.has(target) || check.scope == Scope::File) {
            if !wanted.is_empty() && !wanted.iter().any(|wanted| check.id.starts_with(wanted.as_str())) {
                continue;
            }
            let settings = Settings { level, ..Settings::default() };
            let outcome =
                Trial::new(check, target.clone(), Path::new(&path), settings, Box::new(Silent)).run(check);
            println!(
                "{:8} {:28} {target} {} {:?}",
                outcome.verdict, check.id, outcome.message, outcome.figures
            );
        }
    }
}

//! The messages between a runner and its workers: arguments one way, files the other.
//!
//! A worker's exit code is not used: a plugin may end the process with any code.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::check::Target;
use crate::outcome::{Outcome, Verdict};
use crate::results::TargetFacts;
use crate::trial::Settings;

/// The first argument of a program that is started as a worker.
pub(crate) const MARK: &str = "ncz-conform-worker";
/// The environment variable that marks the processes that a plugin starts.
pub(crate) const TOKEN: &str = "NCZ_CONFORM_JOB";
/// What means a check's id where the targets are asked for.
const INSPECT: &str = "inspect";
/// A longer message is cut.
const MESSAGE_MAX: usize = 16 << 10;

/// The job of a worker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Job {
    /// The folder that only this job uses.
    pub(crate) folder: PathBuf,
    /// The library, as an absolute path.
    pub(crate) library: PathBuf,
    /// The task.
    pub(crate) task: Task,
    /// How.
    pub(crate) settings: Settings,
}

/// What to do with a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// Report its codecs.
    Inspect,
    /// Run one check on one target.
    Check(String, Target),
}

/// The final answer of a worker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The codecs of the library.
    Targets(Vec<TargetFacts>),
    /// The library cannot be opened, and why.
    Closed(String),
    /// The outcome of the check.
    Outcome(Outcome),
    /// A fault of the runner.
    Bug(String),
}

impl Job {
    /// Returns the arguments for the job.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let (task, target) = match &self.task {
            Task::Inspect => (INSPECT.to_owned(), Target::Library),
            Task::Check(id, target) => (id.clone(), target.clone()),
        };
        let texts = [task, target.to_string(), self.settings.to_json().to_string()];
        let paths = [MARK.into(), self.folder.clone().into(), self.library.clone().into()];
        paths.into_iter().chain(texts.map(OsString::from)).collect()
    }

    /// Parses the job from the arguments of this process, without the program's name.
    pub(crate) fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        if arguments.next()? != MARK {
            return None;
        }
        let (folder, library) = (arguments.next()?.into(), arguments.next()?.into());
        let mut text = || arguments.next()?.into_string().ok();
        let (task, target, settings) = (text()?, text()?, text()?);
        let task = match task.as_str() {
            INSPECT => Task::Inspect,
            _ => Task::Check(task, target.parse().ok()?),
        };
        let settings = Settings::of_json(&serde_json::from_str(&settings).ok()?)?;
        Some(Self { folder, library, task, settings })
    }

    /// The file with the last step.
    pub(crate) fn step_file(&self) -> PathBuf {
        self.folder.join("step")
    }

    /// The working folder.
    pub(crate) fn work_folder(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The file of standard output.
    pub(crate) fn stdout_file(&self) -> PathBuf {
        self.folder.join("stdout")
    }

    /// The file of standard error.
    pub(crate) fn stderr_file(&self) -> PathBuf {
        self.folder.join("stderr")
    }

    fn answer_file(&self) -> PathBuf {
        self.folder.join("answer")
    }

    /// Writes the result; the file appears whole.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub(crate) fn write(&self, answer: &Answer) -> io::Result<()> {
        let part = self.folder.join("answer.part");
        fs::write(&part, answer.to_json().to_string())?;
        fs::rename(part, self.answer_file())
    }

    /// Reads the worker's result, if it has one.
    pub(crate) fn read(&self) -> Option<Answer> {
        Answer::of_json(&read_json(&self.answer_file())?)
    }
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

impl Answer {
    fn to_json(&self) -> Value {
        match self {
            Self::Targets(targets) => {
                let target =
                    |facts: &TargetFacts| json!({"target": facts.target.to_string(), "facts": facts.facts});
                json!({"targets": targets.iter().map(target).collect::<Vec<_>>()})
            }
            Self::Closed(why) => json!({"closed": cut(why)}),
            Self::Bug(what) => json!({"bug": cut(what)}),
            Self::Outcome(Outcome { verdict, message, figures }) => {
                json!({"verdict": verdict.word(), "message": cut(message), "figures": figures})
            }
        }
    }

    fn of_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        if let Some(targets) = value.get("targets") {
            let targets = targets.as_array()?.iter().map(target_facts).collect::<Option<_>>()?;
            return Some(Self::Targets(targets));
        }
        if let Some(why) = text("closed") {
            return Some(Self::Closed(why));
        }
        if let Some(what) = text("bug") {
            return Some(Self::Bug(what));
        }
        let figures = value.get("figures").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        Some(Self::Outcome(Outcome {
            verdict: Verdict::of_word(&text("verdict")?)?,
            message: text("message")?,
            figures,
        }))
    }
}

fn target_facts(value: &Value) -> Option<TargetFacts> {
    let fact = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
    Some(TargetFacts {
        target: value.get("target")?.as_str()?.parse().ok()?,
        facts: value.get("facts")?.as_array()?.iter().map(fact).collect::<Option<_>>()?,
    })
}

impl Settings {
    fn to_json(&self) -> Value {
        json!({
            "level": self.level,
            "seed": self.seed,
            "params": self.params,
            "lossy": self.lossy,
            "mutations": self.mutations,
            "glibc": self.glibc,
        })
    }

    fn of_json(value: &Value) -> Option<Self> {
        let word = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let words = |value: &Value| value.as_array()?.iter().map(word).collect::<Option<Vec<_>>>();
        let set = |value: &Value| Some((word(value.get(0)?)?, words(value.get(1)?)?));
        let glibc = words(value.get("glibc")?)?;
        Some(Self {
            level: u8::try_from(value.get("level")?.as_u64()?).ok()?,
            seed: value.get("seed")?.as_u64()?,
            params: value.get("params")?.as_array()?.iter().map(set).collect::<Option<_>>()?,
            lossy: words(value.get("lossy")?)?,
            mutations: value.get("mutations")?.as_u64().and_then(|number| usize::try_from(number).ok()),
            glibc: (*glibc.first()?, *glibc.get(1)?),
        })
    }
}

/// The text, or its beginning if it is endless.
fn cut(text: &str) -> String {
    if text.len() <= MESSAGE_MAX {
        return text.to_owned();
    }
    format!("{} ..", &text[..text.floor_char_boundary(MESSAGE_MAX)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_comes_through_arguments_and_its_answer_through_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job {
            folder: folder.path().to_owned(),
            library: "/odd \u{e4}/lib x.so".into(),
            task: Task::Check("damaged.flipped".into(), Target::Codec("a:b".into())),
            settings: Settings {
                level: 7,
                seed: u64::MAX,
                params: vec![(32015, vec![1, u32::MAX]), (5, Vec::new())],
                lossy: vec![6],
                mutations: Some(1000),
                glibc: (2, 17),
            },
        };
        assert_eq!(Job::from_arguments(job.arguments().into_iter()), Some(job.clone()));
        let inspect = Job { task: Task::Inspect, settings: Settings::default(), ..job.clone() };
        assert_eq!(Job::from_arguments(inspect.arguments().into_iter()), Some(inspect));
        assert_eq!(Job::from_arguments(["--help".into()].into_iter()), None);

        let facts = TargetFacts { target: Target::Hdf5(1), facts: vec![("name".into(), "deflate".into())] };
        let mut outcome = Outcome::new(Verdict::Warned, "\u{fc}\n\"x\"");
        outcome.figures.insert("encode MB/s".into(), 1.5.into());
        assert_eq!(job.read(), None);
        for answer in [
            Answer::Targets(vec![facts]),
            Answer::Closed("no".into()),
            Answer::Outcome(outcome),
            Answer::Bug("panicked".into()),
        ] {
            job.write(&answer).unwrap();
            assert_eq!(job.read(), Some(answer));
        }
    }

    #[test]
    fn endless_messages_are_cut() {
        let long = cut(&"\u{e4}".repeat(MESSAGE_MAX));
        assert!(long.len() < MESSAGE_MAX + 10 && long.ends_with(" .."), "{}", long.len());
    }
}

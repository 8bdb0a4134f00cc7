//! The program `ncz-conform`, its library, and the plugins of this repository.

mod codecs_table;
mod command;
mod isolated_damage;
mod mutations;
mod ours;
mod reports;
mod runner;
mod verdicts;

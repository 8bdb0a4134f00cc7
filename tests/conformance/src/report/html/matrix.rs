//! The table of libraries and groups of checks.

use std::fmt::Write;

use super::{name, sign};
use crate::outcome::Verdict;
use crate::results::{Counts, LibraryResult, Run};

pub(super) fn write(page: &mut String, run: &Run) {
    let groups = groups(run);
    page.push_str(
        "<section aria-labelledby=\"matrix\">\n<h2 id=\"matrix\">Libraries and groups of checks</h2>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"matrix\">\n<table class=\"matrix\">\n\
         <thead>\n<tr><th scope=\"col\">Library</th>",
    );
    for group in &groups {
        let _ = write!(page, "<th scope=\"col\">{group}</th>");
    }
    page.push_str("<th scope=\"col\">all</th></tr>\n</thead>\n<tbody>\n");
    for (index, library) in run.libraries.iter().enumerate() {
        let _ =
            write!(page, "<tr><th scope=\"row\"><a href=\"#library-{index}\">{}</a></th>", name(run, index));
        for group in &groups {
            cell(page, of_group(library, group));
        }
        cell(page, library.counts());
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
    legend(page);
    page.push_str("</section>\n");
}

/// The groups that were run, in the order of reports.
fn groups(run: &Run) -> Vec<&'static str> {
    let mut groups = Vec::new();
    for check in crate::cases::all() {
        let runs = |library: &LibraryResult| {
            library.results.iter().any(|result| result.check.group() == check.group())
        };
        if !groups.contains(&check.group()) && run.libraries.iter().any(runs) {
            groups.push(check.group());
        }
    }
    groups
}

fn of_group(library: &LibraryResult, group: &str) -> Counts {
    Counts::of(library.results.iter().filter(|result| result.check.group() == group))
}

/// The counts, the worst first; the cell has the colour of the worst.
fn cell(page: &mut String, counts: Counts) {
    let mut there = Verdict::ALL.into_iter().rev().filter(|verdict| counts.number(*verdict) > 0).peekable();
    let Some(worst) = there.peek() else {
        page.push_str("<td class=\"none\"><span class=\"aside\">none</span></td>");
        return;
    };
    let _ = write!(page, "<td class=\"tint {worst}\">");
    for verdict in there {
        let number = counts.number(verdict);
        let _ = write!(
            page,
            "<span class=\"count {verdict}\" title=\"{number} {verdict}\"><span aria-hidden=\"true\">{}</span> {number}\
             <span class=\"aside\"> {verdict}</span></span> ",
            sign(verdict)
        );
    }
    page.push_str("</td>");
}

fn legend(page: &mut String) {
    page.push_str("<p class=\"legend\">");
    for verdict in Verdict::ALL {
        let _ = write!(
            page,
            "<span class=\"count {verdict}\"><span aria-hidden=\"true\">{}</span> {verdict}</span> ",
            sign(verdict)
        );
    }
    page.push_str("</p>\n");
}

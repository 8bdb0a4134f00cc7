//! What the checks ask, as `CHECKS.md` says it: names of checks in the page lead here.

use std::fmt::Write;

use super::super::escape::markup;
use crate::results::Run;

/// The id of a check's row.
pub(super) fn anchor(check: &str) -> String {
    format!("check-{check}")
}

pub(super) fn write(page: &mut String, run: &Run) {
    page.push_str(
        "<section aria-labelledby=\"rules\">\n<h2 id=\"rules\">What the checks ask (CHECKS.md)</h2>\n<div class=\"scroll\" \
         tabindex=\"0\" role=\"region\" aria-labelledby=\"rules\">\n<table class=\"rules\">\n<thead>\n<tr>\
         <th scope=\"col\">Check</th><th scope=\"col\">From level</th><th scope=\"col\">Asks that</th></tr>\n</thead>\n<tbody>\n",
    );
    for check in crate::cases::all() {
        let was_run = run
            .libraries
            .iter()
            .any(|library| library.results.iter().any(|result| result.check.id == check.id));
        if was_run {
            let _ = writeln!(
                page,
                "<tr id=\"{}\"><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{}</td></tr>",
                anchor(check.id),
                check.id,
                check.level,
                markup(check.about)
            );
        }
    }
    page.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

use super::read;

/// A command of a page, and what the page says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) command: String,
    /// How it ends.
    pub(super) code: i32,
    /// What it prints; `None` if the page does not show it.
    pub(super) shown: Option<Vec<String>>,
}

/// Lines that a page has from a file.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) line: usize,
    pub(super) source: Option<String>,
    pub(super) text: String,
}

/// What can be tested of a page.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) steps: Vec<Step>,
    pub(super) quotes: Vec<Quote>,
}

/// A block between fences.
struct Block<'a> {
    language: &'a str,
    /// The line before the fence.
    mark: &'a str,
    /// The number of its first line, from 0.
    line: usize,
    lines: Vec<&'a str>,
}

impl Step {
    pub(super) fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), code: 0, shown: None }
    }
}

impl Page {
    /// Reads the page with this name in the repository.
    pub(super) fn read(name: &str) -> Self {
        Self::parse(&read(name))
    }

    fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let blocks = blocks(text);
        for (at, block) in blocks.iter().enumerate() {
            let source = block.mark.strip_prefix("<!-- from ").and_then(|rest| rest.strip_suffix(" -->"));
            if block.language == "rust" || source.is_some() {
                let text = block.lines.iter().map(|line| format!("{line}\n")).collect();
                page.quotes.push(Quote { line: block.line, source: source.map(str::to_owned), text });
            } else if !block.mark.starts_with("<!-- not run: ") {
                let next = blocks.get(at + 1).filter(|next| {
                    // A fence, an empty line, a fence.
                    next.language == "text" && next.line == block.line + block.lines.len() + 3
                });
                match block.language {
                    "sh" => page.steps.extend(pasted(&block.lines)),
                    "console" => page.steps.extend(console(&block.lines)),
                    "python" => page.steps.push(script(&block.lines, next)),
                    _ => {}
                }
            }
        }
        page
    }
}

/// The steps that a picture of a terminal shows.
pub(super) fn picture(svg: &str) -> Vec<Step> {
    let lines: Vec<String> = svg
        .lines()
        .filter_map(|line| {
            let (_, text) = line.strip_prefix("<text ")?.split_once('>')?;
            let text = text.strip_suffix("</text>")?;
            Some(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        })
        .collect();
    console(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (at, &line) in lines.iter().enumerate() {
        match (open.take(), line.strip_prefix("```")) {
            (Some(block), Some("")) => blocks.push(block),
            (Some(mut block), _) => {
                block.lines.push(line);
                open = Some(block);
            }
            (None, Some(language)) => {
                let mark = at.checked_sub(1).and_then(|before| lines.get(before)).copied().unwrap_or("");
                open = Some(Block { language, mark, line: at + 1, lines: Vec::new() });
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    blocks
}

/// Takes the lines that belong to a command: those after a `\` and those of a document that the shell reads from here.
fn whole<'a>(first: &str, rest: &mut impl Iterator<Item = &'a str>) -> String {
    let mut command = first.to_owned();
    while command.ends_with('\\')
        && let Some(line) = rest.next()
    {
        command = format!("{command}\n{line}");
    }
    let end =
        command.split_once("<<'").and_then(|(_, rest)| rest.split_once('\'')).map(|(end, _)| end.to_owned());
    if let Some(end) = end {
        for line in rest {
            command = format!("{command}\n{line}");
            if line == end {
                break;
            }
        }
    }
    command
}

fn pasted(lines: &[&str]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut code = 0;
    let mut lines = lines.iter().copied();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            code = code_in(line).unwrap_or(0);
        } else if !line.is_empty() {
            let command = whole(line, &mut lines);
            steps.push(Step { code: code_in(&command).unwrap_or(code), ..Step::new(command) });
        }
    }
    steps
}

fn console(lines: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = lines.iter().copied();
    while let Some(line) = lines.next() {
        if let Some(command) = line.strip_prefix("$ ") {
            let command = whole(command, &mut lines);
            steps.push(Step { code: code_in(&command).unwrap_or(0), ..Step::new(command) });
        } else if let Some(step) = steps.last_mut() {
            step.shown.get_or_insert_default().push(line.to_owned());
        } else {
            assert!(line.is_empty(), "a block in console begins with a command: {line}");
        }
    }
    steps
}

fn script(lines: &[&str], printed: Option<&Block<'_>>) -> Step {
    let command = format!("python - <<'END OF SCRIPT'\n{}\nEND OF SCRIPT", lines.join("\n"));
    let shown = printed.map(|block| block.lines.iter().map(|line| (*line).to_owned()).collect());
    Step { shown, ..Step::new(command) }
}

/// The exit code that a comment says.
fn code_in(text: &str) -> Option<i32> {
    let (_, rest) = text.split_once("exit code ")?;
    rest.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn a_page_is_read_as_its_readers_read_it() {
    let text = "\
```sh
# exit code 1: it finds some
ncz verify a \\
    --json
ncz info b   # exit code 2
# next
cat > f <<'END'
# text
END
```
<!-- not run: it takes long -->
```sh
sleep 9
```
```console
$ echo one
one

two
$ false   # exit code 1
```
```python
print(1)
```

```text
1
```

<!-- from a.rs -->
```rust
fn main() {}
```
";
    let page = Page::parse(text);
    let step = |command: &str, code, shown: Option<&[&str]>| {
        let shown = shown.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect());
        Step { command: command.to_owned(), code, shown }
    };
    let expected = [
        step("ncz verify a \\\n    --json", 1, None),
        step("ncz info b   # exit code 2", 2, None),
        step("cat > f <<'END'\n# text\nEND", 0, None),
        step("echo one", 0, Some(&["one", "", "two"])),
        step("false   # exit code 1", 1, None),
        step("python - <<'END OF SCRIPT'\nprint(1)\nEND OF SCRIPT", 0, Some(&["1"])),
    ];
    assert_eq!(page.steps, expected);
    assert_eq!(page.quotes.len(), 1);
    assert_eq!(page.quotes[0].source.as_deref(), Some("a.rs"));
    assert_eq!(page.quotes[0].text, "fn main() {}\n");
}

"""Reads reports as browsers and build servers do, and prints what they hold as JSON.

Usage: read_reports.py page.html report.xml
"""

import base64
import hashlib
import json
import re
import sys
import xml.etree.ElementTree as xml
from html.parser import HTMLParser

VOID = {"meta", "input", "rect", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """Whether tags are balanced, what attributes there are, what text is in cells, what script runs."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.ids, self.wanted = [], [], [], set()
        self.scripts, self.policy, self.texts, self.rows = [], "", [], []
        self.tags = {}

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name.startswith("on") or name in ("src", "style", "action", "srcset", "data"):
                self.problems.append(f"attribute {name}")
            if name == "href" and not value.startswith("#"):
                self.problems.append(f"link to {value}")
            if name == "href":
                self.wanted.add(value[1:])
            if name == "aria-labelledby":
                self.wanted.add(value)
            if name == "id":
                self.ids.append(value)
            if name == "content" and ("http-equiv", "Content-Security-Policy") in attrs:
                self.policy = value
        if tag == "script":
            self.scripts.append("")
        if tag == "tr" and "data-verdict" in dict(attrs):
            self.rows.append(dict(attrs)["data-verdict"])

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> where it does not belong")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)


def read_page(path):
    page = Page()
    text = open(path, encoding="utf-8", newline="").read()
    page.feed(text)
    page.close()
    problems = page.problems + [f"<{tag}> is open" for tag in page.open]
    problems += [f"two of id {one}" for one in set(page.ids) if page.ids.count(one) > 1]
    problems += [f"nothing has the id {one}" for one in page.wanted - set(page.ids)]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.scripts]
    allowed = re.findall(r"'sha256-([^']*)'", page.policy)
    if hashes != allowed:
        problems.append(f"the page allows the scripts {allowed} and has {hashes}")
    if "default-src 'none'" not in page.policy:
        problems.append("the page may load things")
    if re.search(r"url\(|@import", text):
        problems.append("the style loads things")
    return {"problems": problems, "rows": page.rows, "text": "\n".join(page.texts), "tags": page.tags}


# What the schema of the xUnit plugin of Jenkins has: children, required attributes, other attributes.
SCHEMA = {
    "testsuites": ({"testsuite"}, set(), {"name", "time", "tests", "failures", "errors"}),
    "testsuite": (
        {"properties", "testcase", "system-out", "system-err"},
        {"name", "tests", "failures", "errors"},
        {"time", "skipped", "timestamp", "hostname", "id", "package", "file"},
    ),
    "properties": ({"property"}, set(), set()),
    "property": (set(), {"name", "value"}, set()),
    "testcase": (
        {"skipped", "error", "failure", "system-out", "system-err"},
        {"name"},
        {"classname", "time", "assertions", "file"},
    ),
    "skipped": (set(), set(), {"type", "message"}),
    "error": (set(), set(), {"type", "message"}),
    "failure": (set(), set(), {"type", "message"}),
    "system-out": (set(), set(), set()),
    "system-err": (set(), set(), set()),
}


def problems_of(element):
    children, required, other = SCHEMA[element.tag]
    names = [child.tag for child in element]
    yield from (f"<{name}> in <{element.tag}>" for name in names if name not in children)
    yield from (f"<{element.tag}> without {name}" for name in required - set(element.keys()))
    yield from (f"<{element.tag}> with {name}" for name in set(element.keys()) - required - other)
    order = list(SCHEMA)
    if [order.index(name) for name in names] != sorted(map(order.index, names)):
        yield f"the order in <{element.tag}> is {names}"
    if "time" in element.keys() and not re.fullmatch(r"\d+\.\d{3}", element.get("time")):
        yield f"time {element.get('time')!r}"
    if "timestamp" in element.keys() and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.get("timestamp")):
        yield f"timestamp {element.get('timestamp')!r}"
    if element.tag == "testsuite":
        cases = element.findall("testcase")
        for name, count in [
            ("tests", len(cases)),
            ("failures", sum(case.find("failure") is not None for case in cases)),
            ("errors", sum(case.find("error") is not None for case in cases)),
            ("skipped", sum(case.find("skipped") is not None for case in cases)),
        ]:
            if int(element.get(name)) != count:
                yield f"{name} is {element.get(name)}, and there are {count}"
    for child in element:
        yield from problems_of(child)


def read_junit(path):
    root = xml.parse(path).getroot()
    cases = []
    for case in root.iter("testcase"):
        ends = [child.tag for child in case if child.tag in ("skipped", "error", "failure")]
        cases.append({
            "class": case.get("classname"),
            "name": case.get("name"),
            "end": ends,
            "message": next((child.get("message") for child in case if child.tag in ends), None),
            "body": next((child.text for child in case if child.tag in ends), None),
            "out": case.findtext("system-out"),
            "err": case.findtext("system-err"),
        })
    suites = [{"name": suite.get("name"), "properties": [
        [prop.get("name"), prop.get("value")] for prop in suite.iter("property")
    ]} for suite in root]
    return {"root": root.tag, "problems": list(problems_of(root)), "suites": suites, "cases": cases}


json.dump({"html": read_page(sys.argv[1]), "junit": read_junit(sys.argv[2])}, sys.stdout)

"""Writes the licences of all crates in the published programs, and a list of these crates (SBOM, CycloneDX 1.5).

licences.py TARGET LICENCES.txt SBOM.json
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

# The packages that are published. Their own licences are in the packages already.
PUBLISHED = ("ncz-cli", "ncz-conform", "ncz-python")
NAMES = ("licen", "copying", "notice", "copyright")
SUFFIXES = ("", ".txt", ".md", ".mit", ".apache", ".0bsd")
# Parts of C sources that are not linked. The last is the GPL, which zstd offers besides the BSD licence.
UNUSED = ("programs", "tests", "examples", "contrib", "zstd/COPYING")
# The texts for crates that ship none: licences with COPYRIGHT in place of who has it, or CRATE.txt.
HERE = pathlib.Path(__file__).parent / "licences"
APACHE = pathlib.Path(__file__).parents[2] / "LICENSE-APACHE"


def linked(metadata):
    """The packages that end up in the programs: no tests, no build scripts, no macros."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    todo = [
        key
        for key, package in packages.items()
        if package["name"] in PUBLISHED or (package["source"] is None and package["name"].endswith("-plugin"))
    ]
    found = set()
    while todo:
        key = todo.pop()
        if key in found or any("proc-macro" in target["kind"] for target in packages[key]["targets"]):
            continue
        found.add(key)
        todo += [d["pkg"] for d in nodes[key]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
    chosen = (packages[key] for key in found)
    return sorted(chosen, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The licence texts of a package, those of C sources that it contains included."""
    folder = pathlib.Path(package["manifest_path"]).parent
    found = set()
    for path in folder.rglob("*"):
        name, inside = path.name.lower(), path.relative_to(folder)
        if any(inside.is_relative_to(part) or part in inside.parts for part in UNUSED) or not path.is_file():
            continue
        if any(word in name for word in NAMES) and path.suffix.lower() in SUFFIXES:
            found.add(path.read_text(errors="replace").strip())
    return found or standard_texts(package)


def standard_texts(package):
    """The texts of a package that ships none."""
    own = HERE / f"{package['name']}.txt"
    if own.exists():
        return {own.read_text().strip()}
    if package["license"] == "Apache-2.0":
        return {APACHE.read_text().strip("\n")}
    standard = HERE / f"{chosen(package)}.txt"
    if not standard.exists():
        return set()
    who = ", ".join(package["authors"]) or f"the authors of {package['name']}, {package['repository']}"
    return {standard.read_text().strip().replace("COPYRIGHT", f"Copyright (c) {who}", 1)}


def expression(package):
    """The licence that a package states; the old form with a slash means "or"."""
    return re.sub(r" */ *", " OR ", package["license"])


def chosen(package):
    """The licence that we use a package under."""
    choices = expression(package).split(" OR ")
    return next((choice for choice in ("MIT", "Apache-2.0") if choice in choices), expression(package))


def component(package):
    entry = {
        "type": "library",
        "name": package["name"],
        "version": package["version"],
        "purl": f"pkg:cargo/{package['name']}@{package['version']}",
    }
    if package["license"]:
        entry["licenses"] = [{"expression": expression(package)}]
    return entry


def main():
    target, licences, sbom = sys.argv[1:]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = linked(metadata)
    others = [package for package in packages if package["source"] is not None]
    if unknown := [package["name"] for package in others if not package["license"]]:
        sys.exit(f"these crates state no licence: {', '.join(unknown)}")

    users = collections.defaultdict(list)
    for package in others:
        found = texts(package)
        if not found:
            sys.exit(f"no licence text of {package['name']} ({package['license']}): add one to {HERE}")
        for text in found:
            users[text].append(f"{package['name']} {package['version']}")
    with open(licences, "w") as file:
        file.write("ncz contains these crates, under these licences. The source of each is on https://crates.io.\n\n")
        for package in others:
            choice = "" if chosen(package) == expression(package) else f", used under {chosen(package)}"
            file.write(f"{package['name']} {package['version']}: {expression(package)}{choice}\n")
        for names, text in sorted((names, text) for text, names in users.items()):
            file.write(f"\n{'-' * 80}\n{', '.join(names)}\n\n{text}\n")

    own = next(package for package in packages if package["name"] == "ncz-cli")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "ncz", "version": own["version"]}},
        "components": [component(package) for package in packages],
    }
    with open(sbom, "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()

"""Writes the licences of all crates in the published programs, and a list of these crates (SBOM, CycloneDX 1.5).

licences.py TARGET LICENCES.txt SBOM.json
"""

import collections
import json
import pathlib
import subprocess
import sys

# The packages that are published. Their own licences are in the packages already.
PUBLISHED = ("ncz-cli", "ncz-conform", "ncz-python")
NAMES = ("licen", "copying", "notice", "copyright")


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
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.read_text(errors="replace").strip()
        for path in files
        if path.name.lower().startswith(NAMES) and path.suffix.lower() in ("", ".txt", ".md", ".mit", ".apache")
    }


def component(package):
    entry = {
        "type": "library",
        "name": package["name"],
        "version": package["version"],
        "purl": f"pkg:cargo/{package['name']}@{package['version']}",
    }
    if package["license"]:
        # The old form with a slash means "or".
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
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
        for text in texts(package):
            users[text].append(f"{package['name']} {package['version']}")
    with open(licences, "w") as file:
        file.write("ncz contains these crates, under these licences:\n\n")
        for package in others:
            file.write(f"{package['name']} {package['version']}: {package['license']}\n")
        for text, names in sorted(users.items(), key=lambda item: item[1]):
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

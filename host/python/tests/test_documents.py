"""Runs the examples of the README and of the pages beside the tutorial: those of a page are one script."""

import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

import ncz

PYTHON = ROOT / "host" / "python"
PAGES = sorted(path.relative_to(PYTHON).as_posix() for path in [PYTHON / "README.md", *PYTHON.glob("docs/*.md")])
BLOCK = re.compile(r"^([^\n]*)\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page, fixtures, tmp_path):
    text = (PYTHON / page).read_text(encoding="utf-8")
    blocks = [code for before, code in BLOCK.findall(text) if not before.startswith("<!-- not run: ")]
    assert blocks
    source = tmp_path / "ocean.nczarr"
    shutil.copytree(fixtures / "ocean.nczarr", source)
    ncz.copy(source, tmp_path / "in.nc")
    for day, records in enumerate(["0:8", "8:16"], start=1):
        ncz.copy(source, tmp_path / f"day{day}.nc", slab=f"time={records}", exclude="model/*")
    script = tmp_path / "script.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    ran = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr

"""Runs the cells of docs/tutorial.ipynb, and compares what they show with the outputs that are stored in it.

NCZ_UPDATE_TUTORIAL=1 stores the outputs of this run instead.
"""

import ast
import contextlib
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


def shown(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a notebook would show below a cell: what it prints, and its last expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def test_every_cell_shows_what_the_notebook_says(fixtures, tmp_path, monkeypatch):
    notebook = json.loads(TUTORIAL.read_text(encoding="utf-8"))
    shutil.copytree(fixtures / "ocean.nczarr", tmp_path / "ocean.nczarr")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "tutorial"}
    stored = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = shown("".join(cell["source"]), names)
    if os.environ.get("NCZ_UPDATE_TUTORIAL"):
        TUTORIAL.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        assert [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"] == stored

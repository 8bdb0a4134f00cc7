"""The examples of the documentation, as tests."""

import doctest
import importlib
import pkgutil

import pytest
from conftest import ROOT

import ncz

MODULES = ["ncz", *(f"ncz.{module.name}" for module in pkgutil.iter_modules(ncz.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    names = {"fixtures": ROOT / "tests/fixtures"}
    tests = finder.find(module, name, globs=names)
    for function in vars(module).values():
        # Functions of the extension module have no source, so that the finder passes them by.
        if type(function).__name__ == "builtin_function_or_method" and "ncz" in (function.__module__ or "ncz"):
            tests += finder.find(function, f"{name}.{function.__name__}", globs=names, module=False)
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0

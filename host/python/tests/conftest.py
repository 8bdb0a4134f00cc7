"""What all tests share. Run them by tests/run, or by pytest with host/python/build --develop in PYTHONPATH."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def fixtures() -> Path:
    return ROOT / "tests" / "fixtures"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Where nothing may be skipped, a test that is skipped has failed."""
    report = (yield).get_result()
    if report.skipped and any(reason in str(report.longrepr) for reason in getattr(item.module, "SKIPPED", [])):
        return
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") not in (None, "", "false", "0"):
        report.outcome = "failed"
        report.longrepr = f"skipped under CI: {report.longrepr}"

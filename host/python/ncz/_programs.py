"""The programs of the wheel: ncz, ncz-worker, ncz-conform."""

import os
import sysconfig
from pathlib import Path


def find(name: str) -> Path | None:
    """The program of this installation, if it has one: of the development folder, or of the environment."""
    beside = Path(__file__).parent.parent / "bin" / name
    schemes = {sysconfig.get_path("scripts")}
    user = sysconfig.get_preferred_scheme("user")
    schemes.add(sysconfig.get_path("scripts", user))
    for path in [beside, *(Path(folder) / name for folder in sorted(filter(None, schemes)))]:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None

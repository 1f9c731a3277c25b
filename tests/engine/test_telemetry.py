"""Checking an answer leaves nothing behind: the inference library has telemetry of its own."""

import os
import subprocess
import sys
from pathlib import Path

CHECK = """
import os
from groundwire import Detector
with Detector.load(threads=1) as detector:
    print(detector.detect(sources=["The tower is tall."], answer="The tower is tall.").outcome)
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


def test_nothing_is_written_under_the_home_directory(tmp_path: Path) -> None:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG", "ORT"))
    }
    done = subprocess.run(
        [sys.executable, "-B", "-c", CHECK],
        env={**kept, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "grounded\n1\n"
    assert list(tmp_path.rglob("*")) == []

"""The size on disk of the virtual environment that README's first command makes.

It is made anew in a temporary folder, which needs pip with an index.

Run it: ``python benchmarks/install.py --out benchmarks/results/install.json``
"""

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import measure

ROOT = Path(__file__).parents[1]
#: What README's first command installs, as paths in the repository.
PARTS = (".", "./models/reader-base")


def size_mb(folder: Path) -> float:
    """Megabytes that a folder takes on disk, as ``du`` counts them."""
    return sum(path.lstat().st_blocks for path in (folder, *folder.rglob("*"))) * 512 / 1e6


def main() -> None:
    """Print the size, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the size as JSON")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/pip", "install", "--quiet", *PARTS]
        subprocess.run(pip, check=True, cwd=ROOT)
        megabytes = round(size_mb(Path(folder)))
    print(f"{megabytes} MB")
    report = {"benchmark": "install", "machine": measure.machine(), "parts": PARTS, "mb": megabytes}
    measure.write(options.out, report)


if __name__ == "__main__":
    main()

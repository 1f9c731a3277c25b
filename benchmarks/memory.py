"""Memory of a process that checks answers until its cache is full, and the size on disk.

Run it: ``python benchmarks/memory.py --venv VENV --out benchmarks/results/memory.json``, where
VENV is a virtual environment in which nothing but the base install was installed.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import measure
from corpus import Sample, samples

from groundwire import Example

#: Bars for memory and disk, by the detector that is loaded by default.
BARS_MB = {"reader": (450, 280), "reader-base": (900, 380)}
#: What every virtual environment has.
_TOOLS = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources", "distutils-precedence")
_STEPS = ("started", "imported", "loaded", "first verdict", "cache full", "after a batch", "peak")


def resident(those: list[Sample]) -> dict[str, float]:
    """Megabytes of a process step by step: to be called in a fresh one."""
    found = {"started": measure.resident_mb()}
    from groundwire.detector import Detector

    found["imported"] = measure.resident_mb()
    detector = Detector.load()
    found["loaded"] = measure.resident_mb()
    for sample in those:
        detector.detect(sources=sample.sources, question=sample.question, answer=sample.answer)
        found.setdefault("first verdict", measure.resident_mb())
    found["cache full"] = measure.resident_mb()
    cache = detector.cache
    assert cache is not None
    if not cache.evictions:
        raise SystemExit(f"The cache is not full: {cache.bytes:,} of {cache.max_bytes:,} bytes.")
    examples = [Example.of(sources=s.sources, question=s.question, answer=s.answer) for s in those]
    for _ in detector.detect_batch(examples):
        pass
    found["after a batch"] = measure.resident_mb()
    found["peak"] = measure.peak_mb()
    found["cache holds"] = cache.bytes / 1e6
    return found


def installed(venv: Path) -> dict[str, float]:
    """Megabytes of each distribution's folders in a virtual environment, largest first."""
    (folder,) = venv.glob("lib/python*/site-packages")
    sizes = {
        path.name: sum(f.stat().st_size for f in (path.rglob("*") if path.is_dir() else [path]))
        for path in folder.iterdir()
        if not path.name.startswith(_TOOLS)
    }
    return {
        name: round(size / 1e6, 1)
        for name, size in sorted(sizes.items(), key=lambda item: -item[1])
    }


def memory_rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Medians over fresh processes."""
    those = list(islice(samples(None, options.tokens, seed=options.seed), options.samples))
    runs = []
    for _ in range(options.rounds):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            runs.append(pool.submit(resident, those).result())
    return [{"step": step} | measure.summary([run[step] for run in runs], 1) for step in _STEPS]


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--venv", type=Path, help="where nothing but the base install is installed")
    parser.add_argument("--tokens", type=int, default=4000, help="word pieces of a context")
    parser.add_argument("--samples", type=int, default=16, help="answers that are checked")
    parser.add_argument("--rounds", type=int, default=5, help="fresh processes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    machine = measure.machine()
    rows = memory_rows(options)
    print("resident, MB\n" + measure.table(rows, ("step", "n", "median", "q1", "q3")))
    sizes = installed(options.venv) if options.venv else {}
    total = round(sum(sizes.values()), 1) if sizes else None
    largest = [{"part": name, "mb": size} for name, size in list(sizes.items())[:8]]
    print("\non disk, MB\n" + measure.table(largest, ("part", "mb")))
    from groundwire import Detector  # imported here, so that children import it when they measure

    name = Detector.load().info.name
    memory_mb, disk_mb = BARS_MB[name]
    peak_mb = rows[_STEPS.index("peak")]["median"]
    bars = [
        measure.bar(f"{name}: resident memory at its peak, cache full", memory_mb, peak_mb, "MB"),
        measure.bar("base install with its dependencies", disk_mb, total, "MB"),
    ]
    measure.print_bars(bars)
    report = {
        "benchmark": "memory",
        "machine": machine,
        "settings": {n: getattr(options, n) for n in ("tokens", "samples", "rounds", "seed")},
        "rows": rows,
        "disk": largest,
        "bars": bars,
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()

"""What every benchmark does: describe the machine, sum up times, print a table, write the data."""

import json
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, TypeVar

Row = Mapping[str, Any]
T = TypeVar("T")

#: Help of the option ``--patience``.
PATIENCE = "seconds to spend on waiting for other processes, and on repeating what they disturbed"


def milliseconds(call: Callable[[], object]) -> float:
    """Time of one call."""
    begin = perf_counter()
    call()
    return (perf_counter() - begin) * 1000


class Quiet:
    """Repeats what other processes disturbed, for as long as there is patience.

    A repetition is disturbed if others took more than a tenth of a processor while it ran.

    Attributes:
        repeated: Repetitions that were thrown away and done again.
        disturbed: Repetitions that were kept although disturbed, for patience was out.
    """

    _LIMIT, _NOISE_S, _GLANCE_S = 0.1, 0.03, 0.2

    def __init__(self, patience_s: float) -> None:
        """Be patient for so many seconds in all."""
        self._left_s = patience_s
        self.repeated = self.disturbed = 0

    def run(self, call: Callable[[], T]) -> T:
        """What an undisturbed call gives."""
        while True:
            self._wait()
            began = perf_counter()
            others = _others_s()
            result = call()
            took = perf_counter() - began
            if _others_s() - others <= took * self._LIMIT + self._NOISE_S:
                return result
            if self._left_s <= 0:
                self.disturbed += 1
                return result
            self.repeated += 1
            self._left_s -= took

    def to_dict(self) -> dict[str, int]:
        """The counts."""
        return {"repeated": self.repeated, "disturbed": self.disturbed}

    def _wait(self) -> None:
        while True:
            others = _others_s()
            sleep(self._GLANCE_S)
            is_quiet = _others_s() - others <= self._GLANCE_S * self._LIMIT + self._NOISE_S
            if is_quiet or self._left_s <= 0:
                return
            self._left_s -= self._GLANCE_S


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def summary(values: Sequence[float], digits: int = 2) -> dict[str, float | int]:
    """How many values there are, their median and their quartiles."""
    if len(values) < 2:
        q1 = q3 = values[0]
    else:
        q1, _, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return {
        "n": len(values),
        "median": round(statistics.median(values), digits),
        "q1": round(q1, digits),
        "q3": round(q3, digits),
    }


def machine(*packages: str) -> dict[str, Any]:
    """The machine and the versions that a result was measured with.

    Args:
        packages: Distributions to name beside those of the base install.
    """
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {
            name: found
            for name in ("groundwire", "numpy", "onnxruntime", "tokenizers", *packages)
            if (found := _version(name))
        },
    }


def table(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Rows as an aligned table; the header names the columns."""
    cells = [list(columns)] + [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    lines = []
    for line in cells:
        first, *rest = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        lines.append("  ".join([line[0].ljust(len(first)), *rest]))
    return "\n".join(lines)


def bar(
    what: str, limit: float, measured: float | None, unit: str, *, at_least: bool = False
) -> dict[str, Any]:
    """A number that must hold, beside what was measured.

    Args:
        what: In words.
        limit: The most allowed, or the least if ``at_least``.
        measured: ``None`` if it was not measured.
        unit: Of both.
        at_least: Whether more is better.
    """
    holds = None
    if measured is not None:
        holds = measured >= limit if at_least else measured <= limit
    sign = "≥" if at_least else "≤"
    return {
        "what": what,
        "bar": f"{sign} {limit:,g} {unit}",
        "measured": None if measured is None else f"{measured:,.1f} {unit}",
        "holds": {True: "yes", False: "no", None: "not measured"}[holds],
    }


BAR_COLUMNS = ("what", "bar", "measured", "holds")


def print_bars(bars: Sequence[Row]) -> None:
    """The bars as a table."""
    print("\nbars\n" + table(bars, BAR_COLUMNS))


def resident_mb() -> float:
    """Memory of this process, shared libraries included, in megabytes."""
    return _status("VmRSS")


def peak_mb() -> float:
    """The most memory that this process ever had, or had since :func:`reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Measure the peak anew from here on."""
    Path("/proc/self/clear_refs").write_text("5", "utf-8")


def write(path: Path | None, report: Row) -> None:
    """Keep a report as JSON, if a file is named."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if isinstance(value, float) else str(value)


def _others_s() -> float:
    """Processor seconds that other processes took since the machine was started."""
    fields = Path("/proc/stat").read_text("utf-8").split("\n", 1)[0].split()[1:9]
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields)
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    own = os.times()
    return busy - (own.user + own.system + own.children_user + own.children_system)


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return round(int(line.split()[1]) * 1024 / 1e6, 1)
    raise OSError(f"/proc/self/status has no {name}: memory is measured on Linux")


def _cpu() -> str:
    model = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
    flags = [
        flag
        for flag in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")
        if described.exists() and f" {flag}" in described.read_text("utf-8")
    ]
    return f"{model} ({', '.join(flags)})" if flags else model


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

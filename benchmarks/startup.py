"""How long it takes until the first verdict: fresh processes, one at a time, in turns.

Files are in the system's cache after the first round, which does not count. Bytecode is compiled,
as an installer leaves it.

Run it: ``python benchmarks/startup.py --out benchmarks/results/startup.json``
"""

import argparse
import compileall
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import measure

import groundwire

SOURCE = "The Eiffel Tower was built 1887-1889 and is 330 meters tall. It stands in Paris, France."
QUESTION = "When was the Eiffel Tower built?"
ANSWER = "It was built in 1950 and stands 500 meters tall in Paris, France."

_IMPORT = """
from time import perf_counter
begin = perf_counter()
import groundwire
print((perf_counter() - begin) * 1000)
"""
_LOAD = f"""
from time import perf_counter
{{before}}
begin = perf_counter()
{{after}}
detector = Detector.load()
detection = detector.detect(sources=[{SOURCE!r}], question={QUESTION!r}, answer={ANSWER!r})
print((perf_counter() - begin) * 1000)
"""
_FROM = "from groundwire import Detector"
_CHECK = ("check", "--source", SOURCE, "--question", QUESTION, "--answer", ANSWER)


@dataclass(frozen=True, slots=True)
class Start:
    """One way to start.

    Attributes:
        what: In words.
        arguments: Of the interpreter.
        tells: Whether the process prints its time; else it is timed from start to end.
        bar_ms: What must hold, if anything.
        statuses: Exit statuses that mean success.
    """

    what: str
    arguments: tuple[str, ...]
    tells: bool = False
    bar_ms: float | None = None
    statuses: tuple[int, ...] = (0,)

    def milliseconds(self) -> float:
        """Start once."""
        output = ""

        def run() -> None:
            nonlocal output
            command = [sys.executable, *self.arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode not in self.statuses:
                raise SystemExit(f"{self.what} failed: {done.stderr}")
            output = done.stdout

        took = measure.milliseconds(run)
        return float(output) if self.tells else took


def starts() -> tuple[Start, ...]:
    """Everything that is timed."""
    command = str(Path(sys.executable).with_name("groundwire"))
    loaded, importing = _LOAD.format(before=_FROM, after=""), _LOAD.format(before="", after=_FROM)
    return (
        Start("import groundwire", ("-c", _IMPORT), tells=True),
        Start("Detector.load() to the first verdict", ("-c", loaded), tells=True, bar_ms=1000),
        Start("the same, with the import of Detector", ("-c", importing), tells=True),
        Start("groundwire check, start to end", (command, *_CHECK), bar_ms=1000, statuses=(0, 1)),
        Start("groundwire --help, start to end", (command, "--help"), bar_ms=150),
        Start("python -c pass, start to end", ("-c", "pass")),
    )


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--patience", type=float, default=300, help=measure.PATIENCE)
    options = parser.parse_args()
    compileall.compile_dir(Path(groundwire.__file__).parent, quiet=1)
    machine = measure.machine()
    quiet = measure.Quiet(options.patience)
    times: dict[str, list[float]] = defaultdict(list)
    for round_ in range(-1, options.rounds):
        for start in starts():
            took = quiet.run(start.milliseconds)
            if round_ >= 0:
                times[start.what].append(took)
    rows = [{"what": what} | measure.summary(values) for what, values in times.items()]
    print(measure.table(rows, ("what", "n", "median", "q1", "q3")))
    bars = [
        measure.bar(start.what, start.bar_ms, row["median"], "ms")
        for start, row in zip(starts(), rows, strict=True)
        if start.bar_ms
    ]
    measure.print_bars(bars)
    report = {
        "benchmark": "startup",
        "machine": machine,
        "rows": rows,
        "bars": bars,
    } | quiet.to_dict()
    measure.write(options.out, report)


if __name__ == "__main__":
    main()

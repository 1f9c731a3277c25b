"""What dividing a prompt of 4,000 word pieces takes, by the shape of the prompt.

The time is that of the thread, so that other processes do not count. The bar is 5 ms.

Run it: ``python benchmarks/dividing.py --out benchmarks/results/dividing.json``
"""

import argparse
import statistics
from pathlib import Path
from time import thread_time

import corpus
import measure

from groundwire.pipeline.conversation.dividing import divide

BAR_MS = 5
COLUMNS = ("shape", "n_chars", "median_ms")
QUESTION = "How many visitors came?"
#: Shapes of a prompt: ``{}`` stands for the evidence.
SHAPES = {
    "tags": "Answer the question.\n<context>\n{}\n</context>\n" + QUESTION,
    "label": "Use the following context.\n\nContext: {}\n\nQuestion: " + QUESTION,
    "paragraphs without marks": "{}\n\n" + QUESTION,
    "one line": "{} " + QUESTION,
}
_ORDERS = (
    "- Answer the question in one sentence and cite the sources.\n"
    "- Never guess; say that you do not know.\nBe friendly, and keep your reply short.\n"
)
_ORDERS_PIECES = 40
_KEYS_PIECES = 12


def prompts(n_context: int) -> dict[str, str]:
    """A prompt of each shape, with so many word pieces."""
    sources = corpus.synthesize(n_context, seed=0).sources
    found = {name: shape.format("\n\n".join(sources)) for name, shape in SHAPES.items()}
    found["one line"] = SHAPES["one line"].format(" ".join(" ".join(sources).split()))
    found["configuration"] = "services:\n" + "".join(
        f"  s{i}:\n    memory: {i}\n    context: ./x{i}\n" for i in range(n_context // _KEYS_PIECES)
    )
    return found | {"nothing but orders": _ORDERS * (n_context // _ORDERS_PIECES)}


def median_ms(prompt: str, n: int) -> float:
    """The median of ``n`` times, after one that does not count."""
    times = []
    for _ in range(n + 1):
        began = thread_time()
        divide(prompt, is_user=True)
        times.append((thread_time() - began) * 1000)
    return round(statistics.median(times[1:]), 2)


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--context", type=int, default=4000, help="word pieces of the prompt")
    parser.add_argument("--runs", type=int, default=31)
    options = parser.parse_args()
    found = prompts(options.context)
    times = {shape: median_ms(prompt, options.runs) for shape, prompt in found.items()}
    rows = [
        {"shape": shape, "n_chars": len(found[shape]), "median_ms": time}
        for shape, time in times.items()
    ]
    print(measure.table(rows, COLUMNS))
    slowest = max(times.values())
    bars = [measure.bar("dividing a prompt, slowest shape, median", BAR_MS, slowest, "ms")]
    measure.print_bars(bars)
    report = {"benchmark": "dividing", "machine": measure.machine(), "n_context": options.context}
    measure.write(options.out, report | {"rows": rows, "bars": bars})


if __name__ == "__main__":
    main()

"""How often a verdict changes when unrelated text is put around the evidence.

Labelled answers are judged twice: against their own sources, and against these with unrelated
documents shuffled in. A verdict flips when an answer is flagged one time and not the other.

Run it: ``python benchmarks/padding.py --data ragtruth/train.jsonl.gz --padding documents.jsonl.gz
--out benchmarks/results/padding.json``; ``--data`` is a labelled file that
``groundwire evaluate`` reads, ``--padding`` has rows with ``text``.
"""

import argparse
import gzip
import json
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import measure

from groundwire import Detector, Source
from groundwire.evaluation.datasets.choosing import choose
from groundwire.evaluation.datasets.files import NumberedAnswer, read_labelled
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.intervals import Bootstrap

#: Flips at most, in per cent of answers, at 50 KB.
BAR, BAR_AT_KB = 1, 50
_SEED = 0


def documents(path: Path, n: int) -> list[str]:
    """Some texts that are long enough and of characters that the reader reads."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line, _ in zip(lines, range(20 * n), strict=False)]
    return [text for text in texts if len(text) > 500 and text.isascii()][:n]


def padded(
    own: Sequence[Source], texts: Sequence[str], kilobytes: int, rng: random.Random
) -> list[Source]:
    """The sources among about so many kilobytes of other texts, in any order."""
    sources = [Source(text=source.text, title=source.title) for source in own]
    size = 0
    while size < kilobytes * 1000:
        text = rng.choice(texts)[: kilobytes * 1000 - size]
        sources.append(Source(text=text))
        size += len(text)
    rng.shuffle(sources)
    return sources


def flips(
    detector: Detector, answers: Sequence[LabelledAnswer], texts: Sequence[str], kilobytes: int
) -> dict[str, Any]:
    """Judge answers with and without padding."""
    rng = random.Random(_SEED)
    to_flagged, to_passed = [], []
    for answer in answers:
        example = answer.example
        plain, among = [
            bool(
                detector.detect(
                    sources=sources, answer=example.answer, question=example.question
                ).spans
            )
            for sources in (example.sources, padded(example.sources, texts, kilobytes, rng))
        ]
        to_flagged.append(among and not plain)
        to_passed.append(plain and not among)
    changed = [a or b for a, b in zip(to_flagged, to_passed, strict=True)]
    bootstrap = Bootstrap.of([answer.context_id for answer in answers])
    interval = bootstrap.of_sums(
        [(int(flip), 1) for flip in changed], lambda sums: sums[..., 0] / sums[..., 1]
    ).interval()
    return {
        "padding_kb": kilobytes,
        "n": len(answers),
        "to_flagged": sum(to_flagged),
        "to_passed": sum(to_passed),
        "share": round(sum(changed) / len(answers), 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
    }


def main() -> None:
    """Print the table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="labelled answers")
    parser.add_argument("--padding", type=Path, required=True, help="gzipped rows with a text")
    parser.add_argument("--model", help="folder of a reader; by default the embedded one")
    parser.add_argument("--n", type=int, default=300, help="answers, drawn at random")
    parser.add_argument("--kilobytes", type=int, nargs="+", default=[5, BAR_AT_KB])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    options = parser.parse_args()
    rows = choose(partial(read_labelled, options.data), limit=options.n)()
    answers = [row.answer for row in rows if isinstance(row, NumberedAnswer)]
    texts = documents(options.padding, 400)
    with Detector.load(options.model) as detector:
        rows = [flips(detector, answers, texts, size) for size in options.kilobytes]
        info = detector.info.to_dict()
    print(measure.table(rows, list(rows[0])))
    found = [row["share"] for row in rows if row["padding_kb"] == BAR_AT_KB]
    bars = [measure.bar("verdicts that flip under 50 KB", BAR, 100 * share, "%") for share in found]
    measure.print_bars(bars)
    report = {
        "benchmark": "padding",
        "machine": measure.machine(),
        "detector": info,
        "rows": rows,
        "bars": bars,
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()

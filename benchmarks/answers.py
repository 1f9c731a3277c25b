"""Answers a second: the reader, beside a pass of ModernBERT-base over the same rows.

A sample of labelled answers, some contexts at a time, both sides in turns: first
``groundwire evaluate``'s way through the reader, with nothing read before, so that each context is
read once for all its answers; then the classifier, one pass over context, question and answer for
each row, as published detectors do, in the fastest runtime of those in ``peers.py``. Its tokens are
counted with the reader's tokenizer, and its own tokenization costs it nothing. Needs the extra
``train``.

Run it: ``python benchmarks/answers.py --data answers.jsonl.gz --graphs GRAPHS
--out benchmarks/results/answers.json``
"""

import argparse
import statistics
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import corpus
import measure
import peers

from groundwire import Detector
from groundwire.evaluation.datasets.choosing import choose
from groundwire.evaluation.datasets.files import NumberedAnswer, read_labelled
from groundwire.evaluation.datasets.lines import fingerprints
from groundwire.evaluation.judged_row import Header
from groundwire.evaluation.run import run

BAR_PER_S = 8
#: What is passed over at most, in tokens, as LettuceDetect does.
LONGEST = 4096
COLUMNS = ("what", "answers", "contexts", "per_s", "q1", "q3")

Block = Sequence[NumberedAnswer]


def blocks(data: Path, *, limit: int, size: int) -> Iterator[Block]:
    """A sample of rows, so many contexts at a time."""
    read = choose(partial(read_labelled, data), limit=limit)
    rows = (row for row in read() if isinstance(row, NumberedAnswer))
    by_context = (list(group) for _, group in groupby(rows, lambda row: row.answer.context_id))
    while block := list(islice(by_context, size)):
        yield [row for group in block for row in group]


def read_s(block: Block, folder: Path, data: dict[str, str]) -> float:
    """Seconds in which the reader judges a block."""
    with Detector.load() as detector:
        header = Header(detector=detector.info, data=data)
        begin = perf_counter()
        run(detector, block, output=folder / "results.jsonl", header=header, replace=True)
        return perf_counter() - begin


def lengths(block: Block) -> list[int]:
    """Tokens of each row in one sequence."""
    pieces = corpus.word_pieces()
    texts = [
        (*(source.text for source in example.sources), example.question or "", example.answer or "")
        for example in (row.answer.example for row in block)
    ]
    return [min(LONGEST, 3 + sum(len(pieces.encode(each)) for each in row)) for row in texts]


def pass_s(peer: peers.Peer, block: Block) -> float:
    """Seconds in which a classifier passes over a block."""
    counted = lengths(block)
    begin = perf_counter()
    for n_tokens in counted:
        peer.call(n_tokens)
    return perf_counter() - begin


def fastest(graphs: Path, n_tokens: int) -> peers.Peer:
    """ModernBERT-base in the runtime that is fastest over so many tokens."""
    found = [
        each for each in peers.peers(graphs, n_positions=LONGEST) if each.model == peers.MODERNBERT
    ]
    for each in found:
        each.call(n_tokens)
        each.known[n_tokens] = statistics.median(each.pass_ms(n_tokens) for _ in range(3))
        print(f"{each.name}: {each.known[n_tokens]:,.0f} ms over {n_tokens:,} tokens")
    return min(found, key=lambda each: each.known[n_tokens])


def row(what: str, those: Sequence[Block], seconds: Sequence[float]) -> measure.Row:
    """Answers a second: of all, and quartiles of the blocks."""
    rates = measure.summary([len(b) / s for b, s in zip(those, seconds, strict=True)])
    return {
        "what": what,
        "answers": sum(map(len, those)),
        "contexts": len({each.answer.context_id for block in those for each in block}),
        "per_s": round(sum(map(len, those)) / sum(seconds), 2),
        "q1": rates["q1"],
        "q3": rates["q3"],
    }


def main() -> None:
    """Measure."""
    options = _options()
    those = list(blocks(options.data, limit=options.limit, size=options.contexts))
    counted = [n for block in those for n in lengths(block)]
    peer = fastest(options.graphs, round(statistics.median(counted)))
    ours, theirs, data = list[float](), list[float](), dict(fingerprints(options.data))
    with TemporaryDirectory() as folder:
        for block in those:
            ours.append(read_s(block, Path(folder), data))
            theirs.append(pass_s(peer, block))
    rows = [row("reader", those, ours), row(peer.name, those, theirs)]
    print(measure.table(rows, COLUMNS))
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    bars = [
        measure.bar("answers a second", BAR_PER_S, rows[0]["per_s"], "/s", at_least=True),
        measure.bar(
            f"the same, against {peer.name}", 1, statistics.median(ratios), "×", at_least=True
        ),
    ]
    measure.print_bars(bars)
    report = {
        "benchmark": "answers",
        "machine": measure.machine("torch", "transformers"),
        "settings": {"limit": options.limit, "contexts": options.contexts},
        "tokens": measure.summary(counted, digits=0),
        "rows": rows,
        "ratio": measure.summary(ratios),
        "bars": bars,
    }
    measure.write(options.out, report)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="labelled answers, by context")
    parser.add_argument("--limit", type=int, default=240, help="answers of the sample")
    parser.add_argument("--contexts", type=int, default=4, help="judged at a time")
    parser.add_argument("--graphs", type=Path, required=True, help="where those of peers are kept")
    parser.add_argument("--out", type=Path, help="write the results there")
    return parser.parse_args()


if __name__ == "__main__":
    main()

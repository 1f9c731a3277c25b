"""What repair makes of answers with exactly one wrong slot, and of right ones.

DATA is a file of slot-annotated answers: ``{{supported||hallucinated||kind}}``. Of each drawn
record one slot gets its hallucinated wording: one of kind ``conflict`` or, with ``--slots
sentence``, one that is a sentence of its own. The answer with none is right. How a repaired answer
compares with the right one, by words without inflection, and by values:

* ``equal``: the same words and values, whatever their order;
* ``equivalent``: all that the supported wording has and the wrong one lacks is there, all that only
  the wrong wording has is gone, but other words differ;
* ``removed``: the wrong wording is gone, and no word is there that the right answer lacks;
* ``part``: the right answer lacks only words of the wrong wording that were not replaced, so there
  is no new error: "a worker from London" for "a worker from Leeds", where "a journalist from
  London" is right;
* ``other``: words are there that neither the right answer nor the wrong one has. They may be new
  errors: the output has them, to be read;
* ``kept``: the wrong wording is still there, though the repaired answer counts as grounded.

Run it: ``python benchmarks/repair.py DATA --n 100 --out benchmarks/results/repair.json``
"""

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import measure

from groundwire import Detector, Repair, repair
from groundwire.detection.comparison.words import is_negation, words_of
from groundwire.evaluation.datasets.slots import MarkedAnswer, n_slots, render_slots
from groundwire.evaluation.intervals import wilson
from groundwire.text.quantities import quantities
from groundwire.text.segment import segment

KINDS = ("equal", "equivalent", "removed", "part", "other", "kept", "nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A record, and its answer with one wrong slot and with none."""

    record: Mapping[str, Any]
    wrong: MarkedAnswer
    right: str

    def repaired(self, detector: Detector, answer: str) -> Repair:
        """Repair an answer by the sources of the record."""
        context = self.record["context"]
        return repair(
            detector,
            sources=[context] if isinstance(context, str) else context,
            question=self.record.get("question"),
            answer=answer,
        )

    def is_flagged(self, result: Repair) -> bool:
        """Whether a span touches the wrong slot."""
        ((start, end, _),) = self.wrong.spans
        return any(span.start < end and start < span.end for span in result.before.spans)

    def has_same_text(self, result: Repair) -> bool:
        """Whether a repaired answer is the right one, but for spaces and the case of letters."""
        return " ".join(result.answer.lower().split()) == " ".join(self.right.lower().split())

    def kind(self, result: Repair) -> str:
        """How the repaired answer compares with the right one."""
        if result.after is None:
            return "nothing"
        found, right, wrong = map(words, (result.answer, self.right, self.wrong.text))
        missing, lost = (right - wrong) & (right - found), wrong - right
        if found == right:
            return "equal"
        if lost & (found - right) == lost and lost:
            return "kept"
        if not (found - right):
            return "removed" if missing else "equivalent"
        is_equivalent = right - wrong and not missing and not lost & (found - right)
        if is_equivalent:
            return "equivalent"
        return "other" if (found - right) - wrong else "part"


def words(text: str) -> Counter[object]:
    """Count the values and the stems of the content words of a text."""
    found: Counter[object] = Counter()
    rest, last = "", 0
    for value in quantities(text):
        rest, last = f"{rest}{text[last : value.start]} ", value.end
        number = round(value.value, 6) if isinstance(value.value, float) else value.value
        found[(number, value.unit)] += 1
    for word in words_of(rest + text[last:]):
        if word.is_content or is_negation(word.lower):
            found[word.stem] += 1
    return found


def is_conflict(made: MarkedAnswer) -> bool:
    """Whether the wrong slot of an answer contradicts the sources."""
    return bool(made.spans) and made.spans[0][2] == 2


def is_sentence(made: MarkedAnswer) -> bool:
    """Whether the wrong slot of an answer is most of a sentence that the sources do not support."""
    return any(
        min(end, part.end) - max(start, part.start) > 0.8 * (part.end - part.start)
        for start, end, label in made.spans
        for part in segment(made.text)
        if label == 1
    )


def cases(
    path: Path, rng: random.Random, is_wanted: Callable[[MarkedAnswer], bool]
) -> Iterator[Case]:
    """Yield a case of each record with a slot of the wanted kind, in random order."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    rng.shuffle(records)
    for record in records:
        answer = record["answer"]
        made = [render_slots(answer, frozenset({slot})) for slot in range(n_slots(answer))]
        if wanted := [each for each in made if is_wanted(each)]:
            right = render_slots(answer, frozenset()).text
            yield Case(record=record, wrong=rng.choice(wanted), right=right)


def share(n: int, of: int) -> str:
    """A share in per cent, with its 95 % interval."""
    if not of:
        return "-"
    around = wilson(n, of)
    return f"{n} of {of}, {100 * n / of:.1f} % ({100 * around.low:.1f} to {100 * around.high:.1f})"


def main() -> None:
    """Print the counts and each change, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="a file of slot-annotated answers")
    parser.add_argument("--slots", choices=("conflict", "sentence"), default="conflict")
    parser.add_argument("--n", type=int, default=1_000_000, help="records to draw")
    parser.add_argument("--minutes", type=float, default=1e9, help="draw no more after this time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operating-point", default="balanced", help="of the detector")
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    options = parser.parse_args()
    machine, began = measure.machine(), monotonic()
    detector = Detector.load(operating_point=options.operating_point)
    kinds: Counter[str] = Counter()
    changes: list[dict[str, Any]] = []
    n_drawn = n_right = n_marked = n_changed = n_same = 0
    is_wanted = is_sentence if options.slots == "sentence" else is_conflict
    for case in cases(options.data, random.Random(options.seed), is_wanted):
        if n_drawn == options.n or monotonic() - began > 60 * options.minutes:
            break
        n_drawn += 1
        ((start, end, _),) = case.wrong.spans
        for text in (case.wrong.text, case.right):
            result, is_right = case.repaired(detector, text), text == case.right
            if is_right:
                n_right += 1
                n_marked += bool(result.before.spans)
                n_changed += result.after is not None
                kind = "right"
            elif not case.is_flagged(result):
                continue
            else:
                kind = case.kind(result)
                kinds[kind] += 1
                n_same += case.has_same_text(result)
            if result.edits:
                changed = {
                    "id": case.record["id"],
                    "kind": kind,
                    "wrong": "" if is_right else case.wrong.text[start:end],
                    "flagged": [span.text for span in result.before.spans],
                    "edits": [[edit.old, edit.new] for edit in result.edits],
                }
                changes.append(changed)
                print(json.dumps(changed, ensure_ascii=False), flush=True)
    n_flagged = kinds.total()
    n_sent = n_flagged - kinds["nothing"]
    rows = {
        f"flagged, of slots of kind {options.slots}": share(n_flagged, n_drawn),
        "repaired to the supported text or an equivalent, by words": share(
            kinds["equal"] + kinds["equivalent"], n_flagged
        ),
        **{f"kind {kind}": share(kinds[kind], n_flagged) for kind in KINDS},
        "repairs sent": share(n_sent, n_flagged),
        "of these, with the text of the right answer": share(n_same, n_sent),
        "right answers flagged": share(n_marked, n_right),
        "right answers changed": share(n_changed, n_right),
    }
    print("\n".join(f"{name}: {value}" for name, value in rows.items()))
    report = {
        "benchmark": "repair",
        "machine": machine,
        "data": options.data.name,
        "slots": options.slots,
        "seed": options.seed,
        "detector": detector.info.to_dict(),
        "rows": rows,
        "counts": dict(kinds),
        "changes": changes,
    }
    measure.write(options.out, report)


if __name__ == "__main__":
    main()

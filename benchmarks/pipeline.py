"""What each stage of a check takes, at 4,000 word pieces of context, and what the gate saves.

A request carries tool results and is checked from its JSON to what is done about its answer: first
with evidence that was not seen before, then again, as when it was read while the model wrote.
Beside each stage stands what HaluGate's authors publish for it, on hardware they do not name.

Run it: ``python benchmarks/pipeline.py --out benchmarks/results/pipeline.json``
"""

import argparse
import json
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import corpus
import measure

from groundwire import Pipeline
from groundwire.config import parse
from groundwire.pipeline import CheckPath

#: P50 and P99 in milliseconds (https://blog.vllm.ai/2025/12/14/halugate.html).
PUBLISHED = {
    "gate": (12, 28),
    "parse": (1, 3),
    "detect": (45, 89),
    "explain": (18, 42),
    "total": (76, 162),
}
#: Share of prompts that need no check, as they found it in production.
NOT_FACTUAL = 0.35
_STAGES = {"gate": ("gate",), "parse": ("evidence",), "detect": ("index", "read")}
_NO_CHECK = (
    "Write a short poem about the {place} in autumn, with four lines and a rhyme.",
    "Write a Python function that sorts a list of names by their length.",
    "Translate into French: we look forward to seeing you at the {place} next week.",
    "Invent a funny name for a cat that lives near the {place}.",
)

COLUMNS = ("stage", "evidence", "n", "p50", "p99", "published_p50", "published_p99")

Body = Mapping[str, Any]


def conversation(seed: int, n_context: int) -> tuple[Body, Body]:
    """A request with tool results of so many word pieces, and the response to it."""
    sample = corpus.synthesize(n_context, seed=seed)
    calls = [{"id": f"call_{i}", "type": "function"} for i in range(len(sample.sources))]
    messages: list[Body] = [
        {"role": "user", "content": sample.question},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]
    messages += [
        {"role": "tool", "tool_call_id": f"call_{i}", "content": json.dumps({"text": source})}
        for i, source in enumerate(sample.sources)
    ]
    return {"messages": messages}, _response(sample.answer)


def no_check(seed: int, n_context: int) -> tuple[Body, Body]:
    """The same tool results and answer, to a prompt that needs no check."""
    request, response = conversation(seed, n_context)
    prompt = _NO_CHECK[seed % len(_NO_CHECK)].format(place="harbour")
    return {"messages": [{"role": "user", "content": prompt}, *request["messages"][1:]]}, response


def _response(answer: str) -> Body:
    message = {"role": "assistant", "content": answer}
    return {"choices": [{"index": 0, "message": message}]}


def cold_and_warm(pipeline: Pipeline, request: Body, response: Body) -> list[dict[str, float]]:
    """The stages of a request with new evidence, and those of the same request again."""
    return [stages(pipeline, request, response) for _ in range(2)]


def stages(pipeline: Pipeline, request: Body, response: Body) -> dict[str, float]:
    """Wall time of each stage, in milliseconds, and ``total`` of the whole call."""
    found: dict[str, float] = {}

    def whole() -> None:
        context = pipeline.open(request)
        checked = pipeline.check_response(context, response).answers[0]
        found.update(checked.timings_ms)
        found["is_checked"] = checked.path is CheckPath.CHECKED

    total = measure.milliseconds(whole)
    parts = {name: sum(found.get(k, 0.0) for k in keys) for name, keys in _STAGES.items()}
    return parts | {
        "explain": found.get("explain", 0.0),
        "total": total,
        "is_checked": found["is_checked"],
    }


def main() -> None:
    """Print the tables, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to write the numbers as JSON")
    parser.add_argument("--context", type=int, default=4000, help="word pieces of evidence")
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--patience", type=float, default=120, help=measure.PATIENCE)
    options = parser.parse_args()
    machine, quiet = measure.machine(), measure.Quiet(options.patience)
    without = parse("gate: {enabled: false}", name="without the gate", environ={})
    with Pipeline.load() as gated, Pipeline.load(without) as ungated:
        for pipeline in (gated, ungated):
            stages(pipeline, *conversation(0, options.context))
        seeds = range(1, options.requests + 1)
        found = [cold_and_warm(gated, *conversation(seed, options.context)) for seed in seeds]
        rows = _rows("new", (first for first, _ in found))
        rows += _rows("read before", (second for _, second in found))
        print(measure.table(rows, COLUMNS))
        mix = _mix(gated, ungated, seeds, options.context, quiet)
    print()
    print(measure.table([mix], tuple(mix)))
    report = {"benchmark": "pipeline", "machine": machine, "n_context": options.context}
    measure.write(options.out, report | {"rows": rows, "mix": mix} | quiet.to_dict())


def _rows(evidence: str, found: Iterable[Mapping[str, float]]) -> list[dict[str, Any]]:
    found = [each for each in found if each["is_checked"]]
    return [
        {
            "stage": stage,
            "evidence": evidence,
            "n": len(found),
            "p50": round(statistics.median(each[stage] for each in found), 2),
            "p99": round(measure.percentile([each[stage] for each in found], 0.99), 2),
            "published_p50": p50,
            "published_p99": p99,
        }
        for stage, (p50, p99) in PUBLISHED.items()
    ]


def _mix(
    gated: Pipeline,
    ungated: Pipeline,
    seeds: Sequence[int],
    n_context: int,
    quiet: measure.Quiet,
) -> dict[str, Any]:
    """Mean cost of a request with and without the gate, request by request in turn."""
    n_free = round(NOT_FACTUAL * len(seeds))
    is_free = random.Random(0).sample([True] * n_free + [False] * (len(seeds) - n_free), len(seeds))
    costs: dict[str, list[float]] = {"with_gate": [], "without_gate": []}
    n_skipped = 0
    for seed, needs_none in zip(seeds, is_free, strict=True):
        bodies = (no_check if needs_none else conversation)(seed + 10_000, n_context)
        for name, pipeline in (("with_gate", gated), ("without_gate", ungated)):
            found = quiet.run(lambda p=pipeline, b=bodies: stages(p, *b))  # type: ignore[misc]
            costs[name].append(found["total"])
            n_skipped += name == "with_gate" and not found["is_checked"]
    means = {name: round(statistics.mean(values), 2) for name, values in costs.items()}
    return {
        "n": len(seeds),
        "not_factual": n_free,
        "skipped": n_skipped,
        **{f"{name}_ms": value for name, value in means.items()},
        "share": round(means["with_gate"] / means["without_gate"], 3),
    }


if __name__ == "__main__":
    main()

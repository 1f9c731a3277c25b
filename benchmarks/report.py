"""Write the tables of ``README.md`` from ``results/*.json``, so that the two cannot differ.

Run it: ``python benchmarks/report.py``; with ``--check`` it changes nothing and tells by its exit
status whether the page is what the results say.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_PART = re.compile(
    r"(<!-- generated: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL | re.MULTILINE
)
Report = Mapping[str, Any]


class NotMeasuredError(Exception):
    """A part of a result is not there; the message says what measures it."""


def render(page: str, results: Mapping[str, Report]) -> str:
    """The page with all generated parts anew.

    Raises:
        ValueError: If a part has no name that we know, or has no result.
    """

    def part(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in _PARTS:
            raise ValueError(f"{name!r} is no part; it must be one of {', '.join(_PARTS)}")
        try:
            text = _PARTS[name](results)
        except KeyError as error:
            text = f"Not measured yet: there is no results/{error.args[0]}.json."
        except NotMeasuredError as error:
            text = f"Not measured yet: {error}."
        return f"{found[1]}\n{text}\n\n{found[3]}"

    return _PART.sub(part, page)


def _machines(results: Mapping[str, Report]) -> str:
    rows = [
        (
            name,
            f"{machine['date']} UTC",
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']:.0f} GB",
            ", ".join(f"{k} {v}" for k, v in _versions(machine).items()),
            result.get("repeated", "–"),
            result.get("disturbed", "–"),
        )
        for name, result in results.items()
        if "machine" in result  # counts of cases depend on no machine
        for machine in [result["machine"]]
    ]
    return _table(("script", "when", "machine", "with", "repeated", "disturbed"), rows)


def _versions(machine: Mapping[str, Any]) -> dict[str, str]:
    return {"Python": machine["python"], **machine["versions"]}


def _bars(results: Mapping[str, Report]) -> str:
    order = (
        *("stream", "gateway_streams", "gateway", "joint", "startup", "gate", "dividing", "memory"),
        *("spans", "padding", "verify", "answers", "evaluate_memory"),
        *("audit_writes", "audit_beside", "audit_kills", "serve_kills", "audit_queries"),
        "console",
    )
    rows = [
        (bar["what"], bar["bar"], bar["measured"] or "–", bar["holds"], f"`{name}.py`")
        for name in order
        for bar in results.get(name, {}).get("bars", ())
    ]
    return _table(("what", "bar", "measured", "holds", "by"), rows)


def _answers(results: Mapping[str, Report]) -> str:
    result = results["answers"]
    keys = ("what", "answers", "contexts", "per_s", "q1", "q3")
    table = _cells(
        ("what", "answers", "contexts", "answers a second", "Q1", "Q3"), result["rows"], keys
    )
    return f"{table}\n\nTimes faster, block by block: {_spread(result['ratio'])}."


def _audit_writes(results: Mapping[str, Report]) -> str:
    keys = ("database", "durability", "callers", "per_s", "cpu_us", "p50_ms", "p99_ms", "cpu_share")
    header = (
        *("database", "durability", "callers", "events a second", "processor time of one, µs"),
        *("P50, ms", "P99", "% of a processor"),
    )
    return _cells(header, results["audit_writes"]["rows"], keys)


def _audit_beside(results: Mapping[str, Report]) -> str:
    result = results["audit_beside"]
    keys = ("server", "case", "n", "p50", "p90", "p99", "max")
    streams = _cells(("writer", "streams", "n", "P50", "P90", "P99", "max"), result["rows"], keys)
    keys = ("round", "seconds", "per_s", "most_waiting", "cpu_share")
    header = ("round", "seconds", "events a second", "waiting at most", "% of a processor")
    return f"{streams}\n\n{_cells(header, result['writer'], keys)}"


def _audit_kills(results: Mapping[str, Report]) -> str:
    header = ("killed", "database", "kills", "promised", "in the trail", "lost", "trail")
    rows = [
        (
            *(killed, row["database"], row["kills"], f"{row[promised]:,}", f"{row[kept]:,}"),
            *(row["lost"], row["trail"]),
        )
        for killed, name, promised, kept in (
            ("a writer", "audit_kills", "promised", "kept"),
            ("the gateway", "serve_kills", "responses", "recorded"),
        )
        for row in results.get(name, {}).get("rows", ())
    ]
    return _table(header, rows)


def _audit_queries(results: Mapping[str, Report]) -> str:
    result = results["audit_queries"]
    rows = [
        (
            row["what"],
            row["events"],
            *(f"{row[key]:,.1f}" for key in ("p50", "p95", "max")),
            *(f"{other[key]:,.1f}" for key in ("p50", "p95")),
        )
        for row, other in zip(result["postgresql"]["rows"], result["sqlite"]["rows"], strict=True)
    ]
    note = (
        f"{result['records']:,} events, {result['postgresql']['version']}, "
        f"SQLite {result['sqlite']['version']}."
    )
    header = ("asked for", "events", "P50, ms", "P95", "max", "SQLite, P50", "P95")
    return f"{note}\n\n{_table(header, rows)}"


def _gateway_streams(results: Mapping[str, Report]) -> str:
    rows = [
        (
            row["what"].removeprefix("one stream, "),
            row["streams"],
            row["n"],
            *(f"{row[key]:,.0f}" for key in ("p50", "p90", "p99", "max")),
        )
        for row in results["gateway_streams"]["rows"]
    ]
    return _table(("sources", "streams", "answers", "P50, ms", "P90", "P99", "max"), rows)


def _stream(results: Mapping[str, Report]) -> str:
    words = {
        "added_ms": "**added after the last token**",
        "last_feed_ms": "of it, from the last `feed()` on",
        "open_ms": "opening the stream",
        "feed_ms": "all `feed()` calls together",
    }
    result = results["stream"]
    by_name = {row["what"]: row for row in result["rows"]}
    rows = [
        (
            text,
            *(_number(by_name[name][key]) for key in ("median", "q1", "q3", "p90", "p99", "max")),
        )
        for name, text in words.items()
    ]
    note = (
        f"{by_name['added_ms']['n']} streams of {result['answer_tokens']['median']:g} tokens and "
        f"{result['claims']['median']:g} claims (medians); "
        f"{result['second_looks']:.0%} of the claims were read twice."
    )
    return note + "\n\n" + _table(("ms", "P50", "q1", "q3", "P90", "P99", "max"), rows)


def _joint(results: Mapping[str, Report]) -> str:
    ours = results["joint"]["ours"]
    models = [key for key, value in ours[0].items() if isinstance(value, dict)]
    rows = [
        (
            f"{row['context']:,}",
            row["case"],
            _spread(row),
            f"{row['second_looks']:.0%}",
            *(_times(row[model]) for model in models),
        )
        for row in ours
    ]
    header = ("context", "sources", "`detect()`, ms", "read twice")
    return _table((*header, *(f"times less than {model}" for model in models)), rows)


def _times(ratio: Mapping[str, Any]) -> str:
    if "median" not in ratio:
        return f"about {_number(ratio['estimated'])} × (estimated)"
    spread = f" ({_number(ratio['q1'])}–{_number(ratio['q3'])})" if ratio["n"] > 1 else ""
    return f"**{_number(ratio['median'])} ×**{spread}, {ratio['best']}, n = {ratio['n']}"


def _peers(results: Mapping[str, Report]) -> str:
    peers = results["joint"]["peers"]
    lengths = list(dict.fromkeys(row["context"] for row in peers))
    names = list(dict.fromkeys((row["model"], row["runtime"]) for row in peers))
    by_place = {(row["model"], row["runtime"], row["context"]): row for row in peers}
    rows = []
    for name in names:
        found = (by_place[(*name, length)] for length in lengths)
        cells = (
            f"not run: {row['not_run']}" if row["not_run"] else f"{_spread(row)}, n = {row['n']}"
            for row in found
        )
        rows.append((", ".join(name), *cells))
    return _table(("ms a pass", *(f"{length:,} tokens" for length in lengths)), rows)


def _context(results: Mapping[str, Report]) -> str:
    words = {
        "index_first": "opening, new sources",
        "index_again": "opening, known sources",
        "read_first": "a sentence, first time",
        "read_one_look": "a sentence, one look",
        "read_two_looks": "a sentence, two looks",
    }
    times = results["context"]["times"]
    rows = [
        (row["context"], *(_spread(row[what]) if what in row else "–" for what in words))
        for row in times
    ]
    return _table(("ms", *words.values()), rows)


def _flat(results: Mapping[str, Report]) -> str:
    rows = [
        (row["what"], f"{row['median']:.2f} × ({row['q1']:.2f}–{row['q3']:.2f}), n = {row['n']}")
        for row in results["context"]["flat"]
    ]
    return _table(("", "100,000 tokens over 4,000"), rows)


def _context_memory(results: Mapping[str, Report]) -> str:
    words = {
        "index_mb": "kept by an open request",
        "index_peak_mb": "at most while opening",
        "judging_peak_mb": "at most while judging",
    }
    rows = [
        (row["context"], *(_number(row[what]) for what in words))
        for row in results["context"]["memory"]
    ]
    return _table(("MB", *words.values()), rows)


def _startup(results: Mapping[str, Report]) -> str:
    rows = [(row["what"], _spread(row), row["n"]) for row in results["startup"]["rows"]]
    return _table(("", "ms", "n"), rows)


def _memory(results: Mapping[str, Report]) -> str:
    rows = [(row["step"], _spread(row), row["n"]) for row in results["memory"]["rows"]]
    return _table(("resident", "MB", "n"), rows)


def _disk(results: Mapping[str, Report]) -> str:
    rows = [(row["part"], _number(row["mb"])) for row in results["memory"]["disk"]]
    return _table(("largest folders of the base install", "MB"), rows)


def _breakdown(results: Mapping[str, Report]) -> str:
    result = results["breakdown"]
    cold = {row["stage"]: row for row in result["cold"]}
    warm = {row["stage"]: row for row in result["warm"]}
    rows = []
    for stage in cold:
        indent = len(stage) - len(stage.lstrip())
        name = "&nbsp;" * indent + stage.strip()
        cells = (_number(kind[stage]["ms"]) for kind in (warm, cold))
        rows.append((name, *cells))
    return _table(("one thread, ms", "warm", "cold"), rows)


def _pipeline(results: Mapping[str, Report]) -> str:
    rows = [
        (
            row["stage"],
            row["evidence"],
            *(_number(row[key]) for key in ("p50", "p99", "published_p50", "published_p99")),
        )
        for row in results["pipeline"]["rows"]
    ]
    return _table(("ms", "evidence", "P50", "P99", "theirs, P50", "theirs, P99"), rows)


def _gate_saves(results: Mapping[str, Report]) -> str:
    mix = results["pipeline"]["mix"]
    return (
        f"{mix['n']} requests, {mix['not_factual']} of them with nothing to check, of which the "
        f"gate recognised {mix['skipped']}: {_number(mix['with_gate_ms'])} ms a request with it, "
        f"{_number(mix['without_gate_ms'])} ms without ({mix['share']:.2f} ×)."
    )


def _spans(results: Mapping[str, Report]) -> str:
    keys = ("n_tokens", "n_flagged", "n_spans", "fast_us", "plain_us", "ratio")
    header = ("tokens", "flagged", "spans", "fast, µs", "plain, µs", "times faster")
    return _table(header, [[row[key] for key in keys] for row in results["spans"]["rows"]])


def _gate(results: Mapping[str, Report]) -> str:
    header = ("prompt", "word pieces", "threads", "P50 (q1–q3), ms", "quietest, ms", "CPU, ms")
    rows = [
        (
            f"{row['what']}…",
            row["word_pieces"],
            row["threads"],
            _spread(row),
            _number(row["quietest"]),
            _number(row["cpu"]),
        )
        for row in results["gate"]["rows"]
    ]
    return _table(header, rows)


def _similarity(results: Mapping[str, Report]) -> str:
    header = ("characters", "texts", "threads", "s", "CPU, s")
    rows = [
        (
            f"{row['characters']:,}",
            f"{row['texts']:,}",
            row["threads"],
            _spread(row),
            _number(row["cpu_s"]),
        )
        for row in results["similarity"]["rows"]
    ]
    return _table(header, rows)


def _padding(results: Mapping[str, Report]) -> str:
    header = ("padding", "answers", "passed → flagged", "flagged → passed", "flips (95 %)")
    rows = [
        (
            f"{row['padding_kb']} KB",
            row["n"],
            row["to_flagged"],
            row["to_passed"],
            f"{row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%})",
        )
        for row in results["padding"]["rows"]
    ]
    return _table(header, rows)


def _explainer(results: Mapping[str, Report]) -> str:
    header = ("answers, P(entailed) that drops", "n", "precision", "recall", "F1", "characters, F1")
    rows = [
        (
            row["what"],
            row["n"],
            row["answers precision"],
            row["answers recall"],
            row["answers f1"],
            row["characters f1"],
        )
        for row in results["explainer"]["rows"]
    ]
    return _table(header, rows)


def _findings(results: Mapping[str, Report]) -> str:
    rows = [
        (
            row["what"],
            row["spans"],
            row["marked by people"],
            row["dropped"],
            row["dropped, marked"],
            ", ".join(f"{severity}: {n}" for severity, n in row["severity"].items()),
        )
        for row in results["explainer"]["categories"]
    ]
    header = ("category", "spans", "right", "dropped", "dropped, and right", "severities")
    return _table(header, rows)


def _gateway_overhead(results: Mapping[str, Report]) -> str:
    part = _part(results, "overhead")
    rows = [
        (
            row["server"],
            row["answer"],
            row["n"],
            _number(row["p50_ms"]),
            "–" if "added_p50_ms" not in row else _added(row),
            "–" if "added_p99_ms" not in row else _number(row["added_p99_ms"]),
        )
        for row in part["rows"]
    ]
    header = ("server", "answer", "n", "P50, ms", "added, P50 (q1–q3), ms", "added, P99, ms")
    return f"{_against(part)}\n\n{_table(header, rows)}"


def _added(row: Mapping[str, Any]) -> str:
    numbers = (_number(row[key]) for key in ("added_p50_ms", "q1", "q3"))
    return "{} ({}–{})".format(*numbers)


def _gateway_load(results: Mapping[str, Report]) -> str:
    part = _part(results, "load")
    keys = ("server", "answer", "connections", "n", "per_s", "p50_ms", "p99_ms", "errors")
    header = ("server", "answer", "connections", "n", "a second", "P50, ms", "P99, ms", "errors")
    return f"{_against(part)}\n\n{_cells(header, part['rows'], keys)}"


def _gateway_added(results: Mapping[str, Report]) -> str:
    keys = ("server", "case", "n", "p50", "p90", "p99", "max", "token_p50", "token_p99")
    header = ("action", "case", "n", "P50", "P90", "P99", "max", "a token, P50", "a token, P99")
    return _cells(header, _part(results, "added")["rows"], keys)


def _gateway_memory(results: Mapping[str, Report]) -> str:
    part = _part(results, "memory")
    rows, grown = part["rows"], part["growth"]
    note = (
        f"Median of the second quarter {_number(grown['settled_mb'])} MB, of the last "
        f"{_number(grown['last_mb'])} MB ({grown['share']:+.1%}); a line through all after the "
        f"first quarter rises by {grown['mb_per_1000']:+.2f} MB in 1,000 requests."
    )
    keys = ("after", "rss_mb", "files", "threads")
    header = ("requests", "resident, MB", "open files", "threads")
    return f"{note}\n\n{_cells(header, rows[:: max(1, len(rows) // 10)], keys)}"


def _gateway_leaving(results: Mapping[str, Report]) -> str:
    names = ("files", "threads", "groundwire_in_flight", "groundwire_audit_queue_depth")
    rows = [
        (
            row["server"],
            row["clients"],
            *(f"{row['before'][name]:g} → {row['after'][name]:g}" for name in names),
            f"{row['upstream']['left']} of {row['upstream']['begun']}",
            f"{row['quiet_after_s']:g}",
        )
        for row in _part(results, "leaving")["rows"]
    ]
    header = (
        *("action", "clients", "open files", "threads", "in flight", "audit queue"),
        *("streams that the upstream saw end early", "quiet after, s"),
    )
    return _table(header, rows)


def _part(results: Mapping[str, Report], name: str) -> Report:
    found: Report | None = results["gateway"]["parts"].get(name)
    if found is None:
        raise NotMeasuredError(f"gateway.py --parts {name}")
    return found


def _against(part: Report) -> str:
    if part.get("litellm") is None:
        return "LiteLLM was not there to be measured."
    return f"LiteLLM is version {part['litellm']}, with one worker, a master key and no database."


def _cells(header: Sequence[str], rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    def cell(value: object) -> str:
        if isinstance(value, float):
            return _number(value)
        return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)

    return _table(header, [[cell(row.get(key)) for key in keys] for row in rows])


def _verify(results: Mapping[str, Report]) -> str:
    header = ("25 claims, 10 spans", "seconds", "CPU, s", "texts read", "sentences read")
    rows = [
        (row["what"], _spread(row), row["cpu_s"], row["texts_read"], row["sentences_read"])
        for row in results["verify"]["rows"]
    ]
    llm = [
        (row["what"], row["calls"], f"{row['prompt_tokens']:,}", row["written_tokens"])
        for row in results["verify"]["llm"]
    ]
    told = _table(("an LLM, for the same answer", "calls", "tokens read", "tokens written"), llm)
    return f"{_table(header, rows)}\n\n{told}"


def _citations(results: Mapping[str, Report]) -> str:
    parts = []
    for name in ("validation", "train"):
        found = results["citations"][name]
        rows = [
            (
                row["label"],
                row["n"],
                _per_cent(row["right"]),
                _per_cent(row["precision"]),
                row["spans named"],
                ", ".join(f"{label} {n}" for label, n in row["taken for"].items()) or "–",
            )
            for row in found["rows"]
        ]
        share, mean = _per_cent(found["right"]), 100 * found["mean over labels"]
        header = (name, "n", "found, %", "right of those said, %", "spans named", "taken for")
        parts.append(
            f"{_table(header, rows)}\n\nRight: {share} % of {found['n']} sentences of "
            f"{found['contexts']} answers; mean over labels {mean:.0f} %."
        )
    return "\n\n".join(parts)


def _planted(results: Mapping[str, Report]) -> str:
    rows = [
        (row["planted"], f"{row['falls']} of {row['right']}", f"{row['rises']} of {row['wrong']}")
        for row in results["citations"]["planted"]
    ]
    return _table(("at the end of a span", "right claims that fall", "wrong ones that rise"), rows)


def _claims(results: Mapping[str, Report]) -> str:
    header = (
        "set, test part",
        "n (validation)",
        "not supported",
        "AUROC",
        "balanced accuracy",
        "the same at 0.95",
        "supported, wrong passing at 0.95",
    )
    rows = [
        (
            row["set"],
            f"{row['n']} ({row['n_validation']})",
            row["wrong"],
            _per_cent(row["auroc"], digits=1),
            _per_cent(row["balanced_accuracy"], digits=1),
            _per_cent(row["at_target"], digits=1),
            f"{row['supported_passing']:.0%}, {row['wrong_passing']:.0%}",
        )
        for row in results["claims"]["rows"]
    ]
    published = [
        (group["what"], ", ".join(f"{name} {value:g}" for name, value in group["numbers"].items()))
        for group in results["claims"]["published"]
    ]
    return f"{_table(header, rows)}\n\n{_table(('published, on other rows', ''), published)}"


def _evaluate_memory(results: Mapping[str, Report]) -> str:
    keys = ("rows", "peak_mb", "seconds")
    return _cells(("rows", "peak, MB", "seconds"), results["evaluate_memory"]["rows"], keys)


def _per_cent(interval: Mapping[str, float], digits: int = 0) -> str:
    value, low, high = (100 * interval[name] for name in ("value", "low", "high"))
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


_PARTS: dict[str, Callable[[Mapping[str, Report]], str]] = {
    "machines": _machines,
    "bars": _bars,
    "stream": _stream,
    "gateway_streams": _gateway_streams,
    "joint": _joint,
    "peers": _peers,
    "context": _context,
    "flat": _flat,
    "context_memory": _context_memory,
    "startup": _startup,
    "memory": _memory,
    "disk": _disk,
    "breakdown": _breakdown,
    "pipeline": _pipeline,
    "gate_saves": _gate_saves,
    "spans": _spans,
    "gate": _gate,
    "similarity": _similarity,
    "padding": _padding,
    "explainer": _explainer,
    "findings": _findings,
    "gateway_overhead": _gateway_overhead,
    "gateway_load": _gateway_load,
    "gateway_added": _gateway_added,
    "gateway_memory": _gateway_memory,
    "gateway_leaving": _gateway_leaving,
    "answers": _answers,
    "audit_writes": _audit_writes,
    "audit_beside": _audit_beside,
    "audit_kills": _audit_kills,
    "audit_queries": _audit_queries,
    "verify": _verify,
    "citations": _citations,
    "planted": _planted,
    "claims": _claims,
    "evaluate_memory": _evaluate_memory,
}


def _spread(row: Mapping[str, Any]) -> str:
    if row["n"] < 2:
        return _number(row["median"])
    return f"{_number(row['median'])} ({_number(row['q1'])}–{_number(row['q3'])})"


def _number(value: float) -> str:
    """Three digits, for more is noise."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines: Iterator[Sequence[object]] = iter((header, ["---"] * len(header), *rows))
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def main() -> int:
    """Write the page, or tell whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, default=HERE / "README.md")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    results = {
        path.stem: json.loads(path.read_text("utf-8"))
        for path in sorted(options.results.glob("*.json"))
    }
    page = options.page.read_text("utf-8")
    rendered = render(page, results)
    if options.check:
        print("up to date" if rendered == page else f"{options.page.name} is not what results say")
        return int(rendered != page)
    options.page.write_text(rendered, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

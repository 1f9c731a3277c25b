"""The console's first page: counts of answers, durations of checks, and the gateway's health."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from groundwire.control.activity import AnswerCount
from groundwire.control.store import StoreError
from groundwire.detection.values import Outcome
from groundwire.gateway.console.audit import chain_state
from groundwire.gateway.console.budget import budget_states
from groundwire.gateway.console.charts import ranges, stacked
from groundwire.gateway.console.visit import HOME, Visit, screen
from groundwire.gateway.middleware.health import readiness_report
from groundwire.policy.policy import Action

#: The periods that the page can show: name → seconds of the period, seconds of one bar, the period
#: in words, and the format of the times below the bars.
_WINDOWS = {
    "24h": (86_400, 3600, "24 hours", "%H:%M"),
    "7d": (7 * 86_400, 6 * 3600, "7 days", "%d %b %Hh"),
    "30d": (30 * 86_400, 86_400, "30 days", "%d %b"),
}

#: Look of a bar (see :class:`.Box`) → the outcomes that the bar counts. In a column, the bar with
#: the first look is lowest.
_LOOKS = {
    "grounded": (Outcome.GROUNDED, Outcome.SKIPPED),
    "incomplete": (Outcome.PARTIAL, Outcome.UNVERIFIED, Outcome.UNAVAILABLE),
    "hallucinated": (Outcome.HALLUCINATED,),
}

#: The order of the durations on the page: the stages of a check, ``other`` for further stages, and
#: ``added`` for the time that a client waits for the check.
_STAGES = ("evidence", "gate", "decide", "index", "read", "explain", "other", "added")

#: Highest number of rows in a table of tenants, models or actions.
_MAX_ROWS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Numbers of answers by outcome, and of blocked answers, for example of one tenant."""

    name: str
    outcomes: Counter[str]
    n_blocked: int

    @classmethod
    def of(cls, name: str, counts: Iterable[AnswerCount]) -> "Tally":
        """Return the sum of counts as a tally with this name."""
        outcomes: Counter[str] = Counter()
        n_blocked = 0
        for each in counts:
            outcomes[each.outcome] += each.n
            n_blocked += each.n if each.action == Action.BLOCK else 0
        return cls(name=name, outcomes=outcomes, n_blocked=n_blocked)

    @property
    def n(self) -> int:
        """Number of all answers."""
        return self.outcomes.total()

    @property
    def n_hallucinated(self) -> int:
        """Number of answers with the outcome ``hallucinated``."""
        return self.outcomes[Outcome.HALLUCINATED]


async def _overview(visit: Visit) -> Response:
    name = visit.query.get("window", "")
    name = name if name in _WINDOWS else "24h"
    length_s, step_s, words, form = _WINDOWS[name]
    since = int(time.time()) // step_s * step_s + step_s - length_s
    asked = {key: visit.query.get(key, "")[:128] for key in ("tenant", "model", "action")}
    activity = visit.control.activity
    with suppress(StoreError):  # if writing fails, the page shows the counts stored before
        await activity.write()
    found, unsorted, trend = await asyncio.gather(
        activity.totals(since),
        activity.times(since),
        activity.trend(since, step_s=step_s, only=asked),
    )
    mine = [each for each in found if _matches(each, asked)]
    times = sorted(unsorted, key=lambda each: _place(each.stage))
    starts = range(since, since + length_s, step_s)
    labels = [datetime.fromtimestamp(start, UTC).strftime(form) for start in starts]
    bars = [_bars(each for each in trend if each.start == start) for start in starts]
    columns = [*zip(labels, bars, strict=True)]
    return visit.page(
        "overview",
        window=name,
        windows=_WINDOWS,
        words=words,
        asked=asked,
        choices={key: sorted({getattr(each, key) for each in found}) for key in asked},
        total=Tally.of("", mine),
        columns=columns,
        looks=list(_LOOKS),
        trend=stacked(columns, list(_LOOKS)),
        tables={each.capitalize(): _tallies(mine, each) for each in asked},
        times=times,
        latency=ranges([(x.stage, x.p50_ms, x.p99_ms) for x in times], unit="ms"),
        health=[
            *_health(readiness_report(visit.own.readiness)),
            chain_state(visit),
            *await budget_states(visit),
        ],
    )


def _place(stage: str) -> int:
    return _STAGES.index(stage) if stage in _STAGES else len(_STAGES)


def _matches(count: AnswerCount, asked: dict[str, str]) -> bool:
    return all(not value or getattr(count, key) == value for key, value in asked.items())


def _bars(counts: Iterable[AnswerCount]) -> dict[str, int]:
    tally = Tally.of("", counts)
    return {look: sum(tally.outcomes[each] for each in own) for look, own in _LOOKS.items()}


def _tallies(counts: Iterable[AnswerCount], by: str) -> list[Tally]:
    """Sum counts by the attribute ``by``, and return the first ``_MAX_ROWS`` sums.

    The sums are in descending order of hallucinated answers, then of all answers.
    """
    groups: dict[str, list[AnswerCount]] = {}
    for each in counts:
        groups.setdefault(getattr(each, by), []).append(each)
    tallies = [Tally.of(name, own) for name, own in groups.items()]
    return sorted(tallies, key=lambda each: (-each.n_hallucinated, -each.n))[:_MAX_ROWS]


def _health(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield name, state and detail of parts of the gateway, then warnings in the same form."""
    models, store, audit = report["models"], report.get("store", {}), report.get("audit", {})
    yield "Model", models["status"], models.get("detector", models.get("error", ""))
    yield "Store", store.get("status", "unknown"), store.get("problem") or ""
    n_waiting = audit.get("waiting", 0)
    waiting = f"{n_waiting:,} records wait to be written" if n_waiting else ""
    yield "Audit trail", audit.get("status", "unknown"), waiting
    for each in report.get("upstreams", ()):
        yield f"Upstream {each['name']}", each["status"], ""
    for each in report.get("warnings", ()):
        yield "Warning", each["code"], each["message"]


routes = [Route(path, screen(_overview)) for path in (HOME, f"{HOME}/")]

"""Counts answers, and the durations of checks, in the store.

The audit trail has no event for most grounded answers, so the share of each outcome cannot be read
from the trail. All processes add their counts to the same rows.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, log
from typing import Any, TypeAlias

from sqlalchemy import BigInteger, Select, Table, and_, cast, delete, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.store import Store, StoreError
from groundwire.control.store.tables import activity, check_times
from groundwire.pipeline import Checked

#: Length in seconds of the stretch of time that a new row covers: an hour.
SLOT_S = 3600

#: Rows that are older than this number of seconds are removed.
KEPT_S = 400 * 86_400

DAY_S = 86_400
#: Pairs of an age and a length in seconds: rows older than the age are merged into rows that cover
#: stretches of the length, so that a page of the console reads few rows. Stretches begin at
#: multiples of their length since 1970.
_ROLLED_UP = ((26 * SLOT_S, 6 * SLOT_S), (8 * DAY_S, DAY_S))

#: Limit on the models that are counted separately between two writes; further models are counted
#: together. Without this limit, clients, who choose the names of models, could make any number of
#: rows.
_MAX_MODELS = 100
_OTHER = "(other)"

#: Durations are counted by range. The first range ends at ``_SHORTEST_MS`` milliseconds; each
#: further range ends at ``_GROWTH`` times the end of the range before it.
_SHORTEST_MS, _GROWTH = 0.05, 1.25

_Key: TypeAlias = tuple[int | str, ...]

#: SQL expression for a sum of numbers of answers; cast, because PostgreSQL's sums are decimals.
_SUM = cast(func.sum(activity.c.n), BigInteger).label("n")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCount:
    """The number of answers with the same stretch of time, tenant, model, outcome and action.

    Attributes:
        start: The beginning of the stretch, in seconds since 1970.
        tenant: The tenant; empty in results of :meth:`Activity.trend`.
        model: The model that the client named; ``(other)`` for the models beyond
            :data:`_MAX_MODELS`. Empty if the client named none, and in results of
            :meth:`Activity.trend`.
        action: The action that was taken, such as ``flag``.
        n: The number of answers.
    """

    start: int
    tenant: str = ""
    model: str = ""
    outcome: str
    action: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTimes:
    """The durations of a stage of checks. Percentiles above 0.05 ms are off by up to an eighth.

    Attributes:
        stage: The name of the stage; ``added`` for the time that clients waited for checks.
        n: The number of durations.
        p50_ms: The median in milliseconds.
        p99_ms: The 99th percentile in milliseconds.
    """

    stage: str
    n: int
    p50_ms: float
    p99_ms: float


class Activity:
    """Counts the answers and durations of one process, and reads the counts of all processes.

    All methods must be called in the same event loop.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts: dict[Table, Counter[_Key]] = {activity: Counter(), check_times: Counter()}
        self._models: set[str] = set()
        self._rolled_up_at = 0

    def answered(self, answers: Sequence[Checked], *, model: str) -> None:
        """Count the answers of one response; ``model`` is the model that the client named."""
        if model not in self._models and len(self._models) >= _MAX_MODELS:
            model = _OTHER
        self._models.add(model)
        for each in answers:
            result = (each.context.tenant, model, str(each.outcome), str(each.action))
            self._counts[activity][_slot(), *result] += 1

    def took(self, stage: str, ms: float) -> None:
        """Count the time that one stage of a check took, or that a client waited for a check."""
        self._counts[check_times][_slot(), stage, _range_of(ms)] += 1

    async def write(self) -> None:
        """Store the counts since the last write; once an hour, also merge and remove old rows.

        Raises:
            StoreError: If the database fails; the counts are kept for the next write.
        """
        counts = {table: found for table, found in self._counts.items() if found}
        if not counts and self._rolled_up_at == _slot():
            return
        self._counts |= {table: Counter() for table in counts}
        self._models.clear()
        try:
            async with self._store.writing() as connection:
                for table, found in counts.items():
                    await self._add(connection, table, found)
                if self._rolled_up_at != _slot():
                    for table in self._counts:
                        await self._roll_up(connection, table)
        except (StoreError, asyncio.CancelledError):
            for table, found in counts.items():
                self._counts[table].update(found)
            raise
        self._rolled_up_at = _slot()

    async def _add(
        self, connection: AsyncConnection, table: Table, found: Mapping[_Key, int]
    ) -> None:
        adding = self._store.insert(table)
        names = [column.name for column in table.primary_key]
        both = {"n": table.c.n + adding.excluded.n}
        # All processes write rows in the same order, so that they cannot deadlock.
        rows = [dict(zip(names, key, strict=True)) | {"n": n} for key, n in sorted(found.items())]
        await connection.execute(
            adding.on_conflict_do_update(index_elements=names, set_=both), rows
        )

    async def _roll_up(self, connection: AsyncConnection, table: Table) -> None:
        """Remove rows that are too old; merge other old rows into rows for longer stretches."""
        await connection.execute(delete(table).where(table.c.slot < _slot() - KEPT_S))
        names = [column.name for column in table.primary_key if column.name != "slot"]
        for age_s, length_s in _ROLLED_UP:
            old = and_(table.c.slot < _slot() - age_s, table.c.slot % length_s != 0)
            removed = await connection.execute(delete(table).where(old).returning(*table.c))
            found: Counter[_Key] = Counter()
            for row in removed.mappings():
                start = row["slot"] // length_s * length_s
                found[start, *(row[name] for name in names)] += row["n"]
            if found:
                await self._add(connection, table, found)

    async def totals(self, since: int) -> tuple[AnswerCount, ...]:
        """Return the numbers of answers by tenant, model, outcome and action.

        Stretches of time that begin before ``since``, in seconds since 1970, do not count.
        """
        own = activity.c
        kinds = (own.tenant, own.model, own.outcome, own.action)
        query = select(literal(since).label("start"), *kinds, _SUM).where(own.slot >= since)
        return await self._answers(query.group_by(*kinds))

    async def trend(
        self, since: int, *, step_s: int, only: Mapping[str, str]
    ) -> tuple[AnswerCount, ...]:
        """Return the numbers of answers by outcome and action, for each stretch of time.

        Args:
            since: The beginning of the first stretch, in seconds since 1970.
            step_s: Length of a stretch of time, in seconds.
            only: ``tenant``, ``model`` or ``action`` → the value that an answer must have to be
                counted; an empty value sets no condition.
        """
        own = activity.c
        start = (since + (own.slot - since) // step_s * step_s).label("start")
        query = select(start, own.outcome, own.action, _SUM).where(
            own.slot >= since, *(own[name] == value for name, value in only.items() if value)
        )
        return await self._answers(query.group_by("start", own.outcome, own.action))

    async def _answers(self, query: Select[Any]) -> tuple[AnswerCount, ...]:
        async with self._store.reading() as connection:
            found = (await connection.execute(query)).mappings()
            return tuple(AnswerCount(**row) for row in found)

    async def outcomes(self, tenant: str, *, since: int, until: int) -> dict[str, int]:
        """Return outcome → number of a tenant's answers with this outcome.

        Only stretches of time that begin at ``since`` or later, and before ``until``, count; both
        are in seconds since 1970. Pass the beginning of a day in UTC as ``since``, because rows
        about old answers cover whole days.
        """
        own = activity.c
        query = select(own.outcome, _SUM).where(
            own.tenant == tenant, own.slot >= since, own.slot < until
        )
        async with self._store.reading() as connection:
            found = await connection.execute(query.group_by(own.outcome))
            return {row.outcome: row.n for row in found}

    async def times(self, since: int) -> tuple[StageTimes, ...]:
        """Summarize how long each stage of checks took from ``since`` (seconds since 1970) on."""
        own, stages = check_times.c, dict[str, dict[int, int]]()
        query = select(own.stage, own.range, func.sum(own.n)).where(own.slot >= since)
        async with self._store.reading() as connection:
            for stage, place, n in await connection.execute(
                query.group_by(own.stage, own.range).order_by(own.stage, own.range)
            ):
                stages.setdefault(stage, {})[place] = int(n)
        return tuple(_times(stage, counts) for stage, counts in stages.items())


def _slot() -> int:
    return int(time.time()) // SLOT_S * SLOT_S


def _range_of(ms: float) -> int:
    """Return the number, from 0, of the range into which a duration in milliseconds falls."""
    return max(0, ceil(log(max(ms, _SHORTEST_MS) / _SHORTEST_MS, _GROWTH)))


def _times(stage: str, counts: Mapping[int, int]) -> StageTimes:
    n = sum(counts.values())
    return StageTimes(
        stage=stage, n=n, p50_ms=_quantile(counts, 0.5 * n), p99_ms=_quantile(counts, 0.99 * n)
    )


def _quantile(counts: Mapping[int, int], n_below: float) -> float:
    """Return a quantile: the geometric middle of the range in which it falls.

    For the first range, which begins at 0, return about 0.045 ms. ``n_below`` durations are below
    the quantile. ``counts`` maps the number of each range, in ascending order, to its number of
    durations.
    """
    below = accumulate(counts.values())
    place = next(place for place, n in zip(counts, below, strict=True) if n >= n_below)
    return float(_SHORTEST_MS * _GROWTH ** (place - 0.5))

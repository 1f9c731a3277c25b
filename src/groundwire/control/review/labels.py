"""Stores and reads the labels that reviewers give, and reads the recorded answers to label."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Select, and_, func, select

from groundwire.control.audit.event import FOUND, EventType
from groundwire.control.audit.found import FoundRecord
from groundwire.control.review.answers import labelled_row
from groundwire.control.store import Store
from groundwire.control.store.tables import OWN_DETAIL, audit_details, audit_records, labels
from groundwire.control.verdicts import AnswerReview, Progress, by_answer
from groundwire.detection.values import Outcome

_INCOMPLETE = (EventType.CHECK_INCOMPLETE,)
_DRAWN = (EventType.ANSWER_SAMPLED,)
_PARTIAL = f'"outcome":"{Outcome.PARTIAL}"'

#: Highest number of answers of each kind (with findings, with the outcome ``partial``, sampled) in
#: the queue of a reviewer; the latest answers are taken.
QUEUE = 60
#: Highest number of incomplete checks that are searched for the outcome ``partial``; the latest are
#: searched.
SEARCHED = 1_000
#: Highest number of answers of each kind (with findings, with an incomplete check, sampled) on
#: which other settings are tried; the latest answers are taken.
REPLAYED = 100
#: Highest number of events whose labelled answers an export reads at a time.
_PIECE = 100
#: Highest number of reviews from which the progress of reviewing is computed; the latest are taken.
COMPARED = 300
#: Highest number of a tenant's reviews that are searched for reviews of randomly drawn answers; the
#: reviews of the latest answers are searched.
PROMISED = 20_000

# Validates rows of the table ``labels``, and turns them into reviews.
_REVIEWS = TypeAdapter(list[AnswerReview])

# Selects recorded answers with their details: only events about answers have details.
_WITH_DETAILS = select(audit_records, audit_details.c.detail).join(audit_details, OWN_DETAIL)
# The time of the first event whose detail is kept.
_FIRST_DETAIL = select(func.min(audit_details.c.moment)).scalar_subquery()


class Labels:
    """Reads and stores the labels that reviewers give. Any method may raise StoreError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def save(self, review: AnswerReview) -> AnswerReview:
        """Store a reviewer's labels for an answer, in place of the same reviewer's earlier ones."""
        values = asdict(review)
        saving = self._store.insert(labels).values(values)
        saving = saving.on_conflict_do_update(
            index_elements=[labels.c.event_id, labels.c.account], set_=values
        )
        async with self._store.writing() as connection:
            await connection.execute(saving)
        return review

    async def of(self, event_id: str) -> dict[str, AnswerReview]:
        """Return reviewer → this reviewer's labels for the answer of an event."""
        found = await self._reviews(select(labels).where(labels.c.event_id == event_id))
        return {each.account: each for each in found}

    async def labelled(self, event_ids: Sequence[str]) -> frozenset[str]:
        """Return those of ``event_ids`` whose answers at least one reviewer has labelled."""
        query = select(labels.c.event_id).where(labels.c.event_id.in_(event_ids))
        async with self._store.reading() as connection:
            return frozenset(await connection.scalars(query))

    async def latest(self, account: str, *, limit: int) -> list[AnswerReview]:
        """Return the labels of the answers that a reviewer labelled last, the newest first."""
        own = select(labels).where(labels.c.account == account)
        return await self._reviews(own.order_by(labels.c.labelled_at.desc()).limit(limit))

    async def progress(self) -> Progress:
        """Count labelled answers and compare reviewers, in the latest :data:`COMPARED` reviews."""
        without_facts = [each for each in labels.c if each is not labels.c.facts]
        latest = select(*without_facts).order_by(labels.c.labelled_at.desc()).limit(COMPARED)
        return Progress.of(await self._reviews(latest))

    async def of_sample(self, tenant: str) -> list[AnswerReview]:
        """Return the labels of a tenant's randomly drawn answers, the newest answer first.

        At most :data:`PROMISED` reviews of the tenant are searched.
        """
        own = select(labels).where(labels.c.tenant == tenant, labels.c.facts.is_not(None))
        found = await self._reviews(own.order_by(labels.c.event_id.desc()).limit(PROMISED))
        return [each for each in found if each.facts is not None and each.facts.sample is not None]

    async def waiting(
        self, account: str, *, tenant: str | None, is_sample: bool = False
    ) -> list[FoundRecord]:
        """Return the latest events whose answers a reviewer has not labelled, each with its detail.

        With ``is_sample``, these are events of the random sample; otherwise, events about answers
        with findings, and about answers with the outcome ``partial``. At most :data:`QUEUE` events
        of each of these kinds are returned. Without ``tenant``, events of all tenants are returned.
        """
        if is_sample:
            return await self._latest(_DRAWN, tenant, account=account)
        # Most incomplete checks had no evidence or failed, which leaves nothing to judge. So of the
        # incomplete checks, only those with the outcome ``partial`` are returned.
        partial = await self._latest(_INCOMPLETE, tenant, account=account, contains=_PARTIAL)
        return [*await self._latest(FOUND, tenant, account=account), *partial]

    async def latest_of_each_kind(self, tenant: str) -> list[FoundRecord]:
        """Return a tenant's latest events about answers, each with its detail.

        The kinds are answers with findings, answers whose check is incomplete, and sampled answers.
        At most :data:`REPLAYED` events of each kind are returned.
        """
        kinds = (FOUND, _INCOMPLETE, _DRAWN)
        return [each for kind in kinds for each in await self._latest(kind, tenant, limit=REPLAYED)]

    async def _latest(
        self,
        types: Sequence[EventType],
        tenant: str | None,
        *,
        account: str | None = None,
        contains: str = "",
        limit: int = QUEUE,
    ) -> list[FoundRecord]:
        """Return at most ``limit`` of the latest events of some types, each with its detail.

        Without ``tenant``, these are events of all tenants. With ``account``, events whose answers
        this reviewer has labelled are left out. ``contains`` is a text that the line of the event
        must contain; only the latest :data:`SEARCHED` events of each type are then searched.
        """
        records = audit_records.c
        found = list[Any]()
        # There is a query for each type: an index gives the latest events of one type, but SQLite
        # would sort all events of two types. Details are long, so they are read afterwards, and
        # only for the events that are returned.
        for type_ in types:
            of_type = [records.type == type_]
            if tenant is not None:
                of_type.append(records.tenant == tenant)
            if contains:
                some = select(records.moment, records.event_id, records.line).where(*of_type)
                # Labelled events are left out only after this limit, so they count as searched.
                event = some.order_by(records.moment.desc()).limit(SEARCHED).subquery().c
                query = select(event.moment, event.event_id)
                query = query.where(event.line.contains(contains, autoescape=True))
            else:
                event = records
                # Events from before the first kept detail have no detail. Without this bound, all
                # events of the type would be read if fewer than the limit have a detail.
                query = select(event.moment, event.event_id).join(audit_details, OWN_DETAIL)
                query = query.where(*of_type, event.moment >= _FIRST_DETAIL)
            if account is not None:
                own = and_(labels.c.account == account, labels.c.event_id == event.event_id)
                query = query.where(~select(labels.c.event_id).where(own).exists())
            async with self._store.reading() as connection:
                found += await connection.execute(query.order_by(event.moment.desc()).limit(limit))
        # A moment that somebody has changed may be a text, so moments are compared as texts.
        # Genuine moments all have the same number of digits.
        latest_first = sorted(found, key=lambda each: str(each.moment), reverse=True)[:limit]
        places = {each.event_id: place for place, each in enumerate(latest_first)}
        of_ids = await self._records(_WITH_DETAILS.where(records.event_id.in_(places)))
        # If somebody has changed a record, the id in its line may be unknown. The record then comes
        # last.
        return sorted(of_ids, key=lambda each: places.get(str(each.event["id"]), limit))

    async def export(
        self, *, tenant: str | None = None, is_sample: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield the labelled answers as lines of JSON that ``groundwire evaluate`` reads.

        An answer is left out if its reviewers disagree, or if people cannot judge it any more, for
        example because its detail was removed. With ``is_sample``, only answers that were labelled
        as part of the random sample are yielded; without ``tenant``, answers of all tenants.
        """
        after, pending = "", list[tuple[tuple[object, ...], dict[str, Any]]]()
        drawn = set[tuple[object, ...]]()
        while True:
            ids = select(labels.c.event_id).distinct().where(labels.c.event_id > after)
            if tenant is not None:
                ids = ids.where(labels.c.tenant == tenant)
            async with self._store.reading() as connection:
                some = [*await connection.scalars(ids.order_by(labels.c.event_id).limit(_PIECE))]
            reviews = await self._reviews(select(labels).where(labels.c.event_id.in_(some)))
            query = _WITH_DETAILS.where(audit_records.c.event_id.in_(some))
            records = {str(each.event["id"]): each for each in await self._records(query)}
            rows = pending + [
                (record.answer_key, row)
                for event_id, of_answer in sorted(by_answer(reviews).items())
                if (record := records.get(event_id)) is not None
                and (row := labelled_row(record, of_answer)) is not None
                and (row["sample"] is not None or not is_sample)
            ]
            # An answer of the random sample may have two events, usually with ids next to each
            # other: one about its outcome, and ANSWER_SAMPLED. Of two rows next to each other, only
            # that of ANSWER_SAMPLED is exported. So the last row of each query waits for the rows
            # of the next query.
            drawn |= {key for key, row in rows if row["sample"] is not None}
            pending = rows[-1:] if some else []
            for key, row in rows[: len(rows) - len(pending)]:
                if row["sample"] is not None or key not in drawn:
                    yield json.dumps(row).encode() + b"\n"
            if not some:
                return
            after = some[-1]

    async def _reviews(self, query: Select[Any]) -> list[AnswerReview]:
        async with self._store.reading() as connection:
            found = [dict(row) for row in (await connection.execute(query)).mappings()]
        # Validating thousands of labels takes a while. In a thread, it does not block other
        # requests.
        return await asyncio.to_thread(_REVIEWS.validate_python, found)

    async def _records(self, query: Select[Any]) -> list[FoundRecord]:
        async with self._store.reading() as connection:
            return [FoundRecord.of(row) for row in (await connection.execute(query)).mappings()]

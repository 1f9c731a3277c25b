"""Labels in the store, on both kinds of database."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import TEXT, cast, func

from groundwire.control.audit.events import response_events
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.review.labels import Labels
from groundwire.control.store import Store
from groundwire.control.store.tables import audit_records
from groundwire.control.verdicts import AnswerReview, Mark, ReviewVerdict
from groundwire.detection.values import Label
from tests.control.audit.filled import Written
from tests.control.tenants.conftest import migrated_file, store, store_url
from tests.gateway.answers import checked

__all__ = ["migrated_file", "store", "store_url"]

MARK = Mark(start=30, end=34, label=Label.CONTRADICTED, verdict=ReviewVerdict.RIGHT)


@pytest.mark.asyncio
async def test_a_row_that_somebody_has_changed_does_not_end_the_queue(store: Store) -> None:
    labels, written = Labels(store), Written(store)
    keeping = Keeping(text=AuditText.FULL)
    for n in range(3):
        found = response_events(checked(), tenant="acme", trace_id=f"t{n}", keeping=keeping)
        await written.add(*found)
    line = audit_records.c.line
    async with store.writing() as connection:
        changed = audit_records.update().where(audit_records.c.trace_id == "t1")
        await connection.execute(changed.values(line=func.replace(line, '"id":"', '"id":"x')))
        if store.is_sqlite:
            changed = audit_records.update().where(audit_records.c.trace_id == "t2")
            await connection.execute(changed.values(moment=cast("later", TEXT)))
    assert len(await labels.waiting("rita", tenant="acme")) == 3


@pytest.mark.asyncio
async def test_labels_replace_earlier_ones_and_are_exported_by_tenant(store: Store) -> None:
    labels, keeping = Labels(store), Keeping(text=AuditText.FULL)
    (event,) = response_events(checked(), tenant="acme", trace_id="t1", keeping=keeping)
    (other,) = response_events(checked(), tenant="globex", trace_id="t2", keeping=keeping)
    await Written(store).add(event, other)
    first = AnswerReview(event_id=event.id, account="rita", tenant="acme", marks=())
    await labels.save(first)
    review = await labels.save(replace(first, marks=(MARK,)))
    await labels.save(replace(review, account="anna"))
    await labels.save(replace(first, event_id="removed"))
    assert await labels.of(event.id) == {
        "rita": review,
        "anna": replace(review, account="anna"),
    }
    assert len(await labels.latest("rita", limit=9)) == 2
    waiting = await labels.waiting("rita", tenant=None)
    assert [each.event["id"] for each in waiting] == [other.id]
    assert await labels.waiting("rita", tenant="acme") == []
    assert [json.loads(line)["id"] async for line in labels.export(tenant="acme")] == [event.id]
    assert [line async for line in labels.export(tenant="globex")] == []
    progress = await labels.progress()
    assert (progress.n_answers, progress.n_disputed) == (2, 0)
    (agreement,) = progress.agreements
    assert (agreement.reviewers, agreement.n, agreement.n_same) == (("anna", "rita"), 1, 1)

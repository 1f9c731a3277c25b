"""Records are linked and signed, so that each says what was before it, and nothing is ambiguous."""

import hmac
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import RFC_4122, UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundwire.control.audit.chain import Chain, detail_sha256, head_mac, key_id, record_mac
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import NOTHING, AuditRecord, Head, columns_of, storable
from groundwire.control.store import moments
from tests.control.audit.trails import KEY, chain_of, event

HEAD = Head(writer="a" * 32, seq=3, mac="b" * 64)
PARTS: dict[str, Any] = {
    "writer": "a" * 32,
    "seq": 2,
    "previous": NOTHING,
    "line": "{}",
    "detail_sha256": None,
}
RECORD = AuditRecord(
    **PARTS, event_id="", moment=0, tenant="", type="", trace_id="", detail=None, mac=""
)


def test_a_chain_begins_with_nothing_and_each_record_has_the_mac_of_the_one_before() -> None:
    records = chain_of(event(0), event(1), is_ended=True)
    assert [record.seq for record in records] == [1, 2, 3, 4]
    assert [record.previous for record in records] == [NOTHING, *(r.mac for r in records[:-1])]
    assert [record.type for record in records][::3] == ["CHAIN_STARTED", "CHAIN_ENDED"]


def test_a_record_is_signed_with_the_length_of_each_part() -> None:
    said = b"groundwire audit record 1\x0032:" + b"a" * 32 + b"1:2" + b"64:" + b"0" * 64 + b"2:{}0:"
    assert record_mac(KEY, RECORD) == hmac.digest(KEY, said, "sha256").hex()


@given(st.dictionaries(st.sampled_from(sorted(PARTS)), st.text(max_size=9), min_size=1))
def test_records_that_differ_are_signed_differently(changes: dict[str, Any]) -> None:
    assume(any(str(PARTS[name]) != value for name, value in changes.items()))
    assert record_mac(KEY, replace(RECORD, **changes)) != record_mac(KEY, RECORD)


def test_no_detail_is_not_an_empty_hash() -> None:
    assert record_mac(KEY, replace(RECORD, detail_sha256="")) != record_mac(KEY, RECORD)


def test_what_is_signed_as_one_thing_is_not_signed_as_another() -> None:
    row = head_mac(KEY, HEAD, started_at=1, ended_at=None)
    assert row != key_id(KEY)


def test_a_detail_is_signed_by_its_hash() -> None:
    (_, record) = chain_of(event(0, detail={"spans": ["naïve \ud800"]}))
    assert record.detail == '{"spans":["na\\u00efve \\ud800"]}'
    assert record.detail_sha256 == detail_sha256(record.detail)
    assert "spans" not in record.line


def test_an_event_that_is_no_json_leaves_the_chain_as_it_was() -> None:
    chain = Chain.new(KEY)
    chain.link(event(0))
    before = chain.head
    with pytest.raises(TypeError):
        chain.link(replace(event(1), payload={"x": object()}))
    assert chain.head == before


@given(st.datetimes(timezones=st.just(UTC)))
def test_the_moment_of_a_record_is_that_of_its_line(timestamp: datetime) -> None:
    data = replace(event(0), timestamp=timestamp).to_dict()
    moment = moments.to_datetime(columns_of(data)["moment"])
    assert timedelta(0) <= timestamp - moment < timedelta(milliseconds=1)


@given(st.text(max_size=200))
def test_what_a_client_chooses_can_be_stored_and_looked_up(text: str) -> None:
    kept = storable(text, 64)
    assert len(kept) <= 64
    assert "\0" not in kept
    kept.encode()
    hostile = AuditEvent(type=EventType.ADMIN_LOGIN, tenant=text, trace_id=text, payload={})
    record = Chain.new(KEY).link(hostile)
    assert record.trace_id == kept
    assert json.loads(record.line)["trace_id"] == text
    assert record.line.isascii()


def test_the_ids_of_events_are_uuids_that_grow_with_time() -> None:
    ids = []
    for _ in range(3):
        ids.append(UUID(event(0).id))
        time.sleep(0.002)
    assert {each.version for each in ids} == {7}
    assert {each.variant for each in ids} == {RFC_4122}
    assert ids == sorted(ids)
    assert len({event(0).id for _ in range(1000)}) == 1000
    assert abs((ids[0].int >> 80) / 1000 - time.time()) < 3600


def test_a_key_is_called_by_something_that_tells_nothing_of_it() -> None:
    assert len(key_id(KEY)) == 8
    assert key_id(KEY) != key_id(KEY + b"x")
    (started,) = chain_of()
    assert json.loads(started.line)["payload"]["key"] == key_id(KEY)
    assert KEY.decode() not in started.line


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 2},
        {"mac": "c" * 64},
        {"started_at": 2},
        {"ended_at": None},
        {"ended_at": 0},
        {"signature": "ä"},
    ],
)
def test_a_row_that_was_changed_is_not_signed(change: dict[str, Any]) -> None:
    row = HeadRow.signed(KEY, HEAD, started_at=1, ended_at=9)
    assert row.is_signed([b"other", KEY])
    assert not replace(row, **change).is_signed([b"other", KEY])

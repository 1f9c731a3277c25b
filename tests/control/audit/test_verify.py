"""Whoever has not the key can change nothing of a trail unnoticed; an untouched one is intact."""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundwire.control.audit.chain import Chain, record_mac, retention_applied
from groundwire.control.audit.record import AuditRecord
from groundwire.control.audit.verdict import TamperKind, TrailStatus, TrailVerdict
from tests.control.audit.kept import Trail, trails, verify
from tests.control.audit.trails import KEY, chain_of, event

Change = Callable[[st.DataObject, Trail], None]


def kinds(verdict: TrailVerdict) -> set[TamperKind]:
    return {finding.kind for finding in verdict.findings}


def two_chains() -> Trail:
    """One that ended, and one that names its end and writes still."""
    trail = Trail()
    for number in range(2):
        chain = trail.start()
        trail.write(chain, event(number))
        trail.write(chain, event(number + 10, detail={"n": number}))
        trail.write(chain, event(number + 20))
        if number == 0:
            trail.end(chain)
    return trail


# Any trail, and any change.


@given(trails())
def test_a_trail_nobody_touched_is_intact(trail: Trail) -> None:
    verdict = trail.verdict()
    assert verdict.findings == ()
    assert verdict.status is TrailStatus.INTACT
    assert verdict.records == len(trail.records)
    assert verdict.chains_open == len(trail.open)


@given(trails(), st.data())
def test_a_trail_is_intact_in_whichever_order_its_chains_are_read(
    trail: Trail, data: st.DataObject
) -> None:
    writers = data.draw(st.permutations(sorted({record.writer for record in trail.records})))
    records = [each for writer in writers for each in trail.records if each.writer == writer]
    assert verify(records, list(trail.rows.values()), [KEY]).status is TrailStatus.INTACT
    assert verify(trail.records, None, [KEY]).status is TrailStatus.INTACT


def change_a_field(data: st.DataObject, trail: Trail) -> None:
    index = data.draw(st.integers(0, len(trail.records) - 1))
    record = trail.records[index]
    name = data.draw(st.sampled_from([each.name for each in fields(AuditRecord)]))
    other: Any = data.draw(
        st.integers(1, 40)
        if isinstance(getattr(record, name), int)
        else st.sampled_from([getattr(each, name) for each in trail.records])
        | st.text('0123456789abcdef{}":,é', max_size=8)
        | (st.none() if name.startswith("detail") else st.nothing())
    )
    assume(other != getattr(record, name))
    trail.records[index] = replace(record, **{name: other})


def delete_a_record(data: st.DataObject, trail: Trail) -> None:
    del trail.records[data.draw(st.integers(0, len(trail.records) - 1))]


def delete_the_end_of_a_chain(data: st.DataObject, trail: Trail) -> None:
    last = data.draw(st.sampled_from(trail.records))
    trail.records = [r for r in trail.records if r.writer != last.writer or r.seq < last.seq]


def delete_the_beginning_of_a_chain(data: st.DataObject, trail: Trail) -> None:
    first = data.draw(st.sampled_from(trail.records))
    trail.records = [r for r in trail.records if r.writer != first.writer or r.seq > first.seq]


def swap_two_records(data: st.DataObject, trail: Trail) -> None:
    indexes = st.integers(0, len(trail.records) - 1)
    first, second = data.draw(indexes), data.draw(indexes)
    assume(first != second)
    one, other = trail.records[first], trail.records[second]
    trail.records[first] = replace(other, writer=one.writer, seq=one.seq)
    trail.records[second] = replace(one, writer=other.writer, seq=other.seq)


def insert_a_copy(data: st.DataObject, trail: Trail) -> None:
    record, place = data.draw(st.tuples(*[st.sampled_from(trail.records)] * 2))
    after = max(each.seq for each in trail.records if each.writer == place.writer) + 1
    trail.records.append(replace(record, writer=place.writer, seq=after))


def insert_a_chain_of_another_key(data: st.DataObject, trail: Trail) -> None:
    heads = [row.head for row in trail.rows.values()]
    trail.records += chain_of(event(99), heads=heads, is_ended=True, key=b"another key")


def insert_a_chain_with_its_row(data: st.DataObject, trail: Trail) -> None:
    trail.start(b"another key")


def go_on_with_another_key(data: st.DataObject, trail: Trail) -> None:
    chain = Chain("", b"another key")
    chain.head = data.draw(st.sampled_from(list(trail.rows.values()))).head
    trail.records.append(chain.link(event(99)))


def change_a_row(data: st.DataObject, trail: Trail) -> None:
    row = data.draw(st.sampled_from(list(trail.rows.values())))
    record = data.draw(st.sampled_from(trail.records))
    changed = data.draw(
        st.sampled_from(
            [
                replace(row, **record.head.to_dict()),
                replace(row, seq=max(row.seq - 1, 1)),
                replace(row, mac=record.mac),
                replace(row, ended_at=None),
                replace(row, ended_at=row.started_at),
                replace(row, started_at=row.started_at + 1),
                replace(row, signature=record.mac),
            ]
        )
    )
    assume(changed != row)
    trail.rows[row.head.writer] = changed


def delete_a_row(data: st.DataObject, trail: Trail) -> None:
    del trail.rows[data.draw(st.sampled_from(sorted(trail.rows)))]


def delete_a_chain(data: st.DataObject, trail: Trail) -> None:
    writer = data.draw(st.sampled_from(sorted(trail.rows)))
    trail.records = [record for record in trail.records if record.writer != writer]


def delete_a_chain_with_its_row(data: st.DataObject, trail: Trail) -> None:
    assume(len(trail.rows) > 1)
    writer = data.draw(st.sampled_from(list(trail.rows)[:-1]))  # the last one is not named yet
    del trail.rows[writer]
    trail.records = [record for record in trail.records if record.writer != writer]


@pytest.mark.parametrize(
    "change",
    [
        change_a_field,
        delete_a_record,
        delete_the_end_of_a_chain,
        delete_the_beginning_of_a_chain,
        swap_two_records,
        insert_a_copy,
        insert_a_chain_of_another_key,
        insert_a_chain_with_its_row,
        go_on_with_another_key,
        change_a_row,
        delete_a_row,
        delete_a_chain,
        delete_a_chain_with_its_row,
    ],
)
@given(trail=trails(), data=st.data())
def test_any_change_is_found(change: Change, trail: Trail, data: st.DataObject) -> None:
    change(data, trail)
    verdict = trail.verdict()
    assert verdict.status is TrailStatus.TAMPERED
    assert verdict.findings_total >= 1


# What is said of it.


def at(trail: Trail, writer: int, seq: int) -> int:
    """Where a record is, of the first or the second chain."""
    name = list(trail.rows)[writer]
    found = [i for i, each in enumerate(trail.records) if (each.writer, each.seq) == (name, seq)]
    return found[0]


def test_a_record_that_was_edited_is_named_and_no_other() -> None:
    trail = two_chains()
    index = at(trail, 0, 3)
    record = trail.records[index]
    trail.records[index] = replace(record, line=record.line.replace("0.25", "0.75"))
    (finding,) = trail.verdict().findings
    assert (finding.kind, finding.seq, finding.writer) == (TamperKind.EDITED, 3, record.writer)


def test_records_that_were_deleted_are_told_by_their_numbers() -> None:
    trail = two_chains()
    del trail.records[at(trail, 1, 2) : at(trail, 1, 4)]
    (finding,) = trail.verdict().findings
    assert finding.kind is TamperKind.MISSING
    assert "records 2 to 3 missing" in finding.text


def test_an_end_that_was_cut_off_is_told() -> None:
    trail = two_chains()
    del trail.records[at(trail, 1, 4)]
    (finding,) = trail.verdict().findings
    assert (finding.kind, finding.seq) == (TamperKind.CUT, 4)


@pytest.mark.parametrize("name", ["event_id", "tenant", "type", "trace_id", "moment"])
def test_a_column_that_does_not_say_what_the_record_says_is_told(name: str) -> None:
    trail = two_chains()
    index = at(trail, 0, 2)
    other = trail.records[at(trail, 0, 3)]
    value: Any = "globex" if name == "tenant" else getattr(other, name)
    value = value + 1 if isinstance(value, int) else value
    trail.records[index] = replace(trail.records[index], **{name: value})
    (finding,) = trail.verdict().findings
    assert finding.kind is TamperKind.COLUMN
    assert name in finding.text


@pytest.mark.parametrize("detail", [None, "{}"])
def test_a_detail_that_is_another_or_missing_is_told(detail: str | None) -> None:
    trail = two_chains()
    index = at(trail, 0, 3)
    trail.records[index] = replace(trail.records[index], detail=detail)
    assert kinds(trail.verdict()) == {TamperKind.DETAIL}


def test_a_chain_that_is_named_and_missing_is_told_as_one() -> None:
    trail = two_chains()
    gone = next(iter(trail.rows))
    del trail.rows[gone]
    trail.records = [record for record in trail.records if record.writer != gone]
    (finding,) = trail.verdict().findings
    assert (finding.kind, finding.writer) == (TamperKind.REMOVED, gone)


def test_a_chain_of_another_key_is_one_finding() -> None:
    trail = two_chains()
    trail.records += chain_of(event(1), event(2), key=b"another key")
    assert [finding.kind for finding in trail.verdict().findings] == [
        TamperKind.FOREIGN,
        TamperKind.HEAD,
    ]


def test_many_findings_are_counted_and_the_first_are_told() -> None:
    records = chain_of(*(event(number) for number in range(3000)))
    records = [replace(each, tenant="globex") for each in records]
    verdict = verify(records, None, [KEY])
    assert verdict.findings_total == 3001
    assert len(verdict.findings) == 1000


# What is nothing wrong.


def test_an_empty_trail_is_not_intact_but_not_verified() -> None:
    assert verify([], [], [KEY]).status is TrailStatus.UNVERIFIED


def test_with_the_wrong_key_nothing_is_verified_and_nothing_called_tampering() -> None:
    trail = two_chains()
    verdict = trail.verdict([b"another key"])
    assert verdict.status is TrailStatus.UNVERIFIED
    assert TamperKind.FOREIGN in kinds(verdict)


def test_chains_of_an_earlier_key_are_intact_if_that_is_given() -> None:
    trail = Trail()
    trail.start(b"the earlier key")
    chain = trail.start()
    trail.write(chain, event(0))
    assert trail.verdict([KEY, b"the earlier key"]).status is TrailStatus.INTACT
    assert trail.verdict([KEY]).status is TrailStatus.TAMPERED


def test_a_record_of_one_key_in_a_chain_of_another_is_told() -> None:
    trail = two_chains()
    index = at(trail, 0, 3)
    record = trail.records[index]
    trail.records[index] = replace(record, mac=record_mac(b"the earlier key", record))
    assert TamperKind.EDITED in kinds(trail.verdict([KEY, b"the earlier key"]))


def test_a_writer_that_was_killed_is_a_note() -> None:
    verdict = verify(chain_of(event(0)), None, [KEY])
    assert verdict.notes == ("1 chain has no end: the process writes still, or was killed",)


# Retention.


def pruned(trail: Trail, *, up_to: int, said: int | None = None) -> Trail:
    """The second chain says that the first loses its beginning, and that goes."""
    first = next(iter(trail.rows))
    head = trail.records[at(trail, 0, said or up_to)].head
    trail.write(trail.open[0], retention_applied([head], details_before=None))
    trail.records = [r for r in trail.records if r.writer != first or r.seq > up_to]
    return trail


@pytest.mark.parametrize("up_to", [1, 2, 4])
def test_what_retention_removed_is_not_missing(up_to: int) -> None:
    assert pruned(two_chains(), up_to=up_to).verdict().status is TrailStatus.INTACT


def test_retention_that_was_interrupted_is_nothing_wrong() -> None:
    assert pruned(two_chains(), up_to=2, said=4).verdict().status is TrailStatus.INTACT


@pytest.mark.parametrize("has_row", [True, False])
def test_a_chain_may_go_as_a_whole(has_row: bool) -> None:
    trail = two_chains()
    trail = pruned(trail, up_to=5)
    if not has_row:
        del trail.rows[next(iter(trail.rows))]
    assert trail.verdict().status is TrailStatus.INTACT


def test_what_goes_beyond_retention_is_found() -> None:
    verdict = pruned(two_chains(), up_to=3, said=2).verdict()
    assert kinds(verdict) == {TamperKind.MISSING}
    assert kinds(pruned(two_chains(), up_to=5, said=4).verdict()) == {TamperKind.REMOVED}


def test_retention_that_nobody_signed_excuses_nothing() -> None:
    trail = two_chains()
    head = trail.records[at(trail, 0, 2)].head
    chain = Chain(list(trail.rows)[1], b"another key")
    chain.head = trail.rows[chain.writer].head
    trail.records.append(chain.link(retention_applied([head], details_before=None)))
    del trail.records[:2]
    assert TamperKind.MISSING in kinds(trail.verdict())


def test_details_go_as_retention_says_and_no_younger_ones() -> None:
    for hours, expected in ((1, set[TamperKind]()), (-1, {TamperKind.DETAIL})):
        trail = two_chains()
        trail.records = [replace(record, detail=None) for record in trail.records]
        before = datetime.now(UTC) + timedelta(hours=hours)
        trail.write(trail.open[0], retention_applied([], details_before=before))
        assert kinds(trail.verdict()) == expected


# Limits that are told in the documentation.


def test_of_a_part_gaps_are_notes_and_edits_are_found() -> None:
    records = chain_of(*(event(number) for number in range(9)))
    part = [records[index] for index in (3, 4, 7)]
    verdict = verify(part, None, [KEY], is_partial=True)
    assert verdict.status is TrailStatus.INTACT
    assert "2 gaps between records, as in a part of a trail" in verdict.notes
    part[1] = replace(part[1], line=part[1].line.replace("acme", "acne"))
    assert kinds(verify(part, None, [KEY], is_partial=True)) == {TamperKind.EDITED}

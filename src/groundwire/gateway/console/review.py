"""Pages on which people review recorded answers: the most doubtful first, or a random sample."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from groundwire.control.accounts import AccountRole
from groundwire.control.audit.found import FoundRecord
from groundwire.control.audit.quoted import AuditText
from groundwire.control.review.answers import AnswerDoubt, doubt_of, facts_of
from groundwire.control.review.labels import COMPARED, QUEUE
from groundwire.control.verdicts import AnswerReview, Mark, ReviewVerdict
from groundwire.detection.values import Label
from groundwire.gateway.admin import trail
from groundwire.gateway.console.stored_answer import stored_view
from groundwire.gateway.console.visit import HOME, Visit, screen
from groundwire.gateway.http.problems import Problem
from groundwire.render.answer import AnswerView, find_shown, shown_at

REVIEW = f"{HOME}/review"

#: Matches words that the check missed, followed by the number of an occurrence: ``1889 #2`` means
#: the second ``1889`` in the answer.
_NUMBERED = re.compile(r"(.*\S)\s+#([1-9]\d{0,3})")
#: Highest number of lines in the form's list of words that the check missed.
_MAX_MISSED = 50

#: The value of the URL's parameter ``view`` that asks for the random sample.
_SAMPLE = "sample"


async def _queue(visit: Visit) -> list[tuple[AnswerDoubt, FoundRecord]]:
    """Return the latest answers that the visitor can label but has not, the most doubtful first.

    The URL's query may choose a tenant, or the random sample. The answers of the sample are in
    random order, so that the first few of them are a random sample too.
    """
    asked = _asked(visit)
    is_sample = asked.get("view") == _SAMPLE
    found = await visit.own.labels.waiting(
        visit.who.name, tenant=asked.get("tenant"), is_sample=is_sample
    )
    doubts = ((doubt_of(record.detail), record) for record in found)
    waiting = [(doubt, record) for doubt, record in doubts if doubt is not None]
    if is_sample:
        return sorted(waiting, key=lambda each: _id_of(each[1])[::-1])  # an id ends in random bits
    return sorted(waiting, key=lambda each: (each[0].distance, _id_of(each[1])))


def _id_of(record: FoundRecord) -> str:
    return str(record.event["id"])


def _asked(visit: Visit) -> dict[str, str]:
    """Return the parameters ``tenant`` and ``view`` of the query that are given and valid."""
    tenant = visit.query.get("tenant", "").strip()[:128]
    asked = {"tenant": tenant} if tenant.isprintable() and tenant else {}
    return asked | ({"view": _SAMPLE} if visit.query.get("view") == _SAMPLE else {})


async def _list(visit: Visit) -> Response:
    settings = visit.control.config.audit
    return visit.page(
        "review",
        stored=await _stored(visit),
        asked=_asked(visit),
        waiting=await _queue(visit),
        n_searched=QUEUE,
        mine=await visit.own.labels.latest(visit.who.name, limit=10),
        progress=await visit.own.labels.progress(),
        n_compared=COMPARED,
        is_kept=settings.text == AuditText.FULL and settings.detail_days != 0,
        sample=settings.sample,
    )


async def _stored(visit: Visit) -> tuple[AnswerReview, str] | None:
    """Return the review that the visitor has just stored, and the text of the reviewed answer.

    Return ``None`` if there is no such review, or people can no longer judge the answer.
    """
    event_id = visit.query.get("labelled", "")
    record = await visit.control.trail.get(event_id) if event_id else None
    review = record and (await visit.own.labels.of(event_id)).get(visit.who.name)
    if not record or not review or doubt_of(record.detail) is None:
        return None
    return review, (record.detail or {})["answer"]["text"]


async def _next(visit: Visit) -> Response:
    return _to_next(visit, await _queue(visit), visit.query.get("after", ""))


def _to_next(
    visit: Visit, queue: list[tuple[AnswerDoubt, FoundRecord]], event_id: str, **fields: str
) -> Response:
    """Redirect to the answer after ``event_id`` in the queue, or to the list if there is no other.

    After the last answer, or an event that is not in the queue, comes the first answer. ``fields``
    are added to the query.
    """
    ids = [_id_of(record) for _, record in queue]
    at = ids.index(event_id) + 1 if event_id in ids else 0
    others = [each for each in ids[at:] + ids[:at] if each != event_id]
    path = f"{REVIEW}/{others[0]}" if others else REVIEW
    query = urlencode(_asked(visit) | fields)
    return RedirectResponse(f"{path}?{query}" if query else path, 303)


async def _show(visit: Visit) -> Response:
    record, view = await _answer(visit)
    return await _page(visit, record, view)


async def _answer(visit: Visit) -> tuple[FoundRecord, AnswerView]:
    """Return the event that the URL's path names, and a view of the recorded answer.

    Raises:
        Problem: If the event does not exist, or people cannot judge the answer.
    """
    record = await visit.control.trail.get(visit.part("event"))
    if record is None:
        raise Problem.named("unknown_event")
    detail = record.detail or {}
    view = None if doubt_of(record.detail) is None else stored_view(detail)
    if view is None or len(view.detection.spans) != len(detail["detection"]["spans"]):
        raise Problem.named("not_judgeable")
    return record, view


async def _page(
    visit: Visit,
    record: FoundRecord,
    view: AnswerView,
    *,
    problems: Mapping[str, str] | None = None,
) -> Response:
    reviews = await visit.own.labels.of(visit.part("event"))
    mine = reviews.pop(visit.who.name, None)
    return visit.page(
        "judge",
        title="review",
        stored=await _stored(visit),
        status=422 if problems else 200,
        record=record,
        view=view,
        question=(record.detail or {})["request"]["question"],
        values=dict(visit.form) if problems else _values(mine, view),
        problems=problems or {},
        is_mine=mine is not None,
        # Reviews of others could bias a person, so they are hidden until the person has labelled
        # the answer.
        others=[] if mine is None else [*reviews.values()],
        query=urlencode(_asked(visit)),
        after=urlencode({"after": visit.part("event")} | _asked(visit)),
    )


def _values(review: AnswerReview | None, view: AnswerView) -> dict[str, str]:
    """Return the form's values for a person's earlier review; empty if there is none."""
    if review is None:
        return {}
    places = {(span.start, span.end): n for n, span in enumerate(view.detection.spans, 1)}
    values = {
        f"finding-{places[place]}": str(verdict)
        for place, verdict in review.verdicts.items()
        if place in places
    }
    missed = sorted(mark.place for mark in review.missed)
    return values | {"missed": "\n".join(_words(view, place) for place in missed)}


def _words(view: AnswerView, place: tuple[int, int]) -> str:
    """Return the words from ``place[0]`` to ``place[1]`` in an answer.

    If the words also occur earlier in the answer, the number of the occurrence follows: ``#2``.
    """
    words = shown_at(view.detection, *place)
    nth = 1
    while find_shown(view.detection, words, nth=nth) not in (None, place):
        nth += 1
    return words if nth == 1 else f"{words} #{nth}"


async def _save(visit: Visit) -> Response:
    record, view = await _answer(visit)
    problems: dict[str, str] = {}
    marks = (*_judged(visit, view, problems), *_missed(visit, view, problems))
    if problems:
        return await _page(visit, record, view, problems=problems)
    review = AnswerReview(
        event_id=visit.part("event"),
        account=visit.who.name,
        tenant=str(record.event["tenant"]),
        marks=marks,
        facts=facts_of(record),
    )
    queue = await _queue(visit)
    await visit.control.change(
        lambda _: visit.own.labels.save(review), visit.events.answer_labelled
    )
    return _to_next(visit, queue, review.event_id, labelled=review.event_id)


def _judged(visit: Visit, view: AnswerView, problems: dict[str, str]) -> Iterator[Mark]:
    """Yield a mark for each finding that the form judges; add a message for each other finding.

    Messages are added to ``problems``, by the name of the finding's field in the form.
    """
    for number, span in enumerate(view.detection.spans, 1):
        name = f"finding-{number}"
        said = visit.form.get(name)
        if said not in (ReviewVerdict.RIGHT, ReviewVerdict.WRONG):
            problems[name] = "Right or wrong?"
            continue
        yield Mark(start=span.start, end=span.end, label=span.label, verdict=ReviewVerdict(said))


def _missed(visit: Visit, view: AnswerView, problems: dict[str, str]) -> Iterator[Mark]:
    """Yield a mark for each different line in the form's list of words that the check missed.

    If the list is too long, or the words of a line are not in the answer, a message is added to
    ``problems`` instead.
    """
    lines = [each.strip() for each in visit.form.get("missed", "").splitlines() if each.strip()]
    if len(lines) > _MAX_MISSED:
        problems["missed"] = f"At most {_MAX_MISSED} stretches, please."
        return
    for line in dict.fromkeys(lines):
        place = find_shown(view.detection, line)
        if place is None and (numbered := _NUMBERED.fullmatch(line)):
            place = find_shown(view.detection, numbered[1], nth=int(numbered[2]))
        if place is None:
            problems["missed"] = f"The answer has no “{line[:80]}”. Write the words as it has them."
            continue
        start, end = place
        yield Mark(start=start, end=end, label=Label.UNSUPPORTED, verdict=ReviewVerdict.MISSED)


async def _export(visit: Visit) -> Response:
    asked = _asked(visit)
    tenant, is_sample = asked.get("tenant"), asked.get("view") == _SAMPLE
    rows = visit.own.labels.export(tenant=tenant, is_sample=is_sample)
    labels = "of the sample" if is_sample else "all"
    event = visit.events.exported({"labels": labels} | ({"tenant": tenant} if tenant else {}))
    return await trail.download(visit.control, rows, event, name="labels.jsonl")


_screen = partial(screen, needs=AccountRole.REVIEWER, reads_trail=True)

routes = [
    Route(REVIEW, _screen(_list)),
    Route(f"{REVIEW}/next", _screen(_next)),
    Route(f"{REVIEW}/export", _screen(_export), methods=["POST"]),
    Route(f"{REVIEW}/{{event}}", _screen(_show)),
    Route(f"{REVIEW}/{{event}}", _screen(_save), methods=["POST"]),
]

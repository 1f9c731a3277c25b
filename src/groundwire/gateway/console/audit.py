"""Pages of the audit trail: they list, show and export its events, and verify the trail."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from groundwire.config.tenants import KINDS, METADATA
from groundwire.control.accounts import AccountRole
from groundwire.control.audit.event import FOUND, EventType
from groundwire.control.audit.found import FoundRecord
from groundwire.control.audit.trail import SEARCHED, Filter
from groundwire.control.review.answers import doubt_of
from groundwire.detection.values import Outcome, Score
from groundwire.gateway.admin import trail
from groundwire.gateway.console.stored_answer import stored_view
from groundwire.gateway.console.visit import HOME, Visit, screen
from groundwire.gateway.http.problems import Problem
from groundwire.policy.policy import Action
from groundwire.render.checked import PATHS

AUDIT = f"{HOME}/audit"

#: Name of a period that ends now → text for the period, and its length in days.
_TIMES = {"24h": ("24 hours", 1), "7d": ("7 days", 7), "30d": ("30 days", 30)}
_YESTERDAY = "yesterday"

#: Outcome of an answer → the types of audit events that report it, without those of the random
#: sample.
_OUTCOMES = {
    Outcome.HALLUCINATED: FOUND,
    **dict.fromkeys(
        (Outcome.PARTIAL, Outcome.UNVERIFIED, Outcome.UNAVAILABLE), (EventType.CHECK_INCOMPLETE,)
    ),
}

#: The value of the filter ``type`` for the events about what people change, label or export.
_CHANGES = "changes"
_CHANGE_TYPES = (
    *(EventType.TENANT_CREATED, EventType.TENANT_METADATA_UPDATED),
    *(EventType.TENANT_POLICY_UPDATED, EventType.TENANT_DELETED, EventType.KEY_CREATED),
    *(EventType.KEY_REVOKED, EventType.ACCOUNT_CREATED, EventType.ACCOUNT_UPDATED),
    *(EventType.ACCOUNT_REMOVED, EventType.ANSWER_LABELLED, EventType.RECORDS_EXPORTED),
)

#: The types of events to search if the filter has an action other than ``none``, but no type or
#: outcome. Events of the random sample are left out: they would list an answer a second time.
_DONE_WITH = (*FOUND, EventType.CHECK_INCOMPLETE)

#: The list of the worst answers has only the newest hallucinated answers, at most this many.
_RANKED = 500
#: Highest number of events on a page of the list.
_SHOWN = 50
_WORST = "worst"

_FIELDS = (
    *("order", "when", "since", "until", "tenant", "type", "outcome"),
    *("action", "severity", "model", "trace_id", "text"),
)


async def _list(visit: Visit) -> Response:
    asked = _asked(visit)
    is_worst_first = asked["order"] == _WORST
    if is_worst_first:
        asked["outcome"] = Outcome.HALLUCINATED
    page = await visit.control.trail.page(
        _filter(asked),
        cursor=None if is_worst_first else visit.query.get("cursor"),
        limit=_RANKED if is_worst_first else _SHOWN,
    )
    events, first, next_ = page.events, 0, page.next
    if is_worst_first:
        events = tuple(sorted(events, key=_badness, reverse=True))
        cursor = visit.query.get("cursor", "")[:4]
        first = int(cursor) if cursor.isdecimal() else 0
        next_ = str(first + _SHOWN) if len(events) > first + _SHOWN else None
    shown = events[first : first + _SHOWN]
    return visit.page(
        "audit",
        asked=asked,
        events=[(each, _summary(each), _probability(each)) for each in shown],
        labelled=await visit.own.labels.labelled([str(each.event["id"]) for each in shown]),
        first=first,
        n_ranked=len(events) if is_worst_first else 0,
        max_ranked=_RANKED,
        is_ranking_cut=page.next is not None,
        next=next_,
        is_cut=page.is_cut and not is_worst_first,
        searched=SEARCHED,
        chain=chain_state(visit),
        times={**{key: words for key, (words, _) in _TIMES.items()}, _YESTERDAY: "yesterday (UTC)"},
        types=[(_CHANGES, "all changes by people"), *((each, _words(each)) for each in EventType)],
        outcomes=list(_OUTCOMES),
        actions=list(Action),
        zip=zip,
        is_filtered=any(asked.values()),
    )


def chain_state(visit: Visit) -> tuple[str, str, str]:
    """Return the name, state and text of a line about the last verification of the audit trail."""
    verifying: trail.Verifying = visit.request.app.state.verifying
    if verifying.last is None:
        text = "not since this gateway started; the page Audit has a button for it"
        return "Chain of the audit trail", "not verified", text
    ended, verdict = verifying.last
    text = f"{verdict.records:,} records, verified {ended:%Y-%m-%d %H:%M} UTC"
    return "Chain of the audit trail", verdict.status, text


def _asked(visit: Visit) -> dict[str, str]:
    return {name: visit.query.get(name, "").strip()[:200] for name in _FIELDS}


def _filter(asked: Mapping[str, str]) -> Filter:
    """Return the filter for events that the page's query parameters ``asked`` describe."""
    now = datetime.now(UTC)
    since, until = _moment(asked["since"]), _moment(asked["until"])
    begin, end = None, None
    if asked["when"] == _YESTERDAY:
        end = now.replace(hour=0, minute=0, second=0, microsecond=0)
        begin = end - timedelta(days=1)
    elif asked["when"] in _TIMES:
        begin = now - timedelta(days=_TIMES[asked["when"]][1])
    since, until = (
        max(filter(None, (since, begin)), default=None),
        min(filter(None, (until, end)), default=None),
    )
    types = tuple(each for each in EventType if each == asked["type"])
    if asked["type"] == _CHANGES:
        types = _CHANGE_TYPES
    elif asked["outcome"] in _OUTCOMES:
        types = types or _OUTCOMES[Outcome(asked["outcome"])]
    elif asked["action"] not in ("", Action.NONE):
        types = types or _DONE_WITH
    groups = [
        [f'"{name}":{json.dumps(asked[name])}'] for name in ("model", "action") if asked[name]
    ]
    # Events about hallucinated answers do not state the outcome, since their type implies it. So a
    # search for the outcome would not find them.
    is_told = asked["outcome"] == Outcome.HALLUCINATED and set(types) <= set(FOUND)
    if asked["outcome"] in _OUTCOMES and not is_told:
        groups.append([f'"outcome":"{asked["outcome"]}"'])
    if asked["severity"].isdecimal():
        groups.append([f'"max_severity":{n}' for n in range(min(int(asked["severity"][:1]), 4), 5)])
    if asked["text"]:
        # Escaped as in JSON, because the search reads events as lines of JSON.
        groups.append([json.dumps(asked["text"])[1:-1]])
    return Filter(
        tenant=asked["tenant"] or None,
        types=types,
        trace_id=asked["trace_id"] or None,
        since=since,
        until=until,
        contains=tuple(map(tuple, groups)),
    )


def _badness(record: FoundRecord) -> tuple[float, float]:
    """Return the sort key of an event: the highest severity and probability of its findings."""
    payload = record.event["payload"]
    severity = payload.get("max_severity") if isinstance(payload, Mapping) else None
    return (severity if isinstance(severity, int) else 0, _probability(record) or 0.0)


def _probability(record: FoundRecord) -> float | None:
    """Return the highest probability of a finding in an event; ``None`` if it is not known."""
    payload = record.event["payload"]
    if record.event["type"] not in FOUND or not isinstance(payload, Mapping):
        return None
    # For a detector of similarities, ``confidence`` is not a probability.
    found = payload.get("confidence")
    is_similarity = str(payload.get("detector")).startswith(Score.SIMILARITY)
    return found if isinstance(found, float) and not is_similarity else None


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Problem.named("invalid_time", text=text) from None


def _words(name: str) -> str:
    return name.replace("_", " ").lower()


def _summary(record: FoundRecord) -> str:
    """Return a line about an event: its first unsupported claim, else its actor and other facts."""
    payload = record.event["payload"]
    if not isinstance(payload, Mapping):
        return ""
    texts = payload.get("ungrounded_claims")
    if isinstance(texts, list) and texts:
        more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
        return f"“{texts[0]}”{more}"
    skipped = ("workspace_id", "action", "outcome", "version", "actor", "diff", "labels")
    facts = {key: value for key, value in payload.items() if key not in skipped and value}
    labels = payload.get("labels")
    said = [
        *([f"verdicts: {len(labels)}"] if isinstance(labels, list) else []),
        *_changes(payload.get("diff")),
        *(f"{_words(key)}: {_shown(value)}" for key, value in facts.items()),
    ]
    actor = payload.get("actor")
    by = [] if actor is None else [f"by {str(actor).removeprefix('account:')}"]
    return ", ".join(by + said)[:200]


def _changes(diff: object) -> Iterator[str]:
    """Yield the changes in the diff of an event, such as "operating point: inherited → 0.1"."""
    if not isinstance(diff, Mapping):
        return
    for how, values in diff.items():
        for key, value in values.items() if isinstance(values, Mapping) else ():
            unset = "inherited" if key in KINDS or key in METADATA else "not set"
            before, after = (unset, value) if how == "added" else (value, unset)
            if how == "changed" and isinstance(value, Mapping):
                before, after = value.get("from"), value.get("to")
            yield f"{_words(str(key))}: {_shown(before)} → {_shown(after)}"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


async def _show(visit: Visit) -> Response:
    found = await visit.control.trail.get(visit.part("event"))
    if found is None:
        raise Problem.named("unknown_event")
    detail = found.detail or {}
    back = visit.query.get("back", "")  # the filters of the list to go back to
    can_judge = visit.who.may(AccountRole.REVIEWER) and doubt_of(found.detail) is not None
    reviews = await visit.own.labels.of(visit.part("event"))
    event = found.event if await _may_see_verdicts(visit, found) else _without_verdicts(found)
    return visit.page(
        "event",
        title=f"{found.event['type']} of {found.event['tenant']}",
        record=found,
        back=back if back.startswith("?") else "",
        payload=found.event["payload"],
        detail=detail,
        view=stored_view(detail) if detail else None,
        recorded=json.dumps(event, indent=2, ensure_ascii=False),
        path_in_words=PATHS.get(str(detail.get("path")), ""),
        can_judge=can_judge,
        reviews=sorted(reviews.values(), key=lambda each: each.labelled_at),
        is_mine=visit.who.name in reviews,
        in_full=json.dumps(detail, indent=2, ensure_ascii=False) if detail else "",
    )


async def _may_see_verdicts(visit: Visit, found: FoundRecord) -> bool:
    """Return whether the visitor may see the reviewers' verdicts in an event.

    Verdicts of other people are hidden from a reviewer who can still judge the answer, but has not
    done it yet: they could bias the reviewer.
    """
    payload = found.event["payload"]
    if found.event["type"] != EventType.ANSWER_LABELLED or not isinstance(payload, Mapping):
        return True
    answer = str(payload.get("event_id"))
    if not visit.who.may(AccountRole.REVIEWER) or visit.who.actor == payload.get("actor"):
        return True
    labelled = await visit.control.trail.get(answer)
    can_judge = labelled is not None and doubt_of(labelled.detail) is not None
    return not can_judge or visit.who.name in await visit.own.labels.of(answer)


def _without_verdicts(found: FoundRecord) -> dict[str, Any]:
    """Return an event about labels, with a sentence in place of the verdicts."""
    instead = "shown once you have judged the answer yourself"
    return {**found.event, "payload": {**found.event["payload"], "labels": instead}}


async def _export(visit: Visit) -> Response:
    return await trail.export_events(visit.control, visit.events, _filter(_asked(visit)))


async def _verify(visit: Visit) -> Response:
    verdict = await trail.verify_trail(visit.control, visit.request)
    return visit.page("verdict", title="the audit trail", verdict=verdict)


routes = [
    Route(AUDIT, screen(_list, reads_trail=True)),
    Route(f"{AUDIT}/export", screen(_export, reads_trail=True), methods=["POST"]),
    Route(f"{AUDIT}/verify", screen(_verify, reads_trail=True), methods=["POST"]),
    Route(f"{AUDIT}/{{event}}", screen(_show, reads_trail=True)),
]

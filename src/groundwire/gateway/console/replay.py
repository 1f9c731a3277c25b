"""Replays stored answers of a tenant under other settings, to show which decisions would change."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from groundwire.control.audit.event import EventType
from groundwire.control.audit.found import FoundRecord
from groundwire.control.review.answers import distance_of
from groundwire.detection.example import Source
from groundwire.pipeline import Pipeline
from groundwire.pipeline.conversation import AnswerKind
from groundwire.policy.policy import Overrides, Ruling

#: The most answers of each kind to replay; the kinds are answers with findings and random ones.
MAX_ANSWERS = 40

#: Seconds after which no further answer is replayed.
LIMIT_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The decisions about one stored answer, under present and under other settings.

    Attributes:
        event_id: The id of the event that recorded the answer.
        text: The answer.
        is_drawn: Whether the answer was drawn at random.
        now: The decision under the present settings.
        then: The decision under the other settings.
    """

    event_id: str
    text: str
    is_drawn: bool
    now: Ruling
    then: Ruling

    @property
    def is_changed(self) -> bool:
        """Whether the outcome or the action differ."""
        return (self.now.outcome, self.now.action) != (self.then.outcome, self.then.action)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of other settings on stored answers.

    Attributes:
        answers: The answers that were replayed.
        n_stored: The number of answers to replay; if the time ran out, ``answers`` has fewer.
    """

    answers: tuple[Replayed, ...]
    n_stored: int

    @property
    def changed(self) -> list[Replayed]:
        """The answers whose decision changes."""
        return [each for each in self.answers if each.is_changed]

    def actions(self, *, is_drawn: bool) -> list[tuple[str, str, int]]:
        """Count the answers of one kind by both their actions; the largest counts come first."""
        kind = (each for each in self.answers if each.is_drawn == is_drawn)
        counts = Counter((str(each.now.action), str(each.then.action)) for each in kind)
        return [(now, then, n) for (now, then), n in counts.most_common()]


def replayable(records: Sequence[FoundRecord]) -> list[FoundRecord]:
    """Select up to :data:`MAX_ANSWERS` answers of each kind: those that are text, kept in full.

    Answers with findings and answers drawn at random alternate, so that both are replayed even if
    the time runs out.
    """
    kinds: tuple[list[FoundRecord], list[FoundRecord]] = ([], [])
    for record in records:
        kind = kinds[record.event["type"] == EventType.ANSWER_SAMPLED]
        detail = record.detail
        is_text = detail is not None and detail.get("kind") == AnswerKind.TEXT
        if is_text and len(kind) < MAX_ANSWERS and distance_of(detail) is not None:
            kind.append(record)
    return [each for each in chain.from_iterable(zip_longest(*kinds)) if each is not None]


def replay(
    pipeline: Pipeline,
    records: Sequence[FoundRecord],
    *,
    tenant: str,
    now: Overrides,
    then: Overrides,
    limit_s: float = LIMIT_S,
) -> Effect:
    """Check stored answers under the present and under other settings of their tenant.

    Args:
        pipeline: The stages of a check.
        records: The events of the answers, as :func:`replayable` selects them.
        tenant: The tenant.
        now: The present settings of the tenant.
        then: The other settings.
        limit_s: Seconds after which no further answer is checked.
    """
    end = time.monotonic() + limit_s
    answers: list[Replayed] = []
    for record in records:
        if time.monotonic() > end:
            break
        detail = record.detail or {}
        replayed = Replayed(
            event_id=str(record.event["id"]),
            text=detail["answer"]["text"],
            is_drawn=record.event["type"] == EventType.ANSWER_SAMPLED,
            now=_ruling(pipeline, detail, tenant, now),
            then=_ruling(pipeline, detail, tenant, then),
        )
        answers.append(replayed)
    return Effect(answers=tuple(answers), n_stored=len(records))


def _ruling(pipeline: Pipeline, detail: Mapping[str, Any], tenant: str, own: Overrides) -> Ruling:
    context = pipeline.open_answer(
        [Source(id=x["id"], title=x["title"], text=x["text"]) for x in detail["sources"]],
        question=detail["request"]["question"],
        tenant=tenant,
        overrides=own,
        decides=True,
    )
    return pipeline.check(context, detail["answer"]["text"]).ruling

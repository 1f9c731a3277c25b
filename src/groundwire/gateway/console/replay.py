"""Checks stored answers of a tenant again under other settings, to show which results change."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from groundwire.control.audit.found import FoundRecord
from groundwire.control.review.answers import is_kept_in_full
from groundwire.detection.example import Source
from groundwire.pipeline import Checked, Pipeline
from groundwire.pipeline.context import DUE
from groundwire.pipeline.conversation.response import AnswerKind
from groundwire.policy.policy import Action, Overrides

#: Highest number of answers to replay.
MAX_ANSWERS = 80

#: Seconds after which no further answer is replayed.
LIMIT_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The results for one stored answer, under the present and under other settings.

    Attributes:
        event_id: The id of the event that recorded the answer.
        text: The text of the answer.
        now: The result under the present settings.
        then: The result under other settings.
    """

    event_id: str
    text: str
    now: Checked
    then: Checked

    @property
    def n_findings(self) -> tuple[int, int]:
        """The numbers of marked spans under the present and under the other settings."""
        now, then = (
            len(each.detection.spans) if each.detection else 0 for each in (self.now, self.then)
        )
        return now, then

    @property
    def is_changed(self) -> bool:
        """Whether the outcome or the action differs."""
        return (self.now.outcome, self.now.action) != (self.then.outcome, self.then.action)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of other settings on stored answers.

    Attributes:
        then: The other settings.
        answers: The answers that were replayed.
        n_stored: The number of answers to replay; if the time ran out, ``answers`` has fewer.
        n_left_out: The number of the latest stored answers that cannot be replayed.
    """

    then: Overrides
    answers: tuple[Replayed, ...]
    n_stored: int
    n_left_out: int

    @property
    def changed(self) -> list[Replayed]:
        """The answers whose outcome or action changes."""
        return [each for each in self.answers if each.is_changed]

    @property
    def n_findings(self) -> tuple[int, int]:
        """The numbers of marked spans of all answers, under the present and the other settings."""
        now, then = (sum(each.n_findings[n] for each in self.answers) for n in (0, 1))
        return now, then

    @property
    def listed(self) -> list[Replayed]:
        """The answers whose outcome, action or number of marked spans changes."""
        return [each for each in self.answers if each.is_changed or len({*each.n_findings}) > 1]

    @property
    def actions(self) -> list[tuple[str, str, int]]:
        """Each pair of actions under the present and the other settings, most frequent first.

        The third item is the number of answers with this pair.
        """
        counts = Counter((str(each.now.action), str(each.then.action)) for each in self.answers)
        return [(now, then, n) for (now, then), n in counts.most_common()]

    @property
    def blocked(self) -> tuple[int, int] | None:
        """How many answers the other settings newly block, and how many they no longer block.

        ``None`` if no answer is blocked under the present or the other settings.
        """
        block = str(Action.BLOCK)
        if not any(block in (now, then) for now, then, _ in self.actions):
            return None
        more = sum(n for now, then, n in self.actions if now != block == then)
        return more, sum(n for now, then, n in self.actions if now == block != then)


def replayable(records: Sequence[FoundRecord]) -> tuple[list[FoundRecord], int]:
    """Select up to :data:`MAX_ANSWERS` answers to replay, and count all that cannot be replayed.

    Types of events alternate in the result, because a replay may stop before its end. Of an answer
    with two events, the first in ``records`` is used.
    """
    kinds: dict[object, list[FoundRecord]] = {}
    seen = {record.answer_key: _can_be_replayed(record.detail) for record in reversed(records)}
    n_left_out = sum(not can for can in seen.values())
    for record in records:
        if seen.pop(record.answer_key, False):
            kinds.setdefault(record.event["type"], []).append(record)
    alternating = chain.from_iterable(zip_longest(*kinds.values()))
    return [each for each in alternating if each is not None][:MAX_ANSWERS], n_left_out


def _can_be_replayed(detail: Mapping[str, Any] | None) -> bool:
    """Return whether an answer is text, was due to be checked, and is kept with all its sources.

    The result is false if the request had evidence that could not be read.
    """
    try:
        return (
            detail is not None
            and detail["kind"] == AnswerKind.TEXT
            and detail["path"] in DUE
            and not detail["request"]["lost"]
            and is_kept_in_full(detail)
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        return False  # the detail is not in the form in which checks are recorded


def replay(
    pipeline: Pipeline,
    records: Sequence[FoundRecord],
    *,
    n_left_out: int = 0,
    tenant: str,
    now: Overrides,
    then: Overrides,
    limit_s: float = LIMIT_S,
) -> Effect:
    """Check stored answers under the present and under other settings of their tenant.

    ``records`` must be events that :func:`replayable` has selected. After ``limit_s`` seconds, no
    further answer is checked.
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
            now=_checked(pipeline, detail, tenant, now),
            then=_checked(pipeline, detail, tenant, then),
        )
        answers.append(replayed)
    return Effect(then=then, answers=tuple(answers), n_stored=len(records), n_left_out=n_left_out)


def _checked(pipeline: Pipeline, detail: Mapping[str, Any], tenant: str, own: Overrides) -> Checked:
    context = pipeline.open_answer(
        [Source(id=x["id"], title=x["title"], text=x["text"]) for x in detail["sources"]],
        question=detail["request"]["question"],
        tenant=tenant,
        overrides=own,
        decides=True,
    )
    return pipeline.check(context, detail["answer"]["text"])

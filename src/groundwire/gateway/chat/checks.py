"""The checks of one response: threads, time limits and bounds as the configuration has them."""

import sys
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from groundwire.gateway.chat.inflight import AnswersInFlight
from groundwire.gateway.chat.judging import AnswerJudge
from groundwire.gateway.chat.release import Release
from groundwire.gateway.services import Services
from groundwire.pipeline import Checked, Pipeline, RequestContext, Review
from groundwire.pipeline.conversation import Answer

OnReview: TypeAlias = Callable[[int, Review], None]


class Checks:
    """Makes who judges the answers of a response. The evidence is read from the start.

    Attributes:
        on_review: Is told what is known of an answer while it arrives, by its number.
        answers: Where answers are checked.
    """

    def __init__(
        self,
        services: Services,
        pipeline: Pipeline,
        context: RequestContext,
        *,
        release: Release,
    ) -> None:
        """Begin.

        Args:
            services: Of the gateway.
            pipeline: What checks.
            context: Of the request.
            release: When text goes out.
        """
        self._services, self._pipeline, self._context = services, pipeline, context
        self._is_reviewed = release is Release.SENTENCE
        self.on_review: OnReview | None = None
        # Of text that is held, none may leave unchecked: what is held is bounded in other ways.
        settings = services.config.gateway
        max_chars = sys.maxsize if release.withholds else settings.max_held_chars
        self.answers = AnswersInFlight(self._judge, max_chars=max_chars)

    def unavailable(self, answer: Answer, reason: str) -> Checked:
        """What becomes of an answer that cannot be checked."""
        return self._pipeline.unavailable(self._context, answer, reason)

    def _judge(self, index: int) -> AnswerJudge:
        return AnswerJudge(
            partial(self._pipeline.stream, self._context),
            give_up=self.unavailable,
            threads=self._services.checks,
            timeout_s=self._services.config.gateway.check_timeout_s,
            on_review=partial(self._reviewed, index) if self._is_reviewed else None,
        )

    def _reviewed(self, index: int, review: Review) -> None:
        if self.on_review is not None:
            self.on_review(index, review)

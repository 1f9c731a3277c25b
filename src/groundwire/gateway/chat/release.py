"""Decides when the text of a streamed answer is sent to the client."""

from collections.abc import Iterable
from enum import StrEnum

from groundwire.policy.policy import Action, strongest


class Release(StrEnum):
    """The ways to send the text of a stream to the client; one is chosen before the first byte."""

    OBSERVE = "observe"  # at once, byte for byte; nothing waits for the check
    MARK = "mark"  # at once, but the end of an answer waits for the result of its check
    SENTENCE = "sentence"  # each sentence as soon as it has been checked
    DEFERRED = "deferred"  # at the end, once all answers have been checked

    @classmethod
    def of(cls, actions: Iterable[Action], wish: str, *, settles: bool = False) -> "Release":
        """Return the way to send the text of a stream.

        Args:
            actions: All actions that the policy can lead to.
            wish: The configured way to send withheld text: ``sentence`` or ``deferred``.
            settles: Whether the end of a response waits for its audit records.
        """
        most = strongest(actions)
        if most.withholds:
            return cls(wish)
        if most is Action.BODY and wish == cls.DEFERRED:
            return cls.DEFERRED  # so that the warning can stand before the text
        if most in (Action.HEADER, Action.BODY) or (settles and most is not Action.NONE):
            return cls.MARK
        return cls.OBSERVE

    @property
    def withholds(self) -> bool:
        """Whether text is sent only after it has been checked."""
        return self in (Release.SENTENCE, Release.DEFERRED)

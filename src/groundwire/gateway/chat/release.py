"""When the text of a streamed answer goes out."""

from collections.abc import Iterable
from enum import StrEnum

from groundwire.policy.policy import Action


class Release(StrEnum):
    """When the text of a stream goes out. It is chosen once, before the first byte."""

    OBSERVE = "observe"  # at once, byte for byte; nothing waits for the check
    MARK = "mark"  # at once, but for the event that ends an answer: it may carry marks
    SENTENCE = "sentence"  # sentence by sentence, each once it is judged
    DEFERRED = "deferred"  # at the end, once all is judged

    @classmethod
    def of(cls, actions: Iterable[Action], wish: str, *, settles: bool = False) -> "Release":
        """The release that the strongest possible action needs.

        Args:
            actions: All actions that the policy can lead to.
            wish: The configured release of text that is held: ``sentence`` or ``deferred``.
            settles: Whether a response waits for its records.
        """
        strongest = max(actions, key=lambda action: action.strength, default=Action.NONE)
        if strongest is Action.BLOCK:
            return cls(wish)
        if strongest is Action.BODY and wish == cls.DEFERRED:
            return cls.DEFERRED  # so that the warning can stand in front
        if strongest in (Action.HEADER, Action.BODY) or (settles and strongest is not Action.NONE):
            return cls.MARK
        return cls.OBSERVE

    @property
    def withholds(self) -> bool:
        """Whether text waits for its verdict."""
        return self in (Release.SENTENCE, Release.DEFERRED)

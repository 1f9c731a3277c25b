"""Opens a detector of another project by its name."""

import os
from typing import Protocol, runtime_checkable

from groundwire.detector import Detector, ScoringBackend
from groundwire.errors import SettingError
from groundwire.evaluation.adapters.names import FORMS, AdapterName, parse


def adapter(
    name: str,
    *,
    revision: str | None = None,
    operating_point: str | float = "balanced",
    threads: int | None = None,
    device: str = "cpu",
) -> Detector:
    """Open a detector of another project.

    Args:
        name: Such as ``ngram``, ``nli:MODEL`` or ``judge:MODEL@URL``.
        revision: Commit of a hub model.
        operating_point: ``balanced``, or a threshold in (0, 1].
        threads: Answers that are judged at a time.
        device: ``cpu`` or ``cuda:N``, for loaded checkpoints.

    Raises:
        SettingError: If there is no such detector, or a setting does not concern it.
        MissingExtraError: If what it needs is not installed.
        ModelError: If its model cannot be used.
    """
    parsed = parse(name)
    if parsed is None:
        raise SettingError("detector", name, f"one of {', '.join(FORMS.values())}")
    judge, threads = _open(parsed, revision, threads, device)
    return _Adapted(judge, operating_point=operating_point, threads=threads)


class _Adapted(Detector):
    """A detector that also closes its backend."""

    def close(self) -> None:
        """Close the threads and the backend."""
        super().close()
        if isinstance(self.judge, _Closable):
            self.judge.close()


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...


def _open(
    name: AdapterName, revision: str | None, threads: int | None, device: str
) -> tuple[ScoringBackend, int | None]:
    """Load the backend; give it with the number of answers to judge at a time."""
    if name.kind in ("ngram", "judge"):
        # They run no checkpoint here, so its options make no sense.
        if revision is not None:
            raise SettingError("revision", revision, f"None with {name.kind}")
        if device != "cpu":
            raise SettingError("device", device, f"cpu with {name.kind}")
    match name.kind:
        case "ngram":
            from groundwire.evaluation.adapters.ngram import NgramJudge

            return NgramJudge(), threads
        case "nli":
            from groundwire.engine.reader import n_threads
            from groundwire.evaluation.adapters.nli import NliJudge

            n = n_threads(threads)
            return NliJudge.load(name.model, revision=revision, device=device, threads=n), threads
    from groundwire.evaluation.adapters.judge import THREADS, LlmJudge

    return LlmJudge.open_at(name.model, name.url, os.environ), threads or THREADS

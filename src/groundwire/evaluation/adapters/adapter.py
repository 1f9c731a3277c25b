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
        name: Name of the detector, such as ``ngram``, ``nli:MODEL`` or ``judge:MODEL@URL``.
        revision: Commit of a hub model.
        operating_point: ``balanced``, or a threshold in (0, 1].
        threads: Number of answers that are judged at a time; ``None`` for the default.
        device: ``cpu`` or ``cuda:N``, for checkpoints that are loaded.

    Raises:
        SettingError: If there is no such detector, or it does not take one of the settings.
        MissingExtraError: If a library that the detector needs is not installed.
        ModelError: If the model of the detector cannot be used.
    """
    parsed = parse(name)
    if parsed is None:
        raise SettingError("detector", name, f"one of {', '.join(FORMS.values())}")
    judge, threads = _open(parsed, revision, threads, device)
    return _Adapted(judge, operating_point=operating_point, threads=threads)


class _Adapted(Detector):
    """A detector of another project; closing it also closes the connections of its backend."""

    def close(self) -> None:
        """Close the threads of the detector, then the backend."""
        super().close()
        if isinstance(self.judge, _Closable):
            self.judge.close()


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...


def _open(
    name: AdapterName, revision: str | None, threads: int | None, device: str
) -> tuple[ScoringBackend, int | None]:
    """Load the backend of a detector.

    Returns:
        The backend, and the number of answers to judge at a time; ``None`` for the default.
    """
    if name.kind in ("ngram", "judge"):
        # These detectors load no checkpoint, so they refuse the options of a checkpoint.
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

"""Opens a detector of another project by its name."""

import os

from groundwire.detector import Detector, ScoringBackend
from groundwire.errors import SettingError
from groundwire.evaluation.adapters.names import FORMS, parse


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
    judge: ScoringBackend
    if parsed.kind == "nli":
        from groundwire.engine.reader import n_threads
        from groundwire.evaluation.adapters.nli import NliJudge

        n = n_threads(threads)
        judge = NliJudge.load(parsed.model, revision=revision, device=device, threads=n)
        return Detector(judge, operating_point=operating_point, threads=threads)
    # These detectors load no checkpoint, so they refuse the options of a checkpoint.
    if revision is not None:
        raise SettingError("revision", revision, f"None with {parsed.kind}")
    if device != "cpu":
        raise SettingError("device", device, f"cpu with {parsed.kind}")
    if parsed.kind == "ngram":
        from groundwire.evaluation.adapters.ngram import NgramJudge

        judge = NgramJudge()
    else:
        from groundwire.evaluation.adapters.judge import THREADS, LlmJudge

        judge = LlmJudge.open_at(parsed.model, parsed.url, os.environ)
        threads = threads or THREADS
    return Detector(judge, operating_point=operating_point, threads=threads)

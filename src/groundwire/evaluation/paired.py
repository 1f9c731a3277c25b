"""Differences of scores between two runs over the same answers, such as of two detectors."""

from collections.abc import Callable, Sequence

from groundwire.evaluation.columns import Columns
from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.intervals import Bootstrap, Replicates, difference
from groundwire.evaluation.scores import of_answers, of_spans

#: A function that computes scores of answers, by name, with the resamples of a bootstrap.
_Scores = Callable[[Columns, Bootstrap], dict[str, Replicates]]


def differences(
    now: Sequence[ComparedAnswer], before: Sequence[ComparedAnswer]
) -> dict[str, Replicates]:
    """Subtract each earlier score from the same score now, resample by resample.

    Args:
        now: Answers as they were judged now.
        before: The same answers, in the same order, as they were judged earlier.

    Returns:
        Name of a score → difference. Scores of characters, such as ``span.f1``, are computed from
        the answers whose labels say, in both runs, which characters are hallucinated; they are
        missing if no answer has such labels. Empty without answers.
    """
    if not now:
        return {}
    found = _paired(of_answers, now, before)
    marked = [(a, b) for a, b in zip(now, before, strict=True) if a.has_spans and b.has_spans]
    if marked:
        spans = _paired(_of_characters, *map(list, zip(*marked, strict=True)))
        found |= {f"span.{name}": each for name, each in spans.items()}
    return found


def _paired(
    scores: _Scores, now: Sequence[ComparedAnswer], before: Sequence[ComparedAnswer]
) -> dict[str, Replicates]:
    after, was = Columns.of(now), Columns.of(before)
    contexts = Bootstrap.of(after.contexts)
    known = scores(was, contexts)
    return {name: difference(each, known[name]) for name, each in scores(after, contexts).items()}


def _of_characters(answers: Columns, contexts: Bootstrap) -> dict[str, Replicates]:
    return of_spans(answers.characters * answers.counted[:, None], contexts)

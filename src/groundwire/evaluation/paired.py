"""Differences of scores between two runs over the same answers, such as runs of two detectors."""

from collections.abc import Callable, Sequence

from groundwire.evaluation.columns import Columns
from groundwire.evaluation.confusion import ComparedAnswer
from groundwire.evaluation.intervals import Bootstrap, Replicates, difference
from groundwire.evaluation.scores import of_answers, of_spans

#: A function that computes scores of answers: name → score with its resamples.
_Scores = Callable[[Columns, Bootstrap], dict[str, Replicates]]
#: For each answer, two comparisons with its label: of the earlier run's result, and of the present
#: run's.
Pairs = Sequence[tuple[ComparedAnswer, ComparedAnswer]]


def differences(pairs: Pairs) -> dict[str, Replicates]:
    """Subtract each score of the earlier run from the same score of the present run.

    The scores of each resample are also subtracted; from these differences, intervals can be
    computed.

    Returns:
        Name of a score → difference; empty without answers. Scores of characters, such as
        ``span.f1``, use only answers whose hallucinated characters are labelled in both runs
        (``has_spans``). If no answer is labelled so, the scores of characters are missing.
    """
    if not pairs:
        return {}
    found = _paired(of_answers, pairs)
    marked = [(was, now) for was, now in pairs if was.has_spans and now.has_spans]
    if marked:
        found |= {f"span.{name}": each for name, each in _paired(_of_characters, marked).items()}
    return found


def _paired(scores: _Scores, pairs: Pairs) -> dict[str, Replicates]:
    was, now = (Columns.of(side) for side in zip(*pairs, strict=True))
    contexts = Bootstrap.of(now.contexts)
    known = scores(was, contexts)
    return {name: difference(each, known[name]) for name, each in scores(now, contexts).items()}


def _of_characters(answers: Columns, contexts: Bootstrap) -> dict[str, Replicates]:
    return of_spans(answers.characters * answers.counted[:, None], contexts)

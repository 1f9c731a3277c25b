"""Reads cases from files, and decides whether a detector passes them."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from groundwire import Detection, Detector, Span

FOLDER = Path(__file__).parent
MUST_PASS = "must_pass.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An answer, and which of its words its sources do not support.

    Attributes:
        id: The id of the case, unique among all cases.
        kind: The class of the case: the kind of mistake that the answer has, or avoids.
        sources: The texts that the answer must rest on.
        answer: The text to check.
        question: The question that the answer is for, if there is one.
        marked: Parts of the answer, in each of which at least one word must be flagged. If several
            words can be taken for the wrong one, the part has all of them. Empty: the answer is
            faithful, and nothing in it may be flagged.
        clean: Parts of the answer in which nothing may be flagged.
    """

    id: str
    kind: str
    sources: tuple[str, ...]
    answer: str
    question: str | None = None
    marked: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()

    @property
    def is_faithful(self) -> bool:
        """Whether the sources support the whole answer."""
        return not self.marked

    def problems(self, detection: Detection) -> list[str]:
        """Return messages about what is wrong with a detection; empty if the case passes."""
        spans = detection.spans
        missed = [f"missed {part!r}" for part in self.marked if not self._flagged(part, spans)]
        clean = (self.answer,) if self.is_faithful else self.clean
        wrong = {span.text for part in clean for span in self._flagged(part, spans)}
        return missed + [f"wrongly flagged {text!r}" for text in sorted(wrong)]

    def _flagged(self, part: str, spans: Iterable[Span]) -> list[Span]:
        start = self.answer.index(part)
        return [span for span in spans if span.start < start + len(part) and start < span.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a detector for a case, which it passed if there are no problems."""

    case: Case
    problems: tuple[str, ...]


def must_pass() -> tuple[Case, ...]:
    """Return the documented examples, which every shipped model has to pass."""
    return read(FOLDER / MUST_PASS)


def further() -> tuple[Case, ...]:
    """Return all other cases of this folder, most of which a model has to pass."""
    paths = sorted(path for path in FOLDER.glob("*.toml") if path.name != MUST_PASS)
    return tuple(case for path in paths for case in read(path))


def unseen() -> tuple[Case, ...]:
    """Return cases by another author, who knew neither the rules nor their gaps.

    Every second case, in the order of class and id, was looked at when the rules were refined.
    Failures among the other cases were looked at later.
    """
    cases = (case for path in (FOLDER / "unseen").glob("*.toml") for case in read(path))
    return tuple(sorted(cases, key=lambda case: (case.kind, case.id)))


def blind() -> tuple[Case, ...]:
    """Return cases by another author that nobody who works on rules or weights has read.

    Their results may only be counted, not shown.
    """
    return tuple(case for path in sorted((FOLDER / "blind").glob("*.toml")) for case in read(path))


def run(detector: Detector, case: Case) -> Result:
    """Check one case at the operating point of the detector."""
    detection = detector.detect(sources=case.sources, question=case.question, answer=case.answer)
    return Result(case=case, problems=tuple(case.problems(detection)))


def by_kind(results: Iterable[Result]) -> Mapping[str, list[Result]]:
    """Group results by the class of their case, with classes in alphabetical order."""
    groups: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.case.kind):
        groups.setdefault(result.case.kind, []).append(result)
    return groups


def report(results: Iterable[Result], *, verbose: bool = False) -> str:
    """Return a text with the pass rate and failures of each class, and the pass rates of all.

    Args:
        results: One or more results.
        verbose: Whether to show the answer of each failure.
    """
    results, lines = list(results), []
    for kind, group in by_kind(results).items():
        lines.append(f"{kind}: {_rate(group)}")
        for result in group:
            if result.problems:
                lines.append(f"  {result.case.id}: {'; '.join(result.problems)}")
                lines += [f"    {result.case.answer!r}"] if verbose else []
    return "\n".join([*lines, totals(results)])


def totals(results: Iterable[Result]) -> str:
    """Return a text with the pass rates of faithful answers, answers with a mistake, and all."""
    results, lines = list(results), []
    for name, is_faithful in (("faithful", True), ("with a slip", False)):
        part = [result for result in results if result.case.is_faithful is is_faithful]
        lines += [f"{name}: {_rate(part)}"] if part else []
    return "\n".join([*lines, f"all: {_rate(results)}"])


def _rate(results: list[Result]) -> str:
    n_passed = sum(not result.problems for result in results)
    return f"{n_passed} of {len(results)} ({n_passed / len(results):.0%})"


def read(path: Path) -> tuple[Case, ...]:
    """Read the cases of a file, which has an array of tables for each class of cases."""
    kinds = tomllib.loads(path.read_text(encoding="utf-8"))
    lists = ("sources", "marked", "clean")
    return tuple(
        Case(kind=kind, **{**entry, **{name: tuple(entry.get(name, ())) for name in lists}})
        for kind, entries in kinds.items()
        for entry in entries
    )

"""Candidates for the place of a span: which words of the evidence, and what is seen of them."""

import numpy as np
import pytest

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.values import EvidenceRef
from groundwire.engine.architecture import VOCABULARY
from groundwire.engine.models import find_model
from groundwire.engine.tokenizer import WordPieces
from groundwire.explain.replacements import FEATURES, Candidates, WordVectors


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    """Vectors of a table of random embeddings: other words, other vectors."""
    table = np.random.default_rng(0).integers(-128, 128, (VOCABULARY, 32), np.int8)
    return WordVectors(table, WordPieces(find_model().folder / "tokenizer.json"))


def held(claim: str, span: str, *lines: str) -> Held:
    """A span of a claim with lines of a source ``S0``, which follow one another."""
    compared, at = [], 0
    for line in lines:
        place = EvidenceRef(source_id="S0", start=at, end=at + len(line), text=line)
        compared.append(ComparedText(line, place))
        at += len(line) + 1
    start = claim.index(span)
    return Held(ComparedText(claim), start, start + len(span), tuple(compared))


def row(found: Candidates, start: int, text: str) -> dict[str, float]:
    """What is seen of the candidate ``text`` for the words that begin at ``start``, by name."""
    changes = enumerate(found.replacements)
    # A longer part of the claim is listed after a shorter one: the last is the longest.
    index = [n for n, each in changes if (each.start, each.text) == (start, text)][-1]
    return dict(zip(FEATURES, found.features[index].tolist(), strict=True))


def test_a_value_is_replaced_by_a_value_of_its_kind(vectors: WordVectors) -> None:
    source = "The tower is 330 m tall and was opened in 1889."
    found = Candidates.of(held("It was opened in 1950.", "1950", source), vectors)
    year, height = row(found, 17, "1889"), row(found, 17, "330 m")
    assert (year["values of one kind"], height["values of one kind"]) == (1, 0)
    assert year["words around"] > height["words around"]
    assert year["word before"] == pytest.approx(1)
    assert year["word after"] == 1  # the sentence ends on both sides


def test_a_candidate_knows_its_place_and_the_changed_claim(vectors: WordVectors) -> None:
    line = "Anna Weber leads the museum."
    found = Candidates.of(held("Karl Huber leads it.", "Karl Huber", "Closed.", line), vectors)
    whole = [each for each in found.replacements if (each.start, each.end) == (0, 10)]
    (change,) = [each for each in whole if each.text == "Anna Weber"]
    assert change.applied("Karl Huber leads it.") == "Anna Weber leads it."
    assert change.place == EvidenceRef(source_id="S0", start=8, end=18, text="Anna Weber")


def test_a_name_is_best_replaced_by_a_whole_name(vectors: WordVectors) -> None:
    line = "The museum is led by Anna Weber of Graz."
    found = Candidates.of(held("It is led by Karl Huber.", "Karl Huber", line), vectors)
    whole, part = row(found, 13, "Anna Weber of Graz"), row(found, 13, "Weber of")
    assert (whole["whole names"], whole["part of a name"]) == (1, 0)
    assert (part["whole names"], part["part of a name"]) == (0, 1)


def test_a_value_is_never_cut(vectors: WordVectors) -> None:
    source = "It opened on 12 May 1889 and closed between 1950 and 1960."
    found = Candidates.of(held("It opened in 1887.", "1887", source), vectors)
    texts = {each.text for each in found.replacements}
    assert "12 May 1889" in texts
    assert "12 May" not in texts
    source = "In 1950 it paid 3 million euros."
    found = Candidates.of(held("It paid a lot in 1887.", "a lot in 1887", source), vectors)
    texts = {each.text for each in found.replacements}
    assert "1950 it paid 3 million euros" in texts
    assert not any(text.endswith("paid 3") for text in texts)


def test_a_full_stop_within_a_name_ends_no_clause(vectors: WordVectors) -> None:
    source = "The bridge was opened by John F. Kennedy in May."
    found = Candidates.of(held("Karl Huber opened it.", "Karl Huber", source), vectors)
    assert "John F. Kennedy" in {each.text for each in found.replacements}


def test_no_candidate_goes_past_the_end_of_a_clause(vectors: WordVectors) -> None:
    found = Candidates.of(held("Ann has a red cat.", "red cat", "A dog barks. It rains."), vectors)
    assert not any("barks. It" in each.text for each in found.replacements)


@pytest.mark.parametrize(
    ("claim", "span", "lines"),
    [
        ("Sales rose by 5%", "5%", ["by 7%"]),  # no word follows, and no clause ends either
        ("…", "…", ["A line."]),
        ("A claim.", "claim", ["—"]),
        ("It is ¹.", "¹", ["²"]),
    ],
)
def test_texts_without_words_beside_are_read(
    vectors: WordVectors, claim: str, span: str, lines: list[str]
) -> None:
    found = Candidates.of(held(claim, span, *lines), vectors)
    assert found.features.shape == (len(found.replacements), len(FEATURES))
    assert np.isfinite(found.features).all()


def test_of_a_long_line_and_a_long_span_only_a_part_is_looked_at(vectors: WordVectors) -> None:
    claim, line = "red " * 300, " ".join(f"word{n}" for n in range(5_000))
    found = Candidates.of(held(claim, claim.strip(), line), vectors)
    assert 0 < len(found.replacements) < 6 * 200 * 12
    assert all(len(each.text.split()) <= 12 for each in found.replacements)

"""Candidates for the place of a span: which words of the evidence, and what is seen of them."""

import numpy as np
import pytest

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.values import EvidenceRef
from groundwire.explain.replacements import FEATURES, Candidates


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


def test_a_value_is_replaced_by_a_value_of_its_kind() -> None:
    source = "The tower is 330 m tall and was opened in 1889."
    found = Candidates.of(held("It was opened in 1950.", "1950", source))
    year, height = row(found, 17, "1889"), row(found, 17, "330 m")
    assert (year["values of one kind"], height["values of one kind"]) == (1, 0)


def test_a_range_is_not_replaced_by_one_value() -> None:
    source = "The pay is 48,000 to 52,000 euros. In the first year it is 47,000."
    found = Candidates.of(held("It pays 40 to 42 thousand.", "40 to 42 thousand", source))
    of_range = {each.text for each in found.replacements if each.old == "40 to 42 thousand"}
    assert any("48,000 to 52,000" in text for text in of_range)
    assert not any("47,000" in text for text in of_range)


def test_a_number_of_things_is_not_replaced_by_one_of_other_things() -> None:
    source = "It takes 11 votes of 12 jurors, within 14 days."
    found = Candidates.of(held("It takes nine jurors and 4 weeks.", "nine jurors", source))
    of_jurors = {each.text for each in found.replacements if each.old == "nine jurors"}
    assert "12 jurors" in of_jurors
    assert "11 votes" not in of_jurors
    found = Candidates.of(held("It takes nine jurors and 4 weeks.", "4 weeks", source))
    assert "14 days" in {each.text for each in found.replacements if each.old == "4 weeks"}


def test_the_places_of_words_go_through_all_lines() -> None:
    claim, lines = "It opened in 1950.", ("A tower.", "It opened in 1889.")
    found = Candidates.of(held(claim, "1950", *lines))
    (place,) = {
        tuple(place)
        for change, place in zip(found.replacements, found.places.tolist(), strict=True)
        if change.text == "1889" and claim[change.start : change.end] == "1950"
    }
    # The words of the lines: 1 A, 2 tower, 4 It, 5 opened, 6 in, 7 1889.
    assert place == (7, 7, 4, 4)


def test_a_candidate_knows_its_place_and_the_changed_claim() -> None:
    line = "Anna Weber leads the museum."
    found = Candidates.of(held("Karl Huber leads it.", "Karl Huber", "Closed.", line))
    whole = [each for each in found.replacements if (each.start, each.end) == (0, 10)]
    (change,) = [each for each in whole if each.text == "Anna Weber"]
    assert change.applied("Karl Huber leads it.") == "Anna Weber leads it."
    assert change.place == EvidenceRef(source_id="S0", start=8, end=18, text="Anna Weber")


def test_a_value_is_never_cut() -> None:
    source = "It opened on 12 May 1889 and closed between 1950 and 1960."
    found = Candidates.of(held("It opened in 1887.", "1887", source))
    texts = {each.text for each in found.replacements}
    assert "12 May 1889" in texts
    assert "12 May" not in texts
    source = "In 1950 it paid 3 million euros."
    found = Candidates.of(held("It paid a lot in 1887.", "a lot in 1887", source))
    texts = {each.text for each in found.replacements}
    assert "1950 it paid 3 million euros" in texts
    assert not any(text.endswith("paid 3") for text in texts)


def test_a_full_stop_within_a_name_ends_no_clause() -> None:
    source = "The bridge was opened by John F. Kennedy in May."
    found = Candidates.of(held("Karl Huber opened it.", "Karl Huber", source))
    assert "John F. Kennedy" in {each.text for each in found.replacements}


def test_no_candidate_goes_past_the_end_of_a_clause() -> None:
    found = Candidates.of(held("Ann has a red cat.", "red cat", "A dog barks. It rains."))
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
def test_texts_without_words_beside_are_read(claim: str, span: str, lines: list[str]) -> None:
    found = Candidates.of(held(claim, span, *lines))
    assert found.features.shape == (len(found.replacements), len(FEATURES))
    assert np.isfinite(found.features).all()


def test_of_a_long_line_and_a_long_span_only_a_part_is_looked_at() -> None:
    claim, line = "red " * 300, " ".join(f"word{n}" for n in range(5_000))
    found = Candidates.of(held(claim, claim.strip(), line))
    assert 0 < len(found.replacements) < 6 * 200 * 12
    assert all(len(each.text.split()) <= 12 for each in found.replacements)

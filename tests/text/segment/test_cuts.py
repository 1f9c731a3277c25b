"""Where a claim is cut that is too long."""

from tests.text.segment.pieces import claims


def test_a_claim_that_is_too_long_is_cut_at_the_last_white_space() -> None:
    text = "word " * 200
    assert [len(claim) for claim in claims(text)] == [599, 399]


def test_a_word_that_is_too_long_is_cut_at_the_maximum() -> None:
    assert [len(claim) for claim in claims("x" * 1300)] == [600, 600, 100]


def test_a_claim_of_just_the_maximum_is_not_cut() -> None:
    assert [len(claim) for claim in claims("x" * 599 + ". Yes")] == [600, 3]


def test_a_cut_keeps_a_letter_and_its_marks_together() -> None:
    text = "x" * 599 + "e\u0301" * 10
    assert [len(claim) for claim in claims(text)] == [599 + 0, 20]
    assert [len(claim) for claim in claims("x" + "\u0301" * 700)] == [600]


def test_a_cut_keeps_an_emoji_sequence_together() -> None:
    text = "x" * 598 + "👩\u200d🔬" + "y" * 5
    assert [len(claim) for claim in claims(text)] == [598, 8]

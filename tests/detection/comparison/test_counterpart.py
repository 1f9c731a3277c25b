"""Which words of a line stand in the place of words of a claim."""

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.comparison.counterpart import alike


def test_the_same_words_beside_two_names_speak_for_one_in_the_place_of_the_other() -> None:
    claim = ComparedText("It was designed by Wagner in spring.")
    line = ComparedText("Wood, designed by Loos for Wright.")
    (ours,), (loos, wright) = claim.names, line.names
    assert (ours.text, loos.text, wright.text) == ("Wagner", "Loos", "Wright")
    assert alike(claim, ours, line, loos) == 0.75  # "by" right before, and near it "designed"
    assert alike(claim, ours, line, wright) < 0.75

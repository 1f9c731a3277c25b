"""References to what is not among the sources."""

from collections.abc import Sequence

import pytest

from groundwire.detection.example import Source
from groundwire.detection.values import Claim
from groundwire.explain.references import Library, Reference, ReferenceKind, fabricated_references
from tests.explain.marked import claim, sources


def fabricated(found: Claim, given: Sequence[Source]) -> tuple[Reference, ...]:
    return fabricated_references(found, Library(given))


POLICY = (
    "## 4.2 Returns\nGoods may be returned within 30 days, see section 7 and Table 3. "
    "Background: Okafor et al. (2019), doi 10.5555/abc.123, and the report “Trade in Grain”. "
    "More at https://shop.example.org/returns/ [2]."
)


@pytest.mark.parametrize(
    ("marked", "kind"),
    [
        ("Returns take 30 days ⟦[S7]⟧.", ReferenceKind.SOURCE_ID),
        ("Returns take 30 days ⟦[S0, 9]⟧.", ReferenceKind.SOURCE_ID),
        ("See ⟦https://shop.example.org/refunds⟧.", ReferenceKind.URL),
        ("See ⟦www.elsewhere.example⟧ for more.", ReferenceKind.URL),
        ("It is doi ⟦10.5555/xyz.9⟧.", ReferenceKind.DOI),
        ("So ⟦Marsh et al. (2021)⟧ found.", ReferenceKind.WORK),
        ("So Okafor ⟦et al. (2020)⟧ found.", ReferenceKind.WORK),
        ("It is known ⟦(Marsh, 2021)⟧.", ReferenceKind.WORK),
        ("So ⟦Marsh and Lee (2021)⟧ found.", ReferenceKind.WORK),
    ],
)
def test_what_stands_nowhere_is_fabricated(marked: str, kind: ReferenceKind) -> None:
    found, span = claim(marked)
    (reference,) = fabricated(found, sources(POLICY, "Nothing."))
    assert (reference.kind, reference.start < span.end) == (kind, True)
    assert reference.end > span.start
    assert found.text[reference.start : reference.end] == reference.text


@pytest.mark.parametrize(
    "text",
    [
        "Returns take 30 days [S0].",
        "Returns take 30 days [1] [2].",  # the second of two sources
        "See http://www.shop.example.org/returns.",
        "See https://shop.example.org/returns/, which says so.",
        "It is doi 10.5555/ABC.123.",
        "So Okafor et al. (2019) found.",
        "So Okafor et al. found.",
        "It is known (Okafor, 2019).",
        '"Never again", he said, and it was "fine".',
        "Paris and London (the capitals) are large.",
        "In the year [2019] it was new.",
    ],
)
def test_what_stands_there_or_is_no_reference_is_not(text: str) -> None:
    found, _ = claim(f"⟦{text}⟧")
    assert fabricated(found, sources(POLICY, "Nothing.")) == ()


def test_a_source_may_number_its_passages_itself() -> None:
    found, _ = claim("⟦Returns take 30 days⟧ [3].")
    assert fabricated(found, [Source(text="passage 3: Returns take 30 days.", id="a")]) == ()
    assert fabricated(found, [Source(text="Returns take 30 days.", id="a")])


def test_a_reference_has_its_place_in_the_answer() -> None:
    found, _ = claim("Built in ⟦1950⟧ [S7].", start=100)
    (reference,) = fabricated(found, sources("Built in 1887."))
    assert (reference.start, reference.end, reference.text) == (114, 118, "[S7]")

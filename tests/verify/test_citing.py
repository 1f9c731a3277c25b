import pytest

from groundwire.verify.citing import IdMap, Normalization
from groundwire.verify.claims import read_claims


@pytest.mark.parametrize(
    ("known", "written", "meaning"),
    [
        (["12"], "12", "12"),
        (["S12"], "12", "S12"),
        (["12", "S12"], "12", "12"),
        (["12"], "S12", "12"),
        (["s1"], "1", "s1"),
        (["s1"], "S1", "s1"),
        (["S0"], "S404", None),
        (["S0"], "intro", None),
    ],
)
def test_an_id_means_the_span_of_its_name_or_number(
    known: list[str], written: str, meaning: str | None
) -> None:
    assert IdMap.of(known, [written]).meaning(written) == meaning


def test_what_is_not_taken_literally_is_recorded() -> None:
    (claim,) = read_claims("It is tall [S0] [1].", span_ids=["S0", "S1"])
    assert claim.cites == ("S0", "S1")
    assert claim.normalizations == (Normalization("1", "S1"),)


def test_a_number_counts_from_one_only_if_no_other_speaks_against_it() -> None:
    assert IdMap.of(["S0", "S1"], ["2"]).meaning("2") == "S1"
    # [1] is S1, so [2] would be S2, which there is not.
    for other in ("1", "0", "S0"):
        assert IdMap.of(["S0", "S1"], [other, "2"]).meaning("2") is None


def test_a_number_past_spans_that_count_from_one_is_unknown() -> None:
    (claim,) = read_claims("It is tall [3].", span_ids=["S1", "S2"])
    assert (claim.cites, claim.unknown) == ((), ("3",))


def test_two_ways_to_write_one_id_cite_it_once() -> None:
    (claim,) = read_claims("It is tall [1] [S1].", span_ids=["S1"])
    assert claim.cites == ("S1",)

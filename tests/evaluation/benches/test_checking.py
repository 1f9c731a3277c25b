"""Sums of files and counts of answers, held against what there should be."""

from hashlib import sha256
from pathlib import Path

import pytest

from groundwire.errors import SettingError
from groundwire.evaluation.benches.bench import Expected
from groundwire.evaluation.benches.checking import (
    Agreement,
    ChecksumError,
    check_counts,
    require_sums,
    sums_of,
)

ZERO = "0" * 64


def test_files_are_named_below_what_they_have_in_common(tmp_path: Path) -> None:
    files = [tmp_path / "covidqa" / "test.parquet", tmp_path / "techqa" / "test.parquet"]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)
    assert sums_of(files) == {
        "covidqa/test.parquet": sha256(b"covidqa").hexdigest(),
        "techqa/test.parquet": sha256(b"techqa").hexdigest(),
    }
    assert list(sums_of(files[:1])) == ["test.parquet"]


def test_a_sum_that_is_given_must_be_that_of_its_file() -> None:
    require_sums({"a": ZERO}, [ZERO, f"a={ZERO}", ZERO.upper()])
    require_sums({"a": ZERO, "b": ZERO}, [f"b={ZERO}"])
    with pytest.raises(ChecksumError, match=f"a has the SHA-256 {ZERO} and not {'1' * 64}"):
        require_sums({"a": ZERO}, ["1" * 64])


@pytest.mark.parametrize("given", ["abc", f"c={ZERO}", ZERO, "g" * 64])
def test_a_sum_of_nothing_is_refused(given: str) -> None:
    with pytest.raises(SettingError, match="sha256"):
        require_sums({"a": ZERO, "b": ZERO}, [given])


def test_counts_agree_differ_or_are_not_known() -> None:
    expected = Expected(total=(4, 2), tasks={"QA": (2, None)}, source="a page")
    same = check_counts(expected, (4, 2), {"QA": (2, 1), "Other": (2, 1)})
    assert (same.agreement, same.differences, same.source) == (Agreement.SAME, (), "a page")
    other = check_counts(expected, (1004, 3), {})
    assert other.differences == (
        "QA: 0 answers, 0 hallucinated, and 2 answers expected",
        "all: 1,004 answers, 3 hallucinated, and 4 answers, 2 hallucinated expected",
    )
    for nothing in (None, Expected()):
        assert check_counts(nothing, (4, 2), {}).agreement is Agreement.UNKNOWN

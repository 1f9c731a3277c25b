"""What counts as a difference."""

from tests.golden.golden import differences


def test_probabilities_may_differ_a_little_and_all_else_not_at_all() -> None:
    kept = {"probability": 0.5, "start": 3, "spans": [{"similarity": -0.1, "text": "a"}]}
    near = {"probability": 0.53, "start": 3, "spans": [{"similarity": -0.13, "text": "a"}]}
    assert differences(kept, near) == []
    assert differences(kept, {**kept, "probability": 0.56}) == [".probability is 0.56, not 0.5"]
    assert differences(kept, {**kept, "probability": None}) == [".probability is None, not 0.5"]
    assert differences(kept, {**kept, "start": 4}) == [".start is 4, not 3"]
    assert differences({"share": 0.5}, {"share": 0.501}) == [".share is 0.501, not 0.5"]
    assert differences({"is_whole": 1}, {"is_whole": True}) == [".is_whole is True, not 1"]


def test_what_is_missing_and_what_is_new_is_told() -> None:
    assert differences({"a": 1}, {"b": [2]}) == [".a is missing", ".b is new: [2]"]
    assert differences({"a": [1, 2]}, {"a": [1]}) == [".a has 1 entries, not 2: [1], not [1, 2]"]

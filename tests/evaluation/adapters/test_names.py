"""What detectors of others are called."""

import pytest

from groundwire.errors import SettingError
from groundwire.evaluation.adapters.adapter import adapter
from groundwire.evaluation.adapters.names import AdapterName, parse


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ngram", AdapterName(kind="ngram")),
        ("nli:cross-encoder/nli-x", AdapterName(kind="nli", model="cross-encoder/nli-x")),
        ("lettucedetect:a/b", AdapterName(kind="lettucedetect", model="a/b")),
        ("judge:gpt-4o", AdapterName(kind="judge", model="gpt-4o")),
        (
            "judge:org/model@v2@http://127.0.0.1:8000/v1",
            AdapterName(kind="judge", model="org/model@v2", url="http://127.0.0.1:8000/v1"),
        ),
        (None, None),
        ("reader", None),
        ("similarity:hash", None),
        ("./ngram", None),
        ("KRLabsOrg/lettucedect-base-modernbert-en-v1", None),
    ],
)
def test_a_name_says_what_is_opened(name: str | None, expected: AdapterName | None) -> None:
    assert parse(name) == expected


@pytest.mark.parametrize("name", ["ngram:3", "nli", "nli: ", "lettucedetect:", "judge"])
def test_half_a_name_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=name.partition(":")[0]):
        parse(name)


def test_our_own_detectors_are_no_adapters() -> None:
    with pytest.raises(SettingError, match="one of ngram, nli:MODEL"):
        adapter("reader")


@pytest.mark.parametrize("name", ["ngram", "judge:m@http://127.0.0.1:9/v1"])
def test_settings_of_checkpoints_are_refused_where_there_is_none(name: str) -> None:
    with pytest.raises(SettingError, match="revision"):
        adapter(name, revision="a" * 40)
    with pytest.raises(SettingError, match="device"):
        adapter(name, device="cuda:0")
    with pytest.raises(SettingError, match="operating_point"):
        adapter(name, operating_point="recall")

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
        ("judge:gpt-4o", AdapterName(kind="judge", model="gpt-4o")),
        (
            "judge:org/model@v2@http://127.0.0.1:8000/v1",
            AdapterName(kind="judge", model="org/model@v2", url="http://127.0.0.1:8000/v1"),
        ),
        (
            "judge:@cf/a/b@HTTPS://llm.example/v1",
            AdapterName(kind="judge", model="@cf/a/b", url="https://llm.example/v1"),
        ),
        ("judge:org/model@2024-01", AdapterName(kind="judge", model="org/model@2024-01")),
        ("judge:llama3:8b", AdapterName(kind="judge", model="llama3:8b")),
        ("judge:m@1.5", AdapterName(kind="judge", model="m@1.5")),
        (None, None),
        ("reader", None),
        ("similarity:hash", None),
        ("./ngram", None),
        ("KRLabsOrg/lettucedect-base-modernbert-en-v1", None),
    ],
)
def test_a_name_says_what_is_opened(name: str | None, expected: AdapterName | None) -> None:
    assert parse(name) == expected


@pytest.mark.parametrize("name", ["ngram:3", "nli", "nli: ", "judge"])
def test_half_a_name_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=name.partition(":")[0]):
        parse(name)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1:9999/v1", "localhost", "llm.example", "ftp://llm.example", "http:llm.example"),
    ],
)
def test_an_address_that_is_none_is_refused_and_no_part_of_the_name(address: str) -> None:
    with pytest.raises(SettingError, match="begins with http:// or https://"):
        parse(f"judge:m@{address}")


@pytest.mark.parametrize("name", ["judge:@http://127.0.0.1:9/v1", "judge: @https://llm.example"])
def test_an_address_without_a_model_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="judge:MODEL@URL"):
        parse(name)


def test_a_key_in_what_is_refused_is_not_told() -> None:
    with pytest.raises(SettingError) as raised:
        parse("judge:m@user:sk-secret@llm.example/v1")
    assert "sk-secret" not in str(raised.value)
    assert "'judge:m@***'" in str(raised.value)


def test_our_own_detectors_are_no_adapters() -> None:
    with pytest.raises(SettingError, match="one of ngram, nli:MODEL"):
        adapter("reader")


def test_settings_of_checkpoints_are_refused_where_there_is_none() -> None:
    with pytest.raises(SettingError, match="revision"):
        adapter("judge:m@http://127.0.0.1:9/v1", revision="a" * 40)
    with pytest.raises(SettingError, match="device"):
        adapter("ngram", device="cuda:0")
    with pytest.raises(SettingError, match="operating_point"):
        adapter("ngram", operating_point="recall")

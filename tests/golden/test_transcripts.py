"""What a client of the gateway gets is what it got: under each action, whole and streamed."""

import pytest

from tests.golden.golden import FOLDER, differences, read
from tests.golden.transcripts import ACTIONS, chats_under, own_endpoints

pytestmark = pytest.mark.merge


@pytest.mark.parametrize("action", ACTIONS)
def test_chats_under_an_action_are_what_they_were(action: str) -> None:
    assert differences(read(f"transcripts/action-{action}"), chats_under(action)) == []


def test_the_gateways_own_endpoints_answer_as_they_did() -> None:
    assert differences(read("transcripts/own-endpoints"), own_endpoints()) == []


def test_each_transcript_is_read() -> None:
    names = {f"action-{action}" for action in ACTIONS} | {"own-endpoints"}
    assert {path.stem for path in FOLDER.glob("transcripts/*")} == names

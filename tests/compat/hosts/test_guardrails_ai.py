"""Guards of Guardrails AI with the validator."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # of what Guardrails AI itself uses
]
needs("guardrails_ai", extra="guardrails-ai")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # read when it is imported

with warnings.catch_warnings(action="ignore"):  # of what it imports itself
    from guardrails import Guard
    from guardrails.errors import ValidationError

    from groundwire.compat.guardrails_ai import Groundedness
from groundwire.compat.verdict import WITHHELD

MESSAGES = [{"role": "user", "content": QUESTION}]
EVIDENCE = {"sources": [TOWER], "question": QUESTION}


@pytest.fixture(autouse=True)
def no_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".guardrailsrc").write_text("enable_metrics=false\n")
    monkeypatch.setenv("HOME", str(tmp_path))


class ScriptedModel:
    """A model that says a text each time it is asked, and the last one again after that."""

    def __init__(self, *says: str) -> None:
        self.says, self.asked = says, list[Any]()

    def __call__(self, *, messages: Any, **_: Any) -> str:
        self.asked.append(messages)
        return self.says[min(len(self.asked), len(self.says)) - 1]


def guard(on_fail: str) -> Guard:
    return Guard().use(Groundedness(on_fail=on_fail))


def ask(made: Guard, model: Any, evidence: Any = EVIDENCE, **options: Any) -> Any:
    return made(model, messages=MESSAGES, metadata=evidence, **options)


@pytest.mark.shows("Guardrails AI", evidence="`sources` in the metadata of a call")
def test_a_wrong_answer_is_an_error_and_a_right_one_is_untouched() -> None:
    made = snippet("Guardrails AI", passages=[TOWER], answer=RIGHT)["guard"]
    with pytest.raises(ValidationError, match="330 metres"):
        ask(made, ScriptedModel(WRONG))
    outcome = ask(made, ScriptedModel(RIGHT))
    assert (outcome.validation_passed, outcome.validated_output) == (True, RIGHT)


def test_the_unsupported_words_of_a_wrong_answer_are_named() -> None:
    outcome = ask(guard("noop"), ScriptedModel(WRONG))
    assert (outcome.validation_passed, outcome.validated_output) == (False, WRONG)
    (summary,) = outcome.validation_summaries
    ((start, end),) = [(each.start, each.end) for each in summary.error_spans]
    assert WRONG[start:end] == "500 metres"


def test_a_wrong_answer_is_replaced_or_asked_for_again() -> None:
    assert ask(guard("fix"), ScriptedModel(WRONG)).validated_output == WITHHELD
    model = ScriptedModel(WRONG, RIGHT)
    outcome = ask(guard("reask"), model, num_reasks=1)
    assert (outcome.validation_passed, outcome.validated_output) == (True, RIGHT)
    assert "330 metres" in str(model.asked[1])


@pytest.mark.shows("Guardrails AI", unchecked="a failure that begins with `Not checked`")
@pytest.mark.parametrize("answer", [RIGHT, "Она зелёная."])
def test_an_answer_that_was_not_checked_fails(answer: str) -> None:
    evidence = {"sources": [] if answer == RIGHT else [TOWER]}
    outcome = ask(guard("noop"), ScriptedModel(answer), evidence)
    assert (outcome.validation_passed, outcome.validated_output) == (False, answer)
    (summary,) = outcome.validation_summaries
    assert summary.failure_reason.startswith("Not checked: ")


@pytest.mark.shows("Guardrails AI", unchecked="an error if there is no `sources` at all")
def test_a_call_without_sources_is_an_error() -> None:
    with pytest.raises(ValueError, match="Missing required metadata keys: sources"):
        ask(guard("noop"), ScriptedModel(RIGHT), {})


def test_an_answer_that_claims_nothing_passes() -> None:
    assert ask(guard("exception"), ScriptedModel("You're welcome!")).validation_passed


@pytest.mark.shows("Guardrails AI", stream="by sentence: held with `fix`, else shown before")
def test_a_stream_is_checked_sentence_by_sentence() -> None:
    def write(**_: Any) -> Iterator[str]:
        yield from f"{RIGHT} {WRONG} {RIGHT}".replace(" ", " |").split("|")

    fixed = ask(guard("fix"), write, stream=True)
    assert [each.validated_output for each in fixed] == [RIGHT, WITHHELD, RIGHT]
    seen = []
    with pytest.raises(ValidationError, match="500 metres"):
        seen += [each.validated_output for each in ask(guard("exception"), write, stream=True)]

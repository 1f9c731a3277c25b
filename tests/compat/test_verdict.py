"""What all adapters for frameworks share: verdicts, and the error if the framework is absent."""

import sys

import pytest

from groundwire import Detector, Pipeline
from groundwire.compat.verdict import Checks, HostVerdict
from groundwire.errors import MissingExtraError

TOWER = "The Eiffel Tower is 330 metres tall."
CHAT = [{"role": "user", "content": "How tall is it?"}, {"role": "tool", "content": TOWER}]

#: Module of an adapter → the framework that it imports, and the extra that installs it.
ADAPTERS = {
    "any_guardrail": ("any_guardrail", "any-guardrail"),
    "crewai": ("crewai", "crewai"),
    "deepeval": ("deepeval", "deepeval"),
    "dspy": ("dspy", "dspy"),
    "guardrails_ai": ("guardrails", "guardrails-ai"),
    "haystack": ("haystack", "haystack"),
    "langchain": ("langchain", "langchain"),
    "langsmith": ("langchain_core", "langchain"),
    "langfuse": ("langfuse", "langfuse"),
    "llamaindex": ("llama_index", "llama-index"),
    "mlflow": ("mlflow.entities", "mlflow"),
    "openai_agents": ("agents", "openai-agents"),
    "openai_guardrails": ("guardrails", "openai-guardrails"),
    "otel": ("opentelemetry._logs", "otel"),
    "phoenix": ("phoenix.client", "phoenix"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "pydantic_evals": ("pydantic_evals", "pydantic-evals"),
    "ragas": ("ragas", "ragas"),
    "weave": ("weave", "weave"),
}


@pytest.fixture(scope="module")
def checks(detector: Detector) -> Checks:
    return Checks(Pipeline(detector))


def about(verdict: HostVerdict) -> tuple[str, float | None]:
    return verdict.status, verdict.score


def test_a_supported_answer_passes(checks: Checks) -> None:
    verdict = checks.answer("It is 330 metres tall.", sources=[TOWER])
    assert (about(verdict), verdict.passed) == (("passed", 1), True)


def test_the_score_is_the_share_of_supported_statements(checks: Checks) -> None:
    verdict = checks.answer("It is 330 metres tall. It is 900 years old.", sources=[TOWER])
    assert (about(verdict), verdict.passed) == (("failed", 0.5), False)
    assert '"900"' in verdict.reason
    assert repr(verdict) == f"HostVerdict(status='failed', reason={verdict.reason!r})"


def test_an_answer_without_evidence_is_not_checked(checks: Checks) -> None:
    verdict = checks.answer("It is 330 metres tall.", sources=None)
    assert (about(verdict), verdict.passed) == (("not checked", None), None)
    assert "no evidence" in verdict.reason


def test_an_answer_that_was_read_in_part_is_not_checked(checks: Checks) -> None:
    verdict = checks.answer("Она зелёная.", sources=[TOWER])
    assert about(verdict) == ("not checked", None)
    assert "language" in verdict.reason


def test_evidence_that_cannot_be_read_is_no_error(checks: Checks) -> None:
    verdicts = [
        checks.answer("It is 330 metres tall.", sources=[TOWER, 7]),  # type: ignore[list-item]
        checks.chat({"messages": "nothing"}, "It is 330 metres tall."),
        checks.chat({"messages": CHAT}, object()),
        checks.completion({"messages": "nothing"}, {}),
    ]
    assert {about(each) for each in verdicts} == {("not checked", None)}
    assert all(each.withholds(block_unchecked=True) for each in verdicts)
    assert "its type is int" in verdicts[0].reason


def test_a_chat_has_its_evidence_in_its_messages(checks: Checks) -> None:
    assert checks.chat({"messages": CHAT}, "It is 330 metres tall.").passed is True
    assert checks.chat({"messages": CHAT}, "It is 500 metres tall.").passed is False


def test_the_fields_of_a_structured_output_are_checked(checks: Checks) -> None:
    assert checks.chat({"messages": CHAT}, {"height": "330 metres"}).passed is True
    wrong = checks.chat({"messages": CHAT}, {"height": "500 metres"})
    assert (wrong.passed, wrong.checked.pointers) == (False, ("/height",))


def test_unchecked_answers_are_withheld_on_request(checks: Checks) -> None:
    unchecked = checks.answer("It is 330 metres tall.", sources=[])
    assert not unchecked.withholds(block_unchecked=False)
    assert unchecked.withholds(block_unchecked=True)


def test_an_answer_that_claims_nothing_is_not_withheld(checks: Checks) -> None:
    greeting = checks.answer("You're welcome!", sources=[TOWER])
    assert greeting.passed is None
    assert not greeting.withholds(block_unchecked=True)


@pytest.mark.parametrize(("module", "framework", "extra"), [(m, *a) for m, a in ADAPTERS.items()])
def test_without_its_framework_an_adapter_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, framework: str, extra: str
) -> None:
    name = f"groundwire.compat.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, framework, None)  # importing it raises an ImportError
    with pytest.raises(MissingExtraError, match=rf"pip install '\.\[{extra}\]'"):
        __import__(name)

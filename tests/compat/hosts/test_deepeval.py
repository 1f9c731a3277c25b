"""DeepEval's ``evaluate`` and ``assert_test`` with the metric."""

import os
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = pytest.mark.nightly
needs("deepeval", extra="deepeval")
os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")  # read when it is imported

from deepeval import assert_test, evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase, RetrievedContextData, ToolCall

from groundwire.compat.deepeval import GroundednessMetric


def case(answer: str, **evidence: Any) -> LLMTestCase:
    return LLMTestCase(input=QUESTION, actual_output=answer, **evidence)


def measured(made: LLMTestCase, *, is_async: bool = True, **settings: Any) -> tuple[Any, list[Any]]:
    """Return whether a test case succeeds, and the data of its metrics, which lack skipped ones."""
    found = evaluate(
        [made],
        [GroundednessMetric(**settings)],
        async_config=AsyncConfig(run_async=is_async),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        cache_config=CacheConfig(write_cache=False),
        error_config=ErrorConfig(ignore_errors=False),
    )
    (result,) = found.test_results
    return result.success, list(result.metrics_data or ())


@pytest.mark.shows("DeepEval", evidence="`retrieval_context`")
@pytest.mark.parametrize("is_async", [True, False])
def test_a_wrong_output_fails_and_says_why(is_async: bool) -> None:
    success, (data,) = measured(case(WRONG, retrieval_context=[TOWER]), is_async=is_async)
    assert (success, data.name, data.score) == (False, "Groundedness", 0)
    assert "330 metres" in data.reason


@pytest.mark.parametrize("is_async", [True, False])
def test_a_right_output_succeeds(is_async: bool) -> None:
    success, (data,) = measured(case(RIGHT, retrieval_context=[TOWER]), is_async=is_async)
    assert (success, data.score) == (True, 1)


@pytest.mark.shows("DeepEval", evidence="outputs of `tools_called`")
def test_outputs_of_tools_and_named_contexts_are_evidence() -> None:
    evidences: list[dict[str, Any]] = [
        {"tools_called": [ToolCall(name="landmark", output={"height": "330 metres"})]},
        {"retrieval_context": [RetrievedContextData(context=TOWER, source="Eiffel Tower")]},
    ]
    for evidence in evidences:
        assert measured(case(WRONG, **evidence))[0] is False
        assert measured(case(RIGHT, **evidence))[0] is True


@pytest.mark.shows("DeepEval", unchecked="an error of the metric")
def test_an_output_without_evidence_is_an_error_and_no_success() -> None:
    success, (data,) = measured(case(RIGHT))
    assert (success, data.score) == (False, None)
    assert data.error.startswith("Not checked")


def test_unchecked_outputs_can_be_skipped() -> None:
    assert measured(case(RIGHT), skip_unchecked=True) == (True, [])


@pytest.mark.shows("DeepEval", unchecked="skipped if the output claims nothing")
def test_an_output_that_claims_nothing_is_skipped() -> None:
    assert measured(case("You're welcome!", retrieval_context=[TOWER])) == (True, [])
    assert measured(case("", retrieval_context=[TOWER]))[0] is False


def test_a_threshold_lets_some_statements_be_wrong() -> None:
    half = case(f"{RIGHT} {WRONG}", retrieval_context=[TOWER])
    success, (data,) = measured(half, threshold=0.5)
    assert (success, data.score) == (True, 0.5)


def test_assert_test_fails_for_a_wrong_output() -> None:
    metric = snippet("DeepEval")["metric"]
    with pytest.raises(AssertionError, match="Groundedness"):
        assert_test(case(WRONG, retrieval_context=[TOWER]), [metric])
    assert_test(case(RIGHT, retrieval_context=[TOWER]), [metric])

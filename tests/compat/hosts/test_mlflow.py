"""MLflow's ``evaluate`` with the scorer, and its store in a file of SQLite."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # of what MLflow itself uses
]
needs("mlflow", extra="mlflow")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read when it is imported

import mlflow
from mlflow.entities import Document, SpanType

from groundwire.compat.mlflow import Groundedness

INPUTS = {"question": QUESTION}


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    mlflow.create_experiment("answers", artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_experiment("answers")


def evaluated(*rows: dict[str, Any], **options: Any) -> Any:
    """Run the snippet of the page over rows, and return the result."""
    return snippet("MLflow", data=list(rows), **options)["result"]


def ratings(result: Any) -> list[str]:
    return [str(each) for each in result.result_df["groundedness/value"]]


@pytest.mark.shows("MLflow", evidence="inputs of a row", unchecked="the rating `unknown`")
def test_outputs_are_rated_by_the_sources_of_their_row() -> None:
    rows = [
        {"inputs": {**INPUTS, "context": sources}, "outputs": answer}
        for answer, sources in ((WRONG, TOWER), (RIGHT, [TOWER]), (RIGHT, []))
    ]
    result = evaluated(*rows)
    found = dict(zip([WRONG, RIGHT, "without"], _sorted(result, rows), strict=True))
    assert [rating for rating, _ in found.values()] == ["no", "yes", "unknown"]
    assert "330 metres" in found[WRONG][1]
    assert found["without"][1].startswith("Not checked: ")
    # MLflow's own readings of the three: one of two is right, and not all have passed.
    assert result.metrics["groundedness/mean"] == 0.5
    assert not result.passed


def _sorted(result: Any, rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The rating and the rationale of each row, in the order of the rows."""
    frame = result.result_df
    found = {
        (str(request), str(response)): (str(rating), str(rationale))
        for request, response, rating, rationale in zip(
            frame["request"],
            frame["response"],
            frame["groundedness/value"],
            frame["groundedness/rationale"],
            strict=True,
        )
    }
    return [found[str(each["inputs"]), each["outputs"]] for each in rows]


@pytest.mark.shows("MLflow", evidence="what retrievers and tools returned in a trace")
def test_what_retrievers_and_tools_returned_is_evidence() -> None:
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieve(question: str) -> list[Document]:
        return [Document(page_content=TOWER)]

    @mlflow.trace(span_type=SpanType.TOOL)
    def height(question: str) -> dict[str, str]:
        return {"name": "Eiffel Tower", "height": "330 metres"}

    for look in (retrieve, height):
        for answer, rating in ((WRONG, "no"), (RIGHT, "yes")):

            def app(question: str, look: Any = look, answer: str = answer) -> str:
                look(question)
                return answer

            traced = mlflow.genai.evaluate(
                data=[{"inputs": INPUTS}],
                predict_fn=lambda question, app=app: app(question),
                scorers=[Groundedness()],
            )
            assert ratings(traced) == [rating], (look, answer)


@pytest.mark.shows("MLflow", evidence="messages of the inputs")
def test_messages_are_evidence_where_there_is_no_other() -> None:
    messages = [{"role": "system", "content": TOWER}, {"role": "user", "content": QUESTION}]
    result = evaluated({"inputs": {"messages": messages}, "outputs": {"response": WRONG}})
    assert ratings(result) == ["no"]


def test_an_output_without_a_text_is_not_checked() -> None:
    row = {"inputs": {**INPUTS, "context": TOWER}, "outputs": {"chart": [1, 2]}}
    assert ratings(evaluated(row)) == ["unknown"]

"""Published gates: which class calls for a check, windows, and what the graph says of a prompt."""

import math
from pathlib import Path
from typing import Any

import pytest

from groundwire import Gate, Outcome
from groundwire.config import parse
from groundwire.engine.prompt_classifier import PromptClassifier, needed_label
from groundwire.errors import (
    ConfigError,
    GateError,
    ModelError,
    UnknownModelError,
    UnpinnedModelError,
)
from groundwire.pipeline import CheckPath, GateStatus, Pipeline
from tests.pipeline.chats import FACTS, asked
from tests.tiny import pair_graph, word_tokenizer, write_checkpoint

#: As HaluGate's Sentinel has them.
NAMES = {"0": "NO_FACT_CHECK_NEEDED", "1": "FACT_CHECK_NEEDED"}
#: "italy" calls for a check, "germany" for none.
ROWS = {"italy": (0.0, 3.0), "germany": (3.0, 0.0)}
SURE = 1 / (1 + math.exp(-3))


def tiny(
    folder: Path, rows: dict[str, Any] | None = None, *, n_labels: int = 2, **config: object
) -> Path:
    """A gate on disk."""
    tokenizer = word_tokenizer()
    return write_checkpoint(
        folder,
        tokenizer=tokenizer,
        config={
            "architectures": ["ModernBertForSequenceClassification"],
            "id2label": NAMES,
            **config,
        },
        graph=pair_graph(tokenizer, ROWS if rows is None else rows, n_labels=n_labels),
    )


@pytest.mark.parametrize(
    ("names", "needed"),
    [
        (("NO_FACT_CHECK_NEEDED", "FACT_CHECK_NEEDED"), 1),
        (("fact-check needed", "no fact check needed"), 0),
        (("no_fact_check", "needs_fact_check"), 1),
    ],
)
def test_the_names_of_the_classes_tell_which_is_which(names: tuple[str, ...], needed: int) -> None:
    assert needed_label({"id2label": {str(i): name for i, name in enumerate(names)}}) == (needed,)


@pytest.mark.parametrize(
    "names", [("LABEL_0", "LABEL_1"), ("FACT_CHECK_NEEDED",), (*NAMES.values(), "OTHER"), ()]
)
def test_classes_that_do_not_say_so_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match="do not say which of them calls for a check"):
        needed_label({"id2label": {str(i): name for i, name in enumerate(names)}})


def test_a_gate_decides_by_what_the_classifier_says(tmp_path: Path) -> None:
    gate = Gate.load(tiny(tmp_path))
    assert gate.classify("italy").probability == pytest.approx(SURE)
    assert gate.classify("italy").needs_fact_check
    found = gate.classify("germany")
    assert not found.needs_fact_check
    assert found.confidence == pytest.approx(SURE)
    assert gate.classify(" ").confidence == 1
    assert not Gate.load(tmp_path, threshold=0.99).classify("italy").needs_fact_check


def test_of_several_windows_the_one_that_most_calls_for_a_check_counts(tmp_path: Path) -> None:
    judge = PromptClassifier(tiny(tmp_path, max_position_embeddings=16))
    assert judge.probability("germany " * 40 + "italy") > judge.probability("germany " * 40)
    assert judge.probability("the " * 40 + "italy") == pytest.approx(SURE)


def test_a_graph_that_gives_no_number_or_other_classes_is_no_decision(tmp_path: Path) -> None:
    gate = Gate.load(tiny(tmp_path / "nan", {"italy": (math.nan, 0.0)}))
    with pytest.raises(GateError, match="not a number"):
        gate.classify("italy")
    with pytest.raises(ModelError, match=r"returned shape \(1, 3\)"):
        Gate.load(tiny(tmp_path / "three", {"italy": (1.0, 2.0, 3.0)}, n_labels=3))


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a sequence classifier is needed"):
        Gate.load(tiny(tmp_path, architectures=["BertForTokenClassification"]))


def test_a_hub_model_needs_its_commit() -> None:
    with pytest.raises(UnpinnedModelError):
        Gate.load("llm-semantic-router/halugate-sentinel")
    with pytest.raises(UnknownModelError, match="gate"):
        Gate.load("no/such/folder")


def test_halugates_file_may_name_it(tmp_path: Path) -> None:
    text = f"hallucination_mitigation: {{fact_check_model: {{model_id: '{tiny(tmp_path)}'}}}}"
    with Pipeline.load(parse(text, name="halugate.yaml")) as pipeline:
        context = pipeline.open(asked("germany", FACTS))
        assert (context.gate.status, context.path) == (GateStatus.ASKED, CheckPath.NOT_FACTUAL)
        context = pipeline.open(asked("italy"))
        assert pipeline.check(context, "Rome.").outcome is Outcome.UNVERIFIED


def test_a_hub_gate_without_its_commit_is_told_with_its_line() -> None:
    text = "hallucination_mitigation:\n  fact_check_model: {model_id: some/sentinel}"
    with pytest.raises(ConfigError, match=r"f.yaml:2 .*not pinned.*The setting is gate.revision"):
        Pipeline.load(parse(text, name="f.yaml"))

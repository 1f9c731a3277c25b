"""What the tests of training share: files of rows, and random weights, exported once."""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from groundwire_training.model import Reader
    from groundwire_training.sets import LabelledContext


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write JSON lines, gzipped if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


@dataclass(frozen=True)
class Exported:
    """A reader that knows nothing, in PyTorch and as graphs."""

    model: "Reader"
    fp32: Path
    int8: Path


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """What is computed here is small: threads would wait for each other most of the time."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


#: Run a test for readers of both kinds.
BOTH_KINDS = pytest.mark.parametrize("exported", ["minilm", "mpnet"], indirect=True)


@pytest.fixture(scope="session")
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Weights whose attention and features matter, unlike those of a fresh model."""
    torch = pytest.importorskip("torch")
    from groundwire.engine.architecture import MINILM, MPNET
    from groundwire_training.export import export
    from groundwire_training.model import Reader

    torch.manual_seed(0)
    # Two layers of twelve: what a layer does, it does in each.
    sizes = {"minilm": MINILM, "mpnet": replace(MPNET, layers=2)}[
        getattr(request, "param", "minilm")
    ]
    model = Reader(sizes).eval()
    with torch.no_grad():
        torch.nn.init.normal_(model.feat.weight, std=0.1)
        model.feat.weight[-1] = 0
        if model.near is not None:
            torch.nn.init.normal_(model.near)
        for parameter in model.layers.parameters():
            if parameter.ndim > 1:
                torch.nn.init.normal_(parameter, std=0.05)
    folder = tmp_path_factory.mktemp("graphs")
    for name, int8 in (("fp32", False), ("int8", True)):
        export(model.state_dict(), sizes, folder / f"{name}.onnx", int8=int8)
    return Exported(model, folder / "fp32.onnx", folder / "int8.onnx")


@pytest.fixture
def record() -> "LabelledContext":
    """Several passages, a question, and an answer whose last sentences recall the first."""
    pytest.importorskip("torch")
    from groundwire.detection.example import read_sources
    from groundwire.evaluation.datasets.slots import MarkedAnswer
    from groundwire_training.sets import LabelledContext

    return LabelledContext(
        id="1",
        task="QA",
        sources=read_sources(
            [
                "The tower is 330 m tall. It opened in 1889.",
                "The bridge is long. " * 30,
                {"text": "Doors open at nine.", "title": "Hours"},
            ]
        ),
        question="How tall is the tower?",
        answers=(
            MarkedAnswer(
                "The tower is 330 metres tall. It opened in 1989, in May. Doors open at ten. "
                "It is a bridge. It is so.",
                ((43, 47, 2), (49, 55, 1)),
            ),
        ),
    )

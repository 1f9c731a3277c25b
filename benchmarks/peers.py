"""Token classifiers that read context and answer in one sequence: what the reader is timed against.

Random weights, which speed does not depend on. Needs the extra ``train``.
"""

import logging
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from measure import milliseconds
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import (
    BertConfig,
    BertForTokenClassification,
    ModernBertConfig,
    ModernBertForTokenClassification,
)

MODERNBERT, BERT = "ModernBERT-base", "BERT-base"
# Without further settings, configurations are those of the base sizes.
_KINDS: dict[str, tuple[Any, Any]] = {
    MODERNBERT: (ModernBertForTokenClassification, ModernBertConfig),
    BERT: (BertForTokenClassification, BertConfig),
}
#: Graphs hold the attention of all pairs of tokens: copies of it at a time, heads, bytes of each.
_ATTENTION_BYTES = 3 * 12 * 4
_TRACED = 200


@dataclass(slots=True)
class Peer:
    """One model in one runtime.

    Attributes:
        model: Which model.
        runtime: What runs it.
        call: One pass over so many tokens.
        is_graph: Whether ONNX Runtime runs it.
        known: Seconds of a pass by number of tokens, as far as measured.
    """

    model: str
    runtime: str
    call: Callable[[int], object]
    is_graph: bool
    known: dict[int, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """In tables."""
        return f"{self.model}, {self.runtime}"

    def expected_s(self, n_tokens: int) -> float:
        """What a pass will take: a part linear in the tokens, a part quadratic."""
        if not self.known:
            return 0.0
        *_, longest = lengths = sorted(self.known)
        if len(lengths) < 2:
            return self.known[longest] * (n_tokens / longest) ** 1.5
        n, m = lengths[-2], longest
        quadratic = max(0.0, (self.known[m] / m - self.known[n] / n) / (m - n))
        linear = max(0.0, self.known[m] / m - quadratic * m)
        return linear * n_tokens + quadratic * n_tokens**2

    def memory_gb(self, n_tokens: int) -> float:
        """What a pass will take beside the weights, about."""
        return _ATTENTION_BYTES * n_tokens**2 / 1e9 if self.is_graph else 0.0

    def pass_ms(self, n_tokens: int) -> float:
        """Time of one pass."""
        return milliseconds(lambda: self.call(n_tokens))


def peers(folder: Path, *, n_positions: int) -> Iterator[Peer]:
    """Both models in every runtime.

    Args:
        folder: Where graphs are kept, to be used again by the next run.
        n_positions: Tokens of the longest pass.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for model in (MODERNBERT, BERT):
        graph = folder / f"{model}-{n_positions}.onnx"
        int8 = graph.with_suffix(".int8.onnx")
        if not int8.exists():
            # In a process of its own, which gives the memory back.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                pool.submit(_write_graphs, model, n_positions, graph, int8).result()
        plain = _build(model, n_positions, "sdpa")
        half = _build(model, n_positions, "sdpa").to(torch.bfloat16)
        yield Peer(model, "PyTorch fp32", partial(_torch_pass, plain), is_graph=False)
        yield Peer(model, "PyTorch bf16", partial(_torch_pass, half), is_graph=False)
        yield Peer(model, "ONNX Runtime fp32", partial(_graph_pass, _session(graph)), is_graph=True)
        yield Peer(model, "ONNX Runtime int8", partial(_graph_pass, _session(int8)), is_graph=True)


def _build(model: str, n_positions: int, attention: str) -> Any:  # noqa: ANN401 - either model
    kind, configured = _KINDS[model]
    config = configured(num_labels=2, max_position_embeddings=n_positions)
    torch.manual_seed(0)
    return kind._from_config(config, attn_implementation=attention).eval()


def _write_graphs(model: str, n_positions: int, graph: Path, int8: Path) -> None:
    logging.disable(logging.WARNING)
    if not graph.exists():
        _export(_build(model, n_positions, "eager"), graph)
    quantize_dynamic(graph, int8, weight_type=QuantType.QInt8)


def _tokens(n: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).integers(1000, 30_000, (1, n))


def _torch_pass(model: Any, n_tokens: int) -> object:  # noqa: ANN401 - either model
    with torch.inference_mode():
        return model(input_ids=torch.from_numpy(_tokens(n_tokens))).logits


def _graph_pass(session: onnxruntime.InferenceSession, n_tokens: int) -> object:
    ids = _tokens(n_tokens)
    return session.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})


def _session(path: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def _export(model: Any, path: Path) -> None:  # noqa: ANN401 - either model
    ids = torch.from_numpy(_tokens(_TRACED))
    names = ("input_ids", "attention_mask")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            f=str(path),
            kwargs=dict(zip(names, (ids, torch.ones_like(ids)), strict=True)),
            input_names=list(names),
            output_names=["logits"],
            dynamic_shapes={name: {1: torch.export.Dim.DYNAMIC} for name in names},
            dynamo=True,
            external_data=False,
            verbose=False,
        )

"""Exports a PyTorch classifier of tokens or sequences to an ONNX graph (extra ``train``)."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from groundwire.errors import ModelError, needs_extra

#: The largest difference that is allowed between a probability of the graph and PyTorch's.
TOLERANCE = 1e-4
# Length in word pieces of the sequence that the graph is traced with.
_TRACED = 24
# Lengths in word pieces of the sequences on which the graph is compared with PyTorch's model.
_COMPARED = (7, 61)
# Weights with more bytes than this in total are written to a file beside the graph, because a graph
# file may have at most 2 GB.
_ONE_FILE_BYTES = 2**30


def export_classifier(folder: Path, target: Path, *, architecture: str, what: str) -> None:
    """Write ``model.onnx`` and ``tokenizer.json`` of a checkpoint.

    The graph may take ``input_ids``, ``attention_mask`` and, if the model has several token types,
    ``token_type_ids``, all of shape ``(1, tokens)``, int64. It gives ``logits``, float32, of shape
    ``(1, tokens, classes)`` for a token classifier and ``(1, classes)`` for a sequence classifier.
    The output of the graph is compared with PyTorch's.

    Args:
        folder: A folder that ``save_pretrained`` wrote, with safetensors weights. No code in it is
            run.
        target: An existing folder, to which the files are written.
        architecture: End of the model's class name, such as ``ForTokenClassification``.
        what: The kind of model, for messages, such as ``a token classifier``.

    Raises:
        MissingExtraError: If torch or transformers is not installed.
        ModelError: If transformers cannot load the folder as a model of this architecture, weights
            are missing, or a probability of the graph differs from PyTorch's by more than
            :data:`TOLERANCE`.
    """
    with needs_extra("Exporting a model that has no ONNX graph", "train"):
        import torch
        import transformers
        from transformers import AutoConfig, AutoTokenizer

    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            AutoTokenizer.from_pretrained(folder, **local).backend_tokenizer.save(
                str(target / "tokenizer.json")
            )
            config = AutoConfig.from_pretrained(folder, **local)
            config.reference_compile = False  # for ModernBERT: a compiled model cannot be traced
            model, report = getattr(transformers, f"AutoModel{architecture}").from_pretrained(
                folder,
                config=config,
                attn_implementation="eager",
                use_safetensors=True,
                output_loading_info=True,
                **local,
            )
    except (OSError, ValueError, AttributeError, ImportError) as error:
        raise ModelError(
            f"transformers cannot load {folder} as {what} from safetensors: {error} "
            "Pickled weights and code from a repository are not loaded; save the model again with "
            "save_pretrained(..., safe_serialization=True)."
        ) from error
    if report["missing_keys"]:
        raise ModelError(
            f"{folder} has no weights for {sorted(report['missing_keys'])[:4]}: it was not "
            f"trained as {what}, and its verdicts would be random."
        )
    model = model.float().eval()
    names = ["input_ids", "attention_mask"]
    if getattr(config, "type_vocab_size", 0) > 1:
        names.append("token_type_ids")

    graph = target / "model.onnx"
    n_bytes = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            f=str(graph),
            kwargs={name: torch.from_numpy(a) for name, a in _inputs(names, _TRACED).items()},
            input_names=names,
            output_names=["logits"],
            dynamic_shapes={name: {1: torch.export.Dim.DYNAMIC} for name in names},
            dynamo=True,
            external_data=n_bytes > _ONE_FILE_BYTES,
            verbose=False,
        )
        session = ort.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
        for length in _COMPARED:
            feeds = _inputs(names, length)
            expected = model(**{name: torch.from_numpy(a) for name, a in feeds.items()}).logits
            taken = {node.name: feeds[node.name] for node in session.get_inputs()}
            found = torch.from_numpy(np.asarray(session.run(["logits"], taken)[0]))
            delta = float((found.softmax(-1) - expected.softmax(-1)).abs().max())
            if not delta <= TOLERANCE:
                raise ModelError(
                    f"The exported graph of {folder} differs from PyTorch by {delta:.2g} where "
                    f"{TOLERANCE:g} is allowed, so it is not used. Export it with another version "
                    "of torch, and put it beside the weights as onnx/model.onnx."
                )


def _inputs(names: Sequence[str], length: int) -> dict[str, NDArray[np.int64]]:
    """Make the inputs ``names`` of a model: random word pieces, with the token types 0 and 1."""
    ids = np.random.default_rng(length).integers(5, 100, (1, length))
    types = (np.arange(length) >= length // 2).astype(np.int64)[None]
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
    return {name: given[name] for name in names}

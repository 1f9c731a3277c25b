"""Makes tiny checkpoints of models, which tests write to disk and load."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer

_TEXT = (
    "paris is the capital of france and has many people rome berlin was built in 1889 tower "
    "what where big river italy germany a b c d e f g h i j k l m n o p q r s t u v w x y z . ,"
)
WORDS = _TEXT.split()


def word_tokenizer(cls: str = "[CLS]", sep: str = "[SEP]") -> Tokenizer:
    """Make a WordPiece tokenizer like BERT's, with a vocabulary of some words and all letters."""
    specials = ["[PAD]", cls, sep, "[UNK]"]
    pieces = [*specials, *WORDS, *(f"##{word}" for word in WORDS if len(word) == 1)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    tokenizer.add_special_tokens(specials)
    return tokenizer


def byte_tokenizer() -> Tokenizer:
    """Train a byte-level BPE tokenizer like ModernBERT's, whose pieces include the space before."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    tokenizer.train_from_iterator(
        [" ".join(WORDS)] * 3,
        BpeTrainer(
            vocab_size=400,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return tokenizer


def write_checkpoint(
    folder: Path,
    *,
    tokenizer: Tokenizer | None = None,
    config: Mapping[str, Any] | None = None,
    graph: onnx.ModelProto | None = None,
) -> Path:
    """Write the files of a checkpoint with the names that they have on the hub."""
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (tokenizer or word_tokenizer()).save(str(folder / "tokenizer.json"))
    settings = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(
        json.dumps(settings | {"tokenizer_class": "PreTrainedTokenizerFast"})
    )
    shown = {"architectures": ["BertForTokenClassification"], "max_position_embeddings": 64}
    (folder / "config.json").write_text(json.dumps({**shown, **(config or {})}))
    if graph is not None:
        onnx.save(graph, str(folder / "onnx" / "model.onnx"))
    return folder


def lookup_graph(
    tokenizer: Tokenizer,
    *,
    own: Mapping[str, Sequence[float]],
    helps: Mapping[str, Sequence[float]] | None = None,
    n_labels: int = 2,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
) -> onnx.ModelProto:
    """Make a token classifier whose results can be worked out by hand.

    The logits of a piece are its row in ``own``, plus the sum of the rows in ``helps`` of all
    pieces of the sequence. So a word in a window can change the labels of all pieces of the window.
    If the graph has token types as input, the logit of class 0 is 10 higher in the second text.
    """
    size = tokenizer.get_vocab_size()
    tables = []
    for rows in (own, helps or {}):
        table = np.zeros((size, n_labels), np.float32)
        for word, row in rows.items():
            index = tokenizer.token_to_id(word)
            assert index is not None, word
            table[index] = row
        tables.append(table)
    first = np.eye(1, n_labels, dtype=np.float32)[None] * 10
    constants: dict[str, NDArray[Any]] = {
        "own": tables[0],
        "helps": tables[1],
        "axis": np.array([1]),
        "last": np.array([2]),
        "first": first,
    }
    nodes = [
        helper.make_node("Gather", ["own", "input_ids"], ["mine"]),
        helper.make_node("Gather", ["helps", "input_ids"], ["given"]),
        helper.make_node("ReduceSum", ["given", "axis"], ["shared"], keepdims=1),
        helper.make_node("Add", ["mine", "shared"], ["sum"]),
    ]
    if "token_type_ids" in inputs:
        nodes += [
            helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["types", "last"], ["column"]),
            helper.make_node("Mul", ["column", "first"], ["rise"]),
            helper.make_node("Add", ["sum", "rise"], ["logits"]),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["sum"], ["logits"]))
    shape = ["batch", "tokens"]
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*shape, n_labels])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def pair_graph(
    tokenizer: Tokenizer,
    rows: Mapping[str, Sequence[float]],
    *,
    n_labels: int = 3,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
) -> onnx.ModelProto:
    """Make a sequence classifier whose logits are the sum of the rows of all pieces it reads."""
    table = np.zeros((tokenizer.get_vocab_size(), n_labels), np.float32)
    for word, row in rows.items():
        index = tokenizer.token_to_id(word)
        assert index is not None, word
        table[index] = row
    constants: dict[str, NDArray[Any]] = {"rows": table, "axis": np.array([1])}
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["rows", "input_ids"], ["given"]),
            helper.make_node("ReduceSum", ["given", "axis"], ["logits"], keepdims=0),
        ],
        "pair",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", n_labels])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

"""Exports PyTorch weights as the ONNX graphs that are deployed, in fp32 or int8.

A graph is built node by node rather than traced. So it is small and readable, and has no fixed
shapes. It also has features that tracing would not give: one softmax over past and own scores
without joining the keys, and products in int8 with a scale for each column of the weights, and in
the cross-encoder for each row of the input. The graph of the reader:

============== ========================= =====================================================
Input          Shape, type               Meaning
============== ========================= =====================================================
ids            ``(L,)`` int64            word pieces with [CLS] and [SEP]
roles          ``(L,)`` int64            :class:`groundwire.engine.roles.TextRole`
positions      ``(L,)`` int64            0-255, for a sentence 256-511
features       ``(L, 6)`` int64          match features; the last row means none
past_key_i     ``(H, P, W)`` float16     past keys of layer i, ``P >= 0``
past_value_i   the same                  values
============== ========================= =====================================================

Outputs: ``logits`` ``(L, 3)``, ``sentence`` ``(1, 3)`` (of the first piece), and ``keys`` and
``values`` ``(layers, H, L, W)`` float16, for H heads of width W.

The graph of the encoder, the unmodified base, has the input ``ids`` ``(L,)`` and the output
``embedding`` ``(D,)`` float32: the mean of the last layer over all word pieces, [CLS] and [SEP]
included as in sentence-transformers, scaled to length 1.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data
from torch import Tensor

from groundwire.engine.architecture import POSITIONS, Architecture
from groundwire.engine.cross_encoder import CROSS_GRAPH, CROSS_WORDS, STATES
from groundwire.engine.features import N_FEATURES
from groundwire.engine.roles import TextRole

_MS = "com.microsoft"
_OPSET = 17
#: The most word pieces of a text that the encoder reads, [CLS] and [SEP] included.
ENCODER_PIECES = 256


class _Graph:
    """A graph under construction: its nodes and weights.

    ``by_rows`` says whether the products in int8 have a scale for each row of their input.
    """

    def __init__(self, sizes: Architecture, *, by_rows: bool = False) -> None:
        self.sizes, self.by_rows = sizes, by_rows
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._known: set[str] = set()

    def add(
        self,
        op: str,
        inputs: Sequence[str],
        out: str | Sequence[str],
        **attributes: int | float | list[int],
    ) -> str:
        """Append a node, and return its first output."""
        outputs = [out] if isinstance(out, str) else list(out)
        ours = {"FusedMatMul", "BiasGelu", "DynamicQuantizeMatMul"}
        domain = _MS if op in ours else ""
        options: dict[str, Any] = dict(attributes)
        node = helper.make_node(op, list(inputs), outputs, domain=domain, **options)
        self.nodes.append(node)
        return outputs[0]

    def weight(self, name: str, array: NDArray[np.generic]) -> str:
        """Add an array under a name, unless an array has that name already; return the name."""
        if name not in self._known:
            self._known.add(name)
            self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def build(weights: dict[str, Tensor], sizes: Architecture, *, int8: bool) -> onnx.ModelProto:
    """Build the graph of a reader.

    Args:
        weights: The state of a :class:`groundwire_training.model.Reader`.
        sizes: Sizes of that reader.
        int8: Whether matrices and the word table are stored in int8, with a scale for each column
            of a matrix and each row of the table. Activations are then quantised at run time.
    """
    w = {name: tensor.detach().float().cpu().numpy() for name, tensor in weights.items()}
    g = _Graph(sizes)
    x = _embeddings(g, w, int8=int8)
    g.add("Shape", ["ids"], "n_own", start=0, end=1)
    g.add("Shape", ["past_key_0"], "n_past", start=1, end=2)
    g.add("Concat", ["n_past", "n_own"], "past_and_own", axis=0)
    if sizes.has_relative_bias:
        _relative_bias(g, w)
    for i in range(sizes.layers):
        x = _layer(g, w, i, x, int8=int8, has_past=True)
    for kind in ("key", "value"):
        g.add("Concat", [f"{kind}_{i}" for i in range(sizes.layers)], f"all_{kind}", axis=0)
        dimensions = [sizes.layers, sizes.heads, -1, sizes.head_width]
        shape = g.weight("kv_shape", np.array(dimensions, np.int64))
        g.add("Reshape", [f"all_{kind}", shape], f"shaped_{kind}")
        g.add("Cast", [f"shaped_{kind}"], f"{kind}s", to=TensorProto.FLOAT16)
    _head(g, w, "head", x, "logits")
    g.add("Gather", [x, g.weight("first", np.array([0], np.int64))], "cls", axis=0)
    _head(g, w, "sentence_head", "cls", "sentence")
    return _model(g)


def export(weights: dict[str, Tensor], sizes: Architecture, path: Path, *, int8: bool) -> None:
    """Check the graph of a reader, and write it to a file."""
    model = build(weights, sizes, int8=int8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def build_cross(weights: dict[str, Tensor], sizes: Architecture, *, int8: bool) -> onnx.ModelProto:
    """Build the graph of a cross-encoder, which reads a claim with its lines in one sequence.

    Inputs are ``ids`` and ``roles`` ``(L,)``, ``features`` ``(L, 6)`` and ``claim_end`` ``(1,)``,
    the index after the claim's last piece. Outputs are ``logits`` ``(claim_end - 1, 3)``,
    ``claim`` ``(1, 3)`` from the first piece and the mean of the claim's pieces, and ``states``
    ``(L, D)``, those after the sixth of ten layers.

    Args:
        weights: The state of a :class:`groundwire_training.cross.CrossModel`.
        sizes: Sizes of that model.
        int8: As in :func:`build`.
    """
    w = {name: tensor.detach().float().cpu().numpy() for name, tensor in weights.items()}
    g = _Graph(sizes, by_rows=True)
    scalars = [g.weight(f"scalar_{n}", np.array(n, np.int64)) for n in (0, 1)]
    g.add("Shape", ["ids"], "n_own", start=0, end=1)
    g.add("Squeeze", ["n_own"], "length")
    g.add("Range", [scalars[0], "length", scalars[1]], "positions")
    x = _embeddings(g, w, int8=int8)
    if sizes.has_relative_bias:
        _relative_bias(g, w)
    for i in range(sizes.layers):
        x = _layer(g, w, i, x, int8=int8, has_past=False)
        if i == sizes.layers // 2:
            g.add("Identity", [x], STATES)
    g.add("Slice", [x, g.weight("one", np.array([1], np.int64)), "claim_end"], "own_rows")
    _head(g, w, "head", "own_rows", "logits")
    g.add("Gather", [x, g.weight("first", np.array([0], np.int64))], "cls", axis=0)
    g.add("ReduceMean", ["own_rows"], "mean_row", axes=[0], keepdims=1)
    g.add("Concat", ["cls", "mean_row"], "pooled", axis=1)
    _head(g, w, "sentence_head", "pooled", "claim")
    shapes: dict[str, list[str | int]] = {
        "ids": ["L"],
        "roles": ["L"],
        "features": ["L", N_FEATURES],
        "claim_end": [1],
    }
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name, shape in shapes.items()
    ]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 3]),
        helper.make_tensor_value_info("claim", TensorProto.FLOAT, [1, 3]),
        helper.make_tensor_value_info(STATES, TensorProto.FLOAT, ["L", sizes.width]),
    ]
    return _wrapped(helper.make_graph(g.nodes, "cross", inputs, outputs, g.weights))


def export_cross(
    weights: dict[str, Tensor], sizes: Architecture, folder: Path, *, int8: bool
) -> None:
    """Write the graph of a cross-encoder, and check it.

    Its table of word pieces becomes a file of its own, since package indexes limit file sizes.
    """
    model = build_cross(weights, sizes, int8=int8)
    table = next(tensor for tensor in model.graph.initializer if tensor.name == "word")
    (folder / CROSS_WORDS).write_bytes(table.raw_data)
    set_external_data(table, CROSS_WORDS, offset=0, length=len(table.raw_data))
    table.ClearField("raw_data")
    path = folder / CROSS_GRAPH
    path.write_bytes(model.SerializeToString())
    onnx.checker.check_model(str(path))


def read_cross(folder: Path, sizes: Architecture) -> dict[str, Tensor]:
    """Read the weights of an exported cross-encoder; those in int8 come back rounded.

    Args:
        folder: Its model folder.
        sizes: Its sizes, which the manifest has.

    Returns:
        The state of a :class:`groundwire_training.cross.CrossModel` with these sizes.
    """
    model = onnx.load(str(folder / CROSS_GRAPH))
    g = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}

    def matrix(name: str) -> NDArray[np.float32]:
        array = g[f"{name}.weight"].T.astype(np.float32)
        return array * g[f"{name}.scales"][:, None] if f"{name}.scales" in g else array

    w = {name: array for name, array in g.items() if name.startswith(("layers.", "ln."))}
    w |= {f"{name}.weight": g[name] for name in ("pos", "role", "feat")}
    w["word.weight"] = g["word"] * g["word_scales"] if "word_scales" in g else g["word"]
    for name in ("head", "sentence_head"):
        w |= {f"{name}.weight": matrix(name), f"{name}.bias": g[f"{name}.bias"]}
    if sizes.has_relative_bias:
        w["near"] = g["near"].T
    scale = np.float32(sizes.head_width**0.5)  # of the query: see _layer
    for i in range(sizes.layers):
        for name in ("o", "f1", "f2"):
            w[f"layers.{i}.{name}.weight"] = matrix(f"{name}_{i}")
        matrices = np.split(matrix(f"qkv_{i}"), 3)
        biases = np.split(g[f"qkv_{i}.bias"], 3)
        for name, rows, bias in zip("qkv", matrices, biases, strict=True):
            by = scale if name == "q" else np.float32(1)
            w |= {f"layers.{i}.{name}.weight": rows * by, f"layers.{i}.{name}.bias": bias * by}
    return {name: torch.from_numpy(np.array(array, np.float32)) for name, array in w.items()}


def build_encoder(
    weights: dict[str, Tensor], sizes: Architecture, *, int8: bool
) -> onnx.ModelProto:
    """Build the graph of the unmodified base, which turns a text into its embedding.

    Args:
        weights: The state of a :class:`groundwire_training.model.Reader` that was made from the
            base and not trained. Its embedding of the role SOURCE is the base's first token type.
        sizes: Sizes of that reader, which has no relative bias.
        int8: As in :func:`build`.
    """
    w = {name: tensor.detach().float().cpu().numpy() for name, tensor in weights.items()}
    g = _Graph(sizes)
    _words(g, w, int8=int8)
    places = w["pos.weight"][:ENCODER_PIECES] + w["role.weight"][int(TextRole.SOURCE)]
    g.add("Shape", ["ids"], "n_own", start=0, end=1)
    first = g.weight("first", np.array([0], np.int64))
    g.add("Slice", [g.weight("places", places), first, "n_own"], "places_and_kinds")
    g.add("Add", ["words", "places_and_kinds"], "sum")
    norm = [g.weight(f"ln.{part}", w[f"ln.{part}"]) for part in ("weight", "bias")]
    x = g.add("LayerNormalization", ["sum", *norm], "plain", axis=-1, epsilon=g.sizes.norm_epsilon)
    for i in range(sizes.layers):
        x = _layer(g, w, i, x, int8=int8, has_past=False)
    g.add("ReduceMean", [x], "mean", axes=[0], keepdims=0)
    g.add("ReduceL2", ["mean"], "length", keepdims=0)
    g.add("Div", ["mean", "length"], "embedding")
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["L"])
    out = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [sizes.width])
    return _wrapped(helper.make_graph(g.nodes, "encoder", [ids], [out], g.weights))


def export_encoder(
    weights: dict[str, Tensor], sizes: Architecture, path: Path, *, int8: bool
) -> None:
    """Check the graph of the base, and write it to a file."""
    model = build_encoder(weights, sizes, int8=int8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def _words(g: _Graph, w: dict[str, NDArray[np.float32]], *, int8: bool) -> None:
    word = w["word.weight"]
    if int8:
        rows, scales = quantise(word, axis=1)
        g.add("Gather", [g.weight("word", rows), "ids"], "word_int8", axis=0)
        g.add("Cast", ["word_int8"], "word_float", to=TensorProto.FLOAT)
        g.add("Gather", [g.weight("word_scales", scales), "ids"], "word_scale", axis=0)
        g.add("Mul", ["word_float", "word_scale"], "words")
    else:
        g.add("Gather", [g.weight("word", word), "ids"], "words", axis=0)


def _embeddings(g: _Graph, w: dict[str, NDArray[np.float32]], *, int8: bool) -> str:
    _words(g, w, int8=int8)
    g.add("Gather", [g.weight("pos", w["pos.weight"]), "positions"], "places", axis=0)
    g.add("Gather", [g.weight("role", w["role.weight"]), "roles"], "kinds", axis=0)
    g.add("Add", ["places", "kinds"], "places_and_kinds")
    norm = [g.weight(f"ln.{part}", w[f"ln.{part}"]) for part in ("weight", "bias")]
    g.add("Add", ["words", "places_and_kinds"], "sum")
    g.add("LayerNormalization", ["sum", *norm], "plain", axis=-1, epsilon=g.sizes.norm_epsilon)
    g.add("Gather", [g.weight("feat", w["feat.weight"]), "features"], "matches", axis=0)
    axis = g.weight("axis_1", np.array([1], np.int64))
    g.add("ReduceSum", ["matches", axis], "match", keepdims=0)
    return g.add("Add", ["plain", "match"], "embedded")


def _layer(
    g: _Graph,
    w: dict[str, NDArray[np.float32]],
    i: int,
    x: str,
    *,
    int8: bool,
    has_past: bool,
) -> str:
    p = f"layers.{i}."
    # The query's weights include the scale of the dot product.
    scale = np.float32(g.sizes.head_width**-0.5)
    matrix = np.concatenate([w[p + "q.weight"] * scale, w[p + "k.weight"], w[p + "v.weight"]])
    bias = np.concatenate([w[p + "q.bias"] * scale, w[p + "k.bias"], w[p + "v.bias"]])
    qkv = _linear(g, x, f"qkv_{i}", matrix, int8=int8)
    g.add("Add", [qkv, g.weight(f"qkv_{i}.bias", bias)], f"qkv_{i}_biased")
    heads = g.sizes.heads
    shape = g.weight("heads_shape", np.array([-1, 3 * heads, g.sizes.head_width], np.int64))
    g.add("Reshape", [f"qkv_{i}_biased", shape], f"qkv_{i}_shaped")
    g.add("Transpose", [f"qkv_{i}_shaped"], f"qkv_{i}_heads", perm=[1, 0, 2])
    thirds = g.weight("thirds", np.array([heads] * 3, np.int64))
    q, k, v = f"query_{i}", f"key_{i}", f"value_{i}"
    g.add("Split", [f"qkv_{i}_heads", thirds], [q, k, v], axis=0)
    seen = (_attention if has_past else _own_attention)(g, i, q, k, v)
    out = _linear(g, seen, f"o_{i}", w[p + "o.weight"], int8=int8)
    x = _residual(g, w, out, x, p + "o.bias", p + "ln1", f"attended_{i}")
    up = _linear(g, x, f"f1_{i}", w[p + "f1.weight"], int8=int8)
    active = g.add("BiasGelu", [up, g.weight(p + "f1.bias", w[p + "f1.bias"])], f"gelu_{i}")
    down = _linear(g, active, f"f2_{i}", w[p + "f2.weight"], int8=int8)
    return _residual(g, w, down, x, p + "f2.bias", p + "ln2", f"layer_{i}")


def _relative_bias(g: _Graph, w: dict[str, NDArray[np.float32]]) -> None:
    """Add nodes for the relative bias of scores in a text, ``(H, L, L)``, shared by all layers."""
    axes = [g.weight(f"axis_{axis}", np.array([axis], np.int64)) for axis in (0, 1)]
    g.add("Unsqueeze", ["positions", axes[0]], "key_places")
    g.add("Unsqueeze", ["positions", axes[1]], "query_places")
    g.add("Sub", ["key_places", "query_places"], "distances")
    nearest = g.weight("nearest", np.array(POSITIONS - 1, np.int64))
    g.add("Add", ["distances", nearest], "distance_rows")
    g.add("Gather", [g.weight("near", w["near"].T), "distance_rows"], "near_bias", axis=1)


def _attention(g: _Graph, i: int, q: str, k: str, v: str) -> str:
    for kind in ("key", "value"):
        g.add("Cast", [f"past_{kind}_{i}"], f"past_{kind}_{i}_float", to=TensorProto.FLOAT)
    g.add("FusedMatMul", [q, f"past_key_{i}_float"], f"scores_past_{i}", transB=1)
    own = g.add("FusedMatMul", [q, k], f"scores_own_{i}", transB=1)
    if g.sizes.has_relative_bias:
        own = g.add("Add", [own, "near_bias"], f"scores_near_{i}")
    g.add("Concat", [f"scores_past_{i}", own], f"scores_{i}", axis=2)
    g.add("Softmax", [f"scores_{i}"], f"shares_{i}", axis=2)
    parts = [f"shares_past_{i}", f"shares_own_{i}"]
    g.add("Split", [f"shares_{i}", "past_and_own"], parts, axis=2)
    g.add("MatMul", [parts[0], f"past_value_{i}_float"], f"seen_past_{i}")
    g.add("MatMul", [parts[1], v], f"seen_own_{i}")
    g.add("Add", [f"seen_past_{i}", f"seen_own_{i}"], f"seen_{i}_heads")
    return _rows(g, i)


def _own_attention(g: _Graph, i: int, q: str, k: str, v: str) -> str:
    own = g.add("FusedMatMul", [q, k], f"scores_own_{i}", transB=1)
    if g.sizes.has_relative_bias:
        own = g.add("Add", [own, "near_bias"], f"scores_near_{i}")
    g.add("Softmax", [own], f"shares_{i}", axis=2)
    g.add("MatMul", [f"shares_{i}", v], f"seen_{i}_heads")
    return _rows(g, i)


def _rows(g: _Graph, i: int) -> str:
    g.add("Transpose", [f"seen_{i}_heads"], f"seen_{i}_rows", perm=[1, 0, 2])
    shape = g.weight("rows_shape", np.array([-1, g.sizes.width], np.int64))
    return g.add("Reshape", [f"seen_{i}_rows", shape], f"seen_{i}")


def _residual(
    g: _Graph, w: dict[str, NDArray[np.float32]], x: str, skip: str, bias: str, norm: str, out: str
) -> str:
    # ONNX Runtime has one node for this, SkipLayerNormalization, but it takes four times as long.
    g.add("Add", [x, g.weight(bias, w[bias])], f"{out}_biased")
    g.add("Add", [f"{out}_biased", skip], f"{out}_sum")
    scale = [g.weight(name, w[name]) for name in (f"{norm}.weight", f"{norm}.bias")]
    return g.add(
        "LayerNormalization", [f"{out}_sum", *scale], out, axis=-1, epsilon=g.sizes.norm_epsilon
    )


def _linear(g: _Graph, x: str, name: str, matrix: NDArray[np.float32], *, int8: bool) -> str:
    """Add nodes for ``x @ matrix.T``, without bias; return the name of their output.

    In int8 the product quantises ``x`` with one scale for all rows. In the larger base some rows,
    such as that of [CLS], have values many times as large as others, and would leave the others few
    of the 256 steps. So with ``by_rows`` each row is divided by its largest value before, and
    multiplied by it after. In MiniLM no rows stand out, and that would only cost time.
    """
    product = name + "_product"
    if not int8:
        return g.add("MatMul", [x, g.weight(name + ".weight", matrix.T)], product)
    if g.by_rows:
        g.add("Abs", [x], name + "_sizes")
        g.add("ReduceMax", [name + "_sizes"], name + "_largest", axes=[-1], keepdims=1)
        least = g.weight("least", np.array(1e-9, np.float32))  # for a row of zeros
        largest = g.add("Max", [name + "_largest", least], name + "_divisors")
        x = g.add("Div", [x, largest], name + "_rows")
    columns, scales = quantise(matrix, axis=1)
    inputs = [
        x,
        g.weight(name + ".weight", columns.T),
        g.weight(name + ".scales", scales[:, 0]),
        g.weight(name + ".zeros", np.zeros(len(scales), np.int8)),
    ]
    if not g.by_rows:
        return g.add("DynamicQuantizeMatMul", inputs, product)
    g.add("DynamicQuantizeMatMul", inputs, name + "_rows_product")
    return g.add("Mul", [name + "_rows_product", largest], product)


def _head(g: _Graph, w: dict[str, NDArray[np.float32]], name: str, x: str, out: str) -> None:
    product = _linear(g, x, name, w[f"{name}.weight"], int8=False)
    g.add("Add", [product, g.weight(f"{name}.bias", w[f"{name}.bias"])], out)


def quantise(
    matrix: NDArray[np.float32], *, axis: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantise a matrix to symmetric int8, with a scale for each row or column.

    Args:
        matrix: Shape ``(n, m)``.
        axis: The axis along which values share a scale: 1 for a scale for each row.

    Returns:
        Integers in [-127, 127], and the scales, whose ``axis`` has length 1.
    """
    scales = np.abs(matrix).max(axis=axis, keepdims=True) / 127
    scales = np.where(scales == 0, 1, scales).astype(np.float32)
    return np.round(matrix / scales).astype(np.int8), scales


def _model(g: _Graph) -> onnx.ModelProto:
    sizes = g.sizes
    past: list[str | int] = [sizes.heads, "P", sizes.head_width]
    integers: dict[str, list[str | int]] = {
        "ids": ["L"],
        "roles": ["L"],
        "positions": ["L"],
        "features": ["L", N_FEATURES],
    }
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name, shape in integers.items()
    ]
    inputs += [
        helper.make_tensor_value_info(f"past_{kind}_{i}", TensorProto.FLOAT16, past)
        for i in range(sizes.layers)
        for kind in ("key", "value")
    ]
    kv: list[str | int] = [sizes.layers, sizes.heads, "L", sizes.head_width]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["L", 3]),
        helper.make_tensor_value_info("sentence", TensorProto.FLOAT, [1, 3]),
        helper.make_tensor_value_info("keys", TensorProto.FLOAT16, kv),
        helper.make_tensor_value_info("values", TensorProto.FLOAT16, kv),
    ]
    return _wrapped(helper.make_graph(g.nodes, "reader", inputs, outputs, g.weights))


def _wrapped(graph: onnx.GraphProto) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="groundwire")

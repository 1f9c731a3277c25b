"""The reader in PyTorch: sources are read alone, a sentence attends to them in every layer.

The base is all-MiniLM-L6-v2. What the deployed graph does with past keys and values, one sentence
at a time, is done here for all sentences of several answers at once, with masks. Shapes: C passages
of L word pieces, T word pieces of all sentences in a row, H = 12 heads of 32, D = 384.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import load_file
from torch import Tensor, nn

from groundwire.engine.features import TABLE_ROWS
from groundwire.engine.roles import N_ROLES, SENTENCE_START, Role

LAYERS, D, HEADS, INNER, VOCABULARY, POSITIONS = 6, 384, 12, 1536, 30522, 512
N_LABELS = 3
_NO_FEATURES = TABLE_ROWS - 1


@dataclass(frozen=True, slots=True)
class Group:
    """Several answers to one context, as tensors.

    Attributes:
        passages: Word pieces with [CLS] and [SEP], padded; ``(C, L)``.
        passage_mask: Which are real; ``(C, L)``.
        question: Padded, ``(1, Q)``, perhaps ``Q = 0``.
        question_length: How much of it is real; a scalar.
        ids: Word pieces of all sentences in a row, each with [CLS] and [SEP]; ``(T,)``.
        places: Place of each piece in its sentence, from 0; ``(T,)``.
        sentence: Index of its sentence; ``(T,)``; -1 is padding.
        features: Match features; ``(T, F)``.
        reads: Which passages a sentence attends to; ``(S, C)``.
        recalls: Which earlier sentences it attends to; ``(S, S)``.
        labels: 0 supported, 1 unsupported, 2 contradicted, -1 not known, -100 no word piece of a
            sentence; ``(T,)``.
        sentence_labels: The same for sentences, -100 not known; ``(S,)``.
        answers: Index of the answer that a sentence belongs to; ``(S,)``.
        extents: Where each answer begins and ends in the row, padding included; ``(A, 2)``.
    """

    passages: Tensor
    passage_mask: Tensor
    question: Tensor
    question_length: Tensor
    ids: Tensor
    places: Tensor
    sentence: Tensor
    features: Tensor
    reads: Tensor
    recalls: Tensor
    labels: Tensor
    sentence_labels: Tensor
    answers: Tensor
    extents: Tensor


@dataclass(frozen=True, slots=True)
class Look:
    """What a stretch of a text attends to.

    Attributes:
        rows: The stretch.
        keys: ``(B, H, K, 32)``.
        values: The same shape.
        bias: Added to the scores, 0 or minus infinity; ``(B, 1, L, K)`` or wider.
    """

    rows: slice
    keys: Tensor
    values: Tensor
    bias: Tensor


def attention(queries: Tensor, look: Look) -> Tensor:
    """Softmax attention, ``(B, H, L, 32)``.

    On a CPU two batched products take a third of the time of PyTorch's fused kernel, forward and
    backward (a row of 1,024 against 2,080 keys in bfloat16, one core of an EPYC: 93 ms, 218 ms).
    """
    k, v = look.keys, look.values
    if queries.is_cuda:
        return F.scaled_dot_product_attention(queries, k, v, attn_mask=look.bias)
    batch, heads, length, width = queries.shape
    with torch.autocast("cpu", enabled=False):
        bias = look.bias.expand(batch, heads, length, k.shape[2]).flatten(0, 1)
        q, k, v = (t.flatten(0, 1) for t in (queries, k, v))
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=width**-0.5)
        return torch.bmm(scores.softmax(-1), v).view(batch, heads, length, width)


class Layer(nn.Module):
    """One encoder layer of BERT, with keys and values from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))
        self.ln1, self.ln2 = nn.LayerNorm(D, eps=1e-12), nn.LayerNorm(D, eps=1e-12)
        self.f1, self.f2 = nn.Linear(D, INNER), nn.Linear(INNER, D)
        self.drop = nn.Dropout(0.1)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """``(B, L, D)`` to keys and values ``(B, H, L, 32)``."""
        return _heads(self.k(x)), _heads(self.v(x))

    def attend(self, x: Tensor, looks: Sequence[Look]) -> Tensor:
        """One layer over ``x`` ``(B, L, D)``; the looks cover its length, one after the other."""
        q = _heads(self.q(x))
        seen = torch.cat([attention(q[:, :, look.rows], look) for look in looks], 2)
        x = self.ln1(x + self.drop(self.o(seen.transpose(1, 2).reshape(x.shape))))
        out: Tensor = self.ln2(x + self.drop(self.f2(F.gelu(self.f1(x)))))
        return out


class Reader(nn.Module):
    """Word pieces of sentences with their evidence, to logits."""

    def __init__(self, base: Path | None = None) -> None:
        """Start from MiniLM's ``model.safetensors``, or from nothing."""
        super().__init__()
        self.word, self.pos = nn.Embedding(VOCABULARY, D), nn.Embedding(POSITIONS, D)
        self.role = nn.Embedding(N_ROLES, D)
        self.feat = nn.Embedding(TABLE_ROWS, D, padding_idx=_NO_FEATURES)
        nn.init.zeros_(self.feat.weight)  # starts as plain MiniLM
        self.ln, self.drop = nn.LayerNorm(D, eps=1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head, self.sentence_head = nn.Linear(D, N_LABELS), nn.Linear(D, N_LABELS)
        if base is not None:
            self._load_minilm(base)

    def _load_minilm(self, path: Path) -> None:
        weights = load_file(path)
        tables = {"word": "word_embeddings", "pos": "position_embeddings"}
        for mine, theirs in tables.items():
            getattr(self, mine).weight.data = weights[f"embeddings.{theirs}.weight"]
        kinds = weights["embeddings.token_type_embeddings.weight"]
        self.role.weight.data = kinds[[0, 1, 0, 1]].clone()
        names = {
            "q": "attention.self.query",
            "k": "attention.self.key",
            "v": "attention.self.value",
            "o": "attention.output.dense",
            "ln1": "attention.output.LayerNorm",
            "f1": "intermediate.dense",
            "f2": "output.dense",
            "ln2": "output.LayerNorm",
        }
        for i, layer in enumerate(self.layers):
            for mine, theirs in names.items():
                part = getattr(layer, mine)
                part.weight.data = weights[f"encoder.layer.{i}.{theirs}.weight"]
                part.bias.data = weights[f"encoder.layer.{i}.{theirs}.bias"]
        self.ln.weight.data = weights["embeddings.LayerNorm.weight"]
        self.ln.bias.data = weights["embeddings.LayerNorm.bias"]

    def embed(self, ids: Tensor, places: Tensor, role: Role, features: Tensor | None) -> Tensor:
        """Word, position, role and feature embeddings; ``(..., L)`` to ``(..., L, D)``."""
        positions = places + (SENTENCE_START if role is Role.ANSWER else 0)
        x = self.ln(self.word(ids) + self.pos(positions) + self.role.weight[int(role)])
        out: Tensor = self.drop(x if features is None else x + self.feat(features).sum(-2))
        return out

    def forward(self, group: Group) -> tuple[Tensor, Tensor]:
        """Logits of word pieces ``(T, 3)`` and of sentences ``(S, 3)``."""
        places = torch.arange(group.passages.shape[1])
        asked = torch.arange(group.question.shape[1])
        passages = self.embed(group.passages, places, Role.SOURCE, None)
        question = self.embed(group.question, asked, Role.QUESTION, None)
        history = self.embed(group.ids[None], group.places[None], Role.HISTORY, None)
        answer = self.embed(group.ids[None], group.places[None], Role.ANSWER, group.features[None])
        dtype = torch.get_autocast_dtype(answer.device.type) if _mixed(answer) else answer.dtype
        shut = _bias(group.passage_mask[:, None, None, :], dtype)
        asked_alone = _bias((asked < group.question_length)[None, None, None], dtype)
        parts = self._parts(group, dtype)
        for i, layer in enumerate(self.typed_layers()):
            kp, vp = layer.keys_values(passages)
            kq, vq = layer.keys_values(question)
            kh, vh = layer.keys_values(history)
            ka, va = layer.keys_values(answer)
            kc, vc = torch.cat([_flat(kp), kq], 2), torch.cat([_flat(vp), vq], 2)
            looks, own = [], []
            for at, all_keys, same in parts:
                keys = torch.cat([kc, kh[:, :, at], ka[:, :, at]], 2)
                values = torch.cat([vc, vh[:, :, at], va[:, :, at]], 2)
                looks.append(Look(at, keys, values, all_keys))
                own.append(Look(at, kh[:, :, at], vh[:, :, at], same))
            answer = layer.attend(answer, looks)
            if i < LAYERS - 1:
                passages = layer.attend(passages, [Look(slice(None), kp, vp, shut)])
                with torch.no_grad():  # a quarter of a step's time, for what is only recalled
                    history = layer.attend(history, own)
                if question.shape[1]:
                    question = layer.attend(question, [Look(slice(None), kq, vq, asked_alone)])
        firsts = answer[0][(group.places == 0) & (group.sentence >= 0)]
        return self.head(self.drop(answer[0])), self.sentence_head(self.drop(firsts))

    def typed_layers(self) -> list[Layer]:
        """The six layers."""
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    @staticmethod
    def _parts(group: Group, dtype: torch.dtype) -> list[tuple[slice, Tensor, Tensor]]:
        """Of each answer its place in the row, what it sees of everything, and of itself."""
        parts = []
        for start, end in group.extents.tolist():
            of = group.sentence[start:end]
            same = of[:, None] == of[None, :]
            real = (of >= 0)[:, None]
            of = of.clamp_min(0)
            # Padding (sentence -1) sees itself, so that no row of the softmax is empty.
            passages = (group.reads[of][:, :, None] & group.passage_mask[None]).flatten(1) & real
            asked = torch.arange(group.question.shape[1], device=of.device) < group.question_length
            question = asked[None] & real
            recalled = group.recalls[of][:, of] & real & real.T
            seen = torch.cat([passages, question, recalled, same], 1)
            parts.append(
                (slice(start, end), _bias(seen[None, None], dtype), _bias(same[None, None], dtype))
            )
        return parts


def _mixed(x: Tensor) -> bool:
    return torch.is_autocast_enabled(x.device.type)


def _bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -torch.inf)


def _heads(x: Tensor) -> Tensor:
    return x.view(*x.shape[:2], HEADS, D // HEADS).transpose(1, 2)


def _flat(x: Tensor) -> Tensor:
    c, h, length, d = x.shape
    return x.permute(1, 0, 2, 3).reshape(1, h, c * length, d)

"""The reader in PyTorch: sources are encoded alone, and sentences attend to them in every layer.

The deployed graph reads one sentence at a time, with past keys and values. Here all sentences of
several answers are read at once, with masks. Shapes: C passages of L word pieces, T word pieces of
all sentences one after the other, H heads of width W, D = H * W.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from groundwire.engine.architecture import MINILM, POSITIONS, VOCABULARY, Architecture
from groundwire.engine.features import TABLE_ROWS
from groundwire.engine.roles import N_ROLES, SENTENCE_START, TextRole

N_LABELS = 3
_NO_FEATURES = TABLE_ROWS - 1


@dataclass(frozen=True, slots=True)
class Group:
    """Several answers to one context, as tensors.

    Attributes:
        passages: Word pieces with [CLS] and [SEP], padded; ``(C, L)``.
        passage_mask: False at padding; ``(C, L)``.
        question: Word pieces of the question, padded; ``(1, Q)``, where Q may be 0.
        question_length: Length of the question without padding; a scalar.
        ids: Word pieces of all sentences, each with [CLS] and [SEP]; ``(T,)``.
        places: Position of each piece in its sentence, from 0; ``(T,)``.
        sentence: Index of each piece's sentence, -1 for padding; ``(T,)``.
        features: Match features; ``(T, F)``.
        reads: Whether each sentence attends to each passage; ``(S, C)`` for S sentences.
        recalls: Whether each sentence attends to each other, earlier sentence; ``(S, S)``.
        labels: 0 supported, 1 unsupported, 2 contradicted, -1 unknown, -100 for special tokens and
            padding; ``(T,)``.
        sentence_labels: Labels of sentences, -100 if unknown; ``(S,)``.
        answers: Index of the answer of each sentence; ``(S,)``.
        extents: Start and end of each answer in ``ids``, padding included; ``(A, 2)`` for A
            answers.
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
class AttentionInput:
    """The keys and values that a part of a text attends to, and the bias of the scores.

    Attributes:
        rows: The part of the text.
        keys: Keys, ``(B, H, K, W)``.
        values: Values, of the same shape.
        bias: Bias of the scores, ``(B, 1, L, K)`` or ``(B, H, L, K)``: minus infinity for masked
            keys, and the relative bias if the base has one.
    """

    rows: slice
    keys: Tensor
    values: Tensor
    bias: Tensor


def attention(queries: Tensor, given: AttentionInput) -> Tensor:
    """Compute softmax attention, shape ``(B, H, L, W)``.

    On a CPU, two batched products take less than half the time of PyTorch's fused kernel, forward
    and backward (1,024 queries and 2,080 keys in bfloat16 on one core of an EPYC: 93 and 218 ms).
    """
    k, v = given.keys, given.values
    if queries.is_cuda:
        return F.scaled_dot_product_attention(queries, k, v, attn_mask=given.bias)
    batch, heads, length, width = queries.shape
    with torch.autocast("cpu", enabled=False):
        bias = given.bias.expand(batch, heads, length, k.shape[2]).flatten(0, 1)
        q, k, v = (t.flatten(0, 1) for t in (queries, k, v))
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=width**-0.5)
        return torch.bmm(scores.softmax(-1), v).view(batch, heads, length, width)


class Layer(nn.Module):
    """One encoder layer of BERT, in which a text attends to given keys and values."""

    def __init__(self, sizes: Architecture, dropout: float) -> None:
        super().__init__()
        d, eps = sizes.width, sizes.norm_epsilon
        self.heads = sizes.heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.ln1, self.ln2 = nn.LayerNorm(d, eps=eps), nn.LayerNorm(d, eps=eps)
        self.f1, self.f2 = nn.Linear(d, sizes.inner), nn.Linear(sizes.inner, d)
        self.drop = _dropout(dropout)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the keys and values ``(B, H, L, W)`` of hidden states ``(B, L, D)``."""
        return self._split(self.k(x)), self._split(self.v(x))

    def attend(self, x: Tensor, parts: Sequence[AttentionInput]) -> Tensor:
        """Apply the layer to ``x`` ``(B, L, D)``; the parts' rows cover its length in order."""
        q = self._split(self.q(x))
        seen = torch.cat([attention(q[:, :, part.rows], part) for part in parts], 2)
        x = self.ln1(x + self.drop(self.o(seen.transpose(1, 2).reshape(x.shape))))
        out: Tensor = self.ln2(x + self.drop(self.f2(F.gelu(self.f1(x)))))
        return out

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, x.shape[2] // self.heads).transpose(1, 2)


class Reader(nn.Module):
    """The reader: it computes logits from the word pieces of sentences and their evidence.

    ``near`` is the relative bias by distance, if the base has one. Its row 511 + d is added to the
    score of a key d positions after the query. It applies only within a text, for the reason that
    :func:`groundwire_training.bases.relative_bias` gives.
    """

    def __init__(self, sizes: Architecture = MINILM, *, dropout: float = 0.1) -> None:
        """Make a reader with random weights, and feature embeddings of zero.

        Args:
            sizes: Sizes of the encoder.
            dropout: Dropout rate of hidden values in training, in [0, 1).
        """
        super().__init__()
        self.sizes, d = sizes, sizes.width
        self.word, self.pos = nn.Embedding(VOCABULARY, d), nn.Embedding(POSITIONS, d)
        self.role = nn.Embedding(N_ROLES, d)
        self.feat = nn.Embedding(TABLE_ROWS, d, padding_idx=_NO_FEATURES)
        nn.init.zeros_(self.feat.weight)  # so that training starts from the plain base
        self.near: nn.Parameter | None = None
        if sizes.has_relative_bias:
            self.near = nn.Parameter(torch.zeros(2 * POSITIONS - 1, sizes.heads))
        self.ln, self.drop = nn.LayerNorm(d, eps=sizes.norm_epsilon), _dropout(dropout)
        self.layers = nn.ModuleList(Layer(sizes, dropout) for _ in range(sizes.layers))
        self.head, self.sentence_head = nn.Linear(d, N_LABELS), nn.Linear(d, N_LABELS)

    def embed(self, ids: Tensor, places: Tensor, role: TextRole, features: Tensor | None) -> Tensor:
        """Sum word, position, role and feature embeddings; ``(..., L)`` to ``(..., L, D)``."""
        positions = places + (SENTENCE_START if role is TextRole.ANSWER else 0)
        x = self.ln(self.word(ids) + self.pos(positions) + self.role.weight[int(role)])
        out: Tensor = self.drop(x if features is None else x + self.feat(features).sum(-2))
        return out

    def forward(self, group: Group) -> tuple[Tensor, Tensor]:
        """Compute the logits of word pieces, ``(T, 3)``, and of sentences, ``(S, 3)``."""
        places = torch.arange(group.passages.shape[1])
        asked = torch.arange(group.question.shape[1])
        passages = self.embed(group.passages, places, TextRole.SOURCE, None)
        question = self.embed(group.question, asked, TextRole.QUESTION, None)
        # If earlier sentences are not attended to, the history is empty and adds no keys.
        recalled = group.ids if self.sizes.recalls else group.ids[:0]
        recalled_at = group.places[: len(recalled)]
        history = self.embed(recalled[None], recalled_at[None], TextRole.HISTORY, None)
        answer = self.embed(
            group.ids[None], group.places[None], TextRole.ANSWER, group.features[None]
        )
        dtype = torch.get_autocast_dtype(answer.device.type) if _mixed(answer) else answer.dtype
        shut = _bias(group.passage_mask[:, None, None, :], dtype) + self._near(places, dtype)
        asked_alone = _bias((asked < group.question_length)[None, None, None], dtype)
        asked_alone = asked_alone + self._near(asked, dtype)
        parts = self._parts(group, dtype)
        for i, layer in enumerate(self.typed_layers()):
            kp, vp = layer.keys_values(passages)
            kq, vq = layer.keys_values(question)
            kh, vh = layer.keys_values(history)
            ka, va = layer.keys_values(answer)
            kc, vc = torch.cat([_flat(kp), kq], 2), torch.cat([_flat(vp), vq], 2)
            everything, own = [], []
            for at, all_keys, same in parts:
                keys = torch.cat([kc, kh[:, :, at], ka[:, :, at]], 2)
                values = torch.cat([vc, vh[:, :, at], va[:, :, at]], 2)
                everything.append(AttentionInput(at, keys, values, all_keys))
                own.append(AttentionInput(at, kh[:, :, at], vh[:, :, at], same))
            answer = layer.attend(answer, everything)
            if i < self.sizes.layers - 1:
                passages = layer.attend(passages, [AttentionInput(slice(None), kp, vp, shut)])
                if len(recalled):
                    with (
                        torch.no_grad()
                    ):  # gradients of the history take a quarter of a step's time
                        history = layer.attend(history, own)
                if question.shape[1]:
                    question = layer.attend(
                        question, [AttentionInput(slice(None), kq, vq, asked_alone)]
                    )
        firsts = answer[0][(group.places == 0) & (group.sentence >= 0)]
        return self.head(self.drop(answer[0])), self.sentence_head(self.drop(firsts))

    def typed_layers(self) -> list[Layer]:
        """Return the layers, first to last."""
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    def _near(self, places: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the relative bias in a text, ``(1, H, L, L)``; ``(1, 1, 1, 1)`` of 0 without."""
        if self.near is None:
            return torch.zeros(1, 1, 1, 1, dtype=dtype, device=places.device)
        distance = places[None, :] - places[:, None] + (POSITIONS - 1)
        return self.near[distance].permute(2, 0, 1)[None].to(dtype)

    def _parts(self, group: Group, dtype: torch.dtype) -> list[tuple[slice, Tensor, Tensor]]:
        """Return each answer's range, its attention bias over all keys, and that over its own."""
        parts = []
        for start, end in group.extents.tolist():
            of = group.sentence[start:end]
            same = of[:, None] == of[None, :]
            real = (of >= 0)[:, None]
            of = of.clamp_min(0)
            # Padding (sentence -1) attends to itself: a softmax over no keys would give NaN.
            passages = (group.reads[of][:, :, None] & group.passage_mask[None]).flatten(1) & real
            asked = torch.arange(group.question.shape[1], device=of.device) < group.question_length
            question = asked[None] & real
            seen = [passages, question]
            if self.sizes.recalls:
                seen.append(group.recalls[of][:, of] & real & real.T)
            others = _bias(torch.cat(seen, 1)[None, None], dtype)
            own = _bias(same[None, None], dtype) + self._near(group.places[start:end], dtype)
            everything = torch.cat([others.expand(-1, own.shape[1], -1, -1), own], 3)
            parts.append((slice(start, end), everything, own))
        return parts


def _dropout(share: float) -> nn.Module:
    # nn.Dropout with a share of 0 would still draw a mask and multiply by it.
    return nn.Dropout(share) if share else nn.Identity()


def _mixed(x: Tensor) -> bool:
    return torch.is_autocast_enabled(x.device.type)


def _bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -torch.inf)


def _flat(x: Tensor) -> Tensor:
    c, h, length, d = x.shape
    return x.permute(1, 0, 2, 3).reshape(1, h, c * length, d)

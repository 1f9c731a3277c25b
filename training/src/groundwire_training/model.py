"""The reader in PyTorch: sources are read alone, a sentence attends to them in every layer.

What the deployed graph does with past keys and values, one sentence at a time, is done here for all
sentences of several answers at once, with masks. Shapes: C passages of L word pieces, T word pieces
of all sentences in a row, H heads of width W, D = H * W.
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
        keys: ``(B, H, K, W)``.
        values: The same shape.
        bias: Added to the scores: minus infinity where nothing may be seen, and what distance does
            where the base has a relative bias; ``(B, 1, L, K)``, or ``(B, H, L, K)``.
    """

    rows: slice
    keys: Tensor
    values: Tensor
    bias: Tensor


def attention(queries: Tensor, look: Look) -> Tensor:
    """Softmax attention, ``(B, H, L, W)``.

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

    def __init__(self, sizes: Architecture, dropout: float) -> None:
        super().__init__()
        d, eps = sizes.width, sizes.norm_epsilon
        self.heads = sizes.heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.ln1, self.ln2 = nn.LayerNorm(d, eps=eps), nn.LayerNorm(d, eps=eps)
        self.f1, self.f2 = nn.Linear(d, sizes.inner), nn.Linear(sizes.inner, d)
        self.drop = _dropout(dropout)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """``(B, L, D)`` to keys and values ``(B, H, L, W)``."""
        return self._split(self.k(x)), self._split(self.v(x))

    def attend(self, x: Tensor, looks: Sequence[Look]) -> Tensor:
        """One layer over ``x`` ``(B, L, D)``; the looks cover its length, one after the other."""
        q = self._split(self.q(x))
        seen = torch.cat([attention(q[:, :, look.rows], look) for look in looks], 2)
        x = self.ln1(x + self.drop(self.o(seen.transpose(1, 2).reshape(x.shape))))
        out: Tensor = self.ln2(x + self.drop(self.f2(F.gelu(self.f1(x)))))
        return out

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, x.shape[2] // self.heads).transpose(1, 2)


class Reader(nn.Module):
    """Word pieces of sentences with their evidence, to logits.

    ``near`` is the relative bias of a base that has one, by distance: row 511 + d is what a head
    adds to the score of a key d places after the query. Texts that are read apart have no distance:
    see :mod:`groundwire_training.bases`.
    """

    def __init__(self, sizes: Architecture = MINILM, *, dropout: float = 0.1) -> None:
        """Weights drawn by chance, and features that say nothing yet.

        Args:
            sizes: Of the encoder.
            dropout: Share of hidden values that are left out in training, in [0, 1).
        """
        super().__init__()
        self.sizes, d = sizes, sizes.width
        self.word, self.pos = nn.Embedding(VOCABULARY, d), nn.Embedding(POSITIONS, d)
        self.role = nn.Embedding(N_ROLES, d)
        self.feat = nn.Embedding(TABLE_ROWS, d, padding_idx=_NO_FEATURES)
        nn.init.zeros_(self.feat.weight)  # starts as the plain base
        self.near: nn.Parameter | None = None
        if sizes.has_relative_bias:
            self.near = nn.Parameter(torch.zeros(2 * POSITIONS - 1, sizes.heads))
        self.ln, self.drop = nn.LayerNorm(d, eps=sizes.norm_epsilon), _dropout(dropout)
        self.layers = nn.ModuleList(Layer(sizes, dropout) for _ in range(sizes.layers))
        self.head, self.sentence_head = nn.Linear(d, N_LABELS), nn.Linear(d, N_LABELS)

    def embed(self, ids: Tensor, places: Tensor, role: TextRole, features: Tensor | None) -> Tensor:
        """Word, position, role and feature embeddings; ``(..., L)`` to ``(..., L, D)``."""
        positions = places + (SENTENCE_START if role is TextRole.ANSWER else 0)
        x = self.ln(self.word(ids) + self.pos(positions) + self.role.weight[int(role)])
        out: Tensor = self.drop(x if features is None else x + self.feat(features).sum(-2))
        return out

    def forward(self, group: Group) -> tuple[Tensor, Tensor]:
        """Logits of word pieces ``(T, 3)`` and of sentences ``(S, 3)``."""
        places = torch.arange(group.passages.shape[1])
        asked = torch.arange(group.question.shape[1])
        passages = self.embed(group.passages, places, TextRole.SOURCE, None)
        question = self.embed(group.question, asked, TextRole.QUESTION, None)
        # Without history nothing of it is read, and no key is added: rows of length 0.
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
            looks, own = [], []
            for at, all_keys, same in parts:
                keys = torch.cat([kc, kh[:, :, at], ka[:, :, at]], 2)
                values = torch.cat([vc, vh[:, :, at], va[:, :, at]], 2)
                looks.append(Look(at, keys, values, all_keys))
                own.append(Look(at, kh[:, :, at], vh[:, :, at], same))
            answer = layer.attend(answer, looks)
            if i < self.sizes.layers - 1:
                passages = layer.attend(passages, [Look(slice(None), kp, vp, shut)])
                if len(recalled):
                    with torch.no_grad():  # a quarter of a step's time, for what is only recalled
                        history = layer.attend(history, own)
                if question.shape[1]:
                    question = layer.attend(question, [Look(slice(None), kq, vq, asked_alone)])
        firsts = answer[0][(group.places == 0) & (group.sentence >= 0)]
        return self.head(self.drop(answer[0])), self.sentence_head(self.drop(firsts))

    def typed_layers(self) -> list[Layer]:
        """The layers, first to last."""
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    def _near(self, places: Tensor, dtype: torch.dtype) -> Tensor:
        """The relative bias inside a text, ``(1, H, L, L)``; zeros ``(1, 1, 1, 1)`` without one."""
        if self.near is None:
            return torch.zeros(1, 1, 1, 1, dtype=dtype, device=places.device)
        distance = places[None, :] - places[:, None] + (POSITIONS - 1)
        return self.near[distance].permute(2, 0, 1)[None].to(dtype)

    def _parts(self, group: Group, dtype: torch.dtype) -> list[tuple[slice, Tensor, Tensor]]:
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
            seen = [passages, question]
            if self.sizes.recalls:
                seen.append(group.recalls[of][:, of] & real & real.T)
            others = _bias(torch.cat(seen, 1)[None, None], dtype)
            own = _bias(same[None, None], dtype) + self._near(group.places[start:end], dtype)
            everything = torch.cat([others.expand(-1, own.shape[1], -1, -1), own], 3)
            parts.append((slice(start, end), everything, own))
        return parts


def _dropout(share: float) -> nn.Module:
    # Of a share of 0 PyTorch still draws a mask and multiplies by it.
    return nn.Dropout(share) if share else nn.Identity()


def _mixed(x: Tensor) -> bool:
    return torch.is_autocast_enabled(x.device.type)


def _bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -torch.inf)


def _flat(x: Tensor) -> Tensor:
    c, h, length, d = x.shape
    return x.permute(1, 0, 2, 3).reshape(1, h, c * length, d)

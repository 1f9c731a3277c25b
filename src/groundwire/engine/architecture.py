"""Sizes of a reader, the transformer that judges claims: its layers, width and so on."""

from collections.abc import Mapping
from dataclasses import dataclass

#: Size of BERT's uncased vocabulary. All readers use the ids of this vocabulary, even if their base
#: model has other ids.
VOCABULARY = 30_522
#: Number of position embeddings. In a reader's graph, 256 to 511 are for the sentence that is
#: checked, 0 to 255 for all other texts.
POSITIONS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """Sizes of a transformer encoder such as BERT.

    Attributes:
        layers: Number of layers.
        width: Width of a hidden state.
        heads: Attention heads of a layer; they share ``width`` evenly.
        inner: Width of the feed-forward part.
        has_relative_bias: Whether attention inside a text also depends on the distance between
            word pieces, as in MPNet. Attention depends on absolute positions in any case.
        norm_epsilon: Epsilon of the layer norms.
        recalls: Whether a sentence attends to earlier sentences of its answer.
    """

    layers: int
    width: int
    heads: int
    inner: int
    has_relative_bias: bool
    norm_epsilon: float
    recalls: bool = False

    @property
    def head_width(self) -> int:
        """Width of one attention head."""
        return self.width // self.heads

    @property
    def bytes_per_piece(self) -> int:
        """Bytes that the keys and values of one word piece take in all layers, as float16."""
        return 2 * self.layers * self.width * 2

    @classmethod
    def from_manifest(cls, raw: Mapping[str, object]) -> "Architecture":
        """Read the sizes from the key ``architecture`` of a manifest.

        Manifests of weights up to version 0.2 have no such key; their sizes are those of MiniLM.

        Raises:
            TypeError: If a size is missing, or a key is not the name of a size.
        """
        stated = raw.get("architecture")
        return cls(**stated) if isinstance(stated, dict) else MINILM


#: Sizes of readers based on all-MiniLM-L6-v2, such as ``reader-small``: 10.6 million weights
#: without embedding tables.
MINILM = Architecture(
    layers=6,
    width=384,
    heads=12,
    inner=1536,
    has_relative_bias=False,
    norm_epsilon=1e-12,
    recalls=True,
)
#: Sizes of models based on all-mpnet-base-v2: 85.1 million weights without embedding tables.
MPNET = Architecture(
    layers=12, width=768, heads=12, inner=3072, has_relative_bias=True, norm_epsilon=1e-5
)

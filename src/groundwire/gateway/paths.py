"""Finds out which endpoint a path below ``/v1`` names, and refuses ambiguous paths.

Servers differ in how they read a path. Here it is decoded, and letter case, doubled slashes, and
dots and spaces at the ends of segments are ignored, but the path is forwarded as it was written. A
path is refused if it has other characters that servers read differently, such as a semicolon, or a
character that is percent-encoded twice.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from groundwire.gateway.http.problems import Problem, not_found

PREFIX = b"/v1/"
#: Matches the path prefix that Azure's clients send in place of ``/v1/``.
AZURE = re.compile(rb"\A/openai/(?:(?:v1|deployments/[A-Za-z0-9._-]+)/)?")

#: Verbs of Google's API that return text of a model. In a path they follow the model's name and a
#: colon: ``models/NAME:generateContent``.
_TEXT_VERBS = frozenset({"generatecontent", "streamgeneratecontent", "predict", "rawpredict"})

#: First path segments of endpoints that return no text of a model, but numbers, pictures, files or
#: settings. For exceptions and other endpoints see :attr:`RequestTarget.gives_text`.
_NO_TEXT = frozenset(
    {
        *("embed", "embeddings", "moderations", "pooling", "rerank", "score", "classify"),
        *("tokenize", "detokenize"),
        *("images", "videos", "voices"),
        *("containers", "files", "uploads", "vector_stores"),
        *("assistants", "fine_tuning", "fine-tunes", "skills"),
        *("load_lora_adapter", "unload_lora_adapter"),
        *("credits", "key", "organization", "projects", "usage"),
        *("health", "healthz", "metrics", "ping", "ready", "version"),
    }
)
#: Last path segments of endpoints that count tokens.
_COUNTS = frozenset({"count_tokens", "input_tokens"})

#: Matches a decoded path without characters that servers read differently, such as ``%`` or ``;``.
#: It also matches paths with segments of dots, which :func:`target_of` refuses.
_LEGAL = re.compile(r"[\w .~:@!$&'()*+,=/-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """The endpoint that a request names.

    Attributes:
        path: The path after ``/v1/``, as written.
        words: The segments of the path, decoded, in lower case, without dots and spaces at their
            ends. Empty segments are left out. There is at least one segment.
    """

    path: str
    words: tuple[str, ...]

    @property
    def is_chat(self) -> bool:
        """Whether the path ends in ``chat/completions``: servers may take it for that endpoint."""
        return self.words[-2:] == ("chat", "completions")

    @property
    def gives_text(self) -> bool:
        """Whether responses may hold text of a model; true for unknown endpoints."""
        if self.words[-1].rpartition(":")[2] in _TEXT_VERBS:
            return True
        if self.words[0] == "models":
            return self.path.strip("/").count("/") > 1  # an action may follow the model's name
        if self.words[-1] in _COUNTS or self.words[:2] == ("audio", "speech"):
            return False
        if self.words[-1] == "content" and self.words[0] in ("files", "containers"):
            return True  # a file may hold the answers of a batch
        return self.words[0] not in _NO_TEXT

    @property
    def model(self) -> str | None:
        """The name of the model: the text after ``models/``; ``None`` if there is no name."""
        if not self.path.startswith("models/"):
            return None
        return unquote(self.path[7:].rstrip("/")) or None


def target_of(raw_path: bytes) -> RequestTarget:
    """Return the endpoint that a path names.

    Args:
        raw_path: The path as in the first line of the request, percent-encoded.

    Raises:
        Problem: 400 if the path has characters that servers read differently, or a segment of dots;
            404 if the path does not begin with exactly ``/v1/``, or has no segment after this
            prefix.
    """
    if not raw_path.startswith(PREFIX):
        raise not_found("the path", raw_path.decode("latin-1"))
    path = raw_path[len(PREFIX) :].decode("latin-1")
    decoded = unquote(path)
    if not _LEGAL.fullmatch(decoded):
        raise Problem.named("invalid_path", what="characters")
    segments = [each for each in decoded.lower().split("/") if each]
    words = tuple(each.strip(". ") for each in segments)
    if not all(words):
        raise Problem.named("invalid_path", what="a segment of dots")
    if not words:
        raise not_found("the path", raw_path.decode("latin-1"))
    return RequestTarget(path=path, words=words)

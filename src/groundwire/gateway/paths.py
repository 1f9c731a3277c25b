"""Finds out which endpoint a path below ``/v1`` names, however the path is spelled.

Servers differ in how they read paths: letter case, doubled slashes, percent signs, parameters after
a semicolon. So the gateway is cautious: a path counts as leading to text of a model if any server
may read it so. The path is forwarded as it was written, and refused if servers could read it as
different endpoints.
"""

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from groundwire.gateway.http.problems import Problem

PREFIX = b"/v1/"
#: Matches the path prefix that Azure's clients send in place of ``/v1/``.
AZURE = re.compile(rb"\A/openai/(?:(?:v1|deployments/[A-Za-z0-9._-]+)/)?")

#: Path segments of endpoints that return text of a model: in their response, in a later one
#: (batches), or once more (stored conversations).
_TEXT = frozenset(
    {
        "batches",  # chat completions that are made later
        "chat",
        "complete",
        "completion",
        "completions",
        "conversations",
        "generate",
        "generate_stream",
        "infill",
        "invocations",
        "messages",
        "realtime",
        "responses",
        "threads",
        "transcriptions",
        "translations",
    }
)

#: Verbs of Google's API that return text of a model. In a path they follow the model's name and a
#: colon: ``models/NAME:generateContent``.
_TEXT_VERBS = frozenset({"generatecontent", "streamgeneratecontent", "predict", "rawpredict"})

#: Path segments of endpoints that return no text of a model, but numbers, pictures, sound, files or
#: settings. A segment in :data:`_TEXT` wins over them. Paths without any of these segments lead to
#: unknown endpoints.
_NO_TEXT = frozenset(
    {
        *("embed", "embeddings", "moderations", "pooling", "rerank", "score", "classify"),
        *("tokenize", "detokenize"),
        *("images", "speech", "videos", "voices"),
        *("containers", "files", "uploads", "vector_stores"),
        *("assistants", "fine_tuning", "fine-tunes", "skills"),
        *("load_lora_adapter", "unload_lora_adapter"),
        *("credits", "key", "organization", "projects", "usage"),
        *("health", "healthz", "metrics", "ping", "ready", "version"),
    }
)
#: Last path segments of endpoints that count tokens: they return no text of a model, although they
#: stand below a segment in :data:`_TEXT`.
_COUNTS = frozenset({"count_tokens", "input_tokens"})

_VISIBLE = re.compile(r"[!-~]*")
_MAX_DECODINGS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """The endpoint that a request names.

    Attributes:
        path: The path after ``/v1/``, as written.
        words: The segments of the path as servers may read them: decoded, in lower case, without
            empty ones; at least one.
    """

    path: str
    words: tuple[str, ...]

    @property
    def is_chat(self) -> bool:
        """Whether a server may take the path, below any prefix, for that of chat completions."""
        return self.words[-2:] == ("chat", "completions")

    @property
    def gives_text(self) -> bool:
        """Whether responses may hold text of a model; true for unknown endpoints."""
        if self.words[-1].rpartition(":")[2] in _TEXT_VERBS:
            return True
        if self.words[0] == "models":
            # The model's name may be any word, such as "chat": only a segment after it counts.
            return self.path.strip("/").count("/") > 1 and self.words[-1] in _TEXT
        if self.words[-1] in _COUNTS:
            return False
        if self.words[-1] == "content" and self.words[0] in ("files", "containers"):
            return True  # a file may hold the answers of a batch
        return not _TEXT.isdisjoint(self.words) or _NO_TEXT.isdisjoint(self.words)

    @property
    def is_model_list(self) -> bool:
        """Whether the path is spelled exactly as that of the list of models."""
        return self.path in {"models", "models/"}

    @property
    def model(self) -> str | None:
        """The name of the model in a path ``models/NAME``; ``None`` for other paths."""
        if not self.path.startswith("models/"):
            return None
        return unquote_to_bytes(self.path[7:].rstrip("/")).decode("utf-8", "replace") or None


def target_of(raw_path: bytes) -> RequestTarget:
    """Return the endpoint that a path names.

    Args:
        raw_path: The path as in the first line of the request, percent-encoded.

    Raises:
        Problem: 400 if servers could read the path as different endpoints; 404 if it does not begin
            with exactly ``/v1/``, or names nothing below it.
    """
    if not raw_path.startswith(PREFIX):
        raise _nothing()
    path = raw_path[len(PREFIX) :].decode("latin-1")
    if not _VISIBLE.fullmatch(path) or "?" in path or "#" in path:
        raise _ambiguous("characters that have to be percent-encoded")
    words = _words(_decoded(path))
    if not words:
        raise _nothing()
    return RequestTarget(path=path, words=words)


def _decoded(path: str) -> str:
    """Decode a path until it has no more percent-encoding, and return it.

    Raises:
        Problem: 400, if the path is encoded more than twice or could mean different endpoints.
    """
    for _ in range(_MAX_DECODINGS):
        _check(path)
        try:
            decoded = unquote_to_bytes(path).decode("utf-8")
        except UnicodeDecodeError:
            raise _ambiguous("bytes that are no UTF-8") from None
        if decoded == path:
            return path
        path = decoded
    raise _ambiguous("percent signs that are encoded several times")


def _check(path: str) -> None:
    if "\\" in path:
        raise _ambiguous("a backslash")
    if any(unicodedata.category(each) == "Cc" for each in path):
        raise _ambiguous("control characters")
    if any(part and not part.strip(". ") for part in _parts(path)):
        raise _ambiguous("a segment of dots")


def _words(path: str) -> tuple[str, ...]:
    words = (part.strip(". ") for part in _parts(path))
    return tuple(word for word in words if word)


def _parts(path: str) -> list[str]:
    """Return the segments between slashes, without parameters, normalized and in lower case."""
    text = unicodedata.normalize("NFKC", path).casefold()
    return [re.split(r"[;?#]", part)[0] for part in text.split("/")]


def _nothing() -> Problem:
    return Problem(
        404,
        "unknown_path",
        message="There is nothing at this path.",
        next_step="The API begins at /v1/, spelled so; GET /v1/models lists the models.",
    )


def _ambiguous(what: str) -> Problem:
    return Problem(
        400,
        "invalid_path",
        message=f"The path has {what}, which servers read differently.",
        next_step="Spell the path as the API's documentation does.",
    )

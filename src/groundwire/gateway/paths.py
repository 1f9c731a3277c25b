"""Finds out which endpoint a path below ``/v1`` names, however it is spelled.

Servers differ in how they read paths: letter case, doubled slashes, percent signs, parameters after
a semicolon. What is decided here must hold for all of them, so a path is read in the most generous
way for the decision, goes up as it was written, and is refused where servers could differ about
where it leads.
"""

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from groundwire.gateway.http.problems import Problem

PREFIX = b"/v1/"

#: Path segments of endpoints that return text of a model: at once, later, or once more.
_TEXT = frozenset(
    {
        "batches",  # chat completions, later
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

#: Actions after a model's name and a colon, in Google's paths.
_TEXT_VERBS = frozenset({"generatecontent", "streamgeneratecontent", "predict", "rawpredict"})

#: Path segments of endpoints that return no text of a model, unless one of :data:`_TEXT` is in the
#: path too: numbers, pictures and sound, files, settings. Other endpoints are unknown.
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
#: Below an endpoint that gives text, and gives none: counts of tokens.
_COUNTS = frozenset({"count_tokens", "input_tokens"})

_VISIBLE = re.compile(r"[!-~]*")
_MAX_DECODINGS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """The endpoint that a request names.

    Attributes:
        path: Below ``/v1/``, as written.
        words: The segments of the path as servers may read them: decoded, lower case, not empty;
            there is at least one.
    """

    path: str
    words: tuple[str, ...]

    @property
    def is_chat(self) -> bool:
        """Whether a server may read it as the chat completions, below any prefix."""
        return self.words[-2:] == ("chat", "completions")

    @property
    def gives_text(self) -> bool:
        """Whether its responses may hold text of a model, as those of unknown endpoints may."""
        if self.words[-1].rpartition(":")[2] in _TEXT_VERBS:
            return True
        if self.words[0] == "models":
            # A model may be called anything; what stands behind its name may not.
            return self.path.strip("/").count("/") > 1 and self.words[-1] in _TEXT
        if self.words[-1] in _COUNTS:
            return False
        if self.words[-1] == "content" and self.words[0] in ("files", "containers"):
            return True  # a file may hold the answers of a batch
        return not _TEXT.isdisjoint(self.words) or _NO_TEXT.isdisjoint(self.words)

    @property
    def is_model_list(self) -> bool:
        """Whether it is spelled exactly as the list of models."""
        return self.path in {"models", "models/"}

    @property
    def model(self) -> str | None:
        """The model that it is about: ``models/NAME``."""
        if not self.path.startswith("models/"):
            return None
        return unquote_to_bytes(self.path[7:].rstrip("/")).decode("utf-8", "replace") or None


def target_of(raw_path: bytes) -> RequestTarget:
    """Read the path of a request, as it stands in its first line.

    Raises:
        Problem: 400 where servers could differ about where it leads; 404 if it is not below
            ``/v1/`` as it is written.
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
    """The path without percent signs, however often it was encoded."""
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
    """Between slashes, without parameters, in one of the spellings that mean the same."""
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

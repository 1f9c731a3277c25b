"""Loads published classifiers from a folder or the Hugging Face hub, for ONNX Runtime.

A hub model is fetched at one fixed commit, without its files of code. If the ONNX graph or
``tokenizer.json`` is missing, it is exported (extra ``train``) and kept for the next time.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph, InvalidProtobuf
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotSupported
from tokenizers import Tokenizer

from groundwire.engine.classifier import Classifier, Frame
from groundwire.engine.windowing import TokenClassifier, not_supported_labels
from groundwire.errors import ModelError, SettingError, UnknownModelError, UnpinnedModelError

#: Commits of known hub models; any other model needs ``revision=``.
PINS = {"anulum/director-ragtruth-token-modernbert": "0d5bfc21044de07f764c99a9ca1094ccd516de93"}
#: Default limit on the word pieces of one pass. The memory that attention takes grows with the
#: square of their number.
MAX_LENGTH = 4096
# Lowest ``max_length`` that a caller may set. A limit below this in a tokenizer's files is ignored.
_SHORTEST = 16

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DEVICE = re.compile(r"cpu|cuda(:\d+)?")

_GRAPHS = ("onnx/model.onnx", "model.onnx")
_TEXT_FILES = ("*.json", "vocab.txt", "merges.txt", "*.model")
_WEIGHTS = "*.safetensors"
# Model types whose texts cannot use the first ``pad_token_id + 1`` positions.
_POSITIONS_AFTER_PADDING = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "longformer"}
#: Version of the export, in the folder names of exported graphs. Raise it when the export changes.
_EXPORT = "1"


class DeviceWarning(UserWarning):
    """Warns that a model runs on the CPU although another device was requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task that checkpoints are trained for.

    Attributes:
        architecture: End of the class name of its models, such as ``ForTokenClassification``.
        what: The kind of model, for messages, such as ``a token classifier``.
        why: Why no other kind of model can be used, for messages.
        labels: Function that finds the indices of the relevant classes in the data of a
            ``config.json``, or raises ModelError.
        suffix: End of the folder name of exported graphs, different for each task.
    """

    architecture: str = "ForSequenceClassification"
    what: str = "a sequence classifier"
    why: str
    labels: Callable[[Mapping[str, Any]], tuple[int, ...]]
    suffix: str = ""


TOKENS = Task(
    architecture="ForTokenClassification",
    what="a token classifier",
    why="it alone says which words are not supported",
    labels=not_supported_labels,
)


class CheckpointOptions(TypedDict, total=False):
    """Options of the functions and classes that load checkpoints.

    Attributes:
        revision: The commit of a hub model, 40 hexadecimal digits; not needed for models in
            :data:`PINS`. A branch or a tag is refused, since it can move. Ignored for a folder.
        device: ``cpu`` (default), ``cuda`` or ``cuda:N``. Without CUDA, the model runs on the CPU,
            with a warning.
        threads: CPU threads of one pass; ``None`` leaves the number to ONNX Runtime.
        max_length: Limit on the word pieces of one pass, at least 16; :data:`MAX_LENGTH` if
            ``None``. If the model or its tokenizer has a lower limit, that limit applies.
        cache_dir: Folder for fetched and exported files. By default, exported files are kept in
            ``GROUNDWIRE_CACHE``, or else in ``groundwire`` under ``XDG_CACHE_HOME`` or
            ``~/.cache``; fetched files are kept in the hub's own cache.
    """

    revision: str | None
    device: str
    threads: int | None
    max_length: int | None
    cache_dir: Path | None


def load_checkpoint(model: str | Path, **options: Unpack[CheckpointOptions]) -> TokenClassifier:
    """Load a Hugging Face token classifier, and try it on a short text.

    Args:
        model: A local folder, or a hub id such as ``KRLabsOrg/lettucedect-base-modernbert-en-v1``.
            If there is a folder of that name, it is used.
        options: See :class:`CheckpointOptions`.

    Raises:
        UnknownModelError: If ``model`` is neither a folder nor a hub id.
        UnpinnedModelError: If the ``revision`` of a hub model is not a commit, or is missing and
            the model is not in :data:`PINS`.
        SettingError: If an option has an invalid value.
        MissingExtraError: If a missing ONNX graph or ``tokenizer.json`` has to be exported, and
            the ``train`` extra is not installed.
        ModelError: If the model cannot be fetched or opened, is not a token classifier, or has
            files that do not fit together.
        DetectionError: If the model fails on the short text.
    """
    classifier = TokenClassifier(open_checkpoint(model, TOKENS, **options))
    classifier.read("a", None, "a")  # a graph that does not fit the configuration fails here
    return classifier


def open_checkpoint(
    model: str | Path,
    task: Task,
    *,
    revision: str | None = None,
    device: str = "cpu",
    threads: int | None = None,
    max_length: int | None = None,
    cache_dir: Path | None = None,
) -> Classifier:
    """Fetch and open a checkpoint for a task.

    The options are those of :class:`CheckpointOptions`. Errors about the name, the revision, an
    option or an extra are those of :func:`load_checkpoint`.

    Raises:
        ModelError: If the checkpoint cannot be fetched or opened, or was trained for another task.
    """
    require_device(device)
    if threads is not None and threads < 1:
        raise SettingError("threads", threads, "1 or more, or None")
    if max_length is not None and max_length < _SHORTEST:
        raise SettingError("max_length", max_length, f"{_SHORTEST} or more, or None")
    kept = cache_dir or cache_folder()
    if Path(model).is_dir():
        folder = Path(model)
        commit = None
    else:
        commit = pinned_revision(str(model), revision)
        folder = _fetch(str(model), commit, cache_dir and cache_dir / "hub")
    config = _read_json(folder / "config.json")
    kinds = config.get("architectures") or []
    if kinds and not any(str(kind).endswith(task.architecture) for kind in kinds):
        raise ModelError(
            f"{model} is a {', '.join(map(str, kinds))}, and {task.what} is needed "
            f"(...{task.architecture}): {task.why}."
        )
    labels = task.labels(config)
    revision = commit or content_hash(folder)
    exported = kept / "checkpoints" / f"{revision}-{_EXPORT}{task.suffix}"
    graph, tokenizer_folder = _graph(folder, exported, task)
    tokenizer, tokenizer_config = _read_tokenizer(tokenizer_folder)
    return Classifier(
        name=str(model),
        revision=revision,
        labels=labels,
        n_labels=len(config.get("id2label") or "01"),
        max_length=_longest(config, tokenizer_config, max_length),
        tokenizer=tokenizer,
        frame=Frame.of(tokenizer, tokenizer_config),
        session=open_session(graph, device=device, threads=threads),
    )


def require_device(device: str) -> None:
    """Check the name of a device.

    Raises:
        SettingError: If the name is not ``cpu``, ``cuda`` or ``cuda:N``.
    """
    if not _DEVICE.fullmatch(device):
        raise SettingError("device", device, "cpu, cuda or cuda:N")


def pinned_revision(model: str, revision: str | None) -> str:
    """Return the commit at which a hub model is fetched.

    Raises:
        UnknownModelError: If the name is not a hub id.
        UnpinnedModelError: If ``revision`` is not a commit hash, or is missing and the model is not
            in :data:`PINS`.
    """
    if not _HUB_ID.fullmatch(model):
        raise UnknownModelError(model, ("reader",))
    commit = revision or PINS.get(model)
    if commit is None or not _COMMIT.fullmatch(commit):
        raise UnpinnedModelError(model)
    return commit


def cache_folder() -> Path:
    """Return the default folder for exported files."""
    if own := os.environ.get("GROUNDWIRE_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "groundwire"
    return Path.home() / ".cache" / "groundwire"


def open_session(graph: Path, *, device: str, threads: int | None) -> ort.InferenceSession:
    """Open a graph on a device, or on the CPU with a warning if the device cannot be used.

    Raises:
        ModelError: If the file is damaged, or is not a valid graph.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    providers: list[Any] = ["CPUExecutionProvider"]
    on_gpu = device.startswith("cuda")
    if on_gpu and "CUDAExecutionProvider" in ort.get_available_providers():
        index = device.removeprefix("cuda").removeprefix(":") or "0"
        providers.insert(0, ("CUDAExecutionProvider", {"device_id": index}))
    try:
        session = ort.InferenceSession(str(graph), options, providers=providers)
    except (Fail, InvalidGraph, InvalidProtobuf, NotSupported) as error:
        raise ModelError(
            f"ONNX Runtime {ort.__version__} cannot open {graph}: {error}. Fetch the file again, "
            "or export the model again."
        ) from error
    if on_gpu and "CUDAExecutionProvider" not in session.get_providers():
        warnings.warn(
            f"device = {device!r}, but ONNX Runtime finds no such device; {graph.name} runs on "
            "the CPU. Install onnxruntime-gpu in place of onnxruntime and check the driver, or "
            "set device='cpu'.",
            DeviceWarning,
            stacklevel=3,
        )
    return session


def _fetch(model: str, commit: str, cache_dir: Path | None) -> Path:
    """Fetch the files of a hub model; weights only if it lacks a graph or ``tokenizer.json``."""
    # The import takes 200 ms, and only hub models need it.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    def fetch(*patterns: str) -> Path:
        return Path(
            snapshot_download(
                model, revision=commit, cache_dir=cache_dir, allow_patterns=list(patterns)
            )
        )

    try:
        # "onnx/model.onnx*" matches the graph's external data too.
        folder = fetch(*_TEXT_FILES, *(f"{graph}*" for graph in _GRAPHS))
        has_graph = any((folder / graph).is_file() for graph in _GRAPHS)
        if not (has_graph and (folder / "tokenizer.json").is_file()):
            fetch(_WEIGHTS)
    except (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled, OSError) as error:
        raise ModelError(
            f"{model} at {commit} could not be fetched: {error} Check the id, the commit and the "
            "network (HF_HUB_OFFLINE, HF_ENDPOINT, HF_TOKEN for a gated model), or fetch it "
            "elsewhere and pass its local folder."
        ) from error
    return folder


def _graph(folder: Path, exported: Path, task: Task) -> tuple[Path, Path]:
    """Return the ONNX graph of a checkpoint, and the folder with its ``tokenizer.json``.

    A file that the checkpoint lacks is taken from the folder ``exported``. If this folder does not
    exist, the checkpoint is exported into it.
    """
    own = next((folder / graph for graph in _GRAPHS if (folder / graph).is_file()), None)
    has_tokenizer = (folder / "tokenizer.json").is_file()
    if own and has_tokenizer:
        return own, folder
    if not exported.is_dir():
        _export(folder, exported, task)
    return own or exported / "model.onnx", folder if has_tokenizer else exported


def _export(folder: Path, target: Path, task: Task) -> None:
    """Export a checkpoint into a temporary folder, and rename the folder when it is complete."""
    from groundwire.engine.export import export_classifier

    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".export-", dir=target.parent))
    try:
        export_classifier(folder, work, architecture=task.architecture, what=task.what)
        try:
            work.rename(target)
        except OSError:
            if not target.is_dir():  # else another process has finished the same export
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _read_tokenizer(folder: Path) -> tuple[Tokenizer, dict[str, Any]]:
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises no narrower class
        raise ModelError(
            f"{path} cannot be read as a tokenizer: {error}. Save it again with a "
            "current version of transformers."
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # "[SEP]" in a text must be read as plain text, not as the end of the context.
    tokenizer.encode_special_tokens = True
    settings = folder / "tokenizer_config.json"
    return tokenizer, _read_json(settings) if settings.is_file() else {}


def _longest(
    config: Mapping[str, Any], tokenizer_config: Mapping[str, Any], asked: int | None
) -> int:
    """Return the limit on the word pieces of a pass: the lowest of model, tokenizer and caller."""
    limits = [MAX_LENGTH if asked is None else asked]
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and positions > 0:
        if config.get("model_type") in _POSITIONS_AFTER_PADDING:
            positions -= int(config.get("pad_token_id") or 0) + 1
        limits.append(positions)
    stated = tokenizer_config.get("model_max_length")
    if isinstance(stated, int) and stated >= _SHORTEST:
        limits.append(stated)
    return min(limits)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(
            f"{path.parent} has no {path.name}, so it is not a Hugging Face checkpoint. Pass the "
            "folder that save_pretrained wrote."
        ) from error
    except ValueError as error:
        raise ModelError(
            f"{path} is not valid JSON: {error}. Fetch or save the model again."
        ) from error
    if not isinstance(content, dict):
        raise ModelError(f"{path} does not have a JSON object. Fetch or save the model again.")
    return content


def content_hash(folder: Path) -> str:
    """Return a SHA-256 over the names, sizes and contents of a checkpoint's files."""
    digest = hashlib.sha256()
    patterns = (*_TEXT_FILES, _WEIGHTS, *(f"{graph}*" for graph in _GRAPHS))
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()

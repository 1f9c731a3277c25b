"""The models that are installed: their manifests, and a check that their files are intact.

A model is a folder with weights and a ``manifest.json``, which lists its files with their SHA-256
and sizes. This module loads no weights.
"""

import hashlib
import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from groundwire.errors import CorruptModelError, ModelError, UnknownModelError

DEFAULT_MODEL = "reader"
#: The operating point of a detector if none is set.
DEFAULT_POINT = "balanced"
#: Names, in options, of the reader that this package contains, and of that reader with a
#: cross-encoder. Unless :data:`READER_VARIABLE` is set, ``reader`` means ``reader-base`` if it is
#: installed, and otherwise ``reader-small``.
READER_SMALL, READER_BASE = "reader-small", "reader-base"
READERS = (DEFAULT_MODEL, READER_SMALL, READER_BASE)
#: The environment variable that says which model the name ``reader`` means: ``reader-small``,
#: ``reader-base`` or the folder of a model.
READER_VARIABLE = "GROUNDWIRE_READER"
#: Import name of the package that installs ``reader-base``.
BASE_PACKAGE = "groundwire_reader_base"
ENCODER = "minilm"
GATE = "gate"
#: Names of the detectors that are not loaded checkpoints, without ``similarity:neural``, which
#: means the same as ``similarity``.
DETECTORS = (*READERS, "similarity", "similarity:hash")
#: Name of the similarity detector → the embedder that the detector then uses.
EMBEDDERS = {"similarity": "neural", "similarity:neural": "neural", "similarity:hash": "hash"}
MANIFEST_NAME = "manifest.json"

_ROOT = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """The SHA-256 that a model file must have, in lower-case hexadecimal, and its size in bytes."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of a model folder.

    Attributes:
        folder: The model folder.
        name: Name of the model, such as ``reader``.
        version: Version of the weights.
        kind: Kind of model, such as ``reader`` or ``encoder``.
        licence: Licence of the model, an SPDX identifier.
        labels: Labels of the model's outputs, in order.
        operating_points: Thresholds by name, each in (0, 1].
        calibration: Parameters of the fitted map from raw output to probability.
        files: Files of the model by name.
        raw: The whole manifest as read.
    """

    folder: Path
    name: str
    version: str
    kind: str
    licence: str
    labels: tuple[str, ...] = ()
    operating_points: Mapping[str, float] = field(default_factory=dict)
    calibration: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, ModelFile] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest of a model folder.

        Raises:
            ModelError: If the manifest cannot be read or is not valid.
        """
        path = folder / MANIFEST_NAME
        try:
            raw = json.loads(path.read_bytes())
            return cls(
                folder=folder,
                name=_text(raw["name"]),
                version=_text(raw["version"]),
                kind=_text(raw["kind"]),
                licence=_text(raw["licence"]),
                labels=tuple(_text(label) for label in raw.get("labels", ())),
                operating_points=_numbers(raw.get("operating_points", {})),
                calibration=_numbers(raw.get("calibration", {})),
                files=MappingProxyType(
                    {
                        _plain_name(name): ModelFile(
                            sha256=_text(entry["sha256"]).lower(), bytes=int(entry["bytes"])
                        )
                        for name, entry in raw["files"].items()
                    }
                ),
                raw=MappingProxyType(raw),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ModelError(
                f"{path} is not a model manifest ({type(error).__name__}: {error}). It needs name, "
                "version, kind, licence, and files with their sha256 and bytes."
            ) from error

    @property
    def total_bytes(self) -> int:
        """Sum of the sizes of all files, as the manifest states them."""
        return sum(file.bytes for file in self.files.values())

    @property
    def revision(self) -> str:
        """Short hash of the names and SHA-256 of the model's files, and of its companion.

        The companion is the revision of the reader that a cross-encoder model is used with. Other
        models have no companion.
        """
        listing = "".join(f"{name}\0{self.files[name].sha256}\n" for name in sorted(self.files))
        listing += str(self.raw.get("companion", ""))
        return hashlib.sha256(listing.encode()).hexdigest()[:12]


def list_models(root: Path | None = None) -> list[Manifest]:
    """List the models in a folder, sorted by name; by default the installed models.

    Raises:
        ModelError: If a manifest cannot be read or is not valid.
    """
    folders = (path.parent for path in (root or _ROOT).glob(f"*/{MANIFEST_NAME}"))
    found = list(map(Manifest.read, folders))
    if root is None and (base := _base()) is not None:
        found.append(base)
    return sorted(found, key=lambda manifest: manifest.name)


def find_model(name: str = DEFAULT_MODEL, root: Path | None = None) -> Manifest:
    """Find a model by its name, in a folder of models or by default among the installed models.

    Raises:
        UnknownModelError: If no model has this name.
        ModelError: If a manifest cannot be read or is not valid.
    """
    models = {manifest.name: manifest for manifest in list_models(root)}
    if name not in models:
        raise UnknownModelError(name, tuple(models))
    return models[name]


def find_reader(model: str | Path | None = None) -> Manifest | None:
    """Return the manifest of a reader.

    The result is ``None`` if ``model`` is neither a reader's name nor a folder with a manifest.

    Args:
        model: ``"reader-small"``, ``"reader-base"``, or a folder with a manifest. ``None`` and
            ``"reader"`` mean the reader that the environment variable ``GROUNDWIRE_READER`` names.
            If it is not set, they mean ``reader-base`` if installed, or else ``reader-small``.

    Raises:
        ModelError: If a manifest cannot be read or is not valid, the model is of another kind,
            ``reader-base`` is asked for but not installed, or ``GROUNDWIRE_READER`` names no
            reader.
        UnknownModelError: If the reader that this package contains is missing.
    """
    name = DEFAULT_MODEL if model is None else str(model)
    if name == DEFAULT_MODEL:
        name = os.environ.get(READER_VARIABLE) or DEFAULT_MODEL
    if name in READERS:
        base = None if name == READER_SMALL else _base()
        if base is None and name == READER_BASE:
            raise ModelError(
                "reader-base is not installed: its weights are a package of their own. Install it "
                "with `pip install ./models/reader-base` from a checkout, or take reader-small."
            )
        return base or find_model(DEFAULT_MODEL)
    folder = Path(name)
    if not (folder / MANIFEST_NAME).is_file():
        if model is None or str(model) == DEFAULT_MODEL:
            raise ModelError(
                f"{READER_VARIABLE} is {name!r}, which is not a reader. Set it to reader-small, "
                "reader-base or the folder of a model, or unset it."
            )
        return None
    manifest = Manifest.read(folder)
    if manifest.kind != "reader":
        raise ModelError(f"{folder} has a model of kind {manifest.kind!r}, not a reader.")
    return manifest


def companion(manifest: Manifest) -> Manifest:
    """Return the manifest of the reader that a cross-encoder model is used with.

    If the manifest does not have the key ``companion``, the manifest itself is returned.

    Raises:
        ModelError: If the reader that this package contains is missing, or is not the revision
            that the cross-encoder was fitted to, or a manifest is not valid.
    """
    wanted = manifest.raw.get("companion")
    if wanted is None:
        return manifest
    small = find_model(DEFAULT_MODEL)
    if small.revision != wanted:
        raise ModelError(
            f"{manifest.folder} was fitted to revision {wanted} of the embedded reader, and "
            f"this is revision {small.revision}. Install the reader-base of this version."
        )
    return small


def _base() -> Manifest | None:
    spec = importlib.util.find_spec(BASE_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Manifest.read(Path(spec.origin).parent)


def verify(manifest: Manifest) -> None:
    """Check the files of a model against its manifest.

    Raises:
        CorruptModelError: If a file is missing or unreadable, or has another SHA-256.
    """
    for name, file in sorted(manifest.files.items()):
        path = manifest.folder / name
        try:
            with path.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise CorruptModelError(
                path, file.sha256, f"({error.strerror or 'unreadable'})"
            ) from error
        if found != file.sha256:
            raise CorruptModelError(path, file.sha256, found)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _numbers(values: Mapping[str, object]) -> Mapping[str, float]:
    return MappingProxyType(
        {
            name: float(value)
            for name, value in values.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
    )


def _plain_name(name: str) -> str:
    # A manifest may come from a download, so it must not name files outside of its folder.
    if name in {"", ".", ".."} or "/" in name or "\\" in name:
        raise ValueError(f"{name!r} is not a plain file name")
    return name

"""Model folders: what their manifests promise, and whether the files keep it."""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from groundwire import Detector
from groundwire.engine.models import (
    BASE_PACKAGE,
    READER_VARIABLE,
    Manifest,
    companion,
    find_model,
    find_reader,
    list_models,
    verify,
)
from groundwire.errors import CorruptModelError, ModelError, UnknownModelError

WEIGHTS = b"weights"


def manifest(**changes: object) -> dict[str, Any]:
    return {
        "name": "tiny",
        "version": "1",
        "kind": "reader",
        "licence": "Apache-2.0",
        "base": "a base",
        "labels": ["supported", "unsupported"],
        "operating_points": {"precision": 0.9, "balanced": 0.5, "recall": 0.2},
        "calibration": {"scale": 1.5, "shift": 0},
        "files": {
            "weights.onnx": {"sha256": hashlib.sha256(WEIGHTS).hexdigest(), "bytes": len(WEIGHTS)}
        },
        **changes,
    }


def write_model(root: Path, name: str = "tiny", **changes: object) -> Path:
    folder = root / name
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest(name=name, **changes)))
    (folder / "weights.onnx").write_bytes(WEIGHTS)
    return folder


def test_a_model_says_what_it_is(tmp_path: Path) -> None:
    write_model(tmp_path)
    model = find_model("tiny", tmp_path)
    assert (model.name, model.version, model.kind) == ("tiny", "1", "reader")
    assert model.licence == "Apache-2.0"
    assert model.labels == ("supported", "unsupported")
    assert model.operating_points == {"precision": 0.9, "balanced": 0.5, "recall": 0.2}
    assert model.calibration == {"scale": 1.5, "shift": 0.0}
    assert model.total_bytes == 7
    assert model.folder == tmp_path / "tiny"


def test_models_are_listed_by_name(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        write_model(tmp_path, name)
    (tmp_path / "no model").mkdir()
    assert [model.name for model in list_models(tmp_path)] == ["a", "b", "c"]


def test_an_unknown_model_gets_the_names_of_those_there_are(tmp_path: Path) -> None:
    write_model(tmp_path)
    with pytest.raises(UnknownModelError, match=r"no model 'other'. Embedded models: tiny"):
        find_model("other", tmp_path)


def test_a_name_is_no_path(tmp_path: Path) -> None:
    write_model(tmp_path)
    with pytest.raises(UnknownModelError):
        find_model("../" + tmp_path.name + "/tiny", tmp_path)


def test_intact_files_pass(tmp_path: Path) -> None:
    write_model(tmp_path)
    verify(find_model("tiny", tmp_path))


@pytest.mark.parametrize("content", [b"", b"weightS", b"weights "])
def test_a_changed_file_is_named(tmp_path: Path, content: bytes) -> None:
    (write_model(tmp_path) / "weights.onnx").write_bytes(content)
    with pytest.raises(CorruptModelError, match=r"weights\.onnx is not the file"):
        verify(find_model("tiny", tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (write_model(tmp_path) / "weights.onnx").unlink()
    with pytest.raises(CorruptModelError, match=r"weights\.onnx .*No such file"):
        verify(find_model("tiny", tmp_path))


def test_hashes_may_be_written_in_capitals(tmp_path: Path) -> None:
    digest = hashlib.sha256(WEIGHTS).hexdigest().upper()
    write_model(tmp_path, files={"weights.onnx": {"sha256": digest, "bytes": 7}})
    verify(find_model("tiny", tmp_path))


@pytest.mark.parametrize(
    "changes",
    [
        {"name": 3},
        {"files": None},
        {"files": {"weights.onnx": {"bytes": 7}}},
        {"files": {"../weights.onnx": {"sha256": "0", "bytes": 7}}},
        {"files": {"/etc/passwd": {"sha256": "0", "bytes": 7}}},
        {"labels": [1]},
    ],
)
def test_a_manifest_that_says_nonsense_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest(**changes)))
    with pytest.raises(ModelError, match=r"tiny.manifest\.json is not a model manifest"):
        list_models(tmp_path)


def test_a_file_that_is_no_json_is_no_manifest(tmp_path: Path) -> None:
    (write_model(tmp_path) / "manifest.json").write_bytes(b"\xff{")
    with pytest.raises(ModelError, match="is not a model manifest"):
        list_models(tmp_path)


# Which reader is meant.


@pytest.mark.parametrize("name", [None, "reader", Path("reader")])
def test_without_a_folder_the_embedded_reader_is_meant(name: str | Path | None) -> None:
    assert find_reader(name) == find_model("reader")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """A reader-base that is installed, as far as its manifest goes."""
    package = tmp_path / "site" / BASE_PACKAGE
    package.parent.mkdir()
    write_model(tmp_path / "site", BASE_PACKAGE, kind="reader", companion=find_model().revision)
    (package / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, BASE_PACKAGE, raising=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    return Manifest.read(package)


@pytest.mark.parametrize("name", [None, "reader", "reader-base"])
def test_the_best_that_is_installed_is_meant(name: str | None, base: Manifest) -> None:
    assert find_reader(name) == base
    assert companion(base) == find_model()
    assert base in list_models()


@pytest.mark.usefixtures("base")
def test_the_small_reader_is_one_word_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_reader("reader-small") == find_model()
    monkeypatch.setenv(READER_VARIABLE, "reader-small")
    assert find_reader() == find_model()


def test_what_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, BASE_PACKAGE, None)
    with pytest.raises(ModelError, match=r"pip install \./models/reader-base"):
        find_reader("reader-base")


@pytest.mark.parametrize("name", [None, "reader"])
def test_a_variable_that_names_no_reader_is_told(
    name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(READER_VARIABLE, "similarity")
    with pytest.raises(
        ModelError, match="GROUNDWIRE_READER is 'similarity', which is not a reader"
    ):
        find_reader(name)


def test_the_small_reader_beside_a_base_is_verified_too(
    base: Manifest, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = shutil.copytree(model_folder, tmp_path / "models" / "reader")
    (small / "words.npz").write_bytes(b"other")
    monkeypatch.setattr("groundwire.engine.models._ROOT", small.parent)
    with pytest.raises(CorruptModelError, match=re.escape(str(small / "words.npz"))):
        Detector.load(base.folder)


def test_a_base_for_another_small_reader_is_refused(tmp_path: Path) -> None:
    other = Manifest.read(write_model(tmp_path, "mine", kind="reader", companion="0123"))
    with pytest.raises(ModelError, match="was fitted to revision 0123"):
        companion(other)


def test_the_revision_names_the_small_reader_too(tmp_path: Path) -> None:
    one, other = (
        Manifest.read(write_model(tmp_path, name, kind="reader", companion=name))
        for name in ("a", "b")
    )
    assert one.revision != other.revision


def test_a_folder_with_the_manifest_of_a_reader_is_one(tmp_path: Path) -> None:
    folder = write_model(tmp_path, "mine")
    for named in (folder, str(folder)):
        found = find_reader(named)
        assert found == Manifest.read(folder)
        assert found is not None
        assert found.folder == folder


def test_a_folder_with_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path, "mine", kind="encoder")
    with pytest.raises(ModelError, match=r"mine has a model of kind 'encoder', not a reader"):
        find_reader(folder)


def test_a_folder_whose_manifest_says_nonsense_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path, "mine", files=None)
    with pytest.raises(ModelError, match=r"mine.manifest\.json is not a model manifest"):
        find_reader(folder)


def test_anything_else_is_no_reader(tmp_path: Path) -> None:
    hub = "KRLabsOrg/lettucedect-base-modernbert-en-v1"
    for other in (hub, "nope", tmp_path, tmp_path / "missing", str(tmp_path), ""):
        assert find_reader(other) is None


def test_the_revision_changes_with_any_file(tmp_path: Path) -> None:
    first = Manifest.read(write_model(tmp_path, "a"))
    same = Manifest.read(write_model(tmp_path, "b"))
    other = Manifest.read(
        write_model(tmp_path, "c", files={"weights.onnx": {"sha256": "00", "bytes": 7}})
    )
    assert first.revision == same.revision != other.revision


def test_the_embedded_models_are_intact() -> None:
    for model in list_models():
        verify(model)

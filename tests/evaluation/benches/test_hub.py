"""Files from a hub: one that a test serves, and none."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub
import pytest

from groundwire.errors import InputError
from groundwire.evaluation.benches.hub import fetch
from groundwire.evaluation.benches.registry import bench
from tests.evaluation.benches import official
from tests.evaluation.datasets.tables import answers

COMMIT = "c" * 40
NAME = "data/test-00000-of-00001.parquet"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and no rest of the machine's settings."""
    folder = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """A hub that has one file of HaluBench."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(official.halubench_rows()), tmp_path / "t")
    content = (tmp_path / "t").read_bytes()
    entries = [{"type": "file", "path": NAME, "size": len(content), "oid": "e" * 40}]
    info = {"id": "PatronusAI/HaluBench", "sha": COMMIT, "siblings": [{"rfilename": NAME}]}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._send(b"", length=len(content))

        def do_GET(self) -> None:
            if "/resolve/" in self.path:
                self._send(content)
            elif "/tree/" in self.path:
                self._send(json.dumps(entries).encode())
            else:
                self._send(json.dumps(info).encode())

        def _send(self, body: bytes, *, length: int | None = None) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.send_header("ETag", '"etag"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.mark.merge
def test_the_files_of_a_split_come_from_the_hub_with_their_commit(
    hub: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The library reads HF_ENDPOINT when it is imported, which other tests may have done.
    here = partial(huggingface_hub.snapshot_download, endpoint=hub)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", here)
    found = bench("halubench")
    folder = fetch(found, "test")
    assert folder.name == COMMIT
    assert folder.is_relative_to(cache)
    files = found.find(folder, "test")
    assert [file.name for file in files] == [Path(NAME).name]
    assert len(answers(found.read(files, "test"))) == 2


def test_without_a_network_it_says_what_to_fetch_and_which_option(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError) as raised:
        fetch(bench("aggrefact"), "test")
    message = str(raised.value)
    assert "https://huggingface.co/datasets/lytang/LLM-AggreFact" in message
    assert "name the file or folder with --data" in message
    assert "HF_TOKEN" in message


def test_what_is_not_on_the_hub_is_told_without_asking_it() -> None:
    with pytest.raises(InputError, match="not on the Hugging Face hub") as raised:
        fetch(bench("halueval"), "data")
    assert "HaluEval/main/data/qa_data.json" in str(raised.value)

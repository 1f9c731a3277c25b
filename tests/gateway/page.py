"""The pages about the gateway, run from top to bottom: each configuration, each command.

The gateway runs as ``groundwire serve`` has it, with its database and its admin plane.
"""

import json
import os
import re
import subprocess
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from doctest import ELLIPSIS, OutputChecker
from functools import partial
from pathlib import Path
from typing import Any

from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.typing import Evaluator, Parser

from groundwire import Pipeline
from groundwire.config import Config, parse
from groundwire.gateway.app import create_app
from groundwire.gateway.control import ControlPlane
from tests.gateway.dialects.spoken import ALL
from tests.gateway.serving import serving_both
from tests.gateway.wire import (
    Recorded,
    Script,
    ScriptedUpstream,
    completion,
    eventually,
    stream_events,
)

KEY = "gw_" + "k" * 43
ADMIN_KEY = "gwa_" + "a" * 43
#: What the upstream of the pages answers, by the name of the model.
ANSWERS = {
    "right": "The Eiffel Tower was built from 1887 to 1889. It is 330 metres tall.",
    "wrong": (
        "The Eiffel Tower is 330 metres tall. It was built in 1950. It stands in Paris, France."
    ),
    "documented": (  # by HaluGate
        "The Eiffel Tower was built in 1950 and stands at 500 meters tall in Paris, France."
    ),
    "invented": "Nobody ever knew where the old captain had buried his letters.",
    "paraphrase": "The tower was constructed between 1887 and 1889.",
}
#: What the environment of a command on a page may bring along.
_KEPT = ("PATH", "HOME", "LANG", "SYSTEMROOT", "TMPDIR", "PYTHONPATH")


class Page:
    """The gateway that the examples of a page talk to, and the upstream behind it.

    ``yaml`` blocks are configurations, ``dotenv`` blocks environment variables: from each on, the
    gateway runs with it. ``python`` and ``bash`` blocks talk to it; what a command prints is held
    against the ``json`` or ``text`` block after it.

    Attributes:
        folder: Where commands run, and where the gateway keeps its audit log.
        warned: What loading the models has warned of.
    """

    def __init__(self, folder: Path, *, url: str) -> None:
        self.folder, self.warned = folder, [""]
        self._upstream_url = url
        self._text, self._environ = "", dict[str, str]()
        self._printed: str | None = None
        self._running: ExitStack | None = None

    def close(self) -> None:
        """End the gateway."""
        if self._running is not None:
            self._running.close()
            self._running = None
        assert self._printed is None, "a command whose output is not shown"

    # What a block does.

    def configure(self, example: Example) -> None:
        """Run with another file from here on."""
        self.close()
        self._text, self._environ = textwrap.dedent(example.parsed), {}
        self._config()  # it must be one, even if nothing asks the gateway after it

    def set_variables(self, example: Example) -> None:
        """Run with these variables, and no file, from here on."""
        self.close()
        self._text = ""
        self._environ = dict(line.split("=", 1) for line in example.parsed.split())
        self._config()

    def python(self, document: Document) -> Iterator[Region]:
        """Python of the page, run where the gateway is."""
        for region in PythonCodeBlockParser()(document):
            assert region.evaluator is not None
            region.evaluator = partial(self._run, region.evaluator)
            yield region

    def _run(self, evaluate: Evaluator, example: Example) -> str | None:
        with self._visible():
            example.document.namespace["warned"] = self.warned
            return evaluate(example)

    def command(self, example: Example) -> None:
        """Run a command; its output is in the next block."""
        assert self._printed is None, "a command whose output is not shown"
        self._start()
        own = {name: value for name, value in os.environ.items() if name in _KEPT}
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", example.parsed],
            cwd=self.folder,
            capture_output=True,
            check=False,
            encoding="utf-8",
            env=own | self._client_environ() | {"NO_PROXY": "*", "PYTHONUTF8": "1"},
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        self._printed = done.stdout

    def data(self, example: Example) -> None:
        """Compare what was printed with what is shown: objects may have more keys."""
        if (printed := self._take()) is not None:
            require_within(documents(example.parsed), documents(printed))

    def text(self, example: Example) -> str | None:
        """Compare what was printed; ``...`` stands for anything."""
        printed = self._take()
        if printed is None:
            return None
        shown, checker = str(example.parsed), OutputChecker()
        printed = printed.replace("\r\n", "\n").rstrip() + "\n"
        assert checker.check_output(shown, printed, ELLIPSIS), f"{printed!r}, not {shown!r}"
        return None

    # The gateway.

    def _take(self) -> str | None:
        printed, self._printed = self._printed, None
        return printed

    def _config(self) -> Config:
        """The configuration, strict; with the upstream and the files of the page."""
        environ = {
            "GROUNDWIRE_UPSTREAM_URL": self._upstream_url,
            "GROUNDWIRE_GATEWAY_API_KEY": KEY,
            "GROUNDWIRE_GATEWAY_PORT": "0",
            "GROUNDWIRE_GATEWAY_DATA_DIR": str(self.folder),
            "GROUNDWIRE_ADMIN_API_KEY": ADMIN_KEY,
            "GROUNDWIRE_ADMIN_PORT": "0",
            "GROUNDWIRE_DETECTOR_THREADS": "2",
        }
        return parse(self._text, name="groundwire.yaml", environ=environ | self._environ)

    def start(self, text: str) -> Mapping[str, str]:
        """Run with a file; the environment variables of a client."""
        self._text = text
        self._start()
        return self._client_environ()

    def _start(self) -> None:
        if self._running is not None:
            eventually(self._is_settled)
            return
        config = self._config()
        with warnings.catch_warnings(record=True) as warned, ExitStack() as stack:
            warnings.simplefilter("always")
            control = ControlPlane(config)
            tenants = control.directory
            pipeline = stack.enter_context(Pipeline.load(config, tenants=tenants))
            self._app = create_app(config, pipeline=pipeline, control=control)
            planes = stack.enter_context(serving_both(self._app, config, control))
            self._url, self._admin_url = planes.url, planes.admin_url
            eventually(lambda: self._app.state.readiness.services is not None)
            self._running = stack.pop_all()
        self.warned = [str(each.message) for each in warned]

    def _is_settled(self) -> bool:
        """Whether all that was asked so far is on record: some of it is after its response."""
        services = self._app.state.services
        is_idle = b"groundwire_in_flight 0.0" in self._app.state.metrics.render()[0]
        return is_idle and not services.background.n_running and not services.audit.stats.depth

    def _client_environ(self) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": f"{self._url}/v1",
            "OPENAI_API_KEY": KEY,
            "ADMIN_URL": self._admin_url,
            "ADMIN_KEY": ADMIN_KEY,
        }

    @contextmanager
    def _visible(self) -> Iterator[None]:
        """Show code that runs here where the gateway is."""
        self._start()
        before, cwd = dict(os.environ), Path.cwd()
        os.environ.update(self._client_environ())
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update(before)


def examples_of(path: Path, folder: Path) -> Iterator[Example]:
    """The examples of a page, in order, with a gateway behind them while they are taken."""
    with ScriptedUpstream() as upstream:
        upstream.otherwise(_answer)
        page = Page(folder, url=upstream.url)
        try:
            yield from _parsed(page, path).examples()
        finally:
            page.close()


@contextmanager
def gateway_with(yaml: str, folder: Path) -> Iterator[Mapping[str, str]]:
    """The environment variables of a client, while a gateway runs with a configuration."""
    with ScriptedUpstream() as upstream:
        upstream.otherwise(_answer)
        page = Page(folder, url=upstream.url)
        try:
            yield page.start(yaml)
        finally:
            page.close()


def _parsed(page: Page, path: Path) -> Document:
    parsers: list[Parser] = [
        CodeBlockParser("yaml", page.configure),
        CodeBlockParser("dotenv", page.set_variables),
        page.python,
        CodeBlockParser("bash", page.command),
        CodeBlockParser("json", page.data),
        CodeBlockParser("text", page.text),
        SkipParser(),
    ]
    return Sybil(parsers).parse(path)


def _answer(request: Recorded) -> Script:
    """Answer by the name of the model."""
    body = request.json()
    text = ANSWERS[body["model"]]
    spoken = next((each for each in ALL if request.path == f"/v1/{each.path}"), ALL[0])
    if spoken.path != "chat/completions":
        words = re.findall(r"\S+\s*", text)
        return (
            Script.sse(spoken.events(words))
            if body.get("stream")
            else Script.json(spoken.body(text))
        )
    if not body.get("stream"):
        return Script.json(completion(text, model=body["model"]))
    words = re.findall(r"\S+\s*", text)
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    return Script.sse(stream_events(words, usage=usage, model=body["model"]))


def documents(text: str) -> list[Any]:
    """One JSON document, or JSON Lines."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def require_within(shown: object, printed: object, place: str = "") -> None:
    """What is shown is printed: objects may have more keys, lists are complete."""
    if isinstance(shown, dict):
        assert isinstance(printed, dict), place
        for key, value in shown.items():
            assert key in printed, f"{place}.{key}"
            require_within(value, printed[key], f"{place}.{key}")
    elif isinstance(shown, list):
        assert isinstance(printed, list), place
        assert len(shown) == len(printed), place
        for i, (one, other) in enumerate(zip(shown, printed, strict=True)):
            require_within(one, other, f"{place}[{i}]")
    elif not (isinstance(shown, str) and shown == "..."):
        assert shown == printed, place

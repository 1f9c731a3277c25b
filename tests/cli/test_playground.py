"""``groundwire playground`` as a process: its start, its page, its end."""

import os
import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

from groundwire.cli.settings import PACKAGES
from groundwire.engine.models import list_models
from tests.cli.conftest import invoke

PATIENCE_S = 60.0

pytestmark = pytest.mark.skipif(not list_models(), reason="the embedded models are not built")


@pytest.mark.merge
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_it_serves_this_machine_until_it_is_told_to_stop() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "groundwire", "playground", "--port", "0", "--no-open"],
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stderr is not None
            found = re.fullmatch(
                r"Listening on (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\.\n",
                process.stderr.readline(),
            )
            assert found is not None
            with urlopen(found[1], timeout=PATIENCE_S) as page:
                assert 'class="verdict' in page.read().decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


def test_an_address_of_no_machine_is_told() -> None:
    result = invoke("playground", "--host", "no.such.invalid", "--no-open")
    assert result.exit_code == 2
    assert "is no address of this machine" in result.stderr


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.settings.PACKAGES", (*PACKAGES, "no_such_package"))
    assert "'gateway' extra" in invoke("playground").stderr

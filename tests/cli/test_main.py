"""The command line as a process: what it imports, how it ends."""

import io
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import groundwire
from groundwire.cli import COMMANDS, cli
from groundwire.cli.progress import waiting
from tests.cli.conftest import invoke

ROOT = Path(__file__).parents[2]
HEAVY = (
    *("numpy", "onnxruntime", "rich", "tokenizers", "cachetools", "groundwire.detector"),
    *("pydantic", "ruamel", "re2", "sqlalchemy", "alembic", "starlette", "mcp", "openai"),
)


# Unbuffered, Python itself loses the rest of a write whose reader goes away, without an error.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def with_fixed_detector(body: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run ``body`` in a process of its own, with ``main()`` as the command line."""
    return python(fixed_detector(body), *args)


def fixed_detector(body: str) -> str:
    """Code that runs ``body`` where the command line has a fixed detector."""
    return (
        "import os, signal, sys, threading, time\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from groundwire.cli import cli, main\n"
        "from groundwire.cli.detectors import Setup\n"
        "from tests.fakes import FixedDetector\n"
        "Setup.__init__.__kwdefaults__['load'] = lambda choice: detector\n"
        f"detector = FixedDetector(unsupported=['1950'])\n{body}"
    )


def test_help_of_no_command_imports_anything_heavy() -> None:
    code = (
        "import sys\n"
        "import click\n"
        "from groundwire.cli import COMMANDS, cli\n"
        "def walk(command, path):\n"
        "    try:\n"
        "        cli.main([*path, '--help'])\n"
        "    except SystemExit as done:\n"
        f"        heavy = [name for name in {HEAVY} if name in sys.modules]\n"
        "        if done.code or heavy: sys.exit(f'{path}: {done.code} {heavy}')\n"
        "    for name, each in getattr(command, 'commands', {}).items():\n"
        "        walk(each, [*path, name])\n"
        "walk(None, [])\n"
        "for name in COMMANDS:\n"
        "    if name != 'train':\n"
        "        walk(cli.get_command(click.Context(cli), name), [name])\n"
    )
    result = python(code)
    assert (result.returncode, result.stderr) == (0, "")
    assert "doctor [OPTIONS]" in result.stdout


def test_help_lists_the_commands_without_importing_them() -> None:
    code = (
        "import sys\n"
        "from groundwire.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    print([name for name in sys.modules if name.startswith('groundwire.cli.')])\n"
    )
    result = python(code)
    assert all(f"  {name} " in result.stdout for name in COMMANDS)
    assert "groundwire.cli.check" not in result.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_called_and_explains_itself(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert command.help


def test_an_unknown_command_is_wrong_usage() -> None:
    result = python("from groundwire.cli import main; main(['chekc'])")
    assert result.returncode == 2
    assert "No such command 'chekc'. Did you mean 'check'?" in result.stderr


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert groundwire.__version__ == project["version"]
    result = python("from groundwire.cli import main; main(['--version'])")
    assert result.stdout == f"groundwire {groundwire.__version__}\n"


def test_the_package_runs_as_a_module() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "groundwire", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == f"groundwire {groundwire.__version__}\n"


def test_a_bug_exits_with_2_and_not_with_1_that_means_hallucinated() -> None:
    result = with_fixed_detector("detector = None\nmain()", "check", "--answer", "a")
    assert result.returncode == 2
    assert "Traceback" in result.stderr
    assert "error: this is a bug in groundwire" in result.stderr


@pytest.mark.merge
def test_ctrl_c_exits_with_130_and_no_traceback() -> None:
    result = with_fixed_detector(
        # A process started in the background may have been told to ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def wait(**_):\n"
        "    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    time.sleep(30)\n"
        "object.__setattr__(detector, 'detect', wait)\n"
        "main()",
        *("check", "--answer", "a"),
    )
    assert result.returncode == 130
    assert result.stderr == "Interrupted.\n"


@pytest.mark.merge
@pytest.mark.skipif(os.name != "posix", reason="needs /bin/sh")
@pytest.mark.parametrize("options", ["", "--json"])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, options: str) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text("In 1951. " * 50_000)  # more than a pipe holds
    body = (
        "import subprocess\n"
        "reader = subprocess.Popen(['head', '-c', '10'], stdin=subprocess.PIPE,"
        " stdout=subprocess.DEVNULL)\n"
        "os.dup2(reader.stdin.fileno(), 1)\n"
        "reader.stdin.close()\n"
        "main()"
    )
    result = with_fixed_detector(
        body, "check", "--source", "a", "--answer-file", str(answer), *options.split()
    )
    assert result.returncode == 128 + signal.SIGPIPE
    assert result.stderr == ""


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@pytest.mark.merge
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    ("args", "stream", "told"),
    [
        ("check --source a --answer-file -", "<&-", "error: The answer is empty"),
        ("check --batch -", "<&-", "error: Standard input has no rows."),
        ("check --source a --answer b", ">&-", "error: standard output is closed."),
        ("--help", ">&-", "error: standard output is closed."),
        ("check --batch - --output /dev/null", "<&- 2>&-", ""),
        ("check --source a --answer b", ">&- 2>&-", ""),
        pytest.param("--help", ">/dev/full", "error: No space left on device\n", marks=FULL),
        pytest.param("check -h", ">/dev/full", "error: No space left on device\n", marks=FULL),
        pytest.param(
            "check --source a --answer b",
            ">/dev/full",
            "error: No space left on device\n",
            marks=FULL,
        ),
        pytest.param("chekc", "2>/dev/full", "", marks=FULL),
    ],
)
def test_a_stream_that_is_closed_or_full_is_one_line_and_exits_with_2(
    args: str, stream: str, told: str
) -> None:
    result = in_shell(args, stream)
    assert result.returncode == 2
    assert result.stderr.startswith(told)
    assert result.stderr.count("\n") == bool(told)
    assert result.stdout == ""


@pytest.mark.merge
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("stream", ["<&-", "2>&-"])
def test_a_closed_stream_that_nobody_needs_is_no_failure(stream: str) -> None:
    result = in_shell("check --source a --answer b", stream)
    assert (result.returncode, result.stderr) == (0, "")
    assert "outcome   grounded" in result.stdout


@pytest.mark.merge
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_reader_of_help_that_goes_away_is_no_error() -> None:
    body = "read, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)\nmain()"
    result = with_fixed_detector(body, "--help")
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, "")


def in_shell(args: str, stream: str) -> subprocess.CompletedProcess[str]:
    """Run a command line whose standard streams a shell has closed or sent elsewhere."""
    code = fixed_detector("main()")
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {args} {stream}', sys.executable, code],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.merge
def test_a_terminal_without_our_markers_still_shows_the_verdict() -> None:
    code = (
        "sys.stdout.reconfigure(encoding='cp1252', errors='strict')\n"
        "main(['check', '--source', 'a', '--answer', 'In 1950'])"
    )
    result = with_fixed_detector(code)
    assert result.returncode == 1
    assert result.stdout.startswith("  In \\u27e61950\\u27e7\n")


@pytest.mark.merge
def test_a_warning_is_one_line_without_code() -> None:
    result = with_fixed_detector(
        "import warnings\n"
        "check = detector.detect\n"
        "def warn(**inputs):\n"
        "    warnings.warn('there is no such device', stacklevel=1)\n"
        "    return check(**inputs)\n"
        "object.__setattr__(detector, 'detect', warn)\n"
        "main()",
        *("check", "--source", "a", "--answer", "b"),
    )
    assert result.stderr == "warning: there is no such device\n"


def test_a_mistyped_command_of_a_group_is_told_with_the_closest() -> None:
    assert "No such command 'crate'. Did you mean 'create'?" in invoke("keys", "crate").stderr


class Terminal(io.StringIO):
    """A screen that keeps what is written on it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("n_chars", "screen", "said"),
    [
        (50_000_000, Terminal(), True),
        (50_000, Terminal(), False),
        (50_000_000, io.StringIO(), False),
    ],
)
def test_long_sources_are_told_on_a_terminal_alone(
    n_chars: int, screen: io.StringIO, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", screen)
    with waiting(n_chars):
        pass
    assert ("Reading 50 million characters of sources" in screen.getvalue()) is said
    assert said or not screen.getvalue()

"""``groundwire doctor``: shows what works, what is missing, and how to install it."""

import importlib
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata

import click

import groundwire.engine  # noqa: F401 - it turns telemetry off before ONNX Runtime is imported
from groundwire import __version__
from groundwire.cli.console import show
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.options import command, option
from groundwire.cli.status import ExitStatus
from groundwire.detection.values import Outcome
from groundwire.errors import GroundwireError

#: Packages of the base installation whose import is tried, since an installed package can be
#: broken.
PACKAGES = ("numpy", "onnxruntime", "tokenizers", "cachetools", "click", "rich")

EXAMPLE_SOURCE = (
    "The Eiffel Tower was built 1887-1889 and is 330 meters tall. It stands in Paris, France."
)
EXAMPLE_QUESTION = "When was the Eiffel Tower built?"
EXAMPLE_ANSWER = "It was built in 1950 and stands 500 meters tall in Paris, France."
EXAMPLE_WRONG = "1950"

LANGUAGES = (
    "English. In other languages in Latin letters, only numbers that differ are found, and the "
    "answer is at best partial. A sentence with over 30 % of its letters in another script is not "
    "read, nor is a word without word pieces: that lowers the coverage (reason: language), and "
    "never counts as supported."
)

#: The detector that ``groundwire check`` loads without options.
DEFAULT_CHOICE = DetectorChoice(
    operating_point="balanced", model=None, revision=None, threads=None, device="cpu"
)

_REQUIREMENT = re.compile(r"""([\w.-]+).*;.*\bextra\s*==\s*["']([\w.-]+)["']""")
_NOT_WINDOWS = re.compile(r"""sys_platform\s*!=\s*["']win32""")
#: Extras that are not listed: ``all``, and some that only developers need.
_INNER_EXTRAS = (
    *("all", "browser", "clients", "dev", "docs", "instructor", "notebooks", "openai2", "proxies"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """The result of one check of the installation.

    Attributes:
        name: Name of the checked part.
        ok: Whether the part works; ``None`` for a check that only informs.
        detail: The result in words.
        fix: The next step if the part does not work.
    """

    name: str
    ok: bool | None
    detail: str
    fix: str = ""


@command()
def doctor(ctx: click.Context, /, *, as_json: bool = option("--json")) -> None:
    """Show what works here, what is missing, and how to install it.

    Checks the Python packages and the embedded models, and checks a small example. Uses no network.

    Args:
        as_json: Print the results as JSON.

    Exit status:
        0  answers can be checked
        2  answers cannot be checked
    """
    findings = [
        look_at_system(),
        *map(look_at_package, PACKAGES),
        *look_at_models(),
        check_example(ctx.ensure_object(Setup)),
        Checkup(name="languages", ok=None, detail=LANGUAGES),
        *look_at_extras(),
    ]
    works = all(finding.ok is not False for finding in findings)
    report = {"ok": works, "version": __version__, "findings": list(map(asdict, findings))}
    show(report, lambda: "\n".join(_lines(findings, works=works)), as_json=as_json)
    ctx.exit(ExitStatus.PASSED if works else ExitStatus.FAILED)


def look_at_system() -> Checkup:
    """Report the version of Python, the platform and the number of usable processors."""
    n_cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Checkup(
        name="system",
        ok=True,
        detail=f"Python {platform.python_version()}, {platform.platform()}, {n_cpus} CPUs usable",
    )


def look_at_package(name: str) -> Checkup:
    """Check that a package can be imported."""
    try:
        importlib.import_module(name)
        version = metadata.version(name)
    except (ImportError, OSError, metadata.PackageNotFoundError) as error:
        fix = f"Install it again: pip install --force-reinstall {name}"
        return Checkup(name=name, ok=False, detail=str(error), fix=fix)
    return Checkup(name=name, ok=True, detail=version)


def look_at_models() -> Iterator[Checkup]:
    """Check that the embedded models are intact, and that the default model is there."""
    from groundwire.engine.models import DEFAULT_MODEL, list_models, verify

    fix = "Install the packages again: pip install --force-reinstall . ./models/reader-base"
    try:
        manifests = list_models()
    except GroundwireError as error:
        yield Checkup(name="models", ok=False, detail=str(error), fix=fix)
        return
    for manifest in manifests:
        name = f"model {manifest.name}"
        size, revision = f"{manifest.total_bytes / 1e6:.1f} MB", manifest.revision
        detail = f"{manifest.version}, revision {revision}, {size}, {manifest.licence}"
        try:
            verify(manifest)
        except GroundwireError as error:
            yield Checkup(name=name, ok=False, detail=str(error), fix=fix)
        else:
            yield Checkup(name=name, ok=True, detail=f"{detail}, files intact")
    if all(manifest.name != DEFAULT_MODEL for manifest in manifests):
        yield Checkup(name=f"model {DEFAULT_MODEL}", ok=False, detail="not there", fix=fix)


def check_example(setup: Setup) -> Checkup:
    """Load the detector, and check an answer whose wrong words are known."""
    name, fix = "self-check", "Run the command with --json and report what it prints."
    try:
        detection = setup.load(DEFAULT_CHOICE).detect(
            sources=[EXAMPLE_SOURCE], question=EXAMPLE_QUESTION, answer=EXAMPLE_ANSWER
        )
    except Exception as error:  # noqa: BLE001  # any failure is a result
        return Checkup(name=name, ok=False, detail=f"{type(error).__name__}: {error}", fix=fix)
    flagged = [span.text for span in detection.spans]
    works = detection.outcome is Outcome.HALLUCINATED and any(
        EXAMPLE_WRONG in text for text in flagged
    )
    return Checkup(
        name=name,
        ok=works,
        detail=f"{detection.outcome} ({', '.join(map(repr, flagged)) or 'no words marked'})",
        fix=fix,
    )


def look_at_extras() -> Iterator[Checkup]:
    """Check for each extra that is listed for users whether all its packages are installed."""
    needs: dict[str, list[str]] = {}
    for requirement in metadata.requires("groundwire") or ():
        if sys.platform == "win32" and _NOT_WINDOWS.search(requirement):
            continue
        if match := _REQUIREMENT.match(requirement):
            needs.setdefault(match[2], []).append(match[1])
    for extra, packages in sorted(needs.items()):
        if extra in _INNER_EXTRAS:
            continue
        missing = [name for name in packages if not _is_installed(name)]
        command = f"pip install '.[{extra}]'"
        yield Checkup(
            name=f"extra {extra}",
            ok=None,
            detail=f"not installed (lacks {', '.join(missing)}); to install it: {command}"
            if missing
            else "installed",
        )


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _lines(findings: Sequence[Checkup], *, works: bool) -> Iterator[str]:
    yield f"groundwire {__version__}"
    for finding in findings:
        sign = {True: "ok", False: "no", None: "--"}[finding.ok]
        yield f"  {sign}  {finding.name:<17} {finding.detail}"
        if finding.ok is False:
            yield f"      {finding.fix}"
    yield ""
    yield (
        "Answers can be checked."
        if works
        else "Answers cannot be checked; see the lines marked no."
    )

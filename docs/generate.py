"""Writes the generated parts of the documentation; run it from a checkout after a change.

``python docs/generate.py`` rewrites the parts between ``<!-- generated: ... -->`` and
``<!-- end -->`` in README.md and some pages of docs/, and draws README's pictures. ``--check``
compares them instead, and names the pages that are out of date. It ignores what may differ between
machines: line breaks of the help texts, probabilities, and marked words whose probability is close
to the threshold. ``--slow`` also runs the commands that take minutes.
"""

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, fields
from pathlib import Path

import click
from click.testing import CliRunner

import facts
import outputs
import picture
from groundwire.cli import cli
from groundwire.config.kinds import written
from groundwire.config.names import DEFAULTS, NAMES, Format
from groundwire.config.rules import FIELDS, KEYS, PLUGIN_FIELDS
from groundwire.config.tenants import KINDS, METADATA
from groundwire.config.tree import SETTINGS
from groundwire.config.upstreams import UPSTREAM_KINDS, Upstream
from groundwire.policy.signals import DOMAINS

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/check.md",
    "docs/ci.md",
    "docs/cli.md",
    "docs/configuration.md",
    "docs/evaluate.md",
    "docs/gate.md",
    "docs/how-it-works.md",
    "docs/http-api.md",
    "docs/prompts.md",
    "docs/quickstart.md",
    "docs/tuning.md",
    "docs/verify.md",
)

_PART = re.compile(
    r"(?P<before><!-- generated: (?P<name>[^>]+) -->\n(?:```text\n)?)(?P<text>.*?)"
    r"(?P<after>(?:```\n)?<!-- end -->)",
    re.DOTALL,
)
#: The title and the file of the page that tells more about a command.
GUIDES = {
    "groundwire check": ("Check answers from the command line", "check.md"),
    "groundwire playground": ("Playground", "playground.md"),
    "groundwire explain": ("Explanations", "explanations.md"),
    "groundwire verify": ("Verify", "verify.md"),
    "groundwire serve": ("Gateway", "gateway.md"),
    "groundwire keys": ("Tenants", "tenants.md"),
    "groundwire accounts": ("Console", "console.md"),
    "groundwire labels": ("Console", "console.md#review"),
    "groundwire demo": ("Gateway", "gateway.md"),
    "groundwire evaluate": ("Evaluate", "evaluate.md"),
    "groundwire measure": ("Measure a model", "measure.md"),
    "groundwire bench": ("Benchmarks by name", "bench.md"),
    "groundwire tune": ("Tuning", "tuning.md"),
    "groundwire regress": ("Continuous integration", "ci.md"),
    "groundwire report": ("Reports", "reports.md"),
    "groundwire mcp": ("MCP server", "mcp.md"),
    "groundwire gate": ("Gate", "gate.md"),
    "groundwire train": ("Training", "training.md"),
    "groundwire audit": ("Audit", "audit.md"),
    "groundwire store": ("Store", "store.md"),
    "groundwire config": ("Configuration", "configuration.md"),
}
PICTURES = {"light": picture.LIGHT, "dark": picture.DARK}
_MAIN_JOB = re.compile(r"^\$ .*/groundwire (check .*)$", re.MULTILINE)
_SPAN = re.compile(r"^(\w+)(?: \(\w+\))? +(\d+)-(\d+)  probability ([01]\.\d\d) .*\n", re.MULTILINE)
_THRESHOLD = re.compile(r"(?<=\(threshold )[\d.]+(?=\))")
_OUTPUT = re.compile(r"(?<= output -->).*?(?=<!-- end -->)", re.DOTALL)
_VARIES = re.compile(r"[⟦⟧]|(?<=^detector  reader )[0-9a-f]{12}", re.MULTILINE)
#: A word piece whose probability is this far over the threshold on one machine is over it on all.
_MARGIN = 0.15


def main_job(*more: str) -> str:
    """Return what README's first ``groundwire check`` command prints, with more arguments."""
    return outputs.run([*_main_arguments(), *more])


def _main_arguments() -> list[str]:
    command = _MAIN_JOB.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if command is None:
        raise SystemExit("README.md has no line with the main job.")
    return shlex.split(command[1])


def pictures() -> dict[str, str]:
    """Draw the result of README's first command for light and dark pages; return SVG by path."""
    arguments = _main_arguments()
    options = dict(zip(arguments[1::2], arguments[2::2], strict=True))
    detection = json.loads(main_job("--json"))
    return {
        f"docs/images/marked-{name}.svg": picture.draw(
            detection,
            sources=[options["--source"]],
            question=options["--question"],
            answer=options["--answer"],
            colours=colours,
        )
        for name, colours in PICTURES.items()
    }


def commands(_: str) -> str:
    """Return the help of all commands, each with a heading and a link to its guide."""
    return "\n".join(_command(program, command) for program, command in _walk("groundwire", cli))


def _walk(program: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all its subcommands, each with its name on the command line."""
    yield program, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=program)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _walk(f"{program} {name}", inner)


def _command(program: str, command: click.Command) -> str:
    result = CliRunner().invoke(command, ["--help"], prog_name=program, terminal_width=90)
    if result.exit_code:
        raise SystemExit(f"{program} --help failed: {result.output}")
    guide = GUIDES.get(program)
    about = f"Guide: [{guide[0]}]({guide[1]})\n\n" if guide else ""
    return f"## {program}\n\n{about}```text\n{result.stdout}```\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in lines
    )


def settings_of(section: str) -> str:
    """Return a table of the settings of a section: names, defaults, meanings and legal values."""
    rows = [
        (
            f"`{each.path}`",
            f"`{json.dumps(written(each.default))}`",
            each.text,
            each.kind.legal,
        )
        for each in SETTINGS.values()
        if each.section == section
    ]
    return table(("Setting", "Default", "What it is", "Must be"), rows)


def names_of(format_: str) -> str:
    """Return a table of the settings' names in another system, and Groundwire's names."""
    rows = [
        (
            f"`{each.name}`" if each.name else "",
            f"`{each.variable}`" * bool(each.variable),
            f"`{each.path}`",
        )
        for each in NAMES
        if each.format == format_
    ]
    has_variables = any(variable for _, variable, _ in rows)
    head = ("In a file", "In the environment", "Here")
    if has_variables:
        return table(head, rows)
    return table(head[::2], [row[::2] for row in rows])


def defaults_of(format_: str) -> str:
    """Return a table of the settings whose defaults differ under another system's names."""
    changed = DEFAULTS[Format(format_)]
    rows = [
        (
            f"`{path}`",
            f"`{json.dumps(written(value))}`",
            f"`{json.dumps(written(SETTINGS[path].default))}`",
        )
        for path, value in changed.items()
    ]
    return table(("Setting", f"Under {format_}'s names", "Otherwise"), rows)


def signals(_: str) -> str:
    """Return a table of the fields of signals."""
    rows = [
        (
            f"`signals.{key}`",
            f"`{each.name}`" + "".join(f", `{alias}`" for alias in each.aliases),
            each.kind.legal if each.kind else "",
        )
        for key, type_ in KEYS.items()
        for each in FIELDS[type_]
        if each.name != "description"
    ]
    return table(("Signal", "Field", "Must be"), rows)


def plugin(_: str) -> str:
    """Return a table of the fields of HaluGate's plugin that the configuration can have."""
    rows = [
        (f"`{each.name}`", "".join(f"`{alias}`" for alias in each.aliases), each.kind.legal)
        for each in PLUGIN_FIELDS
        if each.kind
    ]
    return table(("Field", "HaluGate's name", "Must be"), rows)


def overrides(_: str) -> str:
    """Return a table of the settings that a tenant can have."""
    metadata = {name: key for key, (name, _) in METADATA.items()}
    rows = [
        (f"`{name}`", f"`{metadata[name]}`" if name in metadata else "", kind.legal)
        for name, kind in KINDS.items()
    ]
    return table(("Field", "In DVARA's metadata", "Must be"), rows)


def upstreams(_: str) -> str:
    """Return a table of the fields of an upstream."""
    defaults = {each.name: each.default for each in fields(Upstream)}
    rows = [
        (
            f"`{name}`",
            "" if defaults[name] is MISSING else f"`{json.dumps(defaults[name])}`",
            kind.legal,
        )
        for name, kind in UPSTREAM_KINDS.items()
    ]
    return table(("Field", "Default", "Must be"), rows)


def domains(_: str) -> str:
    """Return a table of the built-in domains."""
    return table(
        ("Domain", "Description"),
        [(f"`{k}`", v or "Where no other holds.") for k, v in DOMAINS.items()],
    )


def endpoints(_: str) -> str:
    """Return a table of the endpoints in the gateway's OpenAPI document."""
    from groundwire.gateway.native import document  # the only part that needs the gateway's extra

    rows = [
        (f"`{method.upper()} {path}`", f"{operation['summary'].rstrip('.')}")
        for path, item in document()["paths"].items()
        for method, operation in item.items()
    ]
    return table(("Endpoint", "What it does"), rows)


def prompts(name: str) -> str:
    """Return a table of the prompts in a test file, with the source of each."""
    path = ROOT / "tests" / "pipeline" / "conversation" / f"{name}.toml"
    found = tomllib.loads(path.read_text(encoding="utf-8"))["prompt"]
    return table(("Prompt", "Source"), ((each["name"], each["source"]) for each in found))


TABLES: dict[str, Callable[[str], str]] = {
    "commands": commands,
    "prompts": prompts,
    "settings": settings_of,
    "names": names_of,
    "defaults": defaults_of,
    "signals": signals,
    "plugin": plugin,
    "overrides": overrides,
    "upstreams": upstreams,
    "domains": domains,
    "endpoints": endpoints,
}


def generate(match: re.Match[str]) -> str:
    """Generate one part of a page anew, from the match of :data:`_PART`."""
    name = match["name"]
    kind, _, rest = name.partition(" ")
    if name == "main job":
        text = main_job()
    elif name == "facts":
        text = f"\n{table(facts.HEAD, facts.rows())}\n{facts.sentences()}\n"
    elif name == "pairs":
        head = ("Texts that the models do not know", "`reader-base`", "`reader-small`")
        text = f"\n{table(head, facts.pairs())}\n"
    elif name == "output" or (name == "slow output" and "--slow" in sys.argv):
        text = outputs.again(match["text"], match.string)
    elif name == "slow output":
        text = outputs.of_the_shipped(match["text"])
    elif kind in TABLES:
        text = f"\n{TABLES[kind](rest)}\n"
    else:
        raise SystemExit(f"Nothing generates {name!r}.")
    return match["before"] + text + match["after"]


def is_same(old: str, new: str) -> bool:
    """Return whether two versions of a page differ only in what may differ between machines."""
    old, new = (
        _OUTPUT.sub(lambda part: outputs.without_numbers(part[0]), text) for text in (old, new)
    )
    fixed = [_VARIES.sub("", _THRESHOLD.sub("", _SPAN.sub("", text))) for text in (old, new)]
    return fixed[0].split() == fixed[1].split() and agrees(old, new) and agrees(new, old)


def agrees(text: str, other: str) -> bool:
    """Return whether ``other`` marks all spans that ``text`` clearly marks, with the same label.

    A span is clearly marked if its probability is well above the threshold.
    """
    threshold = _THRESHOLD.search(text)
    lowest = float(threshold[0]) + _MARGIN if threshold else 0
    marked = [(label, int(a), int(b)) for label, a, b, _ in _SPAN.findall(other)]
    return all(
        any(label == also and int(start) < b and a < int(end) for also, a, b in marked)
        for label, start, end, probability in _SPAN.findall(text)
        if float(probability) >= lowest
    )


def main() -> None:
    """Rewrite all pages, or compare them."""
    stale = []
    for page in PAGES:
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = _PART.sub(generate, old)
        if is_same(old, new):
            continue
        if "--check" in sys.argv:
            stale.append(page)
        else:
            path.write_text(new, encoding="utf-8")
    for page, new in pictures().items():
        path = ROOT / page
        if "--check" not in sys.argv:
            path.write_text(new, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != new:
            stale.append(page)
    if stale:
        raise SystemExit(f"Out of date: {', '.join(stale)}. Run: python docs/generate.py")


if __name__ == "__main__":
    main()

"""The tables of hosts, as far as they can be compared with the marks without the hosts."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.compat.test_verdict import ADAPTERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="this is no checkout")


def marked(tests: tuple[str, ...]) -> dict[str, list[str]]:
    """What the marks of contract tests say, by host."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in [file for each in tests for file in sorted(ROOT.glob(f"{each}*"))]:
        for file in sorted(path.glob("test_*.py")) if path.is_dir() else [path]:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.shows":
                    host, *_ = map(ast.literal_eval, node.args)
                    found[host] += [ast.literal_eval(each.value) for each in node.keywords]
    return found


def test_each_row_says_what_the_tests_of_its_host_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    from hosts import HOSTS, TESTS

    shown = marked(TESTS)
    assert set(shown) == set(HOSTS)
    for name, host in HOSTS.items():
        page = (DOCS / host.page).read_text(encoding="utf-8")
        row = re.search(rf"^\| {re.escape(name)} \|.*$", page, re.MULTILINE)
        assert row is not None, name
        assert [each for each in shown[name] if each not in row[0]] == [], name


def test_every_adapter_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    from hosts import HOSTS

    assert set(ADAPTERS) <= {host.here.strip("`") for host in HOSTS.values()}

"""JUnit XML for CI."""

import io
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from groundwire.evaluation.reports.junit import write_junit
from groundwire.evaluation.reports.summary import summarize
from tests.evaluation.reports.results import HOSTILE, ROWS, results_of, row

#: What ``junit-10.xsd`` of Jenkins' xunit plugin says of the elements that are written: the
#: attributes that must be there, those that may be, and the children.
GRAMMAR: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname", "id", "package"},
        {"testcase"},
    ),
    "testcase": ({"name"}, {"time", "classname"}, {"failure", "error", "skipped"}),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
}


def junit(results: Path) -> Element:
    stream = io.StringIO()
    write_junit(summarize(results, n_examples=0), results, stream)
    return ElementTree.fromstring(stream.getvalue())


def verdicts(tree: Element) -> dict[str, str]:
    """The name of each test without its row, and what became of it."""
    return {
        case.attrib["name"].partition(" ")[0]: case[0].tag if len(case) else "passed"
        for case in tree.iter("testcase")
    }


def test_each_row_is_a_test(results: Path) -> None:
    tree = junit(results)
    assert verdicts(tree) == {
        "found": "passed",
        "missed": "failure",
        "alarm": "failure",
        "passed": "passed",
        "failed": "error",
        "unchecked": "error",
        "unlabelled": "skipped",
    }
    counts = tree[0].attrib
    assert [counts[name] for name in ("tests", "failures", "errors", "skipped")] == [
        *("7", "2", "2", "1")
    ]


def test_the_class_of_a_test_is_its_task(tmp_path: Path) -> None:
    rows = [row("Built in 1889.", id=task or "bare", task=task) for task in ("all", "")]
    cases = junit(results_of(rows, tmp_path / "results.jsonl")).iter("testcase")
    assert [case.attrib["classname"] for case in cases] == ["groundwire.all", "groundwire.(none)"]


def test_a_failure_says_which_words(results: Path) -> None:
    failure = junit(results).find(".//testcase[@name='missed (row 2)']/failure")
    assert failure is not None
    assert failure.attrib["message"] == "hallucinated, and nothing was marked"
    assert failure.text == "Built ⟦missed: by Eve⟧."


def test_it_has_the_shape_that_readers_expect(results: Path) -> None:
    for each in junit(results).iter():
        required, optional, children = GRAMMAR[each.tag]
        assert required <= each.attrib.keys() <= required | optional
        assert {child.tag for child in each} <= children


def test_hostile_text_is_text(tmp_path: Path) -> None:
    hostile = row(f"1950 {HOSTILE}", id=f"x {HOSTILE}", task=HOSTILE)
    tree = junit(results_of([hostile, *ROWS], tmp_path / "results.jsonl"))
    assert {each.tag for each in tree.iter()} == GRAMMAR.keys()
    assert "<script>alert(1)</script>" in ElementTree.tostring(tree, "unicode", "text")

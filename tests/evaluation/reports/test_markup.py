"""Trees of elements: a text in one is never markup."""

from xml.etree import ElementTree

import pytest

from groundwire.evaluation.reports.curves import Curve
from groundwire.evaluation.reports.markup import element, write_html, write_xml
from groundwire.evaluation.reports.plots import of_curve, plot, top_of


def test_texts_and_attributes_are_escaped() -> None:
    tree = element("p", "a < b", element("b", "&"), " > c", title='"<&')
    assert write_html(tree) == '<p title="&quot;<&amp;">a &lt; b<b>&amp;</b> &gt; c</p>'


def test_none_and_false_are_left_out() -> None:
    tree = element("p", None, "x", class_=None, hidden=False, data_kind="y")
    assert write_html(tree) == '<p data-kind="y">x</p>'


@pytest.mark.parametrize("text", ["\x00", "\x1b[2J", "\u202e", "\ud800", "\ufffe", "\uffff"])
def test_what_no_xml_may_hold_is_written_out(text: str) -> None:
    written = write_xml(element("p", text, title=text))
    assert text not in written
    assert ElementTree.fromstring(written.encode()).text


def test_a_low_curve_fills_its_plot_and_says_so() -> None:
    curve = Curve(points=((0.5, 0.05), (1.0, 0.1)), at=(0.5, 0.05), chance=((0, 0.1), (1, 0.1)))
    assert top_of(curve) == 0.1
    drawn = of_curve(curve, is_stepped=False, top=0.1)
    svg = write_html(plot("Risk", "says", "x", "y", *drawn, top=0.1))
    assert ">7.5</text>" in svg
    assert ">at the threshold: 50.0 and 5.0 %</title>" in svg
    # From the middle of the square to its upper right corner.
    assert 'points="194,128 338,12" class="curve"' in svg

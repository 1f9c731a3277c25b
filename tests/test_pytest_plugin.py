"""The pytest plugin, run in pytest sessions of its own."""

import tomllib
from pathlib import Path

import pytest

from groundwire import pytest_plugin, testing

pytest_plugins = ("pytester",)

PLUGIN = "groundwire.pytest_plugin"
ROOT = Path(__file__).parents[1]

#: A conftest.py that replaces the embedded detector by a fake one.
CONFTEST = f"""
    import sys
    sys.path.insert(0, {str(ROOT)!r})
    import pytest
    from tests.fakes import FixedDetector

    @pytest.fixture(scope="session")
    def groundwire_detector():
        return FixedDetector(unsupported=["1950"])
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder for tests; their sessions load the plugin by name, since it may not be installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", PLUGIN)
    return pytester


def test_the_fixture_fails_a_test_with_the_marked_words(session: pytest.Pytester) -> None:
    session.makeconftest(CONFTEST)
    session.makepyfile(
        """
        def test_right(grounded):
            assert grounded("Built in 1889.", ["Built in 1889."]).outcome == "grounded"

        def test_wrong(grounded):
            grounded("Built in 1950.", ["Built in 1889."], "When?")

        def test_without_a_source(grounded):
            grounded("Built in 1889.", [])

        def test_allowed(grounded):
            grounded("Built in 1889.", [], allow="unverified")
        """
    )
    result = session.runpytest_inprocess()
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            ">*grounded(*1950*",  # the traceback ends in the test, not in the plugin
            "E*AssertionError: the answer is hallucinated, not grounded",
            "E*Built in ⟦1950⟧.",
            "E*against S0 0-14: *Built in 1889.*",
            "E*AssertionError: the answer is unverified, not grounded",
        ]
    )
    result.stdout.no_fnmatch_line("*raise AssertionError*")


def test_the_option_is_the_operating_point_of_all_calls(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        from groundwire.testing import SHARED

        def test_it():
            assert SHARED.operating_point == 0.7
        """
    )
    result = session.runpytest_inprocess("--groundwire-operating-point", "0.7")
    result.assert_outcomes(passed=1)
    assert testing.SHARED.operating_point is None  # the option has no effect on later sessions


@pytest.mark.parametrize("value", ["0", "1.5", "nan", "strict", ""])
def test_what_is_no_operating_point_is_refused(value: str, session: pytest.Pytester) -> None:
    result = session.runpytest_inprocess(f"--groundwire-operating-point={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*must be one of precision, balanced, recall*"])


def test_a_session_without_answers_loads_nothing(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        import sys

        def test_it():
            heavy = ("numpy", "onnxruntime", "rich", "tokenizers", "groundwire.detector")
            assert [name for name in heavy if name in sys.modules] == []
            assert "groundwire.pytest_plugin" in sys.modules
        """
    )
    session.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_embedded_reader_is_what_checks_by_default(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        def test_wrong(grounded):
            grounded("It was built in 1950.", ["The tower was built in 1889."])
        """
    )
    result = session.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*⟦*1950⟧*", "E*detector  reader *"])


def test_an_installation_announces_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"groundwire": PLUGIN}
    assert pytest_plugin.__name__ == PLUGIN

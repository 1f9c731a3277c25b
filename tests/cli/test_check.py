"""``groundwire check`` on one answer."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from groundwire.cli.detectors import DetectorChoice
from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.example import SourceWarning
from groundwire.detection.values import Detection, Outcome, Reason
from groundwire.detector import Detector
from groundwire.engine.models import BASE_PACKAGE
from groundwire.errors import MissingExtraError, SettingError
from tests.cli.conftest import CommandLine
from tests.fakes import FixedDetector

FACT = "Paris has 2.1 million inhabitants."
WRONG = "Paris has 9 million inhabitants."
RIGHT = "Paris has 2.1 million."


def schema() -> Draft202012Validator:
    path = resources.files("groundwire").joinpath("detection/schemas/detection.schema.json")
    return Draft202012Validator(json.loads(path.read_text("utf-8")))


# Output


def test_the_report_goes_to_standard_output(run: CommandLine) -> None:
    result = run("check", "--source", FACT, "--answer", WRONG)
    assert result.stdout.startswith(
        "  Paris has ⟦9 million⟧ inhabitants.\n\n"
        'unsupported  10-19  probability 0.97  "9 million"\n'
        f'  against S0 0-34: "{FACT}"\n\n'
        "outcome   hallucinated: "
    )
    assert "coverage" not in result.stdout
    assert result.stderr == ""


def test_json_is_what_the_schema_says(run: CommandLine) -> None:
    result = run("check", "--source", FACT, "--answer", WRONG, "--json")
    data = json.loads(result.stdout)
    schema().validate(data)
    assert data["outcome"] == "hallucinated"
    assert [(span["text"], span["evidence"][0]["text"]) for span in data["spans"]] == [
        ("9 million", FACT)
    ]


def test_json_holds_no_character_that_acts_on_a_terminal(run: CommandLine) -> None:
    result = run("check", "--source", "\x9b2J\u202eé", "--answer", "\x1b[2J é", "--json")
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert json.loads(result.stdout)["claims"][0]["text"] == "\x1b[2J é"


def test_html_is_written_beside_the_report(run: CommandLine, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run(
        "check", "--source", FACT, "--question", "How many?", "--answer", WRONG, "--html", page
    )
    assert result.exit_code == 1
    assert result.stdout.startswith("  Paris")
    text = page.read_text("utf-8")
    assert "<!doctype html>" in text
    assert "How many?" in text
    assert "9 million<a" in text


def test_html_does_not_replace_an_input(run: CommandLine, tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text(FACT)
    result = run("check", "--source-file", source, "--answer", WRONG, "--html", source)
    assert result.exit_code == 2
    assert f"{source} is named twice, and would be replaced" in result.stderr
    assert source.read_text() == FACT


def test_html_that_cannot_be_written_is_a_failure(run: CommandLine, tmp_path: Path) -> None:
    page = tmp_path / "missing" / "page.html"
    result = run("check", "--source", FACT, "--answer", WRONG, "--html", page)
    assert result.exit_code == 2
    assert result.stderr == f"error: {page}: No such file or directory\n"


@pytest.mark.parametrize(
    ("option", "environ", "colored"),
    [
        (None, {}, False),
        (None, {"FORCE_COLOR": "1"}, True),
        (None, {"FORCE_COLOR": ""}, False),
        (None, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_the_option_then_the_environment_then_the_terminal(
    run: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    option: str | None,
    environ: dict[str, str],
    colored: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    options = ["--color", option] if option else []
    result = run("check", "--source", FACT, "--answer", WRONG, *options)
    assert ("\x1b[" in result.stdout) is colored
    assert ("⟦" in result.stdout) is not colored


# Exit status


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.GROUNDED, 0),
        (Outcome.SKIPPED, 0),
        (Outcome.HALLUCINATED, 1),
        (Outcome.PARTIAL, 1),
        (Outcome.UNVERIFIED, 1),
        (Outcome.UNAVAILABLE, 2),
    ],
)
def test_the_exit_status_tells_the_outcome(
    run_with: Callable[[AnyDetector], CommandLine], outcome: Outcome, status: int
) -> None:
    class Decided(FixedDetector):
        def _judge(self, *args: object, **kwargs: object) -> Detection:
            found = super()._judge(*args, **kwargs)  # type: ignore[arg-type]
            return Detection(
                answer=found.answer,
                outcome=outcome,
                claims=found.claims,
                coverage=found.coverage,
                detector=found.detector,
            )

    for options in ([], ["--json"]):
        result = run_with(Decided())("check", "--source", FACT, "--answer", RIGHT, *options)
        assert result.exit_code == status


def test_without_a_source_the_answer_is_unverified(run: CommandLine) -> None:
    result = run("check", "--answer", RIGHT)
    assert result.exit_code == 1
    assert "outcome   unverified: there was no evidence" in result.stdout


# Inputs


def test_texts_and_files_can_be_mixed(run: CommandLine, tmp_path: Path) -> None:
    files = {"facts.txt": FACT, "question.txt": "How many?", "answer.txt": WRONG}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    result = run(
        *("check", "--source", "One.", "--source-file", tmp_path / "facts.txt", "--source", "Two."),
        *("--question-file", tmp_path / "question.txt", "--answer-file", tmp_path / "answer.txt"),
        "--json",
    )
    evidence = json.loads(result.stdout)["spans"][0]["evidence"]
    assert [(each["source_id"], each["text"]) for each in evidence] == [
        ("S0", "One."),
        ("S1", "Two."),
        ("facts.txt", FACT),
    ]


def test_a_json_list_of_documents_is_a_source_for_each(run: CommandLine, tmp_path: Path) -> None:
    documents = [
        {"page_content": "One.", "metadata": {"page": 9}, "id": "a"},
        {"content": "Two.", "metadata": {"page": 10}},
    ]
    (tmp_path / "docs.json").write_text(json.dumps(documents))
    (tmp_path / "data.json").write_text('[{"million": 9}]')
    files = ("--source-file", tmp_path / "docs.json", "--source-file", tmp_path / "data.json")
    result = run("check", *files, "--answer", WRONG, "--json")
    evidence = json.loads(result.stdout)["spans"][0]["evidence"]
    assert [(each["source_id"], each["text"]) for each in evidence] == [
        ("a", "One."),
        ("S1", "Two."),
        ("data.json", '[{"million": 9}]'),
    ]


def test_a_document_without_a_text_is_evidence_with_a_warning(
    run: CommandLine, tmp_path: Path
) -> None:
    documents = [{"text": "One."}, {"txt": "Paris is a very large city."}]
    (tmp_path / "docs.json").write_text(json.dumps(documents))
    with pytest.warns(SourceWarning, match="Did you mean 'text'"):
        result = run("check", "--source-file", tmp_path / "docs.json", "--answer", RIGHT)
    assert result.exit_code == 0


def test_a_dash_reads_standard_input(run: CommandLine) -> None:
    result = run("check", "--source", FACT, "--answer-file", "-", stdin=WRONG)
    assert result.stdout.startswith("  Paris has ⟦9 million⟧ inhabitants.\n")


def test_standard_input_can_be_a_source(run: CommandLine) -> None:
    result = run("check", "--source-file", "-", "--answer", WRONG, stdin=FACT)
    assert "against stdin 0-34" in result.stdout


def test_standard_input_is_read_by_one_option_only(run: CommandLine) -> None:
    result = run("check", "--source-file", "-", "--answer-file", "-", stdin=FACT)
    assert result.exit_code == 2
    assert "Only one option can read standard input (-)." in result.stderr


def test_line_ends_and_a_byte_order_mark_leave_offsets_alone(
    run: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "answer.txt"
    path.write_bytes(b"\xef\xbb\xbfA\r\n1950\r\n")
    data = json.loads(run("check", "--source", FACT, "--answer-file", path, "--json").stdout)
    assert [(span["start"], span["end"]) for span in data["spans"]] == [(3, 7)]


@pytest.mark.parametrize("option", ["--source-file", "--question-file", "--answer-file"])
def test_a_file_that_is_not_utf8_is_named_with_the_byte(
    run: CommandLine, tmp_path: Path, option: str
) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"caf\xe9 bar")
    answer = [] if option == "--answer-file" else ["--answer", RIGHT]
    result = run("check", option, path, *answer)
    assert result.exit_code == 2
    assert f"error: {path} is not UTF-8 text:" in result.stderr
    assert "(0xe9) at byte 3. Convert it first" in result.stderr
    assert result.stdout == ""


def test_utf16_is_recognised(run: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "wide.txt"
    path.write_bytes(FACT.encode("utf-16"))
    result = run("check", "--answer-file", path)
    assert "the beginning of UTF-16 at byte 0" in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--source", FACT], "There is no answer to check. Give --answer TEXT or --answer-file"),
        (["--answer", "a", "--answer-file", "-"], "--answer and --answer-file exclude each other"),
        (["--answer", "a", "--question", "q", "--question-file", "-"], "exclude each other"),
        (["--answer-file", "no such file"], "'no such file' does not exist"),
        (["--answer", "a", "--operating-point", "high"], "precision, balanced, recall, or a"),
        (["--answer", "a", "--threads", "0"], "0 is not in the range 1<=x<=256"),
        (["--answer", "a", "--threads", "257"], "257 is not in the range 1<=x<=256"),
        (["--answer", "a", "--output", "x"], "--output needs --batch."),
        (["--answer", "a", "--resume"], "--resume needs --batch."),
        (["--answer", "a", "stray"], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_explained(run: CommandLine, args: list[str], message: str) -> None:
    result = run("check", *args, stdin="text")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""


@pytest.mark.parametrize(
    "option",
    [
        *("--detector", "--revision", "--device", "--html", "--batch", "--output"),
        *("--source-file", "--question-file", "--answer-file"),
    ],
)
def test_an_empty_name_is_refused_and_never_the_current_folder(
    run: CommandLine, option: str
) -> None:
    result = run("check", "--source", FACT, "--answer", RIGHT, option, "")
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': it is empty." in " ".join(result.stderr.split())
    assert (result.stdout, run.choice) == ("", None)


def test_as_many_threads_may_be_asked_for_as_a_detector_takes(run: CommandLine) -> None:
    assert run("check", "--source", FACT, "--answer", RIGHT, "--threads", 256).exit_code == 0
    assert run.choice
    assert run.choice.threads == 256
    with pytest.raises(SettingError, match="1 to 256"):
        Detector.load(threads=257)


@pytest.mark.parametrize("answer", ["", " \n\t "])
def test_an_empty_answer_is_an_error(run: CommandLine, answer: str) -> None:
    result = run("check", "--source", FACT, "--answer", answer)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: The answer is empty or only white space")
    assert run.choice is None  # nothing was loaded for it


def test_half_a_surrogate_pair_is_an_error(run: CommandLine) -> None:
    # So argv shows bytes that are not UTF-8.
    result = run("check", "--source", FACT, "--answer", "a\udcff")
    assert result.exit_code == 2
    assert "error: The answer is not valid text: the lone surrogate U+DCFF" in result.stderr


# Detector


def test_options_choose_the_detector(run: CommandLine) -> None:
    run(
        *("check", "--answer", RIGHT, "--detector", "org/model", "--revision", "abc"),
        *("--threads", 3, "--operating-point", "recall", "--device", "cuda:0"),
    )
    assert run.choice == DetectorChoice(
        model="org/model", revision="abc", operating_point="recall", threads=3, device="cuda:0"
    )


def test_by_default_the_embedded_reader_judges_at_its_balanced_point(run: CommandLine) -> None:
    run("check", "--answer", RIGHT)
    assert run.choice == DetectorChoice(
        model=None, revision=None, operating_point="balanced", threads=None, device="cpu"
    )


@pytest.mark.parametrize(("value", "number"), [("0.25", 0.25), ("1", 1.0), ("1e-3", 0.001)])
def test_an_operating_point_may_be_a_number(run: CommandLine, value: str, number: float) -> None:
    run("check", "--answer", RIGHT, "--operating-point", value)
    assert run.choice
    assert run.choice.operating_point == number


@pytest.mark.parametrize("value", ["0", "-0.1", "1.01", "nan", "inf", "Balanced", ""])
def test_a_threshold_is_above_0_and_at_most_1(run: CommandLine, value: str) -> None:
    result = run("check", "--answer", RIGHT, "--operating-point", value)
    assert result.exit_code == 2
    assert run.choice is None
    assert "is not an operating point" in result.stderr


def test_a_failed_check_is_an_error_and_no_pass(run: CommandLine) -> None:
    result = run("check", "--source", FACT, "--answer", "BOOM")
    assert result.exit_code == 2
    assert result.stderr == "error: The detector failed on 'BOOM'.\n"
    assert result.stdout == ""


def test_a_detector_that_cannot_be_loaded_is_an_error(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(choice: DetectorChoice) -> AnyDetector:
        raise MissingExtraError("A checkpoint", "train")

    monkeypatch.setattr(run, "_load", refuse)
    result = run("check", "--answer", RIGHT)
    assert result.exit_code == 2
    assert "pip install '.[train]'" in result.stderr


def test_messages_cannot_act_on_the_terminal(run: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J.txt"
    path.write_bytes(b"\xff")
    result = run("check", "--answer-file", path)
    assert "\x1b" not in result.stderr
    assert "a␛[2J.txt is not UTF-8" in result.stderr


def test_reasons_are_told(run_with: Callable[[AnyDetector], CommandLine]) -> None:
    run = run_with(FixedDetector(reasons={Reason.DROPPED_LONG: 3}))
    result = run("check", "--source", FACT, "--answer", RIGHT)
    assert "dropped_long (3): a source was over the length limit" in result.stdout


@pytest.mark.parametrize(
    ("content", "step"),
    [
        (b"%PDF-1.7\n\xe2\xe3", "is a PDF. Take its text out first"),
        (b"PK\x03\x04\x14\0", "Save it as text or CSV."),
        (b"\x1f\x8b\x08\0", "Unpack it first: gunzip FILE."),
    ],
)
def test_a_source_that_is_no_text_is_told_with_the_way_out(
    run: CommandLine, tmp_path: Path, content: bytes, step: str
) -> None:
    file = tmp_path / "facts"
    file.write_bytes(content)
    result = run("check", "--source-file", file, "--answer", "Paris.")
    assert result.exit_code == 2
    assert step in result.stderr


# Repair


@pytest.fixture
def base() -> None:
    """Skip a test without ``reader-base``, whose embeddings a repair needs."""
    pytest.importorskip(BASE_PACKAGE, reason="pip install ./models/reader-base")


@pytest.mark.merge
@pytest.mark.usefixtures("base")
def test_repair_shows_the_changes_and_the_repaired_answer(run: CommandLine) -> None:
    result = run("check", "--source", FACT, "--answer", WRONG, "--repair")
    changes = "repair    10-19\n  - 9 million\n  + 2.1 million\n  from S0 10-21\n\n"
    assert f"{changes}  Paris has 2.1 million" in result.stdout
    assert "outcome   hallucinated: " in result.stdout
    assert result.stdout.split("outcome   ")[-1].startswith("grounded: ")
    assert result.exit_code == 0


@pytest.mark.merge
@pytest.mark.usefixtures("base")
def test_repair_says_if_nothing_changed(run: CommandLine) -> None:
    result = run("check", "--source", "Ann likes tea.", "--answer", WRONG, "--repair")
    why = "no words of the sources fit surely enough"
    assert result.stdout.endswith(f"\n\nrepair    nothing changed: {why}\n")
    assert result.exit_code == 1


@pytest.mark.merge
@pytest.mark.usefixtures("base")
def test_repair_as_json_has_both_detections(run: CommandLine) -> None:
    result = run("check", "--source", FACT, "--answer", WRONG, "--repair", "--json")
    data = json.loads(result.stdout)
    assert data["answer"] == FACT
    assert [(edit["old"], edit["new"]) for edit in data["edits"]] == [("9 million", "2.1 million")]
    for detection in (data["before"], data["after"]):
        schema().validate(detection)

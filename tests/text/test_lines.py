"""Sources are cut into lines, each read as what it is, and no text is lost."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.lines import Line, lines_of
from groundwire.text.records import decode, fields_of
from tests.json_values import json_data

LONG = "The museum opened in 1912 after ten years of work. It closes at six."


def readings(text: str) -> list[str]:
    return [line.reading for line in lines_of(text)]


def quotes(text: str) -> list[str]:
    return [text[line.start : line.end] for line in lines_of(text)]


def groups(text: str) -> list[int]:
    return [line.group for line in lines_of(text)]


def headings(text: str) -> list[str]:
    return [line.heading for line in lines_of(text)]


# Data.


def test_each_scalar_of_data_is_a_line_that_names_its_path() -> None:
    text = '{"name": "Luna", "hours": {"Tuesday": "11:0-21:0"}, "stars": 4.5}'
    assert readings(text) == ["name: Luna", "hours Tuesday: 11:0-21:0", "stars: 4.5"]
    assert quotes(text) == ['"name": "Luna"', '"Tuesday": "11:0-21:0"', '"stars": 4.5']


def test_the_python_form_of_a_record_reads_like_its_json_form() -> None:
    record: dict[str, object] = {
        "name": "Joe's",
        "open": None,
        "wifi": True,
        "ratings": [4.5, 1e300],
        "tags": {},
    }
    assert readings(str(record)) == readings(json.dumps(record))
    assert readings(str(record)) == [
        "name: Joe's",
        "open: null",
        "wifi: true",
        "ratings: 4.5",
        "ratings: 1e+300",
        "tags: empty",
    ]


def test_indices_are_left_out_of_the_path() -> None:
    assert readings('{"rooms": [{"beds": 2}, {"beds": 1}]}') == ["rooms beds: 2", "rooms beds: 1"]


def test_what_is_empty_says_so() -> None:
    text = '{"a": {}, "b": [], "c": "", "d": " "}'
    assert readings(text) == ["a: empty", "b: empty", "c: empty", "d: empty"]


@pytest.mark.parametrize("text", ["[]", "{}", " [ ] ", "[[], {}]", '[{"": []}]', "[null]", '[""]'])
def test_data_that_is_empty_as_a_whole_says_nothing(text: str) -> None:
    assert readings(text) == []


def test_a_field_is_read_on_one_line() -> None:
    assert readings('{"address": "1 Main St.\\n Delft"}') == ["address: 1 Main St. Delft"]
    assert readings('{"a": "x\\t\\u2003y"}') == ["a: x y"]


def test_a_key_of_marks_only_leaves_the_value_alone() -> None:
    assert readings('{"": 5, "_": 6}') == ["5", "6"]


def test_escapes_are_decoded_and_never_leave_half_a_character() -> None:
    text = r'["\u00e9\ud83d\ude00\/ \ud83d!", ' + r"'it\'s \x41 \U0001f600 \q']"
    assert readings(text) == ["é😀/ \ufffd!", "it's A 😀 \\q"]


def test_offsets_lead_back_through_escapes() -> None:
    text = (
        r'{"note": "Then the man said \"no\" \u2013 twice. '
        r'Then \ud83d\ude00 left at once.\nAll is said."}'
    )
    assert readings(text) == [
        'note: Then the man said "no" – twice.',
        "note: Then 😀 left at once.",
        "note: All is said.",
    ]
    assert quotes(text) == [
        r'"note": "Then the man said \"no\" \u2013 twice.',
        r"Then \ud83d\ude00 left at once.",
        "All is said.",
    ]


def test_long_texts_are_cut_into_sentences_under_their_nearest_key() -> None:
    text = json.dumps({"reviews": [{"review_text": LONG, "stars": 4}]})
    assert readings(text) == [
        "review text: The museum opened in 1912 after ten years of work.",
        "review text: It closes at six.",
        "reviews stars: 4",
    ]


def test_layout_within_a_text_of_data_is_read_too() -> None:
    page = "# Prices\n\n| Item | Price |\n|---|---|\n| Tea from the hills of Assam | $2 |\n"
    text = json.dumps({"page_content": page})
    assert readings(text) == [
        "page content: Prices",
        "page content: Item; Price",
        "page content: Item: Tea from the hills of Assam; Price: $2",
    ]
    assert set(headings(text)) == {"Prices"}


def test_data_within_a_text_of_data_is_read_too() -> None:
    text = json.dumps({"result": json.dumps({"temp": 5, "note": LONG})})
    assert readings(text)[0] == "result: temp: 5"
    assert quotes(text)[0] == r'"result": "{\"temp\": 5'


def test_a_list_of_texts_is_a_list_of_passages() -> None:
    text = json.dumps([LONG, "Two.", "Three."])
    assert readings(text) == [
        "The museum opened in 1912 after ten years of work.",
        "It closes at six.",
        "Two.",
        "Three.",
    ]
    assert groups(text) == [0, 0, 1, 2]


def test_objects_with_a_text_are_passages_under_their_title() -> None:
    text = json.dumps([{"title": "A", "text": LONG, "score": 0.5}, {"text": LONG, "name": "B"}])
    assert groups(text) == [0, 0, 0, 0, 1, 1, 1]
    assert headings(text) == ["A"] * 4 + ["B"] * 3


def test_the_title_may_stand_in_the_metadata() -> None:
    page = {"page_content": LONG, "metadata": {"source": "a.pdf", "title": "Museums"}}
    assert set(headings(json.dumps([page]))) == {"Museums"}


def test_passages_may_stand_under_a_key() -> None:
    text = json.dumps({"query": "q", "results": [{"content": LONG}, {"content": LONG}], "n": 2})
    assert groups(text) == [0, 1, 1, 2, 2, 0]


def test_plain_records_share_a_group() -> None:
    assert set(groups('[{"name": "A", "price": 1}, {"name": "B", "price": 2}]')) == {0}


def test_what_a_record_lists_stays_with_the_record() -> None:
    assert set(groups(json.dumps({"id": 7, "comments": [{"text": LONG}, {"text": LONG}]}))) == {0}
    assert set(groups(json.dumps({"id": 7, "features": [LONG, LONG]}))) == {0}


def test_json_lines_are_data() -> None:
    assert readings('{"a": 1}\n{"a": 2}\n') == ["a: 1", "a: 2"]
    assert groups(f'{{"text": "{LONG}"}}\n{{"text": "{LONG}", "tags": ["x"]}}') == [0, 0, 1, 1, 1]


# Data within prose.


def test_data_at_a_row_of_its_own_is_read_as_data() -> None:
    text = '[tool result: weather]\n{"city": "Bergen",\n "temp": 4.1}\nDone.'
    assert readings(text) == ["[tool result: weather]", "city: Bergen", "temp: 4.1", "Done."]


def test_data_after_its_name_is_read_as_data() -> None:
    text = 'pet_record: {"name": "Biscuit", "kg": 13.9}'
    assert readings(text) == ["pet_record:", "name: Biscuit", "kg: 13.9"]


def test_data_in_the_middle_of_a_sentence_is_prose() -> None:
    assert readings('Send {"a": 1} to the server.') == ['Send {"a": 1} to the server.']


def test_passages_within_prose_keep_apart() -> None:
    text = "Search returned:\n" + json.dumps([{"text": LONG}, {"text": LONG}]) + "\nEnd."
    assert groups(text) == [0, 0, 0, 1, 1, 2]


# Tables.

TABLE = (
    "Prices:\n\n| **Name** | unit_price |\n|:--|--:|\n| `Foo` | $49 |\n| a\\|b |\n| | 1 | 2 |\nEnd."
)


def test_each_row_of_a_table_repeats_the_headers() -> None:
    assert readings(TABLE) == [
        "Prices:",
        "Name; unit price",
        "Name: Foo; unit price: $49",
        "Name: a|b",
        "unit price: 1; 2",
        "End.",
    ]
    assert quotes(TABLE)[2:4] == ["| `Foo` | $49 |", "| a\\|b |"]


def test_tables_as_databases_print_them_are_tables() -> None:
    text = " sku  | on_hand\n------+--------\n D219 | 264\n(1 row)"
    assert readings(text) == ["sku; on hand", "sku: D219; on hand: 264", "(1 row)"]


def test_pipes_without_a_separator_are_prose() -> None:
    assert readings("yes | no") == ["yes | no"]


# Headings.


def test_headings_stand_over_what_follows_until_one_of_their_level() -> None:
    text = "Intro.\n# A\na.\n## B\nb.\n### C ###\nc.\n## D\nd.\n# E\ne."
    assert readings(text) == ["Intro.", "A", "a.", "B", "b.", "C", "c.", "D", "d.", "E", "e."]
    assert (
        headings(text)
        == [""] + ["A"] * 2 + ["A > B"] * 2 + ["B > C"] * 2 + ["A > D"] * 2 + ["E"] * 2
    )


def test_headings_are_kept_short() -> None:
    text = "# " + "word " * 30 + "\n## " + "other " * 10 + "\ntext"
    assert headings(text)[-1] == ("other " * 10).strip()
    assert headings("# " + "word " * 30 + "\ntext")[-1] == ("word " * 16).strip()


@pytest.mark.parametrize("text", ["```sh\n# install it\nmake\n```", "#tag"])
def test_other_uses_of_the_hash_are_no_headings(text: str) -> None:
    assert set(headings(text + "\nmore")) == {""}


# Numbered passages.


@pytest.mark.parametrize(
    "text",
    [
        "passage 1:Foo.\n\npassage 2:Bar.",
        "Document [1]: Foo.\nDocument [2]: Bar.",
        "[1] Foo.\n[2] Bar.",
        "Source 1 - Foo.\nSource 2 - Bar.",
        "Context 1:\nFoo.\nContext 2:\nBar.",
        "<doc id=1>\nFoo.\n</doc>\n<doc id=2>\nBar.\n</doc>",
        "### Document 1\nFoo.\n\n### Document 2\nBar.",
    ],
)
def test_each_numbered_passage_is_a_group(text: str) -> None:
    by_word = {line.reading.rsplit(" ")[-1].rsplit(":")[-1]: line.group for line in lines_of(text)}
    assert (by_word["Foo."], by_word["Bar."]) == (1, 2)
    assert "".join(quotes(text)).count("1") == text.count("1")


@pytest.mark.parametrize(
    "text",
    [
        "passage 1: only one.",
        "Source 2.5 is.\nSource 3.5 is.",
        "As in\n[2] and\n[1] it says.",
        "Document 12 shows it.\nDocument 13 does not.",
    ],
)
def test_a_number_alone_makes_no_passage(text: str) -> None:
    assert set(groups(text)) == {0}


@pytest.mark.parametrize(
    "text",
    [
        "Document [1](Title: Foo) It is.\nDocument [2](Title: Bar) It was.",
        "[1] Foo\nIt is.\n\n[2] Bar\nIt was.",
        "Document 1\nTitle: Foo\nIt is.\nDocument 2\nTitle: Bar\nIt was.",
    ],
)
def test_the_title_of_a_passage_heads_it(text: str) -> None:
    found = {(line.group, line.heading) for line in lines_of(text)}
    assert found == {(1, "Foo"), (2, "Bar")}


def test_a_tag_within_a_tag_begins_no_passage() -> None:
    text = "<document>\n<source>a</source>\nA.\n</document>\n<document>\n<source>b</source>\nB."
    assert set(groups(text)) == {1, 2}


# Prose.


def test_prose_is_cut_into_sentences() -> None:
    assert readings("One is. Two was.\n\n---\n\nThree.") == ["One is.", "Two was.", "Three."]


def test_numbers_of_a_list_and_the_language_of_code_are_kept() -> None:
    assert readings("1. Rinse.\n2. Dry.") == ["1. Rinse.", "2. Dry."]
    assert readings("```python\nx = 1\n```") == ["python\nx = 1"]


def test_code_that_held_data_ends_where_it_says() -> None:
    text = '```json\n{"a": 1}\n```\nOne is. Two was.\n# H\nThree.'
    assert readings(text) == ["json", "a: 1", "One is.", "Two was.", "H", "Three."]


def test_what_says_nothing_has_no_lines() -> None:
    assert lines_of("") == lines_of(" \n---\n*** !") == []


# What holds for every text.

layouts = st.lists(
    st.sampled_from(
        [
            *("passage 1: ", "[2] ", "# ", "## T\n", "|a|b|", "|-|-|", "```", "\n", "\n\n", " "),
            *('{"a": ', "}", "[", "]", '"', "'", "\\", ", ", "5", "word. ", "Éa", "<doc>", "\r\n"),
            *("\ud800", "\x00", "\u2028", "😀", "Source 1:", "Source 2:", "title: ", "1.5 "),
        ]
    )
    | st.text(max_size=5),
    max_size=40,
).map("".join)


def assert_sound(text: str, lines: list[Line]) -> None:
    end = 0
    for line in lines:
        assert end <= line.start < line.end <= len(text)
        assert line.reading.strip()
        assert not any("\ud800" <= c <= "\udfff" for c in line.reading + line.heading)
        assert len(line.heading) <= 80
        end = line.end


def assert_complete(text: str, lines: list[Line]) -> None:
    covered = {i for line in lines for i in range(line.start, line.end)}
    assert not [c for i, c in enumerate(text) if c.isalnum() and i not in covered]


@given(json_data, st.sampled_from([None, 2]))
def test_every_field_of_json_stands_in_a_line(data: object, indent: int | None) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    lines = lines_of(text)
    assert_sound(text, lines)
    covered = {i for line in lines for i in range(line.start, line.end)}
    if not lines:  # it is empty as a whole
        written = re.sub(r"null|\\u[0-9a-f]{4}|\\.", "", text)
        assert not any(map(str.isalnum, written))
        return
    for field in fields_of(text) or []:
        assert covered.issuperset(range(field.start, field.value_start))
        if field.kind != "string":
            assert covered.issuperset(range(field.value_start, field.end))
            continue
        decoded = decode(text, field.value_start, field.end)
        letters = [i for i, c in enumerate(decoded.text) if c.isalnum()]
        assert covered.issuperset(decoded.origin(i) for i in letters)


@given(layouts)
def test_no_text_raises(text: str) -> None:
    assert_sound(text, lines_of(text))


@given(layouts.filter(lambda text: "{" not in text and "[" not in text))
def test_prose_loses_no_letter(text: str) -> None:
    assert_complete(text, lines_of(text))


HOSTILE = [
    "[" * 100_000 + "]" * 100_000,
    "[" * 200_000,
    '{"a":' * 50_000 + "1" + "}" * 50_000,
    '[{"a":' * 20_000 + "[" + "1," * 20_000 + "1]" + "}]" * 20_000,
    '["' + "a" * 200_000,
    '["a\\"\n' * 30_000,
    "[\n" * 50_000,
    '["a\\n' + "\\n" * 100_000 + '"]',
    "[" + "9" * 300_000 + "]",
    "|" * 300_000,
    "|a" * 50_000 + "|\n|-|\n" + "|b|\n" * 30_000,
    '{"' + "k" * 100_000 + '": [' + "1," * 20_000 + "1]}",
    '{"' + "k" * 100_000 + '": "' + "A b. " * 20_000 + '"}',
    "# " + "a b" * 50_000 + "\n" + "## c\n" * 20_000,
    "passage" + " " * 300_000,
    (":" * 121 + "\n") * 2_000,
]


@pytest.mark.nightly
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_texts_are_read_without_repeating_themselves(text: str) -> None:
    # Work that is quadratic in any of these would not end, and is mostly seen in what is written.
    lines = lines_of(text)
    assert_sound(text, lines)
    assert sum(len(line.reading) for line in lines) <= 40 * len(text)

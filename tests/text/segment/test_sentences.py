"""Where a sentence ends, one example a rule."""

import pytest

from tests.text.segment.pieces import claims


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It closed. It was sold.", ["It closed.", "It was sold."]),
        ("It closed.  It was sold", ["It closed.", "It was sold"]),
        ("Why? Nobody knows! Really?! Yes.", ["Why?", "Nobody knows!", "Really?!", "Yes."]),
        ("It has 3.5 rooms and 1,000 doors.", ["It has 3.5 rooms and 1,000 doors."]),
        ("Use v2.3.1. It works.", ["Use v2.3.1.", "It works."]),
        ("It is 330 m. It opened in 1889. He left.",
         ["It is 330 m.", "It opened in 1889.", "He left."]),
        ("Bake at 350°F. Mix well.", ["Bake at 350°F.", "Mix well."]),
        ("He runs node.js. We use .NET too.", ["He runs node.js.", "We use .NET too."]),
        ("It fell. iPhone sales rose.", ["It fell.", "iPhone sales rose."]),
        ("(It closed.) Then it opened.", ["(It closed.)", "Then it opened."]),
    ],
)  # fmt: skip
def test_a_full_stop_white_space_and_a_new_word_end_a_sentence(
    text: str, expected: list[str]
) -> None:
    assert claims(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Mrs. Jones and Prof. Lee in St. Louis.",
        "Some fruit, e.g. Apples, i.e. Malus, cf. Pears, vs. Plums.",
        "See No. 5, p. 3, pp. 4-5, Fig. 2, Vol. III and Sec. 7.",
        "Call the desk (ext. 4411) or the shop (Tel. 040 1234).",
        "The U.S. Army met at 3 p.m. Monday in Washington, D.C. Headquarters.",
        "Acme Inc. Chairman Bob Ray Jr. spoke.",
        "On Jan. 5 and Sept. 11 it rained, approx. five times.",
        "J. K. Rowling, John F. Kennedy and J.R.R. Tolkien wrote.",
        "Er kam z. B. am 3. Oktober bzw. Montag, d.h. Nr. 5 galt.",
        "M. Dupont et Mme. Durand, p. 5.",
        "El Sr. García vive en la pág. 5.",
        "Smith et al. Nature 2020.",
        "He met U. S. Grant.",
        "The court ruled in Ramos v. Louisiana and in Acme, Inc. v. Doe.",
        "Yahoo! is a company. it has a mark.",
        "Yahoo! Japan grew.",
    ],
)
def test_an_abbreviation_or_a_small_letter_goes_on(text: str) -> None:
    assert claims(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He works at Acme Inc. The plant closed.", ["He works at Acme Inc.", "The plant closed."]),
        ("He lives in the U.S. It is big.", ["He lives in the U.S.", "It is big."]),
        ("Lemons have vitamin C. They are sour.", ["Lemons have vitamin C.", "They are sour."]),
        ("It came in Jan. Then it left.", ["It came in Jan.", "Then it left."]),
        ("She knew more than I. Nobody asked.", ["She knew more than I.", "Nobody asked."]),
        ("Is it open? No. Visitors must wait.", ["Is it open?", "No.", "Visitors must wait."]),
        ("The cat sat. Dogs ran.", ["The cat sat.", "Dogs ran."]),
        ("Solve for x. Multiply it.", ["Solve for x.", "Multiply it."]),
    ],
)
def test_an_abbreviation_may_end_a_sentence_if_a_typical_first_word_follows(
    text: str, expected: list[str]
) -> None:
    assert claims(text) == expected


def test_an_ellipsis_goes_on_before_a_small_letter_only() -> None:
    assert claims("He waited... and left. Then... Nothing… at all… Really.") == [
        "He waited... and left.",
        "Then...",
        "Nothing… at all…",
        "Really.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He said "Stop." She left.', ['He said "Stop."', "She left."]),
        ("“It closed.” Then it rained.", ["“It closed.”", "Then it rained."]),
        ('"Why?" he asked. "Go!"', ['"Why?" he asked.', '"Go!"']),
        ("**It closed.** It was sold.", ["**It closed.**", "It was sold."]),
        ("_It (really) closed.)_ It was sold.¹ Yes.",
         ["_It (really) closed.)_", "It was sold.¹", "Yes."]),
    ],
)  # fmt: skip
def test_closing_marks_belong_to_the_sentence_they_close(text: str, expected: list[str]) -> None:
    assert claims(text) == expected


def test_a_cjk_full_stop_needs_no_white_space() -> None:
    assert claims("塔很高。它在1889年建成！真的吗？「是的。」他说。“好。”我走了") == [
        "塔很高。",
        "它在1889年建成！",
        "真的吗？",
        "「是的。」",
        "他说。",
        "“好。”",
        "我走了",
    ]


def test_a_japanese_quotation_goes_on_before_its_particle() -> None:
    assert claims("彼は「行く。」と言った。雨だ。") == ["彼は「行く。」と言った。", "雨だ。"]


def test_other_scripts_have_full_stops_too() -> None:
    assert claims("यह बड़ा है। वह छोटा है।") == ["यह बड़ा है।", "वह छोटा है।"]
    assert claims("هل هو كبير؟ نعم.") == ["هل هو كبير؟", "نعم."]


@pytest.mark.parametrize(
    "text",
    [
        "See https://a.org/x.html?q=1.5!b and mail to a.b@c.co.uk for more.",
        "Call `a. B` or ``x`. Y`` now.",
    ],
)
def test_addresses_and_inline_code_have_no_boundaries(text: str) -> None:
    assert claims(text) == [text]


def test_a_backtick_that_nothing_closes_hides_no_boundary() -> None:
    assert claims("The ` key. It is small.\nA `b. C\nD` e.") == [
        "The ` key.",
        "It is small.",
        "A `b.",
        "C",
        "D` e.",
    ]


def test_a_written_out_line_break_of_json_counts_as_white_space() -> None:
    assert claims(r"It closed.\nThe plant was sold. \n\nMy view.") == [
        "It closed.",
        r"\nThe plant was sold.",
        r"\n\nMy view.",
    ]

"""Names, items and words in whose place the evidence has others."""

import pytest

from groundwire.detection.rules import ConflictKind
from groundwire.detection.rules.replaced import addresses, items, names, subjects, words
from tests.detection.rules.against import told, told_by

KEYS = "Hopkins keeps the keys of the northern gate."


@pytest.mark.parametrize(
    ("claim", "source", "wrong"),
    [
        ("The festival takes place in Lisbon every spring.",
         "The festival takes place in Porto every spring.", "Lisbon"),
        ("The museum was designed by Otto Wagner.", "The museum was designed by Josef Hoffmann.",
         "Otto Wagner"),
        ("The head of the school is Otto Wagner.", "The head of the school is Otto Hoffmann.",
         "Otto Wagner"),
    ],
)  # fmt: skip
def test_a_name_in_whose_place_a_line_has_another_is_wrong(
    claim: str, source: str, wrong: str
) -> None:
    assert told_by(names, claim, source) == [(ConflictKind.NAME, wrong)]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The film is set in Rome.", "The movie takes place in the Italian capital, Rome."),
        ("The WHO recommends rest.", "The World Health Organization recommends rest."),
        ("The World Health Organization recommends rest.", "The WHO recommends rest."),
        ("The festival takes place in Lisbon.", "Josef Hoffmann designed chairs."),
        ("The chef, an Italian, sings.", "The chef, from Italy, sings."),
        ("Bell, not Edison, invented the telephone.",
         "The telephone was invented by Alexander Graham Bell."),
        ("The head of the school is Otto Wagner.", "Otto Hoffmann left the school to a Mr Wagner."),
        ("The head of the school is not Otto Wagner.", "The head of the school is Otto Hoffmann."),
    ],
)  # fmt: skip
def test_a_name_that_stands_anywhere_or_in_no_ones_place_is_left_alone(
    claim: str, source: str
) -> None:
    assert told_by(names, claim, source) == []


def test_what_a_line_says_of_another_is_wrong_of_a_name() -> None:
    claim = "Marlowe keeps the keys of the northern gate."
    source = f"{KEYS} Marlowe sweeps the yard."
    assert told_by(subjects, claim, source) == [(ConflictKind.ENTITY, "Marlowe")]


@pytest.mark.parametrize(
    "source",
    [
        f"{KEYS} Marlowe keeps keys of the northern gate as well.",
        "She keeps the keys of the northern gate. Marlowe sweeps the yard.",
        f"{KEYS} Of Marlowe nothing is known; he keeps the keys of the northern gate.",
        "The keys of the northern gate are kept. Marlowe sweeps the yard.",
    ],
)
def test_what_may_be_said_of_the_name_as_well_is_left_alone(source: str) -> None:
    assert told_by(subjects, "Marlowe keeps the keys of the northern gate.", source) == []


def test_what_holds_under_a_condition_is_said_of_nobody() -> None:
    claim = "If Marlowe keeps the keys of the northern gate, all is well."
    assert told_by(subjects, claim, f"{KEYS} Marlowe sweeps the yard. All is well.") == []


@pytest.mark.parametrize(
    ("claim", "source", "wrong"),
    [
        ("The old mill was painted purple last year.", "The old mill was painted green last year.",
         "purple"),
        ("The kitchen serves lunch to guests upstairs.",
         "The kitchen serves lunch to guests outside.", "upstairs"),
    ],
)  # fmt: skip
def test_a_word_in_whose_place_a_line_has_another_is_wrong(
    claim: str, source: str, wrong: str
) -> None:
    assert told_by(words, claim, source) == [(ConflictKind.WORD, wrong)]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        # A paraphrase has more than one other word.
        ("The ancient mill was coloured purple recently.",
         "The old mill was painted green last year."),
        ("The mill was painted.", "The mill was restored."),  # too little beside it
        ("The old mill was quickly painted last year.",
         "The old mill was carefully painted last year."),  # how, not what
        ("The old mill was painted green, purple some say, last year.",
         "The old mill was painted green last year."),  # nothing in its place
        ("Turn the switch off before opening the lid.",
         "Before opening the lid, make sure the switch is off."),
        ("Mr Brown said that the shop would close.",
         '"The shop will close," said George Brown.'),
        ("The fourth flight lasted almost a minute.", "The fourth flight lasted 59 seconds."),
    ],
)  # fmt: skip
def test_other_words_of_a_paraphrase_are_left_alone(claim: str, source: str) -> None:
    assert told_by(words, claim, source) == []


def test_an_item_that_stands_nowhere_beside_all_the_others_is_not_supported() -> None:
    source = "The menu has soup, bread, salad and cheese."
    claim = "The menu has soup, bread, salad and oysters."
    assert told_by(items, claim, source) == [(ConflictKind.ITEM, "oysters")]
    assert told_by(items, "Bread, oysters, salad or soup.", source) == [
        (ConflictKind.ITEM, "oysters")
    ]


@pytest.mark.parametrize(
    "claim",
    [
        "The menu has soup and oysters.",  # no list
        "The menu has soup, bread, salad and cheese.",
        "The menu has soup, oysters, salad and clams.",  # who knows what is listed here
        "The menu has soup, bread, salad and 12 cakes.",  # a number, which is another rule's
        "The menu has soup, bread, salad, cheese",  # a list ends in "and"
    ],
)
def test_other_lists_are_left_alone(claim: str) -> None:
    assert told_by(items, claim, "The menu has soup, bread, salad and cheese.") == []


def test_items_in_two_lines_are_left_alone() -> None:
    assert told("The menu has soup, bread and oysters.", "Soup is on. Bread and oysters too.") == []


@pytest.mark.parametrize(
    ("claim", "source", "found"),
    [
        (
            "See https://docs.example.com/time.",
            "See https://portal.example.com/help.",
            ["https://docs.example.com/time"],
        ),
        ("Write to pay@a.example, please.", "Write to hr@a.example.", ["pay@a.example"]),
        ("See https://a.example/help.", "See a.example/help or HTTPS://A.example/HELP", []),
        ("It is at the usual address.", "See https://a.example.", []),
    ],
)
def test_an_address_that_stands_nowhere_is_wrong(claim: str, source: str, found: list[str]) -> None:
    assert told_by(addresses, claim, source) == [(ConflictKind.REFERENCE, each) for each in found]

"""What must not be kept is taken out of texts, whoever wrote them, in time that is linear."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.kinds import KindError
from groundwire.control.audit.redact import Redaction, RedactionKind

ALL = Redaction(tuple(RedactionKind))
#: Of the kinds that a text has; each is one whole number, address or key.
SAMPLES = {
    RedactionKind.SECRET: [
        "gw_4Zr0uJ1m2kYx8QpL7sWc3vNb5tHd9aFe6gRiKoMlPqE",
        "gwa_4Zr0uJ1m2kYx8QpL7sWc3vNb5tHd9aFe6gRiKoMlPqE",
        "sk-abcdefghijklmnopqrstuvwx",
        "sk-proj-Ab_1-abcdefghijklmnop",
        "sk-ant-api03-abcdefghijklmnop",
        "Bearer abcdefghijklmn0pqrstuvwx",
        "bearer\t9f86d081884c7d659a2feaa0c55ad015",
        "Basic dXNlcjpwYXNzd29yZDE=",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "xoxb-123456789012-abcdefghijkl",
        "AIzaSyA-1234567890abcdefghijklmnopqrstu",
        "password: hunter22",
        'api_key": "a1b2c3d4e5',
        "postgresql://user:pa55@",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----",
        "-----BEGIN PRIVATE KEY-----\\nMIIEvQ",
    ],
    RedactionKind.EMAIL: [
        "alice@example.com",
        "a.b+c@mail.example.co.uk",
        "jürgen@bücher.example",
        "用户@例え.テスト",
        "alice%40example.com",
        "alice＠example.com",
    ],
    RedactionKind.IBAN: [
        "DE89370400440532013000",
        "DE89 3704 0044 0532 0130 00",
        "GB82WEST12345698765432",
        "nl91abna0417164300",
        "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
        "NO93 8601 1117 947",
    ],
    RedactionKind.CARD: [
        "4111111111111111",
        "4111 1111 1111 1111",
        "5500-0000-0000-0004",
        "3782 822463 10005",
        "6011000990139424",
        "4222222222222",
        "４１１１ １１１１ １１１１ １１１１",
        "4111\u20111111\u20111111\u20111111",
    ],
    RedactionKind.PHONE: [
        "+49 30 1234567",
        "06.12.34.56.78",
        "+49 (0)30 123-4567",
        "+1 202 555 0143",
        "0044 20 7946 0958",
        "(202) 555-0143",
        "202-555-0143",
        "1-800-555-0143",
        "020 7946 0958",
        "(030) 1234567",
        "089/12345678",
    ],
    RedactionKind.IP: [
        "192.168.0.1",
        "8.8.8.8",
        "2001:db8::8a2e:370:7334",
        "2001:0db8:0000:0000:0000:8a2e:0370:7334",
        "::1",
        "::ffff:192.0.2.128",
    ],
}
#: What only looks like one.
OTHERS = {
    RedactionKind.SECRET: [
        "risk-assessment-of-the-project",
        "bearer responsibilities",
        "gw_short",
        "eyJ.",
    ],
    RedactionKind.EMAIL: ["alice @ example.com", "@example.com", "a@b", "1@2"],
    RedactionKind.IBAN: [
        "DE88370400440532013000",
        "GB82",
        "AB12 3456 7890 1234 5678",
        "DE89 3704 0044",
    ],
    RedactionKind.CARD: [
        "4111111111111112",
        "0000 0000 0000 0000",
        "1234567890123456789012",
        "1700000000000",
    ],
    RedactionKind.PHONE: [
        "1889-1950",
        "04/12/2020",
        "2026-03-04 05:06:07",
        "330 000 000",
        "12.5",
        "0 12 34",
    ],
    RedactionKind.IP: ["1.2.3.4.5", "256.1.1.1", "12:30:45", "std::string", "a::b", "1.2.3"],
}


@pytest.mark.parametrize(
    ("kind", "sample"), [(kind, each) for kind, all_ in SAMPLES.items() for each in all_]
)
def test_what_is_of_a_kind_is_taken_out(kind: RedactionKind, sample: str) -> None:
    redaction = Redaction((kind,))
    assert redaction.apply(sample) == kind.marker
    assert redaction.apply(f"It is {sample}, they say.") in (
        f"It is {kind.marker}, they say.",
        f"It is {kind.marker}",  # a block without an end reaches to that of the text
    )


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, each) for kind, all_ in OTHERS.items() for each in all_]
)
def test_what_only_looks_like_it_stays(kind: RedactionKind, text: str) -> None:
    assert Redaction((kind,)).apply(f"see {text} there") == f"see {text} there"


def test_a_card_is_found_among_other_numbers() -> None:
    redaction = Redaction.of("card")
    assert redaction.apply("order 1234 4111 1111 1111 1111 99") == "order 1234 [REDACTED:card] 99"


def test_an_account_ends_where_its_country_says() -> None:
    redaction = Redaction.of("iban")
    text = "Pay DE89 3704 0044 0532 0130 00 IN MAY"
    assert redaction.apply(text) == "Pay [REDACTED:iban] IN MAY"


def test_only_what_is_named_is_taken_out() -> None:
    text = "Ask alice@example.com at 10.0.0.1."
    assert Redaction.of("email").apply(text) == "Ask [REDACTED:email] at 10.0.0.1."
    assert Redaction.of(" IP , email ").apply(text) == "Ask [REDACTED:email] at [REDACTED:ip]."
    assert Redaction.of("none").apply(text) == text


def test_keys_alone_are_taken_out_if_nothing_is_said() -> None:
    assert Redaction() == Redaction.of("secret")


@pytest.mark.parametrize("setting", ["emial", "email, none", "", "email;ip"])
def test_another_name_is_refused_with_what_is_possible(setting: str) -> None:
    with pytest.raises(KindError, match="some of secret, email, iban, card, phone, ip"):
        Redaction.of(setting)


# Parts of a text.


def test_a_part_of_what_is_taken_out_is_not_kept_either() -> None:
    text = "The card 4111 1111 1111 1111 is hers."
    read, start = Redaction.of("card").read(text), text.index("4111")
    assert read.piece(start, start + 9) == "[REDACTED:card]"
    assert read.piece(start + 5, start + 9) == "[REDACTED:card]"
    assert read.piece(0, start + 4) == "The card [REDACTED:card]"
    assert read.piece(start + 15, len(text)) == "[REDACTED:card] is hers."
    assert read.piece(0, start) == "The card "


def test_a_line_of_a_private_key_is_not_kept() -> None:
    text = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\nThat was it."
    start = text.index("MIIE")
    read = Redaction().read(text)
    assert read.piece(start, start + 14) == "[REDACTED:secret]"
    assert read.piece(text.index("That"), len(text)) == "That was it."


pieces = st.sampled_from(
    [each for all_ in SAMPLES.values() for each in all_]
    + [" ", "\n", "word", "12", "é", "\ud800", "\0", ",", "-", "a@b", "٣٤", "👩\u200d🔬"]
)
texts = st.lists(pieces, max_size=12).map("".join) | st.text()


@given(texts, st.data())
def test_the_pieces_of_a_text_hold_nothing_that_the_whole_does_not(
    text: str, data: st.DataObject
) -> None:
    read = ALL.read(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    bounds = [0, *cuts, len(text)]
    kept = [read.piece(start, end) for start, end in itertools.pairwise(bounds)]
    for kind in RedactionKind:
        kept = [part.replace(kind.marker, "") for part in kept]
    whole = read.piece()
    for kind in RedactionKind:
        whole = whole.replace(kind.marker, "")
    assert "".join(kept) == whole


@given(texts)
def test_what_is_found_is_ordered_disjoint_and_within_the_text(text: str) -> None:
    found = ALL.find(text)
    assert all(0 <= each.start < each.end <= len(text) for each in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))


@given(texts, st.sampled_from(["\ud800", "\0", "\ufeff", "\U0001f469", "é"]))
def test_offsets_count_characters_whatever_stands_before(text: str, before: str) -> None:
    one = ALL.find(f"| {text}")
    other = ALL.find(f"{before} {text}")
    assert [(each.start, each.end, each.kind) for each in one] == [
        (each.start, each.end, each.kind) for each in other
    ]


HOSTILE = {
    "letters": "a" * 1_000_000,
    "digits": "1" * 1_000_000,
    "digits apart": "4 " * 500_000,
    "beginnings of accounts": "DE89 " * 200_000,
    "colons": ":" * 1_000_000,
    "dots": "1." * 500_000,
    "signs of addresses": "a@" * 500_000,
    "beginnings of blocks": "-----BEGIN PRIVATE KEY-----" * 37_000,
    "beginnings of tokens": "eyJ" * 330_000,
    "words before keys": "bearer " * 140_000,
    "urls": "a://b:c" * 140_000,
    "cards": "4111 1111 1111 1111 " * 50_000,
    "every script": "".join(map(chr, range(0x20, 0xD800))) * 18,
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_made_to_be_slow_is_read_in_seconds(name: str) -> None:
    # By a pattern that backtracks, or looks twice at what it has passed, in hours.
    read = ALL.read(HOSTILE[name])
    assert all(len(read.piece(at, at + 100)) < 2000 for at in range(0, 1_000_000, 1000))

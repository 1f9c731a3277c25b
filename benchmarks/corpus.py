"""Texts for the benchmarks: made up from a seed, or read from a file.

A context is a list of documents, each about one thing, with facts in varied sentences. An answer
restates some of these facts in other words; a share of them with a wrong number.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from groundwire.engine.models import find_model
from groundwire.engine.tokenizer import WordPieces

Values = dict[str, str]

# Word pieces that a text may lack: no sentence is that short.
_SLACK = 10

_FIRST = "Ada Bruno Carla Dmitri Elena Farid Greta Hugo Ines Jonas Keiko Liam Mara Nils Olga Pedro"
_LAST = "Abbott Berger Castillo Dahl Eriksen Fontaine Grant Haddad Ito Jensen Kowalski Lindqvist"
_PLACE_1 = "Al Bren Cor Dun El Fair Glen Hart Kil Lang Mar Nor Oak Pem Rav Sand Thorn Wick"
_PLACE_2 = "bury dale field ford ham haven mere minster mouth port stead ton vale wick worth"
_COUNTRY = "Norway Chile Canada Portugal Kenya Vietnam Poland Ireland Peru Morocco Japan Austria"
_TRADE = "textiles timber pumps clocks glass ferries turbines cheese paper maps bicycles salt"
_MONTHS = "January February March April May June July August September October November December"
_STUFF = "granite|brick|reinforced concrete|local limestone|steel and glass|oak timber"
_CAUSE = (
    "a flood|a fire in the east wing|a dispute over land|a shortage of labour|falling prices|"
    "a change of government|heavy storms|the loss of a contract|new safety rules"
)
_SIDE = (
    "Local newspapers covered the decision at length, and opinions were divided.",
    "Historians still disagree about the reasons, because few letters from that period survive.",
    "Visitors often remark on how quiet the surroundings are, even in the middle of summer.",
    "A commission was set up to study the matter, but its report was never published.",
    "The work went slowly at first, since skilled people were hard to find in the region.",
    "Several schools in the area teach this story as part of their lessons on local history.",
    "Not everybody was pleased: some residents feared noise, traffic and higher rents.",
    "The archive holds drawings, photographs and a diary that one of the engineers kept.",
    "In later years the arrangement proved useful, although nobody had planned it that way.",
    "What began as an experiment became, step by step, a model that other towns copied.",
)

# Each fact is told in two ways: the first for sources, the second for answers.
_KINDS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "{place} {trade} company",
        (
            (
                "The {s} was founded in {year} by {person} in {place2}.",
                "It was {person} who established the {s} in {place2} in {year}.",
            ),
            (
                "In {year} it employed {n} people, most of them in the factory at {place2}.",
                "The {s} had {n} employees in {year}.",
            ),
            (
                "Revenue reached ${m} million in {year}, after a weak year caused by {cause}.",
                "Its revenue was ${m} million in {year}.",
            ),
            (
                "On {date} the shareholders agreed to sell {p} percent of the shares to {person}.",
                "{person} bought {p} percent of the shares of the {s}, as agreed on {date}.",
            ),
            (
                "It exports {trade} to {k} countries, among them {country} and {country2}.",
                "The {s} sells {trade} in {k} countries, including {country} and {country2}.",
            ),
        ),
    ),
    (
        "{place} Bridge",
        (
            (
                "{s} crosses the river at {place2} and is {len} metres long.",
                "At {place2} the river is crossed by {s}, which has a length of {len} metres.",
            ),
            (
                "It was designed by {person} and opened to traffic on {date}.",
                "{s} was opened on {date}; its designer was {person}.",
            ),
            (
                "Built of {stuff}, it cost about {m} million euros, {p} percent more than planned.",
                "Its construction from {stuff} cost roughly {m} million euros.",
            ),
            (
                "About {n} vehicles use it every day, and the speed limit is {k} km/h.",
                "Each day around {n} vehicles pass over {s}.",
            ),
            (
                "After {cause} it was closed for {k} weeks in {year}.",
                "In {year} the bridge remained closed for {k} weeks because of {cause}.",
            ),
        ),
    ),
    (
        "{place} Festival",
        (
            (
                "The {s} has taken place every {month} since {year}, with music from {country}.",
                "Since {year} the {s} has been held each {month}.",
            ),
            (
                "In {year} it drew {n} visitors over {k} days.",
                "The festival had {n} visitors in {year} and lasted {k} days.",
            ),
            (
                "Its director, {person}, announced on {date} that tickets would cost {p} dollars.",
                "Tickets cost {p} dollars, as director {person} said on {date}.",
            ),
            (
                "The main stage stands on a meadow of {k} hectares near {place2}.",
                "Near {place2}, the main stage of the {s} stands on a meadow of {k} hectares.",
            ),
            (
                "Because of {cause}, the edition of {year} was moved to {country}.",
                "The {year} edition took place in {country} because of {cause}.",
            ),
        ),
    ),
    (
        "{place} Observatory",
        (
            (
                "{s} stands {len} metres above sea level on a hill outside {place2} in {country}.",
                "Outside {place2} in {country}, {s} is situated at a height of {len} metres.",
            ),
            (
                "Its telescope, completed in {year}, has a {k}-inch mirror and weighs {p} tonnes.",
                "The telescope of {s} was completed in {year} and has a mirror of {k} inches.",
            ),
            (
                "The astronomer {person} led it until {date}, when she moved to {place3}.",
                "{person} was its head until {date}.",
            ),
            (
                "It catalogued {n} stars, a project that was interrupted by {cause}.",
                "A total of {n} stars were catalogued at {s}.",
            ),
            (
                "Guided tours last {k} minutes and are offered from {month} to {month2}.",
                "Visitors can join tours of {k} minutes between {month} and {month2}.",
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One thing to check."""

    sources: tuple[str, ...]
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class _Fact:
    tellings: tuple[str, str]
    values: Values


def word_pieces() -> WordPieces:
    """The tokenizer of the embedded reader: all lengths of the benchmarks are counted with it."""
    return WordPieces(find_model().folder / "tokenizer.json")


def synthesize(
    n_context: int, *, seed: int, n_answer: int = 200, wrong: float = 0.2, n_document: int = 400
) -> Sample:
    """Make up a sample.

    Args:
        n_context: Word pieces of all documents together, about.
        seed: The same seed gives the same texts.
        n_answer: Word pieces of the answer, about.
        wrong: Share of the answer's sentences that state a wrong number.
        n_document: Word pieces of one document, about.
    """
    rng, count = random.Random(seed), _counter()
    documents: list[str] = []
    facts: list[_Fact] = []
    total = 0
    while total < n_context - _SLACK:
        text, told = _document(rng, min(n_document, n_context - total), count)
        total += count(text)
        documents.append(text)
        facts += told
    question = f"What is known about the {facts[0].values['s']}, and what did it cost?"
    sentences: list[str] = []
    rng.shuffle(facts)
    for fact in facts * (1 + n_answer // max(1, 8 * len(facts))):
        sentences.append(_restate(rng, fact, is_wrong=rng.random() < wrong))
        if count(" ".join(sentences)) >= n_answer - 12:
            break
    return Sample(sources=tuple(documents), question=question, answer=" ".join(sentences))


def cited(
    seed: int, *, n_spans: int, n_claims: int, wrong: float = 0.2
) -> tuple[dict[str, str], str]:
    """Spans of two paragraphs each, and an answer each of whose claims cites one or two.

    Args:
        seed: Of all that is drawn.
        n_spans: How many spans; their ids are S0, S1...
        n_claims: How many claims, in other words than the spans.
        wrong: Share of claims with a wrong number.
    """
    rng = random.Random(seed)
    spans, facts = {}, []
    for i in range(n_spans):
        parts = [_paragraph(rng) for _ in range(2)]
        spans[f"S{i}"] = "\n\n".join(" ".join(sentences) for sentences, _ in parts)
        facts += [(i, fact) for _, told in parts for fact in told]
    rng.shuffle(facts)
    claims = []
    for n, (i, fact) in zip(range(n_claims), cycle(facts), strict=False):
        second = f", S{rng.randrange(n_spans)}" if n % 5 == 4 else ""
        claims.append(f"{_restate(rng, fact, is_wrong=rng.random() < wrong)} [S{i}{second}]")
    return spans, " ".join(claims)


def paragraphs(seed: int) -> Iterator[str]:
    """Endless made-up paragraphs of a few sentences."""
    rng = random.Random(seed)
    while True:
        yield " ".join(_paragraph(rng)[0])


def samples(
    path: Path | None, n_context: int, *, seed: int, n_answer: int = 200
) -> Iterator[Sample]:
    """Endless samples: made up, or the rows of a JSON Lines file over and over.

    A row has ``sources`` (texts), ``answer`` and perhaps ``question``. Its sources are repeated
    with other rows' until the context is long enough, and cut where it is reached.
    """
    if path is None:
        while True:
            yield synthesize(n_context, seed=seed, n_answer=n_answer)
            seed += 1
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    count = _counter()
    place = seed % len(rows)
    while True:
        row = rows[place]
        sources: list[str] = []
        total = 0
        for step in range(len(rows)):
            for text in rows[(place + step) % len(rows)]["sources"]:
                if total < n_context:
                    sources.append(text)
                    total += count(text)
        yield Sample(
            sources=tuple(sources), question=row.get("question") or "", answer=row["answer"]
        )
        place = (place + 1) % len(rows)


def _counter() -> Callable[[str], int]:
    pieces = word_pieces()
    return lambda text: len(pieces.encode(text))


def _document(
    rng: random.Random, n_pieces: int, count: Callable[[str], int]
) -> tuple[str, list[_Fact]]:
    paragraphs: list[str] = []
    facts: list[_Fact] = []
    total = 0
    while total < n_pieces - _SLACK:
        sentences, told = _paragraph(rng)
        while len(sentences) > 1 and total + count(" ".join(sentences)) > n_pieces + 20:
            sentences.pop()
        paragraphs.append(" ".join(sentences))
        facts += told[: len(sentences)]
        total += count(paragraphs[-1])
    return "\n\n".join(paragraphs), facts


def _paragraph(rng: random.Random) -> tuple[list[str], list[_Fact]]:
    name, tellings = rng.choice(_KINDS)
    subject = name.format(**_values(rng))
    first, *others = tellings
    rng.shuffle(others)
    facts = [_Fact(telling, _values(rng) | {"s": subject}) for telling in (first, *others)]
    sentences = [fact.tellings[0].format(**fact.values) for fact in facts]
    for _ in range(rng.randint(0, 2)):
        sentences.insert(rng.randint(1, len(sentences)), rng.choice(_SIDE))
    return [sentence[0].upper() + sentence[1:] for sentence in sentences], facts


def _restate(rng: random.Random, fact: _Fact, *, is_wrong: bool) -> str:
    values = dict(fact.values)
    if is_wrong:
        other = _values(rng)
        told = [
            key for key in ("year", "n", "m", "p", "k", "len") if f"{{{key}}}" in fact.tellings[1]
        ]
        for key in told[:1]:
            values[key] = other[key]
    sentence = fact.tellings[1].format(**values)
    return sentence[0].upper() + sentence[1:]


def _values(rng: random.Random) -> Values:
    def pick(words: str, between: str = " ") -> str:
        return rng.choice(words.split(between))

    def place() -> str:
        return pick(_PLACE_1) + pick(_PLACE_2)

    year = rng.randint(1820, 2024)
    return {
        "person": f"{pick(_FIRST)} {pick(_LAST)}",
        "place": place(),
        "place2": place(),
        "place3": place(),
        "country": pick(_COUNTRY),
        "country2": pick(_COUNTRY),
        "trade": pick(_TRADE),
        "year": str(year),
        "month": pick(_MONTHS),
        "month2": pick(_MONTHS),
        "date": f"{rng.randint(1, 28)} {pick(_MONTHS)} {year}",
        "n": f"{rng.randint(300, 90_000):,}",
        "m": f"{rng.randint(11, 990) / 10}",
        "p": str(rng.randint(3, 79)),
        "k": str(rng.randint(2, 60)),
        "len": str(rng.randint(80, 2900)),
        "stuff": pick(_STUFF, "|"),
        "cause": pick(_CAUSE, "|"),
    }

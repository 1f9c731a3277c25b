"""Reads prompts with a label that says whether the answer needs a check.

The label is ``1`` if the answer makes statements that sources can support: facts, explanations,
the content of a document, summaries. It is ``0`` if it does not: fiction, code, arithmetic with all
numbers given, rewording, opinions, small talk.
"""

import csv
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import DatasetError, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt with its label.

    Attributes:
        text: The prompt.
        is_due: Whether the answer to the prompt needs a check.
        source: Name of the set that the prompt comes from; ``own`` if the prompt was labelled on
            its own. All other prompts have the label of their set or category.
        category: Category within the set.
    """

    text: str
    is_due: bool
    source: str
    category: str = ""


OWN = "own"

#: Sets of ``by_source`` that are left out, with the reason.
LEFT_OUT = {
    "t0_trec": "asks for the kind of a question, and is labelled as the question itself would be",
    "mt_bench": "68 prompts, labelled by subject; whether they ask for facts differs within one",
}
#: Sets that the shipped gate is not trained on, by set and the beginning of the category, with the
#: reason. It is trained only on sets whose terms allow any use, commercial use included.
WITHHELD = {
    "codealpaca": "its data is CC-BY-NC-4.0",
    "dream_dialogue": "DREAM: for non-commercial research",
    "halueval2 domain:Bio-Medical": "asks what NFCorpus and others ask, in part for research only",
    "halueval2 domain:Education": "from sites for learners, in part for non-commercial use",
    "halueval2 domain:Finance": "no terms are stated",
    "halueval2 domain:Science": "from sets with terms of their own, in part non-commercial",
    "t0_amazon": "the origin of the reviews states no terms",
    "t0_app": "no terms are stated",
    "t0_gigaword": "made from a corpus that the LDC licenses for research",
    "t0_glue": "QQP: Quora's terms, non-commercial; MRPC: Microsoft's, for research",
    "t0_imdb": "no terms are stated; the reviews are those of a site for personal use",
    "t0_rotten": "no terms are stated",
    "t0_samsum": "CC-BY-NC-ND-4.0",
    "t0_sciq": "CC-BY-NC-3.0",
    "t0_wiki t0:wiki_qa": "Microsoft's terms for research data",
    "t0_yelp": "Yelp's terms, for academic use",
    "writingprompts": "posts of Reddit's users; no terms are stated",
}
#: Tasks of ``t0_*`` that are left out: they ask for an invention based on a factual text.
_MADE_UP = (
    "generate_question",
    "Generate_Question",
    "title",
    "Title",
    "build_story",
    "Jeopardy",
    "Topic_Prediction",
    "reverse_writing",
    "write_an_article",
)


def by_source(path: Path, *, withheld: bool = False) -> list[Prompt]:
    """Read prompts that have the label of their set or category, with corrections.

    Args:
        path: JSON Lines with ``prompt``, ``dataset``, ``category`` and ``needs_fact_check``.
        withheld: Whether to read only the sets of :data:`WITHHELD`, to measure with. Otherwise only
            all other sets are read, to train with.

    Raises:
        DatasetError: At the first row without these keys.
    """
    found = (prompt for row in _lines(path) if (prompt := _amended(path, row)))
    return [prompt for prompt in found if _is_withheld(prompt) == withheld]


def _is_withheld(prompt: Prompt) -> bool:
    return f"{prompt.source} {prompt.category}".startswith(tuple(WITHHELD))


def _amended(path: Path, row: tuple[int, Any]) -> Prompt | None:
    number, data = row
    try:
        text, name, category = data["prompt"], data["dataset"], data["category"]
        is_due = bool(data["needs_fact_check"])
    except (KeyError, TypeError) as error:
        raise DatasetError(path, number, f"a row needs {error}") from error
    if name in LEFT_OUT or (name.startswith("t0_") and any(task in category for task in _MADE_UP)):
        return None
    if name in {"t0_samsum", "t0_gigaword"}:
        # The label of these sets is 0. It is corrected to 1, because a summary can state things
        # that its text does not. Writing a dialogue from a summary remains fiction.
        is_due = "Write_a_dialogue" not in category
    return Prompt(text=text, is_due=is_due, source=name, category=category)


def own(path: Path) -> list[Prompt]:
    """Read prompts that were labelled one by one: rows with ``prompt``, ``label``, ``category``.

    Raises:
        DatasetError: At the first row without these keys.
    """
    found = []
    for number, row in _lines(path):
        try:
            text, label = row["prompt"], row["label"]
        except (KeyError, TypeError) as error:
            raise DatasetError(path, number, f"a row needs {error}") from error
        if not isinstance(text, str) or label not in (0, 1):
            raise DatasetError(path, number, "prompt must be a text and label 0 or 1")
        category = str(row.get("category", ""))
        found.append(Prompt(text=text, is_due=bool(label), source=OWN, category=category))
    return found


def sampled(prompts: Iterable[Prompt], at_most: int, *, seed: int) -> list[Prompt]:
    """Draw at most ``at_most`` prompts of each set at random; no text of a set is drawn twice."""
    groups: dict[str, dict[str, Prompt]] = defaultdict(dict)
    for prompt in prompts:
        groups[prompt.source].setdefault(prompt.text, prompt)
    rng = random.Random(seed)
    return [
        prompt
        for name in sorted(groups)
        for prompt in rng.sample(list(groups[name].values()), min(at_most, len(groups[name])))
    ]


# The fourteen training sets of HaluGate's Sentinel, in their published formats.


def _json(path: Path) -> Any:  # noqa: ANN401  # JSON data
    return json.loads(path.read_text(encoding="utf-8"))


def _squad(path: Path) -> Iterator[str]:
    for article in _json(path)["data"]:
        for paragraph in article["paragraphs"]:
            yield from (asked["question"] for asked in paragraph["qas"])


def _triviaqa(path: Path) -> Iterator[str]:
    yield from (row["Question"] for row in _json(path)["Data"])


def _questions(path: Path) -> Iterator[str]:
    yield from (row["question"] for _, row in _lines(path))


def _hotpotqa(path: Path) -> Iterator[str]:
    yield from (row["question"] for row in _json(path))


def _truthfulqa(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as stream:
        yield from (row["Question"] for row in csv.DictReader(stream))


def _factchd(path: Path) -> Iterator[str]:
    yield from (row["query"] for _, row in _lines(path))


def _faithdial(path: Path) -> Iterator[str]:
    for dialogue in _json(path):
        yield from (turn["history"][-1] for turn in dialogue["utterances"] if turn["history"])


def _coqa(path: Path) -> Iterator[str]:
    for story in _json(path)["data"]:
        yield from (asked["input_text"] for asked in story["questions"])


def _writing_prompts(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield line.removeprefix("[ WP ]").strip()


def _code_search_net(path: Path) -> Iterator[str]:
    yield from (row["docstring"] for _, row in _lines(path))


def _dolly(path: Path) -> Iterator[str]:
    for _, row in _lines(path):
        if row["category"] in {"creative_writing", "brainstorming"}:
            yield row["instruction"]


#: Words by which instructions of Alpaca that ask for fiction are recognised.
_CREATIVE = ("poem", "story", "song", "haiku", "joke", "slogan", "imagine", "creative", "fiction")


def _alpaca(path: Path) -> Iterator[str]:
    for row in _json(path):
        if any(word in row["instruction"].lower() for word in _CREATIVE):
            yield f"{row['instruction']}\n{row['input']}".strip()


#: Published sets by name: their files, the function that reads their prompts, and their label.
PUBLISHED: dict[str, tuple[str, Callable[[Path], Iterator[str]], bool]] = {
    "squad": ("train-v*.json", _squad, True),
    "triviaqa": ("*web-train.json", _triviaqa, True),
    "nq": ("NQ-open.train.jsonl", _questions, True),
    "hotpotqa": ("hotpot_train_v*.json", _hotpotqa, True),
    "truthfulqa": ("TruthfulQA.csv", _truthfulqa, True),
    "halueval": ("qa_data.json", _questions, True),
    "factchd": ("fact_train*.jsonl", _factchd, True),
    "faithdial": ("train.json", _faithdial, True),
    "coqa": ("coqa-train-v*.json", _coqa, True),
    "rag-dataset-12000": ("*.jsonl", _questions, True),
    "writingprompts": ("train.wp_source", _writing_prompts, False),
    "codesearchnet": ("*_train_*.jsonl.gz", _code_search_net, False),
    "dolly": ("databricks-dolly-15k.jsonl", _dolly, False),
    "alpaca": ("alpaca_data.json", _alpaca, False),
}


def published(folder: Path) -> list[Prompt]:
    """Read the prompts of the published sets; each set is in a subfolder with its name.

    Raises:
        DatasetError: If a file does not have its published format.
    """
    found = []
    for name, (pattern, read, is_due) in PUBLISHED.items():
        for path in sorted((folder / name).glob(pattern)):
            try:
                texts = [text for text in read(path) if text.strip()]
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                if isinstance(error, InputError):
                    raise
                raise DatasetError(
                    path, None, f"it does not have the published format of {name} ({error!r})"
                ) from error
            found += [Prompt(text=text, is_due=is_due, source=name) for text in texts]
    return found


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise DatasetError(path, number, f"it is not valid JSON ({error})") from error

"""Writes the model card, with numbers from the files of measurements.

``python -m groundwire_training.card --model DIR --validation FILE --report TITLE=FILE ...`` reads
the files that ``groundwire_training.calibrate --json`` and ``groundwire evaluate --json`` wrote,
writes ``MODEL_CARD.md`` into the model folder, and its hash into the manifest.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire.engine.architecture import Architecture
from groundwire.engine.models import Manifest
from groundwire.evaluation.table import percent, with_ends
from groundwire_training.package import write_manifest

CARD = "MODEL_CARD.md"

_SMALL = """# Model card: reader {version}

Marks the words of an English text that a set of sources does not support.

| | |
| --- | --- |
| Licence | Apache-2.0 |
| Base | [all-MiniLM-L6-v2](https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2) \
(Apache-2.0): 6 layers, 384 wide, 12 heads, 22.6 million parameters, English, uncased |
| Graph | `reader.onnx`, int8 weights with a scale for each column, activations quantised as they \
come, keys and values in float16 |
| Input | word pieces of a passage, a question or a sentence, with roles, positions, six match \
features, and past keys and values |
| Output | for each word piece and each sentence: supported, unsupported, contradicted |
| Calibration | Platt's map on validation word pieces, and one on the highest of an answer; a \
scale and two offsets for sentences |
| Rules | what is plainly wrong or follows is found beside the model (docs/conflicts.md); all \
numbers include it |

## Data

| Set | Used | Licence |
| --- | --- | --- |
| [RAGTruth](https://arxiv.org/abs/2401.00396), training part | 2,362 contexts with six answers \
each; 150 more held out for validation | MIT |
| slot-annotated answers of our own | 1,491 texts, of which any set of slots gives a variant | \
answers Apache-2.0; contexts CC0-1.0 or as their records name |
| [BUMP](https://aclanthology.org/2023.acl-long.716) and \
[DeFacto](https://arxiv.org/abs/2212.09968) | 2,435 articles with edited summaries; two of them \
are articles of the validation part, found too late to leave out | MIT |
| mistakes by program | in one answer of half of the RAGTruth contexts | as the answers |

About 100 contexts of the slot-annotated answers are news texts for research use only. The word
tables (`words.npz`) count word pieces in Wikipedia articles of 2024 (CC BY-SA), product
documentation and public tables; no text is in the package.

## Training

`training/LOG.md` of the repository has every run, also those that failed, and the numbers of each.
The weights went on from earlier ones: `groundwire train reader --data DATA \
--start training/reader.fp16.safetensors --out OUT`.

"""

_BASE = """# Model card: reader-base {version}

Marks the words of an English text that a set of sources does not support. It judges together with \
`reader-small`, revision {companion}, and all numbers below are those of both.

| | |
| --- | --- |
| Licence | Apache-2.0 |
| Base | [all-mpnet-base-v2](https://huggingface.co/sentence-transformers/all-mpnet-base-v2) \
(Apache-2.0), its first {layers} layers: {width} wide, 12 heads, 71 million parameters beside the \
table of word pieces, English, uncased |
| Graph | `cross.onnx`, int8 weights with a scale for each column, activations quantised as they \
come; `cross-words.bin`, the table of word pieces in int8 |
| Input | one row: a claim, the question, and at most 176 word pieces of the lines of the evidence \
that are closest to the claim; with roles, positions and six match features |
| Output | for each word piece of the claim and for the claim: supported, unsupported, \
contradicted; the logits, times {pieces:g} and {claim:g}, are added to those of `reader-small` |
| Calibration | Platt's map on validation word pieces, and one on the highest of an answer; a \
scale and two offsets for claims |
| Rules | what is plainly wrong or follows is found beside the models (docs/conflicts.md); all \
numbers include it |

## Data

| Set | Used | Licence |
| --- | --- | --- |
| [RAGTruth](https://arxiv.org/abs/2401.00396), training part | 2,362 contexts with six answers \
each; 150 more held out for validation | MIT |
| slot-annotated answers of our own | 9,339 texts, of which any set of slots gives a variant | \
answers Apache-2.0; contexts CC0-1.0 or as their records name |
| parts of answers of our own that claim nothing, or something | 6,515 | CC0-1.0 |
| [TabFact](https://arxiv.org/abs/1909.02164), [counterfactual edits of \
SNLI](https://arxiv.org/abs/1909.12434), records of [E2E](https://arxiv.org/abs/1706.09254) and \
[DART](https://arxiv.org/abs/2007.02871) | 16,994 tables, captions and records, with claims that \
differ in a few words | MIT; CC-BY-4.0; CC-BY-SA-4.0 |
| [InfoTabs](https://aclanthology.org/2020.acl-main.210), \
[SNLI](https://aclanthology.org/D15-1075), [ConTRoL](https://arxiv.org/abs/2011.04864), [symmetric \
FEVER](https://aclanthology.org/D19-1341), [RTE](https://aclanthology.org/W07-1401), [negated \
pairs of these](https://aclanthology.org/2020.emnlp-main.732), \
[ScoNe](https://aclanthology.org/2023.acl-short.154), [MED](https://aclanthology.org/W19-4804) | \
16,903 premises with claims judged as a whole | per set |
| [AttributionBench](https://aclanthology.org/2024.findings-acl.886), [citations of biomedical \
papers](https://doi.org/10.1093/bioinformatics/btae420), \
[Climate-FEVER](https://arxiv.org/abs/2012.00614), [multi-hop \
claims](https://arxiv.org/abs/2410.20783), [Factcheck-GPT](https://arxiv.org/abs/2311.09000), \
[Q²](https://aclanthology.org/2021.emnlp-main.619), \
[SciTab](https://aclanthology.org/2023.emnlp-main.483) | 14,072 premises with claims of people and \
models, judged as a whole | per set |
| excerpts of documentation, Wikipedia, tables and infoboxes | 8,600, claims made by program | per \
set |
| [BUMP](https://aclanthology.org/2023.acl-long.716), [DeFacto](https://arxiv.org/abs/2212.09968), \
SummEdits | 3,141 articles with edited summaries | MIT and as the sets say |
| mistakes by program | in RAGTruth answers and slot-annotated texts | as the answers |

About 100 contexts of the slot-annotated answers are news texts for research use only; no text is \
in the package.

## Training

The weights went on from those of version 0.6.0, a mean of earlier runs, by one run of `groundwire \
train cross --device cuda`: 2,217 steps, 1.1 million claims, 78 million word pieces, nine minutes \
of an H100. \
`ranking.npz` has projections of the states after the sixth layer, by which repairs rank words; \
they are learned from slot-annotated texts (`python -m groundwire_training.replacements`). \
`training/LOG.md` of the repository has the runs and their \
curves.

"""

_SCORES = """## Validation

Through the deployed engine (int8, selected passages, claim by claim), on answers to held-out
contexts. Thresholds and maps are cross-fitted: each answer is judged with numbers fitted on the
answers to other contexts. Intervals hold 95 %, resampled by context. The share of hallucinated
answers is above what users meet. Beside an error of calibration stands, in brackets, what 95 % of
samples of that size stay below if the probabilities are exactly right.

{validation}

| Operating point | threshold | hallucinated answers found | grounded answers flagged |
| --- | --- | --- | --- |
{points}
{shipped}
Of marked word pieces, `contradicted` is told from `unsupported` with AUROC {kinds}.

`python -m groundwire_training.calibrate --data DATA --model {folder}`
{other}
{reports}

## Use and limits

Made to show a user or a program which words to look at. It errs both ways: measure on your own data
before you block anything, and use `precision` where a false alarm is dear.

- A fact that is stated of the wrong entity, a swapped role or order, a changed quantifier and a
  negation are found where the words are otherwise those of a line, by rules beside the model
  (docs/conflicts.md), and missed often where they are not.
- Summaries of news are its weakest task.
- It reads English in Latin script; it does not calculate, and it does not know the world.
"""


_SHIPPED = """
`balanced` was set by hand (`training/LOG.md` says why); its row is measured at what is shipped, and
the table above at the thresholds that calibration gave.
"""


def validation_table(groups: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a Markdown table of cross-fitted scores, with a row for each group of answers."""
    head = (
        "| Answers | n | hallucinated | AUROC | F1 | precision | recall | flag everything, F1 | "
        "characters, F1 | ECE of answers (by chance) | ECE of pieces from 0.1 |\n"
        + "| --- " * 11
        + "|"
    )
    rows = []
    for name, group in groups.items():
        point = group["points"]["balanced"]
        rows.append(
            f"| {name} | {group['n']:,} | {group['hallucinated']:.0%} | {group['auroc']:.3f} "
            f"| {_interval(point)} | {100 * point['precision']:.1f} | {100 * point['recall']:.1f} "
            f"| {100 * group['flag_all_f1']:.1f} | {_interval(point['characters'])} "
            f"| {group['answer_ece']:.3f} ({group['answer_ece_by_chance']:.3f}) "
            f"| {group['piece_ece_from_0.1']:.3f} |"
        )
    return "\n".join([head, *rows])


def report_table(report: Mapping[str, Any]) -> str:
    """Return a Markdown table of scores on a labelled file, with a row for each task.

    The scores are those at the default operating point.
    """
    head = (
        "| Answers | n | hallucinated | precision | recall | F1 | flag everything, F1 | AUROC | "
        "grounded answers flagged | characters, F1 | as LettuceDetect counts |\n"
        + "| --- " * 11
        + "|"
    )
    rows = [
        f"| {name} | {score['n_answers']:,} | {score['n_hallucinated']:,} "
        f"| {percent(score['example']['precision'])} | {percent(score['example']['recall'])} "
        f"| {with_ends(score['example'], 'f1')} | {percent(score['baseline_flag_all']['f1'])} "
        f"| {with_ends(score['example'], 'auroc')} | {percent(score['example']['fpr'])} "
        f"| {with_ends(score['span'], 'f1')} | {percent(score['span_lettucedetect']['f1'])} |"
        for name, score in {**report["tasks"], "all": report}.items()
    ]
    return "\n".join([head, *rows])


def _interval(point: Mapping[str, float | None]) -> str:
    """Format F1, with the ends of its interval if there were enough contexts for one."""
    if point["low"] is None or point["high"] is None:
        return f"{100 * (point['f1'] or 0):.1f}"
    return f"{100 * (point['f1'] or 0):.1f} ({100 * point['low']:.1f} to {100 * point['high']:.1f})"


def write_card(
    model: Path,
    validation: Mapping[str, Any],
    reports: Sequence[str],
    shipped: Mapping[str, Any] | None = None,
) -> None:
    """Write the card of a model folder, and its hash into the manifest.

    Args:
        model: The folder.
        validation: Scores from ``calibrate --json``; ``other`` has those of the weights in fp32.
        reports: Sections on other labelled files, in Markdown.
        shipped: Scores of the validation answers from ``groundwire evaluate --json``; needed if the
            ``balanced`` threshold was set by hand.
    """
    manifest = Manifest.read(model)
    measured = validation["model"]
    everything = measured["groups"]["all"]["points"]
    rates = {
        name: (point["recall"], point["false_positive_rate"]) for name, point in everything.items()
    }
    if shipped is not None:
        rates["balanced"] = (shipped["example"]["recall"], shipped["example"]["fpr"])
    points = "\n".join(
        f"| `{name}` | {threshold:g} | {rates[name][0]:.0%} | {rates[name][1]:.1%} |"
        for name, threshold in manifest.operating_points.items()
    )
    other = ""
    if "other" in validation:
        here, there = (
            validation[name]["groups"]["all"]["points"]["balanced"] for name in ("model", "other")
        )
        other = (
            f"\nint8 against fp32, each cross-fitted: F1 of answers {100 * here['f1']:.1f} against "
            f"{100 * there['f1']:.1f}, of characters {100 * here['characters']['f1']:.1f} against "
            f"{100 * there['characters']['f1']:.1f}.\n"
        )
    raw, sizes = manifest.raw, Architecture.from_manifest(manifest.raw)
    companion, weights = raw.get("companion"), raw.get("cross_weights") or {}
    about = _SMALL.format(version=manifest.version)
    if companion:
        about = _BASE.format(
            version=manifest.version,
            companion=companion,
            layers=sizes.layers,
            width=sizes.width,
            **weights,
        )
    text = about + _SCORES.format(
        folder="models/reader-base/src/groundwire_reader_base"
        if companion
        else "src/groundwire/engine/models/reader",
        validation=validation_table(measured["groups"]),
        points=points,
        shipped="" if shipped is None else _SHIPPED,
        kinds=f"{measured['contradicted_auroc']:.3f}",
        other=other,
        reports="\n".join(reports),
    )
    (model / CARD).write_text(text, encoding="utf-8")
    write_manifest(
        model,
        sizes=sizes,
        version=manifest.version,
        companion=companion,
        knows_remarks=bool(raw.get("knows_remarks")),
        cross_weights=weights or None,
        operating_points=manifest.operating_points,
        calibration=manifest.calibration,
        answer_calibration=raw.get("answer_calibration"),
        sentence_calibration=raw.get("sentence_calibration"),
        lines_calibration=raw.get("lines_calibration"),
    )


def main() -> None:
    """Write the card from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--validation", type=Path, required=True)
    parser.add_argument("--shipped", type=Path, help="validation at a balanced point set by hand")
    parser.add_argument(
        "--report", action="append", default=[], metavar="TITLE=FILE", help="may be repeated"
    )
    options = parser.parse_args()
    sections = []
    for argument in options.report:
        title, _, path = argument.partition("=")
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        sections.append(
            f"\n## {title}\n\nAt the default operating point; intervals hold 95 %, resampled by "
            f"context.\n\n{report_table(report)}\n\n"
            "`groundwire evaluate --data FILE`\n"
        )
    validation = json.loads(options.validation.read_text(encoding="utf-8"))
    shipped = options.shipped and json.loads(options.shipped.read_text(encoding="utf-8"))
    write_card(options.model, validation, sections, shipped)


if __name__ == "__main__":
    main()

"""All benchmarks, by name."""

from groundwire.errors import InputError
from groundwire.evaluation.benches import loaders
from groundwire.evaluation.benches.bench import Bench, Expected, OfficialFiles, Variant
from groundwire.evaluation.benches.metric import (
    Metric,
    accuracy,
    auroc,
    balanced_accuracy,
    characters_f1,
    characters_iou,
    f1,
    of_tasks,
)

_HUB = "https://huggingface.co/datasets"
_RAW = "https://raw.githubusercontent.com"


def _tables(name: str, hub: str) -> OfficialFiles:
    return OfficialFiles(
        url=f"{_HUB}/{hub}",
        files=(f"{_HUB}/{hub}/tree/main/{name}",),
        hub=hub,
        patterns=(f"{name}/{{split}}-*.parquet",),
    )


_RAGTRUTH = Bench(
    name="ragtruth",
    title="RAGTruth",
    hallucinated="people marked a stretch of the answer, of any kind",
    licence="MIT",
    citation="Niu et al. 2024, https://arxiv.org/abs/2401.00396",
    origin=OfficialFiles(
        url="https://github.com/ParticleMedia/RAGTruth",
        files=(
            f"{_RAW}/ParticleMedia/RAGTruth/main/dataset/response.jsonl",
            f"{_RAW}/ParticleMedia/RAGTruth/main/dataset/source_info.jsonl",
        ),
    ),
    splits=("test", "train"),
    metrics=(
        Metric(name="F1", statistic=f1),
        *of_tasks("F1", f1, ("QA", "Data2txt", "Summary")),
        Metric(name="characters F1", statistic=characters_f1, needs_spans=True),
    ),
    find=loaders.ragtruth_files,
    read=loaders.ragtruth,
    expected={
        "test": Expected(
            total=(2700, 943),
            tasks={"QA": (900, 160), "Data2txt": (900, 579), "Summary": (900, 204)},
            source="published recalls, which are shares of these counts",
        ),
    },
    variants=(
        Variant(
            name="answers of good quality",
            keeps=lambda row: row.columns.get("quality", "good") == "good",
        ),
    ),
)

_HALUEVAL = Bench(
    name="halueval",
    title="HaluEval",
    hallucinated="ChatGPT wrote the answer to be hallucinated; its counterpart is the right one",
    licence="MIT",
    citation="Li et al. 2023, https://arxiv.org/abs/2305.11747",
    origin=OfficialFiles(
        url="https://github.com/RUCAIBox/HaluEval",
        files=tuple(
            f"{_RAW}/RUCAIBox/HaluEval/main/data/{task}_data.json"
            for task in ("qa", "summarization", "dialogue")
        ),
    ),
    splits=("data",),
    metrics=(
        Metric(name="accuracy", statistic=accuracy),
        *of_tasks("accuracy", accuracy, ("qa", "summarization", "dialogue")),
        *of_tasks("F1", f1, ("qa",)),
    ),
    find=loaders.halueval_files,
    read=loaders.halueval,
    expected={
        "data": Expected(
            total=(60000, 30000),
            tasks=dict.fromkeys(("qa", "summarization", "dialogue"), (20000, 10000)),
            source="its README: 10,000 pairs a task",
        ),
    },
)

_RAGBENCH = Bench(
    name="ragbench",
    title="RAGBench",
    hallucinated="GPT-4 found that the answer does not adhere to its documents",
    licence="CC BY 4.0",
    citation="Friel et al. 2024, https://arxiv.org/abs/2407.11005",
    origin=OfficialFiles(
        url=f"{_HUB}/rungalileo/ragbench",
        files=(f"{_HUB}/rungalileo/ragbench/tree/main",),
        hub="rungalileo/ragbench",
        patterns=("*/{split}-*.parquet",),
    ),
    splits=("test", "validation", "train"),
    metrics=(
        Metric(name="mean AUROC", statistic=auroc, is_mean_of_tasks=True),
        Metric(name="AUROC", statistic=auroc),
    ),
    find=loaders.tables,
    read=loaders.ragbench,
)

_FAITHBENCH = Bench(
    name="faithbench",
    title="FaithBench",
    hallucinated="any annotator marked something as unwanted or questionable; benign is not",
    licence="CC BY-NC-SA: not for commercial use, nor to tune what is",
    citation="Bao et al. 2025, https://arxiv.org/abs/2410.13210",
    origin=OfficialFiles(
        url="https://github.com/vectara/FaithBench",
        files=("the batch_*.json of data_for_release/",),
    ),
    splits=("data",),
    metrics=(
        Metric(name="balanced accuracy", statistic=balanced_accuracy),
        Metric(name="accuracy", statistic=accuracy),
        Metric(name="characters F1", statistic=characters_f1, needs_spans=True),
    ),
    find=loaders.faithbench_files,
    read=loaders.faithbench,
)

_AGGREFACT = Bench(
    name="aggrefact",
    title="LLM-AggreFact",
    hallucinated="the document does not support the claim",
    licence="CC BY-ND 4.0, for evaluation alone",
    citation="Tang et al. 2024, https://arxiv.org/abs/2404.10774",
    origin=_tables("data", "lytang/LLM-AggreFact"),
    splits=("test", "dev"),
    metrics=(
        Metric(name="mean balanced accuracy", statistic=balanced_accuracy, is_mean_of_tasks=True),
        *of_tasks("balanced accuracy", balanced_accuracy, ("RAGTruth",)),
        Metric(name="balanced accuracy, pooled", statistic=balanced_accuracy),
    ),
    find=loaders.tables,
    read=loaders.aggrefact,
    expected={
        "test": Expected(total=(29320, None), source="its page on the hub, since August 2024"),
        "dev": Expected(total=(30420, None), source="its page on the hub, since August 2024"),
    },
    variants=(
        Variant(
            name="without RAGTruth, as before 2024-08", keeps=lambda row: row.task != "RAGTruth"
        ),
    ),
)

_WICE = Bench(
    name="wice",
    title="WiCE",
    hallucinated="the article does not support the claim, or only a part of it",
    licence="ODC-BY; texts CC BY-SA and as on Common Crawl",
    citation="Kamoi et al. 2023, https://arxiv.org/abs/2303.01432",
    origin=OfficialFiles(
        url="https://github.com/ryokamoi/wice",
        files=(
            f"{_RAW}/ryokamoi/wice/main/data/entailment_retrieval/claim/test.jsonl",
            f"{_RAW}/ryokamoi/wice/main/data/entailment_retrieval/subclaim/test.jsonl",
        ),
    ),
    splits=("test", "dev", "train"),
    metrics=(
        *of_tasks("balanced accuracy", balanced_accuracy, ("claim",)),
        *of_tasks("AUROC", auroc, ("claim",)),
        *of_tasks("balanced accuracy", balanced_accuracy, ("subclaim",)),
    ),
    find=loaders.wice_files,
    read=loaders.wice,
    expected={
        "test": Expected(tasks={"claim": (358, 247)}, source="counted in the release"),
        "dev": Expected(tasks={"claim": (349, 234)}, source="counted in the release"),
    },
)

_HALUBENCH = Bench(
    name="halubench",
    title="HaluBench",
    hallucinated="its label is FAIL",
    licence="CC BY-NC 2.0: not for commercial use",
    citation="Ravi et al. 2024, https://arxiv.org/abs/2407.08488",
    origin=_tables("data", "PatronusAI/HaluBench"),
    splits=("test",),
    metrics=(
        Metric(name="accuracy", statistic=accuracy),
        Metric(name="mean accuracy", statistic=accuracy, is_mean_of_tasks=True),
        Metric(name="F1", statistic=f1),
    ),
    find=loaders.tables,
    read=loaders.halubench,
    expected={"test": Expected(total=(14900, None), source="its page on the hub")},
)

_PSILOQA = Bench(
    name="psiloqa",
    title="PsiloQA",
    hallucinated="GPT-4o marked a stretch of the answer",
    licence="CC BY 4.0",
    citation="Rykov et al. 2025, https://arxiv.org/abs/2510.04849",
    origin=_tables("data", "s-nlp/PsiloQA"),
    splits=("test", "validation", "train"),
    metrics=(
        Metric(name="characters IoU", statistic=characters_iou, needs_spans=True),
        Metric(name="characters F1", statistic=characters_f1, needs_spans=True),
        Metric(name="F1", statistic=f1),
    ),
    find=loaders.tables,
    read=loaders.psiloqa,
    expected={
        "test": Expected(total=(2897, None), source="its page on the hub"),
        "validation": Expected(total=(3355, None), source="its page on the hub"),
        "train": Expected(total=(63792, None), source="its page on the hub"),
    },
)

_SUMMEDITS = Bench(
    name="summedits",
    title="SummEdits",
    hallucinated="an edit made the summary inconsistent with its document",
    licence="Apache-2.0; some of the texts for research alone",
    citation="Laban et al. 2023, https://arxiv.org/abs/2305.14540",
    origin=OfficialFiles(
        url="https://github.com/salesforce/factualNLG",
        files=("the summedits_*.json of data/summedits/",),
    ),
    splits=("data",),
    metrics=(
        Metric(name="mean balanced accuracy", statistic=balanced_accuracy, is_mean_of_tasks=True),
        Metric(name="balanced accuracy, pooled", statistic=balanced_accuracy),
    ),
    find=loaders.summedits_files,
    read=loaders.summedits,
    expected={"data": Expected(total=(6348, None), source="its paper")},
)

#: Name → benchmark.
BENCHES = {
    each.name: each
    for each in (
        _RAGTRUTH,
        _HALUEVAL,
        _RAGBENCH,
        _FAITHBENCH,
        _AGGREFACT,
        _WICE,
        _HALUBENCH,
        _PSILOQA,
        _SUMMEDITS,
    )
}


class UnknownBenchError(InputError):
    """There is no benchmark of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"There is no benchmark {self.name!r}. There are {', '.join(BENCHES)}; "
            "groundwire evaluate scores any other labelled data."
        )


def bench(name: str) -> Bench:
    """The benchmark of a name; case does not matter.

    Raises:
        UnknownBenchError: If there is none.
    """
    found = BENCHES.get(name.lower())
    if found is None:
        raise UnknownBenchError(name)
    return found

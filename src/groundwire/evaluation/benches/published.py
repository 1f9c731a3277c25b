"""What other systems reached, and where that is printed. Nobody here ran them again.

Numbers are in per cent, as printed. A note says where test set or metric are not those that
``groundwire bench`` has: without it both are the same, as far as the source says.
"""

from groundwire.evaluation.benches.bench import Published

_LETTUCE = "LettuceDetect, https://arxiv.org/abs/2502.17125"
_LETTUCE_TABLE = "table in LettuceDetect, https://arxiv.org/abs/2502.17125"
_LETTUCE_V2 = "https://arxiv.org/abs/2607.00895"
_CARDS = "model cards, https://huggingface.co/KRLabsOrg"
_GOOD = "the released code leaves out answers whose quality is not good"
_OTHERS_TEST = "threshold chosen on the test set"


def _ragtruth(
    system: str,
    f1: float,
    tasks: tuple[float, float, float] | None = None,
    *,
    characters: float | None = None,
    source: str,
    note: str = "",
) -> Published:
    scores = {"F1": f1}
    if tasks is not None:
        names = ("QA", "Data2txt", "Summary")
        scores |= {f"F1, {name}": value for name, value in zip(names, tasks, strict=True)}
    if characters is not None:
        scores["characters F1"] = characters
    return Published(system=system, scores=scores, source=source, note=note)


RAGTRUTH = (
    _ragtruth(
        "RAG-HAT, Llama-3-8B",
        83.9,
        (74.8, 91.6, 67.6),
        source="RAG-HAT (EMNLP 2024, industry track), " + _LETTUCE_TABLE,
    ),
    _ragtruth(
        "ORION (Deepchecks), not public",
        83.0,
        source="abstract of its paper",
        note="nobody else can run it",
    ),
    _ragtruth("lettucedect-v2-qwen-2b", 81.8, characters=57.4, source=_LETTUCE_V2),
    _ragtruth(
        "lettucedect-large-v1, 395M", 79.22, (70.2, 88.5, 59.7), characters=58.93, source=_LETTUCE
    ),
    _ragtruth(
        "Llama-2-13B, fine-tuned",
        78.7,
        (68.2, 88.1, 59.1),
        characters=52.7,
        source="RAGTruth, https://arxiv.org/abs/2401.00396",
        note=_GOOD,
    ),
    _ragtruth(
        "director-ai token model, 150M",
        76.3,
        source="its documentation",
        note=_OTHERS_TEST,
    ),
    _ragtruth(
        "lettucedect-base-v1, 150M",
        76.07,
        (65.5, 87.9, 50.5),
        characters=55.44,
        source=_LETTUCE,
        note="the project's pages print 76.8 as well; its precision and recall give 76.07",
    ),
    _ragtruth("TinyLettuce, 68M", 74.97, source=_CARDS),
    _ragtruth("lettucedect-v2-mmbert-base, 307M", 74.3, characters=52.8, source=_LETTUCE_V2),
    _ragtruth("TinyLettuce, 32M", 72.15, source=_CARDS),
    _ragtruth("TinyLettuce, 17M", 68.52, source=_CARDS),
    _ragtruth(
        "Luna, 440M",
        65.4,
        (51.3, 75.9, 52.5),
        source="Luna, https://arxiv.org/abs/2406.00975",
    ),
    _ragtruth(
        "gpt-4-turbo, prompted",
        63.4,
        (45.6, 78.3, 47.6),
        characters=28.3,
        source="RAGTruth, https://arxiv.org/abs/2401.00396",
        note=_GOOD + "; precision and recall printed for QA give 48.6, not 45.6",
    ),
    _ragtruth("TruLens groundedness (LLM)", 60.4, (36.6, 79.0, 44.5), source=_LETTUCE_TABLE),
    _ragtruth("SelfCheckGPT, gpt-3.5", 58.8, (43.7, 74.8, 40.1), source=_LETTUCE_TABLE, note=_GOOD),
    _ragtruth(
        "gpt-3.5-turbo, prompted",
        52.9,
        (30.8, 77.4, 37.1),
        characters=12.8,
        source="RAGTruth, https://arxiv.org/abs/2401.00396",
        note=_GOOD,
    ),
    _ragtruth("RAGAS faithfulness (LLM)", 52.0, (35.7, 61.9, 40.8), source=_LETTUCE_TABLE),
    _ragtruth("LMvLM, gpt-4", 49.4, (30.1, 72.1, 36.2), source=_LETTUCE_TABLE, note=_GOOD),
    _ragtruth("ChainPoll, gpt-3.5", 46.7, (40.5, 49.6, 46.9), source=_LETTUCE_TABLE),
)

HALUEVAL = (
    Published(
        system="lettucedect-v2-qwen-2b",
        scores={"F1, qa": 85.5},
        source="blog of vLLM Semantic Router",
        note="10,000 answers, not both of each pair",
    ),
    Published(
        system="haldetect, 149M",
        scores={"F1, qa": 66.8},
        source="blog of vLLM Semantic Router",
        note="10,000 answers, not both of each pair; " + _OTHERS_TEST,
    ),
    Published(
        system="Factored Verification (LLM)",
        scores={"accuracy, summarization": 76.2},
        source="https://arxiv.org/abs/2310.10627",
        note="one answer of each pair",
    ),
)

FAITHBENCH = (
    Published(
        system="detectors of 2024",
        scores={"accuracy": 50.0},
        source="abstract of https://arxiv.org/abs/2410.13210",
        note='"near 50 %": they were used to choose the samples, where they disagree',
    ),
)

_LEADERBOARD = "https://llm-aggrefact.github.io"


def _aggrefact(
    system: str, mean: float, ragtruth: float | None = None, *, source: str = _LEADERBOARD
) -> Published:
    scores = {"mean balanced accuracy": mean}
    if ragtruth is not None:
        scores["balanced accuracy, RAGTruth"] = ragtruth
    return Published(system=system, scores=scores, source=source)


AGGREFACT = (
    _aggrefact("Bespoke-MiniCheck-7B", 77.4, 84.0),
    Published(
        system="FactCG-DeBERTa-L, 0.4B",
        scores={"mean balanced accuracy": 77.2, "balanced accuracy, RAGTruth": 82.2},
        source="its paper and the leaderboard, " + _LEADERBOARD,
        note="others who ran it again print 75.6 to 75.9",
    ),
    _aggrefact("Claude-3.5-Sonnet, prompted", 77.2),
    _aggrefact("FactCG-FT5, 0.8B", 76.7),
    _aggrefact("Granite-Guardian-3.3, 8B", 76.5, 82.2),
    _aggrefact("GPT-4o, prompted", 75.9),
    _aggrefact("HalluGuard-4B", 75.7, 84.0),
    _aggrefact("MiniCheck-Flan-T5-L, 0.8B", 75.0),
    _aggrefact("MiniCheck-RoBERTa-L, 0.4B", 74.4),
    _aggrefact("MiniCheck-DeBERTa-L, 0.4B", 74.1),
)

_ORACLE = "100 claims of the test set with excerpts that hold the evidence, not whole articles"
_WICE_OUTPUTS = "outputs in https://github.com/ryokamoi/wice"

WICE = (
    Published(
        system="T5-3B, ANLI and WiCE",
        scores={"AUROC, claim": 94.7},
        source=_WICE_OUTPUTS,
        note=_ORACLE,
    ),
    Published(
        system="gpt-4-0613, prompted",
        scores={"AUROC, claim": 80.2},
        source=_WICE_OUTPUTS,
        note=_ORACLE,
    ),
)

_LYNX = "https://arxiv.org/abs/2407.08488"

HALUBENCH = (
    Published(system="Lynx-70B", scores={"accuracy": 87.4}, source=_LYNX),
    Published(system="Lynx-8B", scores={"accuracy": 82.9}, source=_LYNX),
)

PSILOQA = (
    Published(
        system="LFM2.5-Encoder-350M",
        scores={"characters IoU": 58.8, "characters F1": 69.0, "F1": 94.5},
        source="model card, https://huggingface.co/KRLabsOrg",
        note="trained on PsiloQA",
    ),
)

_SUMMEDITS = "https://arxiv.org/abs/2305.14540"

SUMMEDITS = (
    Published(system="people", scores={"mean balanced accuracy": 90.9}, source=_SUMMEDITS),
    Published(
        system="GPT-4 of 2023, prompted",
        scores={"mean balanced accuracy": 82.4},
        source=_SUMMEDITS,
    ),
)

"""What other systems call our settings: one table, read from left to right.

A name of a file is its path with dots; an environment variable stands beside it. Where the values
differ as well, a :class:`Conversion` makes ours of theirs, and theirs of ours.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from groundwire.config.kinds import Flag, KindError, Number
from groundwire.config.tree import SETTINGS
from groundwire.policy.policy import Action, OnError


class Format(StrEnum):
    """Whose names a file or a variable uses."""

    NATIVE = "groundwire"
    DVARA = "dvara"
    HALUGATE = "halugate"
    DIRECTOR = "director"
    BERRY = "berry"


def _same(value: Any) -> Any:  # noqa: ANN401 - whatever the setting takes
    return value


@dataclass(frozen=True, slots=True)
class Conversion:
    """Their value → ours before it is checked, and our value as plain data → theirs.

    Both raise :class:`KindError` for what has no counterpart.
    """

    read: Callable[[Any], Any] = _same
    write: Callable[[Any], Any] = _same


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name for a setting.

    Attributes:
        format: Whose name it is.
        name: In a file; empty for what is only a variable.
        path: Our name.
        variable: In the environment; empty if there is none.
        is_shared: Whether other programs read that variable too: then it counts only where nothing
            else is said, and only for a verifier that leaves this machine.
        conversion: Where the values differ.
    """

    format: Format
    name: str
    path: str
    variable: str = ""
    is_shared: bool = False
    conversion: Conversion = Conversion()


#: Defaults that differ when a system's names are used: what its own documentation promises.
DEFAULTS: Mapping[Format, Mapping[str, Any]] = {
    Format.DVARA: {
        "check.enabled": False,
        "check.on_error": OnError.ALLOW,
        "check.unverified_action": Action.NONE,  # no sources: the answer passes untouched
        "explain.enabled": False,  # the similarity alone decides
        "detector.name": "similarity",
        "similarity.threshold": 0.7,
        "similarity.embedder": "hash",
        "similarity.all_short": "grounded",
        "evidence.max_sources": 50,
        "evidence.max_source_chars": 10_000,
        "evidence.metadata_only": True,
    },
    Format.HALUGATE: {"gate.bypass_evidence": False},  # its gate decides first
}

#: Where DVARA keeps the settings of its grounding guardrail.
DVARA = "dvara.llm-gateway.guardrail.grounding"

#: The two places where versions of HaluGate keep their models.
HALUGATE = "hallucination_mitigation"
HALUGATE_CATALOG = "global.model_catalog.modules.hallucination_mitigation"

#: Arguments of Berry's tool stand in a section of its name.
BERRY = "detect_hallucination"

#: Names that are taken and do nothing; they never did, or mean nothing for our models.
WITHOUT_EFFECT = (
    f"{HALUGATE}.fact_check_model.use_mmbert_32k",
    f"{HALUGATE}.hallucination_model.context_window_size",
    f"{HALUGATE_CATALOG}.fact_check.use_mmbert_32k",
    f"{HALUGATE_CATALOG}.detector.context_window_size",
)


def _read_limit(raw: Any) -> float | None:  # noqa: ANN401
    """DVARA's limits: zero and less mean none."""
    limit = Number(is_whole=True).read(raw)
    return limit if limit > 0 else None


def _read_use_cpu(raw: Any) -> str:  # noqa: ANN401
    return "cpu" if Flag().read(raw) else "cuda:0"


def _write_use_cpu(value: str) -> bool:
    if value not in ("cpu", "cuda:0"):
        raise KindError("cpu or cuda:0")
    return value == "cpu"


def _read_span_device(raw: Any) -> str:  # noqa: ANN401
    number = Number(low=-1, high=999, is_whole=True).read(raw)
    return "cpu" if number == -1 else f"cuda:{number:.0f}"


def _write_span_device(value: str) -> int:
    return -1 if value == "cpu" else int(value.removeprefix("cuda:"))


def _embedded(theirs: str, ours: str) -> Conversion:
    """A model that stands for one inside the package; others are folders or ids."""

    def read(raw: Any) -> Any:  # noqa: ANN401
        if isinstance(raw, str) and raw.startswith("models/halugate-") and raw != theirs:
            raise KindError(
                f"{theirs} (the model inside the package), a folder, or a hub id", theirs
            )
        return ours if raw == theirs else raw

    return Conversion(read, lambda value: theirs if value == ours else value)


_SAME = Conversion()
_LIMIT = Conversion(_read_limit, lambda value: 0 if value is None else value)
_USE_CPU = Conversion(_read_use_cpu, _write_use_cpu)
_SPAN_MODEL = Conversion(
    lambda raw: "reader" if raw == "groundwire" else raw,
    lambda value: "groundwire" if value == "reader" else value,
)
_SPAN_REVISION = Conversion(
    lambda raw: None if raw == "" else raw, lambda value: "" if value is None else value
)


def _aliases() -> Iterator[Alias]:
    for name, path in {
        "enabled": "check.enabled",
        "action": "check.action",
        "similarity-threshold": "similarity.threshold",
        "max-sources": "evidence.max_sources",
        "max-source-length": "evidence.max_source_chars",
    }.items():
        conversion = _LIMIT if name.startswith("max-") else _SAME
        yield Alias(
            format=Format.DVARA,
            name=f"{DVARA}.{name}",
            variable=f"{DVARA}.{name}".upper().replace(".", "_").replace("-", "_"),
            path=path,
            conversion=conversion,
        )
    for root, gate, detector, explainer in (
        (HALUGATE, "fact_check_model", "hallucination_model", "nli_model"),
        (HALUGATE_CATALOG, "fact_check", "detector", "explainer"),
    ):
        yield from _halugate(root, gate, detector, explainer)
    yield from _director()
    for path, each in SETTINGS.items():
        if each.section == "verify" and each.name in _BERRY:
            yield Alias(
                format=Format.BERRY,
                name=f"{BERRY}.{_BERRY[each.name] or each.name}",
                path=path,
            )
    for variable, path in {
        "BERRY_VERIFIER_MODEL": "verify.model",
        "BERRY_SERVICE_URL": "verify.service_url",
        "OPENAI_BASE_URL": "verify.base_url",
        "OPENAI_API_KEY": "verify.api_key",
    }.items():
        yield Alias(format=Format.BERRY, name="", variable=variable, path=path, is_shared=True)


def _halugate(root: str, gate: str, detector: str, explainer: str) -> Iterator[Alias]:
    rows: tuple[tuple[str, str, Conversion], ...] = (
        ("enabled", "check.enabled", _SAME),
        ("on_hallucination_detected", "check.action", _SAME),
        (f"{gate}.model_id", "gate.model", _embedded("models/halugate-sentinel", "embedded")),
        (f"{gate}.threshold", "gate.threshold", _SAME),
        (f"{gate}.use_cpu", "gate.device", _USE_CPU),
        (f"{detector}.model_id", "detector.name", _embedded("models/halugate-detector", "reader")),
        (f"{detector}.threshold", "detector.operating_point", _SAME),
        (f"{detector}.use_cpu", "detector.device", _USE_CPU),
        (f"{detector}.min_span_length", "detector.min_words", _SAME),
        (f"{detector}.min_span_confidence", "detector.min_probability", _SAME),
        (f"{detector}.enable_nli_filtering", "explain.drops_entailed", _SAME),
        (f"{detector}.nli_entailment_threshold", "explain.entailment_threshold", _SAME),
        (
            f"{explainer}.model_id",
            "explain.model",
            _embedded("models/halugate-explainer", "embedded"),
        ),
        (f"{explainer}.threshold", "explain.threshold", _SAME),
        (f"{explainer}.use_cpu", "explain.device", _USE_CPU),
    )
    for name, path, conversion in rows:
        yield Alias(format=Format.HALUGATE, name=f"{root}.{name}", path=path, conversion=conversion)


def _director() -> Iterator[Alias]:
    rows: tuple[tuple[str, str, Conversion], ...] = (
        ("span_detection_enabled", "check.enabled", _SAME),
        (
            "span_model",
            "detector.name",
            _SPAN_MODEL,
        ),
        (
            "span_model_revision",
            "detector.revision",
            _SPAN_REVISION,
        ),
        ("span_token_threshold", "detector.operating_point", _SAME),
        ("span_min_tokens", "detector.min_pieces", _SAME),
        ("span_max_length", "detector.max_length", _SAME),
        (
            "span_device",
            "detector.device",
            Conversion(_read_span_device, _write_span_device),
        ),
        ("on_fail", "check.action", _SAME),
    )
    for name, path, conversion in rows:
        yield Alias(format=Format.DIRECTOR, name=name, path=path, conversion=conversion)


#: Our names in ``verify`` → Berry's argument, where that differs.
_BERRY = {
    "model": "verifier_model",
    "target": "default_target",
    **dict.fromkeys(
        (
            "max_claims",
            "require_citations",
            "context_mode",
            "timeout_s",
            "claim_split",
            "citation_regex",
            "units",
            "placeholder",
            "temperature",
            "max_concurrency",
            "top_logprobs",
            "include_prompts",
            "max_prompt_chars",
            "min_log_odds_gain",
            "use_cache",
            "group_claims",
            "max_group_size",
            "max_group_prompt_chars",
        ),
        "",
    ),
}

#: All names, ours included.
NAMES: tuple[Alias, ...] = (
    *(
        Alias(format=Format.NATIVE, name=each.path, path=each.path, variable=each.variable)
        for each in SETTINGS.values()
    ),
    *_aliases(),
)

#: Environment variable → the name.
VARIABLES: Mapping[str, Alias] = MappingProxyType(
    {alias.variable: alias for alias in NAMES if alias.variable}
)

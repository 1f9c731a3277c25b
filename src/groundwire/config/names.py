"""The names of settings in files and variables: Groundwire's own, and those of other systems.

Names in a file are paths with dots. If another system writes values in its own way, a
:data:`Conversion` converts them to Groundwire's.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any

from groundwire.config.kinds import Kind, KindError, Number, Whole
from groundwire.config.tree import SETTINGS
from groundwire.policy.policy import Action, OnError


class Format(StrEnum):
    """The systems whose names of settings a file or a variable can use."""

    NATIVE = "groundwire"
    DVARA = "dvara"
    HALUGATE = "halugate"
    DIRECTOR = "director"
    BERRY = "berry"


def same(value: Any) -> Any:  # noqa: ANN401 - whatever the setting takes
    """Return a value unchanged: the conversion for values that are already Groundwire's."""
    return value


#: A function that converts another system's value to Groundwire's, before the value is checked. It
#: may raise :class:`KindError`.
Conversion = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name for a setting.

    Attributes:
        format: The system that uses this name.
        name: The name in a file; empty if the alias has only a variable.
        path: Groundwire's name of the setting.
        variable: The environment variable; empty if there is none.
        is_shared: Whether other programs read the variable too, such as ``OPENAI_API_KEY``. Then
            the variable is used only if the verifier is not ``local``, and neither the file nor
            another variable sets the setting.
        conversion: Converts the value to Groundwire's.
    """

    format: Format
    name: str
    path: str
    variable: str = ""
    is_shared: bool = False
    conversion: Conversion = same


#: Another system → its defaults, which replace Groundwire's if a configuration uses names of that
#: system.
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
    Format.HALUGATE: {"gate.bypass_evidence": False},  # HaluGate always asks its gate
}

#: The section with the settings of the grounding guardrail in a file of DVARA, another gateway.
DVARA = "dvara.llm-gateway.guardrail.grounding"

#: The section in which some versions of HaluGate have their settings.
HALUGATE = "hallucination_mitigation"
#: The section in which the other versions of HaluGate have their settings.
HALUGATE_CATALOG = "global.model_catalog.modules.hallucination_mitigation"

#: The section for the arguments of the tool of Berry, another verifier of cited claims. The section
#: has the name of the tool.
BERRY = "detect_hallucination"

#: Names of HaluGate's settings that are accepted but have no effect.
WITHOUT_EFFECT = (
    f"{HALUGATE}.fact_check_model.use_mmbert_32k",
    f"{HALUGATE}.hallucination_model.context_window_size",
    f"{HALUGATE_CATALOG}.fact_check.use_mmbert_32k",
    f"{HALUGATE_CATALOG}.detector.context_window_size",
)


def _read_limit(raw: Any) -> float | None:  # noqa: ANN401
    """Read a limit of DVARA; ``None`` (no limit) if the value is 0 or negative."""
    limit = Kind(Whole).read(raw)
    return limit if limit > 0 else None


def _read_use_cpu(raw: Any) -> str:  # noqa: ANN401
    return "cpu" if Kind(bool).read(raw) else "cuda:0"


def _read_span_device(raw: Any) -> str:  # noqa: ANN401
    number = Kind(Annotated[int, Number(ge=-1, le=999)]).read(raw)
    return "cpu" if number == -1 else f"cuda:{number}"


def _embedded(theirs: str, ours: str) -> Conversion:
    """Return a conversion that replaces the name ``theirs`` of a HaluGate model by ``ours``.

    The conversion refuses the names of HaluGate's other models.
    """

    def read(raw: Any) -> Any:  # noqa: ANN401
        if isinstance(raw, str) and raw.startswith("models/halugate-") and raw != theirs:
            raise KindError(
                f"{theirs} (the model inside the package), a folder, or a hub id", theirs
            )
        return ours if raw == theirs else raw

    return read


#: Another system's name → the path of the setting, or the path and a conversion of its values.
_Rows = Mapping[str, str | tuple[str, Conversion]]

_DVARA_ROWS: _Rows = {
    "enabled": "check.enabled",
    "action": "check.action",
    "similarity-threshold": "similarity.threshold",
    "max-sources": ("evidence.max_sources", _read_limit),
    "max-source-length": ("evidence.max_source_chars", _read_limit),
}
_HALUGATE_ROWS: _Rows = {
    "enabled": "check.enabled",
    "on_hallucination_detected": "check.action",
    "{gate}.model_id": ("gate.model", _embedded("models/halugate-sentinel", "embedded")),
    "{gate}.threshold": "gate.threshold",
    "{gate}.use_cpu": ("gate.device", _read_use_cpu),
    "{detector}.model_id": ("detector.name", _embedded("models/halugate-detector", "reader")),
    "{detector}.threshold": "detector.operating_point",
    "{detector}.use_cpu": ("detector.device", _read_use_cpu),
    "{detector}.min_span_length": "detector.min_words",
    "{detector}.min_span_confidence": "detector.min_probability",
    "{detector}.enable_nli_filtering": "explain.drops_entailed",
    "{detector}.nli_entailment_threshold": "explain.entailment_threshold",
    "{explainer}.model_id": ("explain.model", _embedded("models/halugate-explainer", "embedded")),
    "{explainer}.threshold": "explain.threshold",
    "{explainer}.use_cpu": ("explain.device", _read_use_cpu),
}
#: Section of HaluGate's file → Groundwire's word for a model → the model's name in that section.
_HALUGATE_PLACES = {
    HALUGATE: {
        "gate": "fact_check_model",
        "detector": "hallucination_model",
        "explainer": "nli_model",
    },
    HALUGATE_CATALOG: {"gate": "fact_check", "detector": "detector", "explainer": "explainer"},
}
_DIRECTOR_ROWS: _Rows = {
    "span_detection_enabled": "check.enabled",
    "span_model": ("detector.name", lambda raw: "reader" if raw == "groundwire" else raw),
    "span_model_revision": ("detector.revision", lambda raw: None if raw == "" else raw),
    "span_token_threshold": "detector.operating_point",
    "span_min_tokens": "detector.min_pieces",
    "span_max_length": "detector.max_length",
    "span_device": ("detector.device", _read_span_device),
    "on_fail": "check.action",
}
#: Settings of the section ``verify`` that are not arguments of Berry's tool.
_NOT_BERRYS = {"verifier", "base_url", "service_url", "plain_http_host", "api_key", "rule"}
_BERRY_NAMES = {"model": "verifier_model", "target": "default_target"}
_BERRY_ROWS: _Rows = {
    f"{BERRY}.{_BERRY_NAMES.get(each.name, each.name)}": path
    for path, each in SETTINGS.items()
    if each.section == "verify" and each.name not in _NOT_BERRYS
}
_SHARED_VARIABLES = {
    "BERRY_VERIFIER_MODEL": "verify.model",
    "BERRY_SERVICE_URL": "verify.service_url",
    "OPENAI_BASE_URL": "verify.base_url",
    "OPENAI_API_KEY": "verify.api_key",
}


def _variable(name: str) -> str:
    return name.upper().replace(".", "_").replace("-", "_")


def _aliases(format: Format, rows: _Rows, *, root: str = "") -> Iterator[Alias]:
    for name, row in rows.items():
        path, conversion = (row, same) if isinstance(row, str) else row
        full = f"{root}.{name}" if root else name
        variable = _variable(full) if format is Format.DVARA else ""
        yield Alias(format=format, name=full, path=path, variable=variable, conversion=conversion)


def _all_aliases() -> Iterator[Alias]:
    for each in SETTINGS.values():
        yield Alias(format=Format.NATIVE, name=each.path, path=each.path, variable=each.variable)
    yield from _aliases(Format.DVARA, _DVARA_ROWS, root=DVARA)
    for root, models in _HALUGATE_PLACES.items():
        rows = {name.format(**models): row for name, row in _HALUGATE_ROWS.items()}
        yield from _aliases(Format.HALUGATE, rows, root=root)
    yield from _aliases(Format.DIRECTOR, _DIRECTOR_ROWS)
    yield from _aliases(Format.BERRY, _BERRY_ROWS)
    for variable, path in _SHARED_VARIABLES.items():
        yield Alias(format=Format.BERRY, name="", variable=variable, path=path, is_shared=True)


#: All names of settings: Groundwire's own and those of other systems.
NAMES: tuple[Alias, ...] = tuple(_all_aliases())

#: Environment variable → the alias of the setting that it sets.
VARIABLES: Mapping[str, Alias] = MappingProxyType(
    {alias.variable: alias for alias in NAMES if alias.variable}
)

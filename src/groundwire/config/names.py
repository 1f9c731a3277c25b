"""The names of our settings in other systems: one table, read from left to right.

A name of a file is its path with dots; an environment variable stands beside it. Where the values
differ as well, a :data:`Conversion` makes ours of theirs.
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
    """The system whose names a file or a variable uses."""

    NATIVE = "groundwire"
    DVARA = "dvara"
    HALUGATE = "halugate"
    DIRECTOR = "director"
    BERRY = "berry"


def same(value: Any) -> Any:  # noqa: ANN401 - whatever the setting takes
    """Convert nothing: the values are written as ours are."""
    return value


#: Converts another system's value to ours, before it is checked. It raises :class:`KindError` for
#: values without a counterpart.
Conversion = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name for a setting.

    Attributes:
        format: The system that uses this name.
        name: The name in a file; empty for a setting that is only an environment variable.
        path: Our name of the setting.
        variable: The environment variable; empty if there is none.
        is_shared: Whether other programs read that variable too: then it counts only where no other
            value is given, and only for a verifier that leaves this machine.
        conversion: Converts the value to ours.
    """

    format: Format
    name: str
    path: str
    variable: str = ""
    is_shared: bool = False
    conversion: Conversion = same


#: Defaults of other systems, from their documentation; they apply where their names are used.
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
    """Read a limit of DVARA, of which 0 and less mean no limit."""
    limit = Kind(Whole).read(raw)
    return limit if limit > 0 else None


def _read_use_cpu(raw: Any) -> str:  # noqa: ANN401
    return "cpu" if Kind(bool).read(raw) else "cuda:0"


def _read_span_device(raw: Any) -> str:  # noqa: ANN401
    number = Kind(Annotated[int, Number(ge=-1, le=999)]).read(raw)
    return "cpu" if number == -1 else f"cuda:{number}"


def _embedded(theirs: str, ours: str) -> Conversion:
    """Return the conversion of a model whose name stands for an embedded one."""

    def read(raw: Any) -> Any:  # noqa: ANN401
        if isinstance(raw, str) and raw.startswith("models/halugate-") and raw != theirs:
            raise KindError(
                f"{theirs} (the model inside the package), a folder, or a hub id", theirs
            )
        return ours if raw == theirs else raw

    return read


#: Names → our path, or our path and how values differ.
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
#: The two places where versions of HaluGate keep their models, and what each calls them.
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
#: Settings of a verification that are no arguments of Berry's tool.
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


#: All names, ours included.
NAMES: tuple[Alias, ...] = tuple(_all_aliases())

#: Environment variable → the name.
VARIABLES: Mapping[str, Alias] = MappingProxyType(
    {alias.variable: alias for alias in NAMES if alias.variable}
)

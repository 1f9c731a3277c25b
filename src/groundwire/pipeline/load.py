"""Builds the stages of a pipeline from a configuration."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

from groundwire.config import Config
from groundwire.config.findings import ConfigWarning, findings
from groundwire.config.read import wrong_tenants
from groundwire.detector import Detector
from groundwire.engine.models import DEFAULT_MODEL, EMBEDDERS
from groundwire.engine.reader import Reader
from groundwire.engine.settings import check_for_embedded
from groundwire.errors import ConfigError, ModelError, SettingError, UnpinnedModelError
from groundwire.explain import Explainer
from groundwire.pipeline.detector_pool import Judges
from groundwire.pipeline.explaining import AnyExplainer, LazyExplainer
from groundwire.policy.gate import Gate, load_embedder
from groundwire.policy.policy import Overrides
from groundwire.policy.signals import Embedder, Signals

_EMBEDDED = "embedded"


def load_stages(
    config: Config, *, tenants: Mapping[str, Overrides] | None = None
) -> dict[str, Any]:
    """Load the stages of a configuration; warn of doubtful settings (:class:`.ConfigWarning`).

    Args:
        config: The configuration.
        tenants: Id of a tenant → its own settings. The mapping may change later. ``None``: the
            settings of tenants in the configuration, which do not change.

    Returns:
        The arguments of :class:`groundwire.Pipeline` by name.

    Raises:
        ConfigError: If a setting does not suit its model, or an action is ``repair`` and the model
            that repairs need cannot be used.
        GroundwireError: If a model cannot be used for another reason.
    """
    may_change = tenants is not None
    tenants = config.tenants if tenants is None else tenants
    for finding in findings(config, tenants=tenants):
        warnings.warn(str(finding), ConfigWarning, stacklevel=3)
    gate = _load_gate(config)
    stages: dict[str, Any] = {
        "gate": gate,
        "signals": Signals(config.signals, embed=_load_embedder(config, gate)),
        "decisions": config.decisions,
        "policy": config.policy,
        "limits": config.limits,
        "tenants": tenants,
        "bypasses_gate": config.gate.bypass_explicit,
        "asks_gate_last": config.gate.bypass_evidence,
        "metadata_only": config.evidence.metadata_only,
        "final_tools": config.evidence.final_tools or (),
        "evidence_names": config.evidence.names or (),
        "ignores_short": config.similarity.all_short == "grounded",
    }
    detector = load_detector(config)
    judges = Judges(detector, known=config.detectors, make=partial(_load_beside, config, detector))
    try:
        plugins = (each.plugin for each in config.decisions if each.plugin is not None)
        policy = config.policy
        for action in (policy.action, policy.contradicted_action, *(p.action for p in plugins)):
            judges.check(Overrides(action=action))
        if wrong := [*wrong_tenants(config, judges.check)]:
            raise ConfigError(wrong)
        explainer = _explainer(config, judges, tenants=tenants, may_change=may_change)
    except Exception:
        detector.close()  # otherwise its threads would keep running
        raise
    return stages | {"detector": detector, "judges": judges, "explainer": explainer}


def load_detector(config: Config) -> Detector:
    """Load the detector that a configuration names.

    Raises:
        ConfigError: If a setting is missing or does not suit the detector; the error names the
            setting.
        GroundwireError: If the detector cannot be used.
    """
    own, similarity = config.detector, config.similarity
    name, point = own.name, own.operating_point
    names: dict[str, str] = {}
    compares = name in EMBEDDERS
    if name == "similarity":
        name = f"similarity:{similarity.embedder}"
    if compares and similarity.threshold is not None:
        # This threshold replaces detector.operating_point, in which a number would be a
        # probability, not a similarity.
        point = similarity.threshold
        names["operating_point"] = "similarity.threshold"
    elif compares and not isinstance(point, str):
        raise ConfigError(
            [
                f"{config.origins['detector.operating_point']}: detector.operating_point = "
                f"{point:g} is a probability, and {name} compares. Set similarity.threshold."
            ]
        )
    # Detector.load takes the other settings of the section ``detector`` as arguments of the same
    # names.
    options = asdict(own) | {"operating_point": point}
    del options["name"]
    with _naming(config, "detector", names):
        return Detector.load(name, **options)


def _load_beside(config: Config, first: Detector, name: str) -> Detector:
    """Load an embedded detector other than the configured one.

    The settings that filter findings, such as ``min_words``, apply if they suit the detector.
    """
    own, similarity, known = config.detector, config.similarity, config.detectors
    common: dict[str, Any] = {
        "operating_point": known.point_beside(name, similarity.threshold),
        "min_words": own.min_words,
        "max_answer_chars": own.max_answer_chars,
    }
    if not known.is_comparing(name):
        common |= {"min_probability": own.min_probability, "min_pieces": own.min_pieces}
    return first.beside(name, **common)


def _load_gate(config: Config) -> Gate | None:
    own = config.gate
    if not own.enabled:
        return None
    is_embedded = own.model == _EMBEDDED
    with _naming(config, "gate"):
        try:
            return Gate.load(
                None if is_embedded else own.model,
                threshold=own.threshold,
                revision=own.revision,
                device=own.device,
                threads=config.detector.threads,
            )
        except UnpinnedModelError:
            raise
        except ModelError as error:
            if is_embedded:  # the package is broken; no setting would help
                raise
            origin = config.origins.get("gate.model", "gate")
            raise ConfigError([f"{origin}: gate.model: {error}"]) from error


def _explainer(
    config: Config, judges: Judges, *, tenants: Mapping[str, Overrides], may_change: bool
) -> AnyExplainer | None:
    """Return the explainer; ``None`` if no policy can ask for explanations.

    If no policy asks for explanations now, but a tenant's settings may ask later, an explainer that
    needs model weights of its own is loaded only when it is first used.
    """
    load = partial(_load_explainer, config, judges)
    plugins = (decision.plugin for decision in config.decisions)
    wanted = [config.explain.enabled, *(plugin.explain for plugin in plugins if plugin)]
    if any([*wanted, *(own.explain for own in tenants.values())]):
        return load()
    if not may_change:
        return None
    is_free = config.explain.model == _EMBEDDED and isinstance(judges.first.backend, Reader)
    return load() if is_free else LazyExplainer(load)


def _load_explainer(config: Config, judges: Judges) -> Explainer:
    # Explainer takes settings of the section ``explain`` as arguments of the same names.
    options = asdict(config.explain)
    model = options.pop("model")
    del options["enabled"]
    with _naming(config, "explain"):
        if model != _EMBEDDED:
            return Explainer.load(model, threads=config.detector.threads, **options)
        check_for_embedded(
            revision=options.pop("revision"), device=options.pop("device"), max_length=None
        )
        # To save memory, the explainer shares the weights of a reader: the configured detector or,
        # if that is no reader, the embedded detector.
        reader = judges.first.backend
        if not isinstance(reader, Reader):
            reader = judges.get(DEFAULT_MODEL).backend
        assert isinstance(reader, Reader)
        # The explainer uses no cache, so that tenants do not share results.
        judge = reader.uncached().entailment
        return Explainer(judge, name=DEFAULT_MODEL, takes_detectors=True, **options)


def _load_embedder(config: Config, gate: Gate | None) -> Embedder | None:
    """Return an embedder for signals: the gate's, or else a new one; ``None`` if none is needed."""
    if not config.signals.domains and not config.signals.embeddings:
        return None
    return load_embedder(config.detector.threads).embed if gate is None else gate.embed


@contextmanager
def _naming(config: Config, section: str, names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn errors about an argument of a stage into errors that name the setting and its origin.

    ``names`` maps an argument to its setting, where the setting is not named ``section.argument``.
    """
    try:
        yield
    except SettingError as error:
        path = (names or {}).get(error.setting, f"{section}.{error.setting}")
        shown = SettingError(path, error.value, error.valid)
        raise ConfigError([f"{config.origins.get(path, section)}: {shown}"]) from error
    except UnpinnedModelError as error:
        named = f"{section}.name" if section == "detector" else f"{section}.model"
        origin = config.origins.get(named, section)
        raise ConfigError([f"{origin}: {error} The setting is {section}.revision."]) from error

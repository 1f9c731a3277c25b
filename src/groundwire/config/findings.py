"""Finds settings that are valid, but that the owner of a configuration probably does not intend."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from groundwire.config.read import Config, SettingOrigin
from groundwire.detection.similarity import THRESHOLD
from groundwire.detection.values import Label, Outcome
from groundwire.engine.models import DETECTORS, EMBEDDERS, ENCODER, find_model, find_reader
from groundwire.errors import ConfigError, ModelError, UnknownModelError
from groundwire.policy.policy import HallucinationPlugin, Overrides, decide, reach, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFinding:
    """A probable mistake in a valid configuration.

    Attributes:
        code: Short name of the kind of finding, for programs, such as ``high_threshold``.
        message: Description of the problem and what to do, without tenants and files.
        where: The origin of the setting; may be empty.
        tenants: Ids of the tenants that the finding concerns; may be empty.
    """

    code: str
    message: str
    where: str = ""
    tenants: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        of_tenants = f" Tenants: {', '.join(self.tenants)}." if self.tenants else ""
        return f"{where}{self.message}{of_tenants}"


class ConfigWarning(UserWarning):
    """The warning that the library gives for a finding about a configuration."""


#: Similarity detector → the threshold from which on it flags so many right answers that a warning
#: is due, and the percentage of right answers that it flags at 0.7; see ``docs/similarity.md``.
_FLAGS_MOST = {"similarity:hash": (0.5, 99), "similarity": (0.7, 86)}


def findings(
    config: Config, *, tenants: Mapping[str, Overrides] | None = None
) -> tuple[ConfigFinding, ...]:
    """Find settings of a configuration that its owner probably does not intend.

    Args:
        config: The configuration.
        tenants: The settings of all tenants by id; ``None``: the tenants of the configuration.
    """
    tenants = config.tenants if tenants is None else tenants
    return (
        *_refusing_most(config, tenants),
        *_passing_unchecked(config, tenants),
        *_unknown_detector(config),
        *_high_thresholds(config),
        *_repairing_unsurely(config),
        *_useless_sample(config),
        *_nobody_signs_in(config),
    )


def _refusing_most(config: Config, tenants: Mapping[str, Overrides]) -> Iterator[ConfigFinding]:
    """Find policies that withhold nearly every answer, right or wrong.

    For example, with the embedder ``hash``, hardly any right sentence reaches the threshold 0.7.
    """
    plugins = {f"decisions.{each.name}": each.plugin for each in config.decisions if each.plugin}
    policies: dict[str, HallucinationPlugin | None] = {"check.action": None, **plugins}
    said: dict[str, str] = {}
    for path, plugin in policies.items():
        if message := _refuses_most(config, None, [plugin]):
            said.setdefault(message, _where(config, path))
    for message, where in said.items():
        yield ConfigFinding(code="blocks_right_answers", message=message, where=where)
    by_message: dict[str, list[str]] = {}
    for id_, own in tenants.items():
        message = _refuses_most(config, own, list(plugins.values()))
        if message and message not in said:
            by_message.setdefault(message, []).append(id_)
    for message, ids in by_message.items():
        yield ConfigFinding(code="blocks_right_answers", message=message, tenants=tuple(ids))


def _refuses_most(
    config: Config, own: Overrides | None, plugins: list[HallucinationPlugin | None]
) -> str:
    """Return a message if a policy withholds most answers, right or wrong; else an empty text.

    The policy is that of a tenant with the settings ``own``; ``None`` means a tenant without
    settings. ``plugins`` has the policies of those decisions (rules in the configuration) that may
    apply to a request; ``None`` among them means no decision.
    """
    policy = resolve(config.policy, plugins=plugins, tenant=own)
    action = decide(policy, Outcome.HALLUCINATED, label=Label.UNSUPPORTED)
    if not action.withholds or (policy.explain and config.explain.drops_entailed):
        return ""  # the explainer drops findings that the evidence entails, so right answers pass
    try:
        detector, threshold = _similarity_of(config, own)
    except ConfigError:
        return ""  # other code reports this error
    least, share = _FLAGS_MOST.get(detector, (2.0, 0))
    if threshold < least:
        return ""
    return (
        f"action {action} with the detector {detector} at {threshold:g} withholds nearly every "
        f"answer, right or wrong: at 0.7 it marked {share} of 100 right answers when it was "
        "measured. Set detector.name: reader, which tells them apart, or an action that withholds "
        "nothing, such as flag."
    )


def _passing_unchecked(config: Config, tenants: Mapping[str, Overrides]) -> Iterator[ConfigFinding]:
    """Find settings that let unchecked answers pass although a policy withholds answers."""
    plugins = [each.plugin for each in config.decisions]
    policies = [resolve(config.policy, plugins=[each]) for each in (None, *plugins)]
    policies += [resolve(config.policy, tenant=own) for own in tenants.values()]
    blocking = [
        each
        for each in policies
        if any(action.withholds for action in reach(each, has_evidence=True))
    ]
    path = "gateway.unchecked_endpoints"
    if blocking and config.value(path) == "mark":
        yield ConfigFinding(
            code="unchecked_endpoints_pass",
            where=_where(config, path),
            message=f"{path} = mark: answers of endpoints that are not checked reach the client, "
            "though a policy withholds answers. A client gets past it by another endpoint. Set "
            "auto, which refuses these endpoints where answers may be withheld.",
        )
    path, on_error = "check.on_error", config.policy.on_error
    passing = [each for each in blocking if not decide(each, Outcome.UNAVAILABLE).withholds]
    if any(each.on_error is on_error for each in passing) and _where(config, path):
        yield ConfigFinding(
            code="failed_checks_pass",
            where=_where(config, path),
            message=f"{path} = {on_error}: an answer whose check failed or took too long reaches "
            "the client, though a policy withholds answers. Set auto or block, which withhold it.",
        )


def _similarity_of(config: Config, own: Overrides | None) -> tuple[str, float]:
    """Return the detector and the threshold of a tenant with the settings ``own``.

    If ``own`` is ``None``, the tenant has no settings. The threshold is -1 if the detector measures
    no similarity.

    Raises:
        ConfigError: If the tenant's detector is unknown, or does not fit the tenant's threshold.
    """
    known = config.detectors
    chosen = known.choose(own)
    embedder = EMBEDDERS.get(chosen.detector)
    if embedder is None:
        return chosen.detector, -1.0
    point = chosen.operating_point
    if point is None and chosen.detector == known.first:
        own_point = config.detector.operating_point
        point = own_point if config.similarity.threshold is None else config.similarity.threshold
    elif point is None:
        point = known.point_beside(chosen.detector, config.similarity.threshold)
    if isinstance(point, str):
        points = {} if embedder == "hash" else find_model(ENCODER).operating_points
        point = points.get(point, THRESHOLD)
    return chosen.detector, point


def _unknown_detector(config: Config) -> Iterator[ConfigFinding]:
    """Find a detector's name that is neither known, nor a folder, nor the id of a hub model."""
    name = config.detector.name
    known = (*DETECTORS, *EMBEDDERS)
    if name not in known and "/" not in name and not Path(name).is_dir():
        message, where = str(UnknownModelError(name, DETECTORS)), _where(config, "detector.name")
        yield ConfigFinding(code="unknown_detector", where=where, message=message)


def _high_thresholds(config: Config) -> Iterator[ConfigFinding]:
    """Find thresholds that were probably chosen for another detector.

    The probabilities of the reader, the default detector, are calibrated and so lower than those of
    many other detectors. With a threshold for such a detector, the reader finds little.
    """
    threshold, name = config.detector.operating_point, config.detector.name
    if isinstance(threshold, str) or name in EMBEDDERS:
        return
    try:
        manifest = find_reader(name)
    except ModelError:
        return  # loading the reader raises the same error
    if manifest is None or "precision" not in manifest.operating_points:
        return
    points = manifest.operating_points
    if threshold > (points["balanced"] + points["precision"]) / 2:
        yield ConfigFinding(
            code="high_threshold",
            where=_where(config, "detector.operating_point"),
            message=f"detector.operating_point = {threshold:g} holds literally. The probabilities "
            f"of {manifest.name} are calibrated: its balanced point is {points['balanced']:g}, and "
            f"from {points['precision']:g} on it reports few findings at all. Leave the threshold "
            "out for the balanced point.",
        )


def _repairing_unsurely(config: Config) -> Iterator[ConfigFinding]:
    """Find the action ``repair`` at a threshold at which many right answers are flagged."""
    own, point = config.check, config.detector.operating_point
    if "repair" in (own.action, own.contradicted_action) and point in ("balanced", "recall"):
        yield ConfigFinding(
            code="repair_withholds",
            where=_where(config, "check.action"),
            message="The action repair withholds what it cannot repair, and at the operating point "
            f"{point} also flags about one right answer in seven. Set detector.operating_point: "
            "precision, which flags about one in fifty.",
        )


def _useless_sample(config: Config) -> Iterator[ConfigFinding]:
    """Find an ``audit.sample`` without effect: a sample needs whole answers, and none is kept."""
    own = config.audit
    if own.sample and (own.text != "full" or own.detail_days == 0):
        yield ConfigFinding(
            code="unused_setting",
            where=_where(config, "audit.sample"),
            message=f"audit.sample = {own.sample:g} keeps no answers: people judge them by their "
            "texts. Set audit.text: full, and leave audit.detail_days above 0.",
        )


def _nobody_signs_in(config: Config) -> Iterator[ConfigFinding]:
    """Find an OpenID Connect provider with which nobody can sign in, because nobody gets a role."""
    own = config.oidc
    if own.issuer is not None and not (own.admins or own.reviewers or own.viewers):
        yield ConfigFinding(
            code="nobody_signs_in",
            where=_where(config, "oidc.issuer"),
            message="nobody can sign in at the provider oidc.issuer: no value of the claim "
            f"{own.role_claim} gives a role. Set oidc.admins, oidc.reviewers or oidc.viewers.",
        )


def _where(config: Config, path: str) -> str:
    """Return the place that a setting or a decision comes from; empty if it is a default."""
    origin = config.origins.get(path, SettingOrigin())
    return "" if origin.is_default else str(origin)

"""The tree of settings: native names, defaults, and what each may be. All of it is frozen."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from groundwire.config.keys import KeyText, Token
from groundwire.config.kinds import (
    Choice,
    Device,
    Endpoint,
    Flag,
    Number,
    OneOf,
    Optional,
    Pattern,
    Secret,
    SecretText,
    SettingKind,
    StoreUrl,
    Text,
    Url,
    Words,
)
from groundwire.detection.values import OPERATING_POINTS
from groundwire.engine.settings import MAX_THREADS
from groundwire.policy.policy import Action, OnError, Policy, SourceLimits

#: What other systems call the actions.
ACTION_ALIASES = {
    "metadata": "flag",
    "warn": "header",
    "reject": "block",
    "raise": "block",
}

ACTION = Choice(tuple(Action), ACTION_ALIASES)
ON_ERROR = Choice(tuple(OnError))
PROBABILITY = Number(low=0, high=1)
THRESHOLD = Number(low=0, high=1, is_low_open=True)
COSINE = Number(low=-1, high=1)
SEVERITY = Number(low=0, high=4, is_whole=True)
POSITIVE = Number(low=1, is_whole=True)
COUNT = Number(low=0, is_whole=True)
SECONDS = Number(low=0, is_low_open=True, unit="seconds")
OPERATING_POINT = OneOf((THRESHOLD, Choice(OPERATING_POINTS)))
RELEASE = Choice(("sentence", "deferred"))


def setting(default: object, kind: SettingKind, text: str) -> Any:  # noqa: ANN401 - as dataclasses.field
    """A field of a section: its default, what it may be, and what it means."""
    return field(default=default, metadata={"kind": kind, "text": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Whether answers are checked, and what is done about them."""

    enabled: bool = setting(True, Flag(), "Whether answers are checked.")
    action: Action = setting(Action.LOG, ACTION, "What is done about a hallucinated answer.")
    contradicted_action: Action | None = setting(
        None, Optional(ACTION), "At least this where the evidence says otherwise."
    )
    unverified_action: Action | None = setting(
        None,
        Optional(ACTION),
        "What is done if there is no evidence; null: as action, at most header.",
    )
    partial_action: Action | None = setting(
        None,
        Optional(ACTION),
        "What is done if something stayed unread and nothing was found; null: as action, at most "
        "header.",
    )
    on_error: OnError = setting(
        OnError.AUTO,
        ON_ERROR,
        "What is done if a check was due and failed: allow (recorded), warn (marked as far as the "
        "action marks anything), block, or auto (warn, and block where the action is block).",
    )
    min_severity: int = setting(0, SEVERITY, "Findings less severe are only logged.")
    include_details: bool = setting(False, Flag(), "Whether a body warning names the findings.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Does the prompt call for verification?"""

    enabled: bool = setting(True, Flag(), "Whether prompts are asked about.")
    model: str = setting("embedded", Text(), "embedded, or a folder, or the id of a hub model.")
    revision: str | None = setting(None, Optional(Text()), "Commit of a hub model, 40 digits.")
    threshold: float = setting(0.6, THRESHOLD, "From this probability on, an answer is checked.")
    device: str = setting("cpu", Device(), "Where the model runs.")
    bypass_explicit: bool = setting(
        True, Flag(), "Whether answers to requests that name sources are checked unasked."
    )
    bypass_evidence: bool = setting(
        True,
        Flag(),
        "Whether answers to requests that hold any other evidence are checked unasked.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """What judges."""

    name: str = setting(
        "reader", Text(), "reader, similarity, or a folder or the id of a hub model."
    )
    revision: str | None = setting(None, Optional(Text()), "Commit of a hub model, 40 digits.")
    operating_point: str | float = setting(
        "balanced",
        OPERATING_POINT,
        "From which probability on a word piece is flagged, by name or as a number.",
    )
    min_pieces: int = setting(
        1, POSITIVE, "Flagged word pieces from which on an answer counts as hallucinated."
    )
    min_words: int = setting(0, COUNT, "Spans of fewer words are not reported.")
    min_probability: float = setting(0.0, PROBABILITY, "Spans less probable are not reported.")
    max_length: int | None = setting(
        None,
        Optional(Number(low=16, is_whole=True)),
        "Word pieces a loaded checkpoint reads in one pass; null: as many as it can.",
    )
    max_answer_chars: int = setting(1_000_000, POSITIVE, "A longer answer is refused, never cut.")
    device: str = setting("cpu", Device(), "Where a loaded checkpoint runs.")
    threads: int | None = setting(
        None,
        Optional(Number(low=1, high=MAX_THREADS, is_whole=True)),
        "CPU threads; null: one for each processor.",
    )
    cache_mb: float = setting(
        128.0, Number(low=0, unit="megabytes"), "Memory for sources that were read."
    )
    cache_ttl_s: float = setting(
        3600.0,
        Number(low=0, is_low_open=True, unit="seconds"),
        "Time until a source that was read is forgotten.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """The second opinion on each finding."""

    enabled: bool = setting(True, Flag(), "Whether findings are explained.")
    model: str = setting("embedded", Text(), "embedded, or a folder, or the id of a hub model.")
    revision: str | None = setting(None, Optional(Text()), "Commit of a hub model, 40 digits.")
    threshold: float = setting(0.9, THRESHOLD, "Less confident, a severity counts one less.")
    drops_entailed: bool = setting(True, Flag(), "Whether a finding that is entailed is dropped.")
    entailment_threshold: float = setting(0.75, THRESHOLD, "From this P(entailed) on.")
    device: str = setting("cpu", Device(), "Where the model runs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """The detector that compares sentences with sources."""

    threshold: float | None = setting(
        None, Optional(THRESHOLD), "Less similar is ungrounded; null: that of the embedder."
    )
    min_words: int = setting(5, COUNT, "Sentences of fewer words are not compared.")
    embedder: str = setting("neural", Choice(("neural", "hash")), "What gives the embeddings.")
    all_short: str = setting(
        "partial",
        Choice(("partial", "grounded")),
        "The outcome if nothing is wrong and some sentence is too short to be compared.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSettings:
    """How much evidence is taken. What exceeds a limit is told, and makes the outcome partial."""

    max_sources: int | None = setting(None, Optional(POSITIVE), "The first so many; null: all.")
    max_source_chars: int | None = setting(
        None, Optional(POSITIVE), "Longer sources are left out whole; null: none is."
    )
    metadata_only: bool = setting(
        False, Flag(), "Whether only sources that the request names in its metadata are evidence."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """Claims with citations, verified one by one."""

    verifier: str = setting(
        "local",
        Choice(("local", "openai", "service")),
        "local stays on this machine; openai is any compatible endpoint with logprobs.",
    )
    model: str | None = setting(None, Optional(Text()), "The endpoint's model.")
    base_url: str | None = setting(None, Optional(Url()), "Where an openai verifier is.")
    service_url: str | None = setting(None, Optional(Url()), "Where a service is.")
    api_key: Secret | None = setting(None, Optional(SecretText()), "Key of either.")
    target: float = setting(
        0.95,
        Number(low=0, high=1, is_low_open=True, is_high_open=True),
        "The probability that a claim must reach with its evidence, and not without.",
    )
    max_claims: int = setting(25, POSITIVE, "Claims that are verified; more is flagged.")
    require_citations: bool = setting(False, Flag(), "Whether a claim without citation fails.")
    context_mode: str = setting(
        "cited",
        Choice(
            ("cited", "all", "auto"),
            {"cite": "cited", "citations": "cited", "cites": "cited", "full": "all"},
        ),
        "Evidence of a claim: what it cites, all, or auto: all if it cites nothing.",
    )
    timeout_s: float = setting(
        60.0, Number(low=0, is_low_open=True, unit="seconds"), "For one call of the verifier."
    )
    claim_split: str = setting("sentences", Choice(("sentences", "lines")), "Where claims end.")
    citation_regex: str | None = setting(
        None, Optional(Pattern()), "What a citation looks like; null: [S0], [1], [S0, S1]."
    )
    units: str = setting("bits", Choice(("bits", "nats")), "Of budgets.")
    placeholder: str = setting("[REDACTED]", Text(), "Stands for evidence that is taken away.")
    temperature: float = setting(0.0, Number(low=0, high=2), "Of an endpoint.")
    max_concurrency: int = setting(8, Number(low=1, high=64, is_whole=True), "Calls at a time.")
    top_logprobs: int = setting(10, Number(low=1, high=20, is_whole=True), "Asked for.")
    include_prompts: bool = setting(False, Flag(), "Whether the report holds the prompts.")
    max_prompt_chars: int = setting(3000, POSITIVE, "Of each prompt in the report.")
    rule: str = setting(
        "signed",
        Choice(("signed", "kl")),
        "How a claim is decided upon: believed with its evidence and not without, or by comparing "
        "budgets, which have no sign.",
    )
    min_log_odds_gain: float = setting(0.0, Number(low=0), "That evidence must bring.")
    use_cache: bool = setting(True, Flag(), "Whether calls are kept, at temperature 0.")
    group_claims: bool = setting(True, Flag(), "Whether claims with one evidence share a call.")
    max_group_size: int = setting(8, Number(low=1, high=64, is_whole=True), "Claims in a call.")
    max_group_prompt_chars: int = setting(
        24_000, Number(low=1000, is_whole=True), "Characters in a call."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """The proxy that checks answers before users see them."""

    host: str = setting("127.0.0.1", Text(), "The address it listens on; 0.0.0.0: all of them.")
    port: int = setting(
        8080, Number(low=0, high=65_535, is_whole=True), "The port it listens on; 0: any free one."
    )
    api_key: Secret | None = setting(
        None, Optional(KeyText()), "A key of the tenant default; others have theirs in tenants."
    )
    release: str = setting(
        "sentence",
        RELEASE,
        "When text that may be withheld is let go in a stream: sentence by sentence once judged, "
        "or all of it at the end.",
    )
    unchecked_endpoints: str = setting(
        "auto",
        Choice(("auto", "mark", "refuse")),
        "What is done about endpoints that write text and are not checked: mark the response, "
        "refuse the request, or auto (refuse where the action is block, else mark).",
    )
    max_body_bytes: int = setting(33_554_432, POSITIVE, "A larger request is refused.")
    max_response_bytes: int = setting(
        67_108_864, POSITIVE, "A larger answer that has to be held to be checked is refused."
    )
    max_held_chars: int = setting(
        1_000_000, POSITIVE, "Characters of a stream that are held at most."
    )
    max_requests: int = setting(256, POSITIVE, "Requests at a time; more are told to come back.")
    check_timeout_s: float = setting(
        30.0, SECONDS, "For the check of an answer once it is complete; then it counts as failed."
    )
    keepalive_s: float = setting(
        15.0,
        Number(low=0, unit="seconds"),
        "Between comments that keep a stream open while its text is held; 0: none are sent.",
    )
    forwards_sources: bool = setting(
        False, Flag(), 'Whether metadata["grounding.*"] goes on to the upstream.'
    )
    data_dir: str | None = setting(
        None, Optional(Text()), "The folder of what it keeps; null: the user's application folder."
    )
    shutdown_s: float = setting(
        30.0, SECONDS, "Time that requests in flight have to end when it is told to stop."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """The admin plane: tenants, keys, policies and the audit trail, on a port of its own."""

    enabled: bool = setting(True, Flag(), "Whether there is one.")
    host: str = setting("127.0.0.1", Text(), "The address it listens on.")
    port: int = setting(
        8090, Number(low=0, high=65_535, is_whole=True), "The port it listens on; 0: any free one."
    )
    api_key: Secret | None = setting(
        None, Optional(KeyText()), "A key with the role admin; others are made with it."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The database of tenants, keys and the audit trail."""

    url: Secret | None = setting(
        None,
        Optional(StoreUrl()),
        "postgresql://user:password@host/database, or sqlite:///path; null: groundwire.db in "
        "gateway.data_dir.",
    )
    timeout_s: float = setting(5.0, SECONDS, "To connect, and to wait for a connection.")
    max_connections: int = setting(
        5,
        POSITIVE,
        "Connections of one process at a time for all that reads and changes. Besides: one writes "
        "the audit trail, and on PostgreSQL one hears of changes and one locks retention.",
    )
    poll_s: float = setting(
        0.25, SECONDS, "Between two looks for changes that other processes made to a SQLite file."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The record of what was found and done."""

    enabled: bool = setting(True, Flag(), "Whether findings are recorded.")
    path: str | None = setting(
        None,
        Optional(Text()),
        "A file for it in place of the store; -: standard output; null: the store, or audit.jsonl "
        "in gateway.data_dir where there is no store.",
    )
    text: str = setting(
        "cut",
        Choice(("cut", "hash", "full")),
        "What stands for a text: its first 100 characters, the first 16 hexadecimal digits of its "
        "SHA-256, or all of it.",
    )
    redact: str = setting(
        "secret",
        Words(("secret", "email", "iban", "card", "phone", "ip")),
        "What is taken out of texts before they are kept.",
    )
    durability: str = setting(
        "batched",
        Choice(("batched", "before_response")),
        "When a record is on disk: soon after, or before its response has ended.",
    )
    on_failure: str = setting(
        "allow",
        Choice(("allow", "refuse")),
        "What becomes of a response whose record cannot be written.",
    )
    key: Secret | None = setting(
        None,
        Optional(SecretText()),
        "What the chain of records is signed with, the same in all replicas; null: a key in "
        "gateway.data_dir, which the first start makes.",
    )
    retention_days: float | None = setting(
        None,
        Optional(Number(low=0, is_low_open=True, unit="days")),
        "How long records are kept; null: without end.",
    )
    detail_days: float | None = setting(
        30.0,
        Optional(Number(low=0, unit="days")),
        "How long what was found is kept in full beside its record; 0: not at all; null: as long "
        "as the record.",
    )
    queue_size: int = setting(10_000, POSITIVE, "Events that wait to be written at most.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamDefaults:
    """What answers requests, if it is one server; and how all of them are talked to."""

    url: str | None = setting(
        None, Optional(Endpoint()), "Where its API begins; several are in upstreams."
    )
    api_key: Secret | None = setting(
        None, Optional(Token()), "Its key; null: what the caller has for it, if anything."
    )
    connect_timeout_s: float = setting(5.0, SECONDS, "To connect.")
    response_timeout_s: float = setting(
        600.0, SECONDS, "From the request to the headers of the response."
    )
    idle_timeout_s: float = setting(120.0, SECONDS, "Between two pieces of a response.")
    max_connections: int = setting(512, POSITIVE, "Connections at a time, to all of them.")
    max_failures: int = setting(3, POSITIVE, "Failures in a row until one counts as down.")
    cooldown_s: float = setting(15.0, SECONDS, "Until one that counts as down is tried again.")


#: Name of a section → its class, in the order they are shown.
SECTIONS: Mapping[str, type] = {
    "check": Check,
    "gate": Gate,
    "detector": DetectorSettings,
    "explain": Explain,
    "similarity": Similarity,
    "evidence": EvidenceSettings,
    "verify": Verify,
    "gateway": Gateway,
    "admin": Admin,
    "store": StoreSettings,
    "audit": Audit,
    "upstream": UpstreamDefaults,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One leaf of the tree. ``variable`` is the environment variable that sets it."""

    section: str
    name: str
    kind: SettingKind
    default: Any
    text: str

    @property
    def path(self) -> str:
        """Its full name, such as ``check.action``."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it, such as ``GROUNDWIRE_CHECK_ACTION``."""
        return f"GROUNDWIRE_{self.section}_{self.name}".upper()


def _settings() -> Iterator[Setting]:
    for section, type_ in SECTIONS.items():
        for each in fields(type_):
            assert each.default is not MISSING
            yield Setting(
                section=section,
                name=each.name,
                kind=each.metadata["kind"],
                default=each.default,
                text=each.metadata["text"],
            )


#: Full name of a setting → the setting, in the order of the tree.
SETTINGS: Mapping[str, Setting] = {each.path: each for each in _settings()}


def policy_of(check: Check, explain: Explain) -> Policy:
    """The policy of the configuration as a whole."""
    own = {each.name: getattr(check, each.name) for each in fields(Check)}
    return Policy(**own, explain=explain.enabled)


def limits_of(evidence: EvidenceSettings) -> SourceLimits:
    """The limits of the configuration as a whole."""
    return SourceLimits(
        max_sources=evidence.max_sources, max_source_chars=evidence.max_source_chars
    )

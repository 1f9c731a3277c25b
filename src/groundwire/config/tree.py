"""The tree of settings: native names, defaults, and what each may be. All of it is frozen."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any

from groundwire.config.keys import KeyText, Token
from groundwire.config.kinds import (
    Device,
    Endpoint,
    Kind,
    Number,
    Pattern,
    SecretText,
    StoreUrl,
    Text,
    Url,
    one_of,
    some_of,
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

ActionWord = Annotated[Action, one_of(tuple(Action), ACTION_ALIASES)]
OnErrorWord = Annotated[OnError, one_of(tuple(OnError))]
Probability = Annotated[float, Number(ge=0, le=1)]
Threshold = Annotated[float, Number(gt=0, le=1)]
Cosine = Annotated[float, Number(ge=-1, le=1)]
Severity = Annotated[int, Number(ge=0, le=4)]
Positive = Annotated[int, Number(ge=1)]
Count = Annotated[int, Number(ge=0)]
Seconds = Annotated[float, Number(gt=0, unit="seconds")]
Days = Annotated[float, Number(gt=0, unit="days")]
Port = Annotated[int, Number(ge=0, le=65_535)]
Sixty = Annotated[int, Number(ge=1, le=64)]
OperatingPoint = Threshold | Annotated[str, one_of(OPERATING_POINTS)]
Release = Annotated[str, one_of(("sentence", "deferred"))]


def setting(default: object, text: str) -> Any:  # noqa: ANN401 - as dataclasses.field
    """A field of a section: its default and its meaning. The annotation says what is possible."""
    return field(default=default, metadata={"text": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Settings of the check: whether answers are checked, and what is done about them."""

    enabled: bool = setting(True, "Whether answers are checked.")
    action: ActionWord = setting(Action.LOG, "What is done about a hallucinated answer.")
    contradicted_action: ActionWord | None = setting(
        None, "At least this where the evidence says otherwise."
    )
    unverified_action: ActionWord | None = setting(
        None, "What is done if there is no evidence; null: as action, at most header."
    )
    partial_action: ActionWord | None = setting(
        None,
        "What is done if something stayed unread and nothing was found; null: as action, at most "
        "header.",
    )
    on_error: OnErrorWord = setting(
        OnError.AUTO,
        "What is done if a check was due and failed: allow (recorded), warn (marked as far as the "
        "action marks anything), block, or auto (warn, and block where the action is block).",
    )
    min_severity: Severity = setting(0, "Findings less severe are only logged.")
    include_details: bool = setting(False, "Whether a body warning names the findings.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Settings of the gate, which tells whether a prompt calls for a check."""

    enabled: bool = setting(True, "Whether prompts are asked about.")
    model: Text = setting("embedded", "embedded, or a folder, or the id of a hub model.")
    revision: Text | None = setting(None, "Commit of a hub model, 40 digits.")
    threshold: Threshold = setting(0.6, "From this probability on, an answer is checked.")
    device: Device = setting("cpu", "Where the model runs.")
    bypass_explicit: bool = setting(
        True, "Whether answers to requests that name sources are checked unasked."
    )
    bypass_evidence: bool = setting(
        True,
        "Whether answers to requests that hold any other evidence are checked unasked.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """Settings of the hallucination detector."""

    name: Text = setting("reader", "reader, similarity, or a folder or the id of a hub model.")
    revision: Text | None = setting(None, "Commit of a hub model, 40 digits.")
    operating_point: OperatingPoint = setting(
        "balanced", "From which probability on a word piece is flagged, by name or as a number."
    )
    min_pieces: Positive = setting(
        1, "Flagged word pieces from which on an answer counts as hallucinated."
    )
    min_words: Count = setting(0, "Spans of fewer words are not reported.")
    min_probability: Probability = setting(0.0, "Spans less probable are not reported.")
    max_length: Annotated[int, Number(ge=16)] | None = setting(
        None, "Word pieces a loaded checkpoint reads in one pass; null: as many as it can."
    )
    max_answer_chars: Positive = setting(1_000_000, "A longer answer is refused, never cut.")
    device: Device = setting("cpu", "Where a loaded checkpoint runs.")
    threads: Annotated[int, Number(ge=1, le=MAX_THREADS)] | None = setting(
        None, "CPU threads; null: one for each processor."
    )
    cache_mb: Annotated[float, Number(ge=0, unit="megabytes")] = setting(
        128.0, "Memory for sources that were read."
    )
    cache_ttl_s: Seconds = setting(3600.0, "Time until a source that was read is forgotten.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """Settings of the explainer, which gives a second opinion on each finding."""

    enabled: bool = setting(True, "Whether findings are explained.")
    model: Text = setting("embedded", "embedded, or a folder, or the id of a hub model.")
    revision: Text | None = setting(None, "Commit of a hub model, 40 digits.")
    threshold: Threshold = setting(0.9, "Less confident, a severity counts one less.")
    drops_entailed: bool = setting(True, "Whether a finding that is entailed is dropped.")
    entailment_threshold: Threshold = setting(0.75, "From this P(entailed) on.")
    device: Device = setting("cpu", "Where the model runs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """Settings of the similarity detector, which compares sentences with sources."""

    threshold: Threshold | None = setting(
        None, "Less similar is ungrounded; null: that of the embedder."
    )
    min_words: Count = setting(5, "Sentences of fewer words are not compared.")
    embedder: Annotated[str, one_of(("neural", "hash"))] = setting(
        "neural", "What gives the embeddings."
    )
    all_short: Annotated[str, one_of(("partial", "grounded"))] = setting(
        "partial", "The outcome if nothing is wrong and some sentence is too short to be compared."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSettings:
    """Limits of the evidence. What exceeds one is reported, and makes the outcome partial."""

    max_sources: Positive | None = setting(None, "The first so many; null: all.")
    max_source_chars: Positive | None = setting(
        None, "Longer sources are left out whole; null: none is."
    )
    metadata_only: bool = setting(
        False, "Whether only sources that the request names in its metadata are evidence."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """Settings of the verification of claims with citations."""

    verifier: Annotated[str, one_of(("local", "openai", "service"))] = setting(
        "local", "local stays on this machine; openai is any compatible endpoint with logprobs."
    )
    model: Text | None = setting(None, "The endpoint's model.")
    base_url: Url | None = setting(None, "Where an openai verifier is.")
    service_url: Url | None = setting(None, "Where a service is.")
    api_key: SecretText | None = setting(None, "Key of either.")
    target: Annotated[float, Number(gt=0, lt=1)] = setting(
        0.95, "The probability that a claim must reach with its evidence, and not without."
    )
    max_claims: Positive = setting(25, "Claims that are verified; more is flagged.")
    require_citations: bool = setting(False, "Whether a claim without citation fails.")
    context_mode: Annotated[
        str,
        one_of(
            ("cited", "all", "auto"),
            {"cite": "cited", "citations": "cited", "cites": "cited", "full": "all"},
        ),
    ] = setting(
        "cited", "Evidence of a claim: what it cites, all, or auto: all if it cites nothing."
    )
    timeout_s: Seconds = setting(60.0, "For one call of the verifier.")
    claim_split: Annotated[str, one_of(("sentences", "lines"))] = setting(
        "sentences", "Where claims end."
    )
    citation_regex: Pattern | None = setting(
        None, "What a citation looks like; null: [S0], [1], [S0, S1]."
    )
    units: Annotated[str, one_of(("bits", "nats"))] = setting("bits", "Of budgets.")
    placeholder: Text = setting("[REDACTED]", "Stands for evidence that is taken away.")
    temperature: Annotated[float, Number(ge=0, le=2)] = setting(0.0, "Of an endpoint.")
    max_concurrency: Sixty = setting(8, "Calls at a time.")
    top_logprobs: Annotated[int, Number(ge=1, le=20)] = setting(10, "Asked for.")
    include_prompts: bool = setting(False, "Whether the report holds the prompts.")
    max_prompt_chars: Positive = setting(3000, "Of each prompt in the report.")
    rule: Annotated[str, one_of(("signed", "kl"))] = setting(
        "signed",
        "How a claim is decided upon: believed with its evidence and not without, or by comparing "
        "budgets, which have no sign.",
    )
    min_log_odds_gain: Annotated[float, Number(ge=0)] = setting(0.0, "That evidence must bring.")
    use_cache: bool = setting(True, "Whether calls are kept, at temperature 0.")
    group_claims: bool = setting(True, "Whether claims with one evidence share a call.")
    max_group_size: Sixty = setting(8, "Claims in a call.")
    max_group_prompt_chars: Annotated[int, Number(ge=1000)] = setting(
        24_000, "Characters in a call."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """Settings of the proxy that checks answers before users see them."""

    host: Text = setting("127.0.0.1", "The address it listens on; 0.0.0.0: all of them.")
    port: Port = setting(8080, "The port it listens on; 0: any free one.")
    api_key: KeyText | None = setting(
        None, "A key of the tenant default; others have theirs in tenants."
    )
    release: Release = setting(
        "sentence",
        "When text that may be withheld is let go in a stream: sentence by sentence once judged, "
        "or all of it at the end.",
    )
    unchecked_endpoints: Annotated[str, one_of(("auto", "mark", "refuse"))] = setting(
        "auto",
        "What is done about endpoints that write text and are not checked: mark the response, "
        "refuse the request, or auto (refuse where the action is block, else mark).",
    )
    max_body_bytes: Positive = setting(33_554_432, "A larger request is refused.")
    max_response_bytes: Positive = setting(
        67_108_864, "A larger answer that has to be held to be checked is refused."
    )
    max_held_chars: Positive = setting(1_000_000, "Characters of a stream that are held at most.")
    max_requests: Positive = setting(256, "Requests at a time; more are told to come back.")
    check_timeout_s: Seconds = setting(
        30.0, "For the check of an answer once it is complete; then it counts as failed."
    )
    keepalive_s: Annotated[float, Number(ge=0, unit="seconds")] = setting(
        15.0, "Between comments that keep a stream open while its text is held; 0: none are sent."
    )
    forwards_sources: bool = setting(
        False, 'Whether metadata["grounding.*"] goes on to the upstream.'
    )
    data_dir: Text | None = setting(
        None, "The folder of what it keeps; null: the user's application folder."
    )
    shutdown_s: Seconds = setting(
        30.0, "Time that requests in flight have to end when it is told to stop."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """Settings of the admin plane, which has tenants, keys and the audit trail on its own port."""

    enabled: bool = setting(True, "Whether there is one.")
    host: Text = setting("127.0.0.1", "The address it listens on.")
    port: Port = setting(8090, "The port it listens on; 0: any free one.")
    api_key: KeyText | None = setting(None, "A key with the role admin; others are made with it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Settings of the database of tenants, keys and the audit trail."""

    url: StoreUrl | None = setting(
        None,
        "postgresql://user:password@host/database, or sqlite:///path; null: groundwire.db in "
        "gateway.data_dir.",
    )
    timeout_s: Seconds = setting(5.0, "To connect, and to wait for a connection.")
    max_connections: Positive = setting(
        5,
        "Connections of one process at a time for all that reads and changes. Besides: one writes "
        "the audit trail, and on PostgreSQL one hears of changes and one locks retention.",
    )
    poll_s: Seconds = setting(
        0.25, "Between two looks for changes that other processes made to a SQLite file."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Settings of the audit trail, the record of what was found and done."""

    enabled: bool = setting(True, "Whether findings are recorded.")
    path: Text | None = setting(
        None,
        "A file for it in place of the store; -: standard output; null: the store, or audit.jsonl "
        "in gateway.data_dir where there is no store.",
    )
    text: Annotated[str, one_of(("cut", "hash", "full"))] = setting(
        "cut",
        "What stands for a text: its first 100 characters, the first 16 hexadecimal digits of its "
        "SHA-256, or all of it.",
    )
    redact: Annotated[str, some_of(("secret", "email", "iban", "card", "phone", "ip"))] = setting(
        "secret", "What is taken out of texts before they are kept."
    )
    durability: Annotated[str, one_of(("batched", "before_response"))] = setting(
        "batched", "When a record is on disk: soon after, or before its response has ended."
    )
    on_failure: Annotated[str, one_of(("allow", "refuse"))] = setting(
        "allow", "What becomes of a response whose record cannot be written."
    )
    key: SecretText | None = setting(
        None,
        "What the chain of records is signed with, the same in all replicas; null: a key in "
        "gateway.data_dir, which the first start makes.",
    )
    retention_days: Days | None = setting(None, "How long records are kept; null: without end.")
    detail_days: Annotated[float, Number(ge=0, unit="days")] | None = setting(
        30.0,
        "How long what was found is kept in full beside its record; 0: not at all; null: as long "
        "as the record.",
    )
    queue_size: Positive = setting(10_000, "Events that wait to be written at most.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamDefaults:
    """The upstream, if it is one server, and the limits of the connections to all upstreams."""

    url: Endpoint | None = setting(None, "Where its API begins; several are in upstreams.")
    api_key: Token | None = setting(None, "Its key; null: what the caller has for it, if anything.")
    connect_timeout_s: Seconds = setting(5.0, "To connect.")
    response_timeout_s: Seconds = setting(600.0, "From the request to the headers of the response.")
    idle_timeout_s: Seconds = setting(120.0, "Between two pieces of a response.")
    max_connections: Positive = setting(512, "Connections at a time, to all of them.")
    max_failures: Positive = setting(3, "Failures in a row until one counts as down.")
    cooldown_s: Seconds = setting(15.0, "Until one that counts as down is tried again.")


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
    """One setting of a section, with its default and its meaning."""

    section: str
    name: str
    kind: Kind
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
                kind=Kind(each.type),
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

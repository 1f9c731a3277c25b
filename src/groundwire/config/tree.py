"""All settings: their names, defaults and types, as frozen dataclasses.

The docstrings of these classes are read by programs: they describe the settings in the
documentation, in help texts and in schemas.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from groundwire.config import kinds
from groundwire.config.keys import KeyText, Token
from groundwire.detection.values import OPERATING_POINTS
from groundwire.engine.settings import MAX_THREADS
from groundwire.policy.policy import Action, OnError
from groundwire.text.docstrings import described

#: Another system's name of an action → the action.
ACTION_ALIASES = {"metadata": "flag", "warn": "header", "reject": "block", "raise": "block"}

ActionWord = Annotated[Action, kinds.one_of(tuple(Action), ACTION_ALIASES)]
Probability = Annotated[float, kinds.Number(ge=0, le=1)]
Threshold = Annotated[float, kinds.Number(gt=0, le=1)]
Cosine = Annotated[float, kinds.Number(ge=-1, le=1)]
Budget = Annotated[float, kinds.Number(gt=0, lt=1)]
Positive = Annotated[int, kinds.Number(ge=1)]
Count = Annotated[int, kinds.Number(ge=0)]
Seconds = Annotated[float, kinds.Number(gt=0, unit="seconds")]
Port = Annotated[int, kinds.Number(ge=0, le=65_535)]
UpTo64 = Annotated[int, kinds.Number(ge=1, le=64)]
OperatingPoint = Threshold | Annotated[str, kinds.one_of(OPERATING_POINTS)]
Scope = Annotated[str, kinds.matching(r"(.* )?openid( .*)?", "words with openid among them")]
Callback = Annotated[
    str,
    kinds.matching(
        r"(https://[^\s/?#@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)/console/sign-in/callback",
        "a URL with https://, or with http:// on this machine, such as "
        "https://gateway.example.com/console/sign-in/callback",
    ),
]
EvidenceName = Annotated[str, kinds.matching(r".*[^\W\d_].*", "a name with a letter")]


#: Name of a preset → the settings whose defaults the preset changes, with the new defaults.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "strict": {
        "check.action": Action.BLOCK,
        "check.unverified_action": Action.BLOCK,
        "check.partial_action": Action.BLOCK,
        "check.on_error": OnError.BLOCK,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Settings of the check: whether answers are checked, and what follows from the results.

    Attributes:
        preset: Other defaults for the settings of this section. strict: block every answer that is
            not found grounded, also unverified and partial answers and those whose check failed.
        enabled: Whether answers are checked.
        action: The action on a hallucinated answer. none, log and flag deliver it unchanged (log
            records it, flag also counts it apart); header adds response headers; body puts a
            warning before the text; repair replaces wrong words by words of the evidence or takes
            them out, and withholds the answer if neither is possible; block withholds the answer.
        contradicted_action: The action on an answer that the evidence contradicts, if it is
            stronger than action; null: as action.
        unverified_action: The action if there is no evidence; null: as action, at most header.
        partial_action: The action if not everything was read, unless a finding asks for a
            stronger one; null: as action, at most header.
        on_error: The reaction to a check that failed: allow (the answer passes, and the failure is
            logged), warn (the answer passes, with warning headers if the action is header or
            stronger), block, or auto (block if the action is repair or block, else warn).
        min_severity: Findings of a lower severity are at most logged.
        include_details: Whether the warning of the action body lists the findings.
        false_block_budget: A promise: a tenant's policy blocks at most this share of right answers.
            The console tells whether reviewers' labels show that the promise is kept; no check
            enforces it; null: no promise.
    """

    preset: Annotated[str, kinds.one_of(("none", "strict"))] = "none"
    enabled: bool = True
    action: ActionWord = Action.LOG
    contradicted_action: ActionWord | None = None
    unverified_action: ActionWord | None = None
    partial_action: ActionWord | None = None
    on_error: Annotated[OnError, kinds.one_of(tuple(OnError))] = OnError.AUTO
    min_severity: Annotated[int, kinds.Number(ge=0, le=4)] = 0
    include_details: bool = False
    false_block_budget: Budget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Settings of the gate, which decides from a prompt whether the answer needs a check.

    Attributes:
        enabled: Whether the gate judges prompts.
        model: The model: embedded, a folder, or the id of a hub model.
        revision: Commit of a hub model, 40 digits.
        threshold: The answer is checked if the gate's probability is at least this and above 0.5.
        device: The device that the model runs on.
        bypass_explicit: Whether answers to requests that name sources are checked without asking
            the gate.
        bypass_evidence: Whether answers to requests with any other evidence are checked whatever
            the gate says.
    """

    enabled: bool = True
    model: kinds.Text = "embedded"
    revision: kinds.Text | None = None
    threshold: Threshold = 0.6
    device: kinds.Device = "cpu"
    bypass_explicit: bool = True
    bypass_evidence: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """Settings of the hallucination detector.

    Attributes:
        name: The detector: reader, similarity, a folder with a model, or the id of a hub model.
        revision: Commit of a hub model, 40 digits.
        operating_point: The threshold, by name or as a number: a word piece is flagged if its
            probability is at least this.
        min_pieces: An answer is hallucinated if at least this many word pieces are flagged.
        min_words: Spans of fewer words are not reported.
        min_probability: Spans of a lower probability are not reported.
        max_length: Limit on the word pieces that a loaded checkpoint reads in one pass; null: as
            many as it can, at most 4096.
        max_answer_chars: A longer answer is refused, never cut.
        device: The device that a loaded checkpoint runs on.
        threads: The number of CPU threads; null: one for each processor.
        cache_mb: The size of a detector's caches together; the default of the gateway is 1000.
        cache_ttl_s: The time after which a cached text expires.
    """

    name: kinds.Text = "reader"
    revision: kinds.Text | None = None
    operating_point: OperatingPoint = "balanced"
    min_pieces: Positive = 1
    min_words: Count = 0
    min_probability: Probability = 0.0
    max_length: Annotated[int, kinds.Number(ge=16)] | None = None
    max_answer_chars: Positive = 1_000_000
    device: kinds.Device = "cpu"
    threads: Annotated[int, kinds.Number(ge=1, le=MAX_THREADS)] | None = None
    cache_mb: Annotated[float, kinds.Number(ge=0, unit="megabytes")] = 128.0
    cache_ttl_s: Seconds = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """Settings of the explainer, which gives a second opinion on each finding.

    Attributes:
        enabled: Whether findings are explained.
        model: The model: embedded, a folder, or the id of a hub model.
        revision: Commit of a hub model, 40 digits.
        threshold: If the explainer's probability of the label of a finding is below this, the
            severity of the finding is one less.
        drops_entailed: Whether findings that the evidence entails are dropped.
        entailment_threshold: A finding counts as entailed if P(entailed) is at least this.
        device: The device that the model runs on.
    """

    enabled: bool = True
    model: kinds.Text = "embedded"
    revision: kinds.Text | None = None
    threshold: Threshold = 0.9
    drops_entailed: bool = True
    entailment_threshold: Threshold = 0.75
    device: kinds.Device = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """Settings of the similarity detector, which compares sentences with sources.

    Attributes:
        threshold: A sentence of lower similarity is ungrounded; null: the default of the embedder.
        embedder: The embedder: neural is a model, hash needs none.
        all_short: The outcome if some sentences are too short to be compared, and nothing else
            keeps the answer from being grounded.
    """

    threshold: Threshold | None = None
    embedder: Annotated[str, kinds.one_of(("neural", "hash"))] = "neural"
    all_short: Annotated[str, kinds.one_of(("partial", "grounded"))] = "partial"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSettings:
    """Settings of the evidence: which texts are evidence, and how much of it is read.

    If evidence is left out because of a limit, the outcome is at best partial.

    Attributes:
        max_sources: How many sources are read, from the first one on; null: all.
        max_source_chars: Sources with more characters are left out; null: no source is left out.
        metadata_only: Whether only sources that the request names in its metadata are evidence.
        final_tools: Names of tools whose arguments are the final answer and are checked, as a list
            or with commas between; null: tools of known frameworks and tools that a request forces.
        names: Names that mark evidence in your prompts, as a list or with commas between, such as
            <kb_hit>, Vorgang; null: only names that are known anyway.
    """

    max_sources: Positive | None = None
    max_source_chars: Positive | None = None
    metadata_only: bool = False
    final_tools: kinds.Listed | None = None
    names: Annotated[tuple[EvidenceName, ...], kinds.OneOrMore(",")] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """Settings of the verification of claims with citations.

    Attributes:
        verifier: The verifier. local: a model on this machine; openai: an endpoint compatible with
            OpenAI's that gives logprobs; service: a verification service.
        model: The model that the endpoint or the service is asked for.
        base_url: The URL of the endpoint of the verifier openai.
        service_url: The URL of the verifier service.
        plain_http_host: A host, such as one of the same cluster, that may be called over plain HTTP
            as endpoint or service. Claims, evidence and key then travel unencrypted.
        api_key: The key for the endpoint or the service.
        target: The probability that a claim must reach with its evidence; rule says how it is
            used.
        max_claims: How many claims are verified; an answer with more is flagged.
        require_citations: Whether a claim without citation fails.
        context_mode: The evidence that a claim is read with. cited: the spans (texts of evidence)
            that it cites; all: all spans; auto: the spans that it cites, or all if it cites
            nothing.
        timeout_s: How long one call to the verifier may take.
        claim_split: Whether claims are sentences or lines.
        citation_regex: A pattern of citations; null: forms such as [S0], [1], [S0, S1] and [S1-S3].
        units: The unit of the amounts of information in the report.
        placeholder: The text that replaces the evidence when a claim is read without it.
        temperature: The sampling temperature at the endpoint.
        max_concurrency: How many calls are made at a time.
        top_logprobs: How many of the likeliest tokens the endpoint is asked for.
        include_prompts: Whether the report holds the prompts.
        max_prompt_chars: How many characters of each prompt the report holds.
        rule: The rule by which a claim passes. signed: it must reach the target with its evidence,
            and not without; kl: the evidence must move the claim's probability by at least the
            required information, up or down.
        min_log_odds_gain: By the rule signed, the rise of a claim's log odds that the evidence must
            cause, in nats.
        use_cache: Whether replies are cached at temperature 0.
        group_claims: Whether claims with the same evidence share a call.
        max_group_size: How many claims may share a call.
        max_group_prompt_chars: How many characters the prompt of a shared call may have.
    """

    verifier: Annotated[str, kinds.one_of(("local", "openai", "service"))] = "local"
    model: kinds.Text | None = None
    base_url: kinds.Url | None = None
    service_url: kinds.Url | None = None
    plain_http_host: kinds.Text | None = None
    api_key: kinds.SecretText | None = None
    target: Annotated[float, kinds.Number(gt=0, lt=1)] = 0.95
    max_claims: Positive = 25
    require_citations: bool = False
    context_mode: Annotated[
        str,
        kinds.one_of(
            ("cited", "all", "auto"),
            {"cite": "cited", "citations": "cited", "cites": "cited", "full": "all"},
        ),
    ] = "cited"
    timeout_s: Seconds = 60.0
    claim_split: Annotated[str, kinds.one_of(("sentences", "lines"))] = "sentences"
    citation_regex: kinds.Pattern | None = None
    units: Annotated[str, kinds.one_of(("bits", "nats"))] = "bits"
    placeholder: kinds.Text = "[REDACTED]"
    temperature: Annotated[float, kinds.Number(ge=0, le=2)] = 0.0
    max_concurrency: UpTo64 = 8
    top_logprobs: Annotated[int, kinds.Number(ge=1, le=20)] = 10
    include_prompts: bool = False
    max_prompt_chars: Positive = 3000
    rule: Annotated[str, kinds.one_of(("signed", "kl"))] = "signed"
    min_log_odds_gain: Annotated[float, kinds.Number(ge=0)] = 0.0
    use_cache: bool = True
    group_claims: bool = True
    max_group_size: UpTo64 = 8
    max_group_prompt_chars: Annotated[int, kinds.Number(ge=1000)] = 24_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """Settings of the proxy that checks answers before users see them.

    Attributes:
        host: The address that the proxy listens on; 0.0.0.0: all addresses.
        port: The port that the proxy listens on; 0: any free port.
        ext_proc_port: The port for Envoy's filter ext_proc (gRPC); 0: any free port; null: none.
            Needs the extra envoy.
        api_key: A key of the tenant default; the keys of other tenants are in tenants.
        release: When a stream sends text that may be withheld. sentence: each sentence once it is
            judged; deferred: all text at the end.
        unchecked_endpoints: What is done about endpoints that write text and are not checked: mark
            the response, refuse the request, or auto (refuse if the action is repair or block,
            else mark).
        max_body_bytes: A larger request is refused.
        max_response_bytes: A larger answer is refused if it must be checked before it is sent.
        max_held_chars: Limit on the characters of a stream that are held back.
        max_requests: Limit on the requests at a time; further requests are asked to come back
            later.
        check_timeout_s: Time for the check of a complete answer; a longer check counts as failed.
        keepalive_s: Time between comments that keep a stream open while its text is held back; 0:
            no comments.
        forwards_sources: Whether metadata["grounding.*"] is sent on to the upstream.
        data_dir: The folder for the database, keys and files of the gateway; null: the user's
            application folder.
        shutdown_s: Time that running requests have to end when the gateway is stopped.
    """

    host: kinds.Text = "127.0.0.1"
    port: Port = 8080
    ext_proc_port: Port | None = None
    api_key: KeyText | None = None
    release: Annotated[str, kinds.one_of(("sentence", "deferred"))] = "sentence"
    unchecked_endpoints: Annotated[str, kinds.one_of(("auto", "mark", "refuse"))] = "auto"
    max_body_bytes: Positive = 33_554_432
    max_response_bytes: Positive = 67_108_864
    max_held_chars: Positive = 1_000_000
    max_requests: Positive = 256
    check_timeout_s: Seconds = 30.0
    keepalive_s: Annotated[float, kinds.Number(ge=0, unit="seconds")] = 15.0
    forwards_sources: bool = False
    data_dir: kinds.Text | None = None
    shutdown_s: Seconds = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """Settings of the admin plane: the API for tenants, keys and the audit trail, on its own port.

    Attributes:
        enabled: Whether there is an admin plane.
        host: The address that the admin plane listens on.
        port: The port that the admin plane listens on; 0: any free port.
        api_key: A key with the role admin, which can make other keys.
    """

    enabled: bool = True
    host: kinds.Text = "127.0.0.1"
    port: Port = 8090
    api_key: KeyText | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIdConnect:
    """Settings of the sign-in to the console at an OpenID Connect provider, beside passwords.

    Attributes:
        issuer: The URL of the provider, exactly as the provider writes it; null: people sign in by
            password alone. Needs the extra oidc.
        client_id: The id that the provider has given the console.
        client_secret: The secret that the provider has given the console; null: it has none.
        redirect_uri: The URL of the console at which people come back from the provider, as the
            provider knows it.
        scope: What the provider is asked for. Some providers give groups only for a further scope.
        role_claim: The claim of the ID token whose values decide on the role.
        admins: Values of the claim that give the role admin, as a list or with commas between. A
            person with values of several roles gets the highest role; one with none is refused.
        reviewers: Values of the claim that give the role reviewer.
        viewers: Values of the claim that give the role viewer.
    """

    issuer: kinds.Issuer | None = None
    client_id: kinds.Text | None = None
    client_secret: Token | None = None
    redirect_uri: Callback | None = None
    scope: Scope = "openid profile"
    role_claim: kinds.Text = "groups"
    admins: kinds.Listed | None = None
    reviewers: kinds.Listed | None = None
    viewers: kinds.Listed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Settings of the database of tenants, keys and the audit trail.

    Attributes:
        url: postgresql://user:password@host/database, or sqlite:///path; null: groundwire.db in
            gateway.data_dir.
        timeout_s: How long to wait for a new connection to open, and for a free connection.
        max_connections: Limit on the connections of one process, besides one for the audit trail.
        poll_s: Time between two checks for changes that other processes made.
    """

    url: kinds.StoreUrl | None = None
    timeout_s: Seconds = 5.0
    max_connections: Positive = 5
    poll_s: Seconds = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Settings of the audit trail, the record of findings and actions.

    Attributes:
        enabled: Whether findings are recorded.
        path: A file for the trail instead of the store; -: standard output; null: the store, or
            audit.jsonl in gateway.data_dir if there is no store.
        text: How much of a text is kept. cut: its first 100 characters; hash: 16 hexadecimal digits
            of its SHA-256; full: all of it.
        redact: Kinds of secret and personal data that are removed from texts before they are kept.
        durability: When a record is on disk. batched: soon after its response; before_response:
            before its response has ended.
        on_failure: Whether a response whose record cannot be written is delivered or refused.
        key: The key that signs the records, the same in all replicas; null: a key in
            gateway.data_dir, which the first start makes.
        retention_days: How long records are kept; null: forever.
        detail_days: How long the findings of an answer are kept with its record; 0: not at all;
            null: as long as the record.
        sample: The share of checked answers that are drawn at random and recorded although nothing
            was found in them, for review; it needs text: full.
        queue_size: How many events may wait to be written.
    """

    enabled: bool = True
    path: kinds.Text | None = None
    text: Annotated[str, kinds.one_of(("cut", "hash", "full"))] = "cut"
    redact: Annotated[str, kinds.some_of(("secret", "email", "iban", "card", "phone", "ip"))] = (
        "secret"
    )
    durability: Annotated[str, kinds.one_of(("batched", "before_response"))] = "batched"
    on_failure: Annotated[str, kinds.one_of(("allow", "refuse"))] = "allow"
    key: kinds.SecretText | None = None
    retention_days: Annotated[float, kinds.Number(gt=0, unit="days")] | None = None
    detail_days: Annotated[float, kinds.Number(ge=0, unit="days")] | None = 30.0
    sample: Probability = 0.0
    queue_size: Positive = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Settings of the log of the gateway, on standard error. It never has keys, prompts or answers.

    Attributes:
        level: The lowest level of records that are written.
        format: text, for people, or json, one object a line.
        access: Whether requests are logged: health probes at level debug, all others at level info.
    """

    level: Annotated[str, kinds.one_of(("debug", "info", "warning", "error"))] = "info"
    format: Annotated[str, kinds.one_of(("text", "json"))] = "text"
    access: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTelemetry:
    """Settings of the traces that the gateway sends to a collector of OpenTelemetry.

    Attributes:
        enabled: Whether traces are sent; needs the extra otel.
        endpoint: The URL that traces are sent to, by OTLP over HTTP, such as http://collector:4318;
            null: the URL in OpenTelemetry's own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT.
    """

    enabled: bool = False
    endpoint: kinds.Endpoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamDefaults:
    """The upstream (LLM server), if there is only one, and the limits of all connections.

    Attributes:
        url: The base URL of the upstream's API; to use several upstreams, list them in upstreams.
        api_key: The key for the upstream; null: the key that the caller sends for it, if any.
        connect_timeout_s: How long connecting may take.
        response_timeout_s: How long to wait for the headers of a response.
        idle_timeout_s: How long to wait for the next piece of a response.
        max_connections: How many connections to all upstreams may be open.
        max_failures: After this many failures in a row, an upstream counts as down.
        cooldown_s: Time until an upstream that counts as down is tried again.
    """

    url: kinds.Endpoint | None = None
    api_key: Token | None = None
    connect_timeout_s: Seconds = 5.0
    response_timeout_s: Seconds = 600.0
    idle_timeout_s: Seconds = 120.0
    max_connections: Positive = 512
    max_failures: Positive = 3
    cooldown_s: Seconds = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of a configuration, in the order in which they are shown.

    Attributes:
        check: Settings of the check: whether answers are checked, and the actions.
        gate: Settings of the gate, which decides whether a prompt needs a check.
        detector: Settings of the detector.
        explain: Settings of the explainer.
        similarity: Settings of the similarity detector.
        evidence: Settings of the evidence, such as its limits.
        verify: Settings of the verification of cited claims.
        gateway: Settings of the proxy.
        admin: Settings of the admin plane.
        oidc: Settings of the sign-in to the console at an OpenID Connect provider.
        store: Settings of the database.
        audit: Settings of the audit trail.
        log: Settings of the log.
        otel: Settings of the traces.
        upstream: The upstream, if there is only one, and the limits of all connections.
    """

    check: Check = Check()
    gate: Gate = Gate()
    detector: DetectorSettings = DetectorSettings()
    explain: Explain = Explain()
    similarity: Similarity = Similarity()
    evidence: EvidenceSettings = EvidenceSettings()
    verify: Verify = Verify()
    gateway: Gateway = Gateway()
    admin: Admin = Admin()
    oidc: OpenIdConnect = OpenIdConnect()
    store: StoreSettings = StoreSettings()
    audit: Audit = Audit()
    log: Log = Log()
    otel: OpenTelemetry = OpenTelemetry()
    upstream: UpstreamDefaults = UpstreamDefaults()


#: The classes of the sections by name, in the order of :class:`Sections`.
SECTIONS: Mapping[str, Any] = {each.name: each.type for each in fields(Sections)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting of a section.

    Attributes:
        section: Name of the section, such as ``check``.
        name: Name of the setting in the section, such as ``action``.
        kind: The type of the setting.
        default: The default value.
        text: Description of the setting.
    """

    section: str
    name: str
    kind: kinds.Kind
    default: Any
    text: str

    @property
    def path(self) -> str:
        """Full name of the setting, such as ``check.action``."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """Environment variable of the setting, such as ``GROUNDWIRE_CHECK_ACTION``."""
        return f"GROUNDWIRE_{self.section}_{self.name}".upper()


def _settings() -> Iterator[Setting]:
    for section, type_ in SECTIONS.items():
        _, texts = described(type_.__doc__)
        for each in fields(type_):
            yield Setting(
                section=section,
                name=each.name,
                kind=kinds.Kind(each.type),
                default=each.default,
                text=texts.get(each.name, ""),
            )


#: All settings by their full names, in the order in which they are shown.
SETTINGS: Mapping[str, Setting] = {each.path: each for each in _settings()}

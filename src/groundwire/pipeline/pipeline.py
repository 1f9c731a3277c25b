"""Joins the stages of a check: evidence, gate, decisions, detector, explainer, policy."""

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

from groundwire.detection.example import Example, Source
from groundwire.detection.source_limits import account_for, limit_by
from groundwire.detection.values import DetectorInfo
from groundwire.detector import Detector
from groundwire.errors import ConfigError, DetectionError, SettingError
from groundwire.explain.repair import Mender
from groundwire.pipeline.answer_stream import DetectorResult, Flow, read_answer
from groundwire.pipeline.asker import Asker, AskerArguments
from groundwire.pipeline.checked import Checked, CheckedResponse
from groundwire.pipeline.concluding import Concluder
from groundwire.pipeline.context import DUE, CheckPath, GateReport, GateStatus, RequestContext
from groundwire.pipeline.conversation.request import (
    Conversation,
    OfferedSource,
    SourceOrigin,
    read_request,
)
from groundwire.pipeline.conversation.response import Answer, AnswerKind, read_response
from groundwire.pipeline.detector_pool import Judges
from groundwire.pipeline.explaining import AnyExplainer, LazyExplainer, Remembered
from groundwire.pipeline.policy_resolver import Decider
from groundwire.pipeline.structured import read_structured
from groundwire.pipeline.timings import timed
from groundwire.policy.decisions import ChosenDecision, Decision
from groundwire.policy.gate import Gate
from groundwire.policy.policy import Action, Overrides, Policy, SourceLimits, resolve_limits, rule
from groundwire.policy.signals import SignalRules, Signals, SignalType
from groundwire.text.prompt_excerpt import with_previous

if TYPE_CHECKING:
    from groundwire.config import Config

log = logging.getLogger(__name__)


class UnusableOverridesError(DetectionError):
    """A tenant's own settings choose a detector or a threshold that is not possible here.

    The tenant's answers cannot be checked.
    """

    def __str__(self) -> str:
        return f"A tenant cannot have this: {self.args[0]}"


class Pipeline:
    """Checks the answers to chat requests. Any number of threads may share a pipeline.

    Attributes:
        gate: Tells whether a prompt calls for a check; ``None``: every prompt does.
        explainer: Explains findings; ``None``: findings are not explained.
    """

    def __init__(
        self,
        detector: Detector,
        *,
        gate: Gate | None = None,
        signals: Signals | None = None,
        decisions: Sequence[Decision] = (),
        policy: Policy | None = None,
        limits: SourceLimits | None = None,
        explainer: AnyExplainer | None = None,
        tenants: Mapping[str, Overrides] | None = None,
        judges: Judges | None = None,
        bypasses_gate: bool = True,
        asks_gate_last: bool = True,
        metadata_only: bool = False,
        final_tools: Collection[str] = (),
        evidence_names: Collection[str] = (),
        ignores_short: bool = False,
    ) -> None:
        """Put a pipeline together from its stages; callers usually use :meth:`load` instead.

        Args:
            detector: The detector; it is closed with the pipeline.
            gate: Tells whether a prompt calls for a check; without a gate, every prompt does.
            signals: The signals that decisions can depend on.
            decisions: The decision rules, in order.
            policy: The policy; decisions and tenants may override its fields.
            limits: The limits on sources; a tenant may override each limit.
            explainer: Explains findings; ``None``: findings are not explained.
            tenants: Id of a tenant → its own settings. The mapping may change; a request keeps the
                settings that it began with.
            judges: The detectors that tenants may choose, with ``detector`` as the configured one;
                ``None``: ``detector``, ``reader`` and the similarity detectors.
            bypasses_gate: Whether answers to requests that name sources are checked without asking
                the gate.
            asks_gate_last: Whether answers to requests that name no sources, but have other
                evidence, are checked whatever the gate says. If false, the gate decides, as in
                HaluGate.
            metadata_only: Whether only sources in ``metadata["grounding.sources"]`` are evidence.
            final_tools: Tools whose arguments are the final answer, beside those of known
                frameworks.
            evidence_names: Names that mark evidence in prompts, such as ``<kb_hit>``, beside the
                built-in ones.
            ignores_short: Whether an answer can be grounded although some of its sentences are too
                short for the similarity detector to compare them, as in DVARA.
        """
        self._judges = judges or Judges(detector)
        self.gate, self.explainer = gate, explainer
        self._decider = Decider(
            signals or Signals(SignalRules()), tuple(decisions), policy or Policy()
        )
        self._limits = limits or SourceLimits()
        self._tenants: Mapping[str, Overrides] = {} if tenants is None else tenants
        self._bypasses_gate, self._asks_gate_last = bypasses_gate, asks_gate_last
        self._metadata_only, self._final_tools = metadata_only, frozenset(final_tools)
        self._evidence_names = tuple(evidence_names)
        self._ignores_short = ignores_short

    @classmethod
    def load(
        cls, config: "Config | None" = None, *, tenants: Mapping[str, Overrides] | None = None
    ) -> Self:
        """Load the pipeline that a configuration describes.

        A :class:`.ConfigWarning` warns of settings that are probably not intended.

        Args:
            config: The configuration; by default the one in which nothing is set.
            tenants: Id of a tenant → its own settings, in place of the tenants in the
                configuration. The mapping may change later.

        Raises:
            ConfigError: If a setting is not possible with the models; the error names the setting.
            GroundwireError: If a model cannot be used.
        """
        from groundwire.config import Config
        from groundwire.pipeline.load import load_stages

        return cls(**load_stages(config or Config(), tenants=tenants))

    @property
    def detector(self) -> Detector:
        """The configured detector, for tenants that have chosen no other."""
        return self._judges.first

    def check_overrides(self, overrides: Overrides) -> None:
        """Make sure that the pipeline supports the settings of a tenant.

        Raises:
            ConfigError: If the pipeline does not have the detector; if the detector does not have
                the operating point, or the threshold is for another kind of detector; or if
                ``action`` or ``contradicted_action`` is ``repair``, and the model that repairs need
                cannot be used.
            ModelError: If the model of the chosen detector cannot be found.
        """
        self._judges.check(overrides)

    # Methods that open a request.

    def may_check(self, **asked: Unpack[AskerArguments]) -> bool:
        """Return whether any policy that may apply to a request checks its answer.

        If no policy does, the request need not be opened.
        """
        return self._decider.may_check(self._asker(**asked))

    def _asker(self, **asked: Unpack[AskerArguments]) -> Asker:
        asker = Asker(**asked)
        if asker.overrides is not None:
            return asker
        return replace(asker, overrides=self._tenants.get(asker.tenant))

    def open(self, body: object, **asked: Unpack[AskerArguments]) -> RequestContext:
        """Read a request before its answer exists: find its evidence, decision and policy.

        The gate is asked if necessary. If a check is due, its detector and explainer are loaded, if
        that is possible.

        Args:
            body: The body of the request, as :func:`json.loads` gives it.
            asked: See :class:`.AskerArguments`.

        Raises:
            InvalidConversationError: If the body is not a chat request.
            InvalidTextError: If a question or the evidence has a lone surrogate.
        """
        timings: dict[str, float] = {}
        asker = self._asker(**asked)
        limits = resolve_limits(self._limits, asker.overrides)
        with timed(timings, "evidence"):
            conversation = read_request(
                body,
                max_sources=limits.max_sources or 0,
                max_source_chars=limits.max_source_chars or 0,
                metadata_only=self._metadata_only,
                final_tools=self._final_tools,
                names=self._evidence_names,
            )
        gate, choice, readings = GateReport(status=GateStatus.OFF), ChosenDecision(), None
        if self._decider.may_check(asker):
            with timed(timings, "gate"):
                gate = self._ask(conversation)
            with timed(timings, "decide"):
                choice, readings = self._decider.decide(
                    conversation.question or "", gate.needs_fact_check
                )
        policy = self._decider.policy(choice.plugins, asker)
        path = _path(policy, gate, conversation)
        if path in DUE:
            self._prepare(asker, policy)
        return self._context(
            asker,
            conversation=conversation,
            gate=gate,
            choice=choice,
            policy=policy,
            path=path,
            timings_ms=timings,
            readings=readings,
        )

    def _context(self, asker: Asker, **known: Any) -> RequestContext:  # noqa: ANN401
        """Return the context of a request, with the limits and the detector of its tenant."""
        return RequestContext(
            tenant=asker.tenant,
            overrides=asker.overrides,
            request=asker.request,
            repair_s=asker.repair_s,
            limits=resolve_limits(self._limits, asker.overrides),
            detector=self._named(asker),
            **known,
        )

    def unopened(self, failure: str, **asked: Unpack[AskerArguments]) -> RequestContext:
        """Return the context of a request that :meth:`open` could not read, at least not in time.

        Answers to the request cannot be checked. The policy is the strictest one, because it is
        unknown which decision applies.

        Args:
            failure: The class name of the error.
            asked: See :class:`.AskerArguments`.
        """
        asker = self._asker(**asked)
        return self._context(
            asker,
            conversation=Conversation(question=None, offered=()),
            gate=GateReport(status=GateStatus.FAILED, reason=failure),
            choice=ChosenDecision(),
            policy=self._decider.strictest(asker),
            path=CheckPath.NO_EVIDENCE,
            failure=failure,
        )

    def _named(self, asker: Asker) -> str:
        try:
            return self._judges.known.choose(asker.overrides).detector
        except ConfigError:
            return ""  # the check itself reports the error

    def _prepare(self, asker: Asker, policy: Policy) -> None:
        """Load the detector and explainer of a check; ignore errors, which the check reports."""
        with suppress(Exception):
            self._judges.get(self._named(asker))
        if policy.explain and isinstance(self.explainer, LazyExplainer):
            with suppress(Exception):
                self.explainer.get()

    def _ask(self, conversation: Conversation) -> GateReport:
        if self._bypasses_gate and conversation.is_explicit:
            return GateReport(status=GateStatus.BYPASSED)
        if self.gate is None:
            return GateReport(status=GateStatus.OFF)
        if conversation.question is None:
            return GateReport(status=GateStatus.NO_PROMPT)
        is_bypassed = self._asks_gate_last and not conversation.is_explicit
        is_bypassed = is_bypassed and bool(conversation.sources or conversation.lost)
        if is_bypassed and not self._decider.reads(SignalType.FACT_CHECK):
            return GateReport(status=GateStatus.BYPASSED)
        longer = with_previous(conversation.question, conversation.previous)
        try:
            result = self.gate.classify(conversation.question)
            if longer is not None and not result.needs_fact_check:
                result = self.gate.classify(longer)
        except Exception as error:  # noqa: BLE001 - if the gate fails, the answer is checked
            log.warning("The gate failed, the answer is checked: %s", type(error).__name__)
            return GateReport(status=GateStatus.FAILED, reason=type(error).__name__)
        status = GateStatus.BYPASSED if is_bypassed else GateStatus.ASKED
        return GateReport(status=status, result=result)

    def open_answer(
        self,
        sources: Sequence[Source] = (),
        *,
        question: str | None = None,
        decides: bool = False,
        **asked: Unpack[AskerArguments],
    ) -> RequestContext:
        """Return the context of an answer that comes with its sources, without a conversation.

        The gate is not asked. The check is due, unless ``decides`` is set and the policy is off.

        Args:
            sources: The sources; sources over the limits are left out and counted.
            question: The question.
            decides: Whether decision rules apply, and the policy may switch the check off, as for
                the answer of a chat.
            asked: See :class:`.AskerArguments`.
        """
        asker = self._asker(**asked)
        choice, readings = ChosenDecision(), None
        if decides:
            choice, readings = self._decider.decide(question or "", needs_fact_check=True)
        policy = self._decider.policy(choice.plugins, asker)
        limits = resolve_limits(self._limits, asker.overrides)
        limited = limit_by(
            sources,
            lambda source: len(source.text),
            max_sources=limits.max_sources or 0,
            max_source_chars=limits.max_source_chars or 0,
        )
        path = CheckPath.CHECKED if limited.kept else CheckPath.NO_EVIDENCE
        offered = (
            OfferedSource(source=source, origin=SourceOrigin.METADATA, place=f"sources[{i}]")
            for i, source in enumerate(limited.kept)
        )
        return self._context(
            asker,
            conversation=Conversation(
                question=question,
                offered=tuple(offered),
                is_explicit=True,
                reasons=limited.reasons,
                dropped_chars=limited.dropped_chars,
            ),
            gate=GateReport(status=GateStatus.BYPASSED),
            choice=choice,
            policy=policy,
            path=CheckPath.OFF if decides and not policy.enabled else path,
            readings=readings,
        )

    # Methods that check the answers to a request.

    def detect(
        self, context: RequestContext, answer: str, *, operating_point: str | float | None = None
    ) -> Checked:
        """Check one answer with :meth:`groundwire.Detector.detect`; explain and repair nothing.

        The action ``repair`` becomes ``block``.

        Args:
            context: A context from :meth:`open_answer`.
            answer: The text of the answer.
            operating_point: The threshold; by default that of the tenant, or else of the detector.

        Raises:
            GroundwireError: If an input or a setting is invalid, or the detector cannot be used.
        """
        conversation = context.conversation
        detector, own_point = self._chosen(context.overrides)
        detection = detector.detect(
            sources=conversation.sources,
            question=conversation.question,
            answer=answer,
            operating_point=own_point if operating_point is None else operating_point,
            tenant=context.tenant,
        )
        detection = account_for(
            detection, conversation.lost, dropped_chars=conversation.dropped_chars
        )
        checked = Checked(
            context=context,
            answer=read_answer(answer),
            ruling=rule(context.policy, detection),
            detection=detection,
            timings_ms=detection.timings_ms,
        )
        return checked.blocked() if checked.action is Action.REPAIR else checked

    def detector_of(
        self, overrides: Overrides, operating_point: str | float | None = None
    ) -> DetectorInfo:
        """Describe the detector of a tenant, with the threshold that applies to the tenant.

        Args:
            overrides: The tenant's own settings.
            operating_point: The threshold; by default that of the tenant, or else of the detector.

        Raises:
            UnusableOverridesError: If the settings are not possible in this pipeline.
            SettingError: If the detector does not have the operating point.
            GroundwireError: If the detector cannot be loaded.
        """
        detector, own_point = self._chosen(overrides)
        point = own_point if operating_point is None else operating_point
        return detector.info if point is None else detector.info_at(point)

    def _chosen(self, own: Overrides | None) -> tuple[Detector, str | float | None]:
        """Return a tenant's detector, and the threshold that the tenant set, or ``None``."""
        try:
            chosen = self._judges.known.choose(own)
            detector = self._judges.get(chosen.detector)
            if chosen.operating_point is not None:
                detector.info_at(chosen.operating_point)
        except (ConfigError, SettingError) as error:
            raise UnusableOverridesError(str(error)) from error
        return detector, chosen.operating_point

    def check(self, context: RequestContext, answer: Answer | str) -> Checked:
        """Check one answer. A failed check raises no error: the outcome shows the failure."""
        if isinstance(answer, str):
            answer = read_answer(answer)
        calls = {each.name for each in answer.calls}
        is_final = not calls.isdisjoint(context.conversation.form.final_tools)
        if answer.kind is not AnswerKind.TEXT and not is_final:
            return self._concluder(context)(answer, DetectorResult())
        with self._flow(context, reads_ahead=False) as flow:
            return flow.finish(answer, rest=answer.text if answer.kind is AnswerKind.TEXT else "")

    def check_response(self, context: RequestContext, body: object) -> CheckedResponse:
        """Check all answers of a chat completion.

        Args:
            context: The context of the request.
            body: The body of the response, as :func:`json.loads` gives it.

        Raises:
            InvalidConversationError: If the body is not a chat completion, the arguments of a call
                are nested too deeply, or text stands outside of the messages.
        """
        answers = tuple(self.check(context, answer) for answer in read_response(body))
        return CheckedResponse(context=context, answers=answers)

    def stream(self, context: RequestContext) -> Flow:
        """Begin to check an answer that is still being written.

        If a check is due, the evidence is indexed at once, and the detector may begin to read it in
        the background.
        """
        return self._flow(context, reads_ahead=True)

    def unavailable(self, context: RequestContext, answer: Answer | str, reason: str) -> Checked:
        """Return the result for an answer whose check is given up, for example after a time-out.

        Args:
            context: The context of the request.
            answer: The answer, as far as it is known.
            reason: The class name of the error, or a word for the reason.
        """
        if isinstance(answer, str):
            answer = read_answer(answer)
        structured = read_structured(answer, context.conversation.form)
        answer = answer if structured is None else structured.of(answer)
        return self._concluder(context)(answer, DetectorResult(failure=reason))

    def close(self) -> None:
        """Close the detectors and stop their threads."""
        self.detector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _flow(self, context: RequestContext, *, reads_ahead: bool) -> Flow:
        conversation, opened, mender = context.conversation, None, None
        found = DetectorResult(failure=context.failure)
        if context.path in DUE and context.failure is None:
            try:
                detector, point = self._chosen(context.overrides)
                opened = detector.stream(
                    sources=conversation.sources,
                    question=conversation.question,
                    operating_point=point,
                    tenant=context.tenant,
                    reads_ahead=reads_ahead,
                )
                if context.repair_s:
                    read = partial(
                        detector.detect_batch, operating_point=point, tenant=context.tenant
                    )
                    example = Example(
                        sources=conversation.sources, answer="", question=conversation.question
                    )
                    mender = Mender(read, example)
            except Exception as error:  # noqa: BLE001 - after any error, the check is unavailable
                found = DetectorResult.failed(error)
        conclude = self._concluder(context, mender)
        return Flow(opened, conclude, found=found, conversation=conversation)

    def _concluder(self, context: RequestContext, mender: Mender | None = None) -> Concluder:
        return Concluder(
            context=context,
            mender=mender,
            decider=self._decider,
            explainer=None if self.explainer is None else Remembered(self.explainer),
            ignores_short=self._ignores_short,
        )


def _path(policy: Policy, gate: GateReport, conversation: Conversation) -> CheckPath:
    if not policy.enabled:
        return CheckPath.OFF
    is_bypassed = gate.status is GateStatus.BYPASSED
    if gate.result is not None and not (is_bypassed or gate.result.needs_fact_check):
        return CheckPath.NOT_FACTUAL
    return CheckPath.CHECKED if conversation.sources else CheckPath.NO_EVIDENCE

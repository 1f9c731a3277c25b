"""Pages about a tenant's budget: the greatest share of right answers that its policy may block."""

import asyncio
import time
from contextlib import suppress
from datetime import datetime
from functools import reduce
from math import inf

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from groundwire.config.kinds import KindError, written
from groundwire.config.tenants import KINDS
from groundwire.control.accounts import AccountRole
from groundwire.control.activity import DAY_S, Activity
from groundwire.control.store import StoreError
from groundwire.control.tenants.effective import effective
from groundwire.control.tenants.errors import VersionMismatchError
from groundwire.control.tenants.record import TenantRecord
from groundwire.detection.values import SEVERITY, Label, Outcome, Score
from groundwire.errors import ConfigError
from groundwire.gateway.admin.problems import admin_problem
from groundwire.gateway.console.false_blocks import FalseBlocks, Share, Support, has_changed
from groundwire.gateway.console.tenants import TENANT, change_policy, detector_of, tenant_path
from groundwire.gateway.console.visit import Visit, screen
from groundwire.policy.policy import Action, Policy, decide, resolve, stronger

_BUDGET = "false_block_budget"

#: ``_drift`` warns only if at least this many answers were checked after the day of the newest
#: labelled answer.
_MIN_ANSWERS = 200

#: Highest number of tenants for whose budgets the overview computes lines.
_MAX_TENANTS = 200

#: Seconds after which the overview's lines about budgets are computed anew, and seconds that the
#: overview waits for the new lines.
_KEPT_S, _WAIT_S = 60, 0.02

#: All pairs of label and severity that a finding can have. The explainer may lower the severity of
#: a label by one.
_FINDINGS = tuple(
    (label, SEVERITY[label] - lower)
    for label in (Label.UNSUPPORTED, Label.CONTRADICTED)
    for lower in (0, 1)
)

#: How far the labels support a budget → the overview's remark about the budget. For other values of
#: ``Support``, there is no remark.
_SAID = {
    Support.DISPUTED: "reviewers have to agree first",
    Support.AGAINST: "the labels speak against it",
    Support.BROKEN: "the labels speak against it",
}

_CHECKED = (Outcome.GROUNDED, Outcome.HALLUCINATED, Outcome.PARTIAL)


async def _show(visit: Visit) -> Response:
    return await _page(visit, await visit.control.registry.tenant(visit.part("tenant")))


async def _page(
    visit: Visit, record: TenantRecord, *, problem: str = "", status: int = 200
) -> Response:
    control = visit.control
    in_effect = {each.name: each for each in effective(control.config, record)}
    budget = in_effect[_BUDGET].value
    found = await _false_blocks(visit, record.id)
    actions = [_action(each, *kind) for each in _policies(visit, record.id) for kind in _FINDINGS]
    kept = None
    support, warnings = Support.UNSET, list[str]()
    if found is not None and budget is not None:
        kept = await asyncio.to_thread(found.kept_by, budget)
        support = await asyncio.to_thread(found.support, budget)
        warnings = await _warnings(visit, record.id, found, budget, support)
    return visit.page(
        "budget",
        status=status,
        title=f"budget of {record.id}",
        record=record,
        budget=budget,
        origin=in_effect[_BUDGET].origin,
        action=reduce(stronger, actions),
        found=found,
        blocks_some=found is not None and len(found.blocking) < len(_FINDINGS),
        support=support,
        after=None if found is None or kept in (None, found.now.threshold) else found.at(kept),
        n_more=None if found is None or budget is None else found.n_more(budget),
        warnings=warnings,
        sample=control.config.audit.sample,
        problem=problem,
        sent=visit.form,
    )


async def budget_states(visit: Visit) -> list[tuple[str, str, str]]:
    """Return the overview's lines about budgets.

    There is a line for each budget that the labels contradict, or on which reviewers have to agree
    first, and for each warning. Each line has a name, a state and a text.

    Computing the lines can take seconds, so a task computes them, and the page shows earlier lines
    meanwhile. If no lines were computed yet, or the task has failed, the result is one line that
    says so. Otherwise, if more than ``_MAX_TENANTS`` tenants have a budget, the last line gives the
    number of the rest.
    """
    kept = visit.own.budgets
    is_old = time.monotonic() - kept.computed_at > _KEPT_S
    if is_old and (kept.task is None or kept.task.done()):
        kept.task = asyncio.create_task(_compute_states(visit))
    if kept.task is not None:
        await asyncio.wait([kept.task], timeout=_WAIT_S)
        if kept.task.done() and (error := kept.task.exception()) is not None:
            text = f"the computation failed ({type(error).__name__}); it is tried again"
            return [("Budgets", "not computed", text)]
    if kept.computed_at == -inf:
        return [("Budgets", "not computed", "load the page again in a moment")]
    return kept.lines


async def _compute_states(visit: Visit) -> None:
    base, lines = visit.control.config.check.false_block_budget, list[tuple[str, str, str]]()
    budgets = {id_: own.false_block_budget or base for id_, own in visit.control.directory.items()}
    with_budget = [(id_, budget) for id_, budget in budgets.items() if budget is not None]
    with suppress(StoreError):  # the overview itself reports that the store fails
        for id_, budget in with_budget[:_MAX_TENANTS]:
            found = await _false_blocks(visit, id_)
            if found is None:
                continue
            support = await asyncio.to_thread(found.support, budget)
            if said := _SAID.get(support):
                text = f"{said}: see the tab Budget of the tenant {id_}"
                lines.append((f"Budget of {id_}", str(support), text))
            warnings = await _warnings(visit, id_, found, budget, support)
            lines += [(f"Budget of {id_}", "warning", each) for each in warnings]
        if n_more := len(with_budget[_MAX_TENANTS:]):
            text = f"of {n_more} further tenants are not computed here: see their tabs Budget"
            lines.append(("Budgets", "not computed", text))
        kept = visit.own.budgets
        kept.lines, kept.computed_at = lines, time.monotonic()


def _policies(visit: Visit, tenant: str) -> list[Policy]:
    """Return a tenant's policies: the usual one, and one for each decision that has a policy.

    A decision is a rule of the configuration for certain requests.
    """
    config, own = visit.control.config, visit.control.directory.get(tenant)
    plugins = [(), *((each.plugin,) for each in config.decisions if each.plugin is not None)]
    return [resolve(config.policy, plugins=each, tenant=own) for each in plugins]


async def _false_blocks(visit: Visit, tenant: str) -> FalseBlocks | None:
    """Estimate from labels how many right answers a tenant's policies block.

    Return ``None`` if the tenant's detector cannot be used.
    """
    detector = await detector_of(visit, visit.control.directory.get(tenant))
    if detector is None:
        return None
    policies = _policies(visit, tenant)
    # A finding counts as blocking if one of the policies withholds an answer because of it.
    blocking = [
        kind for kind in _FINDINGS if any(_action(each, *kind).withholds for each in policies)
    ]
    return await asyncio.to_thread(
        FalseBlocks.of,
        await visit.own.labels.of_sample(tenant),
        detector,
        # If no finding is blocking, the estimate is made as if each finding blocked its answer.
        blocking=blocking or _FINDINGS,
        blocks_incomplete=any(decide(each, Outcome.PARTIAL).withholds for each in policies),
    )


def _action(policy: Policy, label: Label, severity: int) -> Action:
    """Return the action on an answer whose worst finding has this label and severity."""
    return decide(policy, Outcome.HALLUCINATED, label=label, severity=severity)


async def _warnings(
    visit: Visit, tenant: str, found: FalseBlocks, budget: float, support: Support
) -> list[str]:
    drift = await _drift(visit.control.activity, tenant, found)
    return [*await asyncio.to_thread(list, found.warnings(budget, support)), *drift]


async def _drift(activity: Activity, tenant: str, found: FalseBlocks) -> list[str]:
    """Return a list with a warning if the share of hallucinated answers has changed; else ``[]``.

    Two periods are compared: from the day of the oldest labelled answer to the day of the newest
    one, and from the next day until today. With fewer than ``_MIN_ANSWERS`` answers in the second
    period, there is no warning.
    """
    if not found.answers:
        return []
    first, last = (
        int(datetime.fromisoformat(found.answers[at].facts.checked_at).timestamp()) // DAY_S * DAY_S
        for at in (0, -1)
    )
    before = _hallucinated(await activity.outcomes(tenant, since=first, until=last + DAY_S))
    after = _hallucinated(
        await activity.outcomes(tenant, since=last + DAY_S, until=int(time.time()) + DAY_S)
    )
    if after.of < _MIN_ANSWERS or not has_changed(before, after):
        return []
    return [
        "Since the day of the newest labelled answer something was found in "
        f"{100 * after.value:.1f} % of {after.of:,} answers, before in "
        f"{100 * before.value:.1f} % of {before.of:,}: the traffic or the settings have "
        "changed. Label newer answers of the sample."
    ]


def _hallucinated(outcomes: dict[str, int]) -> Share:
    n_checked = sum(outcomes.get(each, 0) for each in _CHECKED)
    return Share(n=outcomes.get(Outcome.HALLUCINATED, 0), of=n_checked)


async def _save(visit: Visit) -> Response:
    """Save the form's threshold, or else its budget in per cent; with neither, unset the budget."""
    record = await visit.control.registry.tenant(visit.part("tenant"))
    try:
        await change_policy(visit, _changes(visit))
    except VersionMismatchError:
        problem = "Somebody else changed this tenant meanwhile. Nothing was saved."
        return await _page(visit, record, problem=problem, status=409)
    except KindError:
        problem = "A budget is a number above 0 and below 100, in per cent."
        return await _page(visit, record, problem=problem, status=422)
    except ConfigError as error:
        return await _page(visit, record, problem=admin_problem(error).message, status=422)
    return RedirectResponse(tenant_path(record.id, "/budget?done=saved"), 303)


def _changes(visit: Visit) -> dict[str, object]:
    """Return the changes to the policy that a form asks for.

    Raises:
        KindError: If the threshold or the budget in the form is not valid.
    """
    if threshold := visit.form.get("threshold", ""):
        is_similarity = visit.form.get("score") == Score.SIMILARITY
        name = "similarity_threshold" if is_similarity else "operating_point"
        return {name: written(KINDS[name].read(threshold))}
    per_cent = visit.form.get("budget", "").replace("%", "").replace(",", ".").strip()
    if not per_cent:
        return {_BUDGET: None}
    try:
        return {_BUDGET: KINDS[_BUDGET].read(round(float(per_cent) / 100, 9))}
    except (ValueError, OverflowError) as error:
        raise KindError("budget") from error


_OF = f"{TENANT}/budget"

routes = [
    Route(_OF, screen(_show)),
    Route(_OF, screen(_save, needs=AccountRole.ADMIN), methods=["POST"]),
]

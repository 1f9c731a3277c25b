"""Pages about budgets, which limit the share of right answers that a tenant's policy blocks."""

import time
from datetime import datetime

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from groundwire.config.kinds import KindError, written
from groundwire.config.tenants import KINDS
from groundwire.control.accounts import AccountRole
from groundwire.control.activity import DAY_S, Activity
from groundwire.control.tenants.effective import effective
from groundwire.control.tenants.errors import VersionMismatchError
from groundwire.control.tenants.record import TenantRecord
from groundwire.detection.values import Outcome, Score
from groundwire.errors import ConfigError
from groundwire.gateway.admin.problems import admin_problem
from groundwire.gateway.console.false_blocks import FalseBlocks, Share, Support, has_changed
from groundwire.gateway.console.tenants import TENANT, change_policy, detector_of, tenant_path
from groundwire.gateway.console.visit import Visit, screen
from groundwire.policy.policy import Action, Policy, decide, resolve

_BUDGET = "false_block_budget"

#: The fewest answers since the last labelled day for which a change of the traffic is reported.
_MIN_ANSWERS = 200

#: The most tenants whose budgets the overview computes.
_MAX_TENANTS = 20

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
    kept = None
    support, warnings = Support.UNSET, list[str]()
    if found is not None and budget is not None:
        kept, support = found.kept_by(budget), found.support(budget)
        drift = await _drift(control.activity, record.id, found)
        warnings = [*found.warnings(budget, support), *drift]
    return visit.page(
        "budget",
        status=status,
        title=f"budget of {record.id}",
        record=record,
        budget=budget,
        origin=in_effect[_BUDGET].origin,
        action=decide(_policy(visit, record.id), Outcome.HALLUCINATED),
        found=found,
        support=support,
        after=None if found is None or kept in (None, found.now.threshold) else found.at(kept),
        n_more=None if found is None or budget is None else found.n_more(budget),
        warnings=warnings,
        sample=control.config.audit.sample,
        problem=problem,
        sent=visit.form,
    )


async def budget_states(visit: Visit) -> list[tuple[str, str, str]]:
    """Return lines about tenants whose labels show that more is blocked than the budget allows.

    Each line has a name, a state and a text. The lines are computed at most once a minute.
    """
    if (kept := visit.own.budgets.get("")) is not None:
        return kept
    base, lines = visit.control.config.check.false_block_budget, list[tuple[str, str, str]]()
    budgets = {id_: own.false_block_budget or base for id_, own in visit.control.directory.items()}
    with_budget = [(id_, budget) for id_, budget in budgets.items() if budget is not None]
    for id_, budget in with_budget[:_MAX_TENANTS]:
        found = await _false_blocks(visit, id_)
        support = Support.UNSET if found is None else found.support(budget)
        if support in (Support.AGAINST, Support.BROKEN):
            text = f"the labels speak against it: see the tab Budget of the tenant {id_}"
            lines.append((f"Budget of {id_}", str(support), text))
    visit.own.budgets[""] = lines
    return lines


def _policy(visit: Visit, tenant: str) -> Policy:
    return resolve(visit.control.config.policy, tenant=visit.control.directory.get(tenant))


async def _false_blocks(visit: Visit, tenant: str) -> FalseBlocks | None:
    """Return a tenant's false blocks by its labels; ``None`` without a usable detector."""
    detector = await detector_of(visit, visit.control.directory.get(tenant))
    if detector is None:
        return None
    return FalseBlocks.of(
        await visit.own.labels.of_sample(tenant),
        detector,
        blocks_incomplete=decide(_policy(visit, tenant), Outcome.PARTIAL) is Action.BLOCK,
    )


async def _drift(activity: Activity, tenant: str, found: FalseBlocks) -> list[str]:
    """Return a warning if the share of hallucinated answers changed after the last labelled day."""
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
    """Save the budget in the form, which is in per cent, or the threshold that keeps a budget."""
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
    """Read the form, and return the changes to the policy.

    Raises:
        KindError: If a value is not valid.
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

"""The policy for endpoints that give text and are not checked: mark or refuse."""

from groundwire.config import Config
from groundwire.config.tree import policy_of
from groundwire.policy.policy import Action, Overrides, Policy, reach, resolve

MARK, REFUSE = "mark", "refuse"

#: Header of responses that may hold unchecked text of a model.
MARK_HEADER = ("x-groundwire-checked", "false")


def decision_for(own: Overrides, config: Config) -> str:
    """``mark`` or ``refuse``, for the requests of a tenant with these overrides.

    With ``auto``, requests of a policy that may block are refused: no endpoint may bypass it. The
    request is not read, so it is unknown which decision applies, and each counts.
    """
    setting = config.gateway.unchecked_endpoints
    if setting in {MARK, REFUSE}:
        return setting
    plugins = (None, *(each.plugin for each in config.decisions))
    policy = resolve(policy_of(config.check, config.explain), plugins=plugins, tenant=own)
    return REFUSE if may_block(policy) else MARK


def may_block(policy: Policy) -> bool:
    """Whether any answer at all can be blocked under a policy."""
    return any(Action.BLOCK in reach(policy, has_evidence=some) for some in (True, False))

"""Decides on requests to endpoints whose answers are not checked.

The requests are refused, or their responses are marked as unchecked.
"""

from groundwire.config import Config
from groundwire.policy.policy import Overrides, reach, resolve

MARK, REFUSE = "mark", "refuse"

#: Header that marks the response of an endpoint whose answers are not checked.
MARK_HEADER = ("x-groundwire-checked", "false")


def decision_for(own: Overrides, config: Config) -> str:
    """Return the decision on a tenant's requests to unchecked endpoints: ``mark`` or ``refuse``.

    With ``gateway.unchecked_endpoints: auto``, the requests are refused if the tenant's policy may
    withhold an answer (the action ``repair`` or ``block``). The policies of all decision rules are
    considered: the request is not read, so it is unknown which rule applies.
    """
    setting = config.gateway.unchecked_endpoints
    if setting in {MARK, REFUSE}:
        return setting
    plugins = (None, *(each.plugin for each in config.decisions))
    policy = resolve(config.policy, plugins=plugins, tenant=own)
    reachable = [reach(policy, has_evidence=some) for some in (True, False)]
    return REFUSE if any(action.withholds for each in reachable for action in each) else MARK

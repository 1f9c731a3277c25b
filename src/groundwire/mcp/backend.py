"""The configuration, models and held evidence that all tools of a server share."""

from dataclasses import dataclass, field
from typing import Any

from groundwire.config import Config
from groundwire.mcp.files import Roots
from groundwire.mcp.models import Models
from groundwire.mcp.sessions import Stores
from groundwire.mcp.tool import Call
from groundwire.verify.backends import LOCAL
from groundwire.verify.settings import arguments_of
from groundwire.verify.verifier import Verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Configuration, models and evidence of a server. Agents cannot change the configuration.

    Attributes:
        config: The configuration.
        models: The models on this machine.
        stores: The held evidence (stored by earlier calls) of all sessions; ``None`` if this server
            holds no evidence.
        roots: The folders whose files may be evidence.
        needs_handle: Whether calls can come without a session. The tools then take a handle, which
            names the held evidence in place of a session.
        held_only: Whether only held evidence counts. Texts that come with a call are then refused.
    """

    config: Config
    models: Models
    stores: Stores | None = None
    roots: Roots = field(default_factory=Roots)
    needs_handle: bool = False
    held_only: bool = False

    @property
    def name(self) -> str:
        """Name of the verifier: ``local``, ``openai`` or ``service``."""
        return self.config.verify.verifier

    @property
    def is_open_world(self) -> bool:
        """Whether the verifier may send texts to another machine."""
        return self.name != LOCAL

    @property
    def usual(self) -> dict[str, Any]:
        """Name of each argument of a verification → its configured value."""
        return arguments_of(self.config.verify)

    @property
    def hidden(self) -> frozenset[str]:
        """Names of the arguments that the tools of this server do not take."""
        if self.stores is None:
            return frozenset({"span_ids", "use_held_spans", "evidence"})
        return frozenset() if self.needs_handle else frozenset({"evidence"})

    def verifier(self, call: Call) -> str | Verifier:
        """Return the configured verifier: an object for ``local``, otherwise the name.

        Raises:
            GroundwireError: If the model of the verifier ``local`` cannot be loaded.
        """
        return self.models.verifier(call.tenant) if self.name == LOCAL else self.name

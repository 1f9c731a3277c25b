"""The configuration, models and evidence that the tools of one server work with."""

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
    """Choices of whoever starts the server. An agent cannot change them.

    Attributes:
        config: The configuration.
        models: The models on this machine.
        stores: Evidence of the sessions; ``None`` if this server holds none.
        roots: Folders whose files may be evidence.
        needs_handle: Whether there may be calls without a session.
        held_only: Whether texts that come with a call are refused as evidence.
    """

    config: Config
    models: Models
    stores: Stores | None = None
    roots: Roots = field(default_factory=Roots)
    needs_handle: bool = False
    held_only: bool = False

    @property
    def name(self) -> str:
        """The verifier: ``local``, ``openai`` or ``service``."""
        return self.config.verify.verifier

    @property
    def is_open_world(self) -> bool:
        """Whether claims and evidence leave this machine."""
        return self.name != LOCAL

    @property
    def usual(self) -> dict[str, Any]:
        """The arguments of a verification, with the values of the configuration."""
        return arguments_of(self.config.verify)

    @property
    def hidden(self) -> frozenset[str]:
        """Arguments that the tools of this server do not take."""
        if self.stores is None:
            return frozenset({"span_ids", "use_held_spans", "evidence"})
        return frozenset() if self.needs_handle else frozenset({"evidence"})

    def verifier(self, call: Call) -> str | Verifier:
        """The verifier of a call, as :func:`groundwire.verify.run.run` takes it.

        Raises:
            GroundwireError: If the embedded model cannot be loaded.
        """
        return self.models.verifier(call.tenant) if self.name == LOCAL else self.name

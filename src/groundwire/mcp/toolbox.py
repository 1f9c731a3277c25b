"""Makes the tools of a server, and runs calls to them."""

import logging
from collections.abc import Mapping
from typing import Any

from groundwire.errors import DetectionError, GroundwireError, ModelError
from groundwire.mcp.arguments import parse
from groundwire.mcp.backend import Backend
from groundwire.mcp.checking import answer_tool
from groundwire.mcp.citing import citations_tool
from groundwire.mcp.evidence_tools import holding_tools
from groundwire.mcp.tool import Call, Tool, ToolResult
from groundwire.mcp.verifying import verifying_tools
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.verifier import FailureKind

log = logging.getLogger(__name__)


def tools_of(backend: Backend) -> dict[str, Tool]:
    """Make the tools of a server: name → tool, in the order in which agents see them."""
    tools = [*verifying_tools(backend), answer_tool(backend), citations_tool(backend)]
    if backend.stores is not None:
        tools += holding_tools(backend, backend.stores)
    return {tool.name: tool for tool in tools}


def answer(tool: Tool, arguments: Mapping[str, Any], call: Call) -> ToolResult:
    """Run a call to a tool.

    If an error is raised, the result describes it, and never says that a check was passed.
    """
    try:
        return tool.run(call, parse(tool.arguments, arguments, tool.input_schema["properties"]))
    except NotVerifiedError as error:
        return tool.fails(error.error_type, error.message)
    except (ModelError, DetectionError) as error:
        return tool.fails(FailureKind.VERIFIER, str(error))
    except GroundwireError as error:
        return tool.fails("invalid_argument", str(error))
    except Exception as error:  # a bug must not look like a pass
        # The result names only the type of the error: its message may quote the checked text.
        log.exception("The tool %s failed", tool.name)
        kind = type(error).__name__
        return tool.fails(
            "internal_error", f"The server failed: {kind}. This is a bug in groundwire."
        )

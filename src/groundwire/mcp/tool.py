"""Defines tools: a tool has a name, models of arguments and result, and a function that runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from pydantic import BaseModel

from groundwire.mcp.arguments import ToolInput
from groundwire.mcp.schemas import Schema, input_schema, output_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Two functions with which a running call reports progress and asks if it was cancelled.

    Attributes:
        tell: Function to call with the amount of work done, the amount of all work (``None`` if
            unknown), and a message.
        is_over: Function that returns whether the call was cancelled.
    """

    tell: Callable[[int, int | None, str], None] = lambda _done, _total, _message: None
    is_over: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The context of an agent's call to a tool.

    Attributes:
        session: Id of the agent's session; ``None`` if the call has no session.
        tenant: Cache namespace of the call, which keeps sessions apart.
        watch: Functions for reports of progress and for checks whether the call was cancelled.
    """

    session: str | None
    tenant: str
    watch: Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call.

    Attributes:
        data: The result as JSON data of the tool's output schema; ``None`` only for an error.
        text: The result in a few lines of text.
        is_error: Whether the result is marked as an error in the protocol. Some failures are only
            in ``data``, as the fields ``error`` and ``error_type``.
    """

    data: dict[str, Any] | None
    text: str
    is_error: bool = False


def plain_error(error_type: str, error: str) -> ToolResult:
    """Make the result of a failed call to a tool whose output schema has no field for an error.

    ``error_type`` is not used: the result is the message alone.
    """
    return ToolResult(data=None, text=error, is_error=True)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool as agents see it, and the function behind it.

    Attributes:
        name: Name by which agents call the tool.
        title: Title that people see.
        description: Text that tells the agent what the tool does and when to use it.
        arguments: Model of the arguments.
        hidden: Names of arguments in the model that this server does not take.
        result: Model of the result.
        run: Function that makes the result from a call and its parsed arguments.
        fails: Function that makes the result of a failed call from the kind and the message of the
            error. The result never says that a check was passed.
        is_read_only: Whether the tool changes nothing.
        is_open_world: Whether the tool may send data to another machine.
        is_long: Whether the tool may work for long; concurrent calls of such tools are limited.
    """

    name: str
    title: str
    description: str
    arguments: type[ToolInput]
    hidden: frozenset[str] = frozenset()
    result: type[BaseModel]
    run: Callable[[Call, Any], ToolResult]
    fails: Callable[[str, str], ToolResult] = plain_error
    is_read_only: bool = True
    is_open_world: bool = False
    is_long: bool = False

    @classmethod
    def of(
        cls,
        run: Callable[[Call, Any], ToolResult],
        title: str,
        *,
        more: str = "",
        **options: Any,  # noqa: ANN401
    ) -> "Tool":
        """Make a tool from a function: its name, docstring and annotations describe the tool.

        Args:
            run: Function with the parameters ``call`` and ``own``. The type of ``own`` is the model
                of the arguments. The annotation of the return value is ``Annotated[ToolResult,
                Model]``, where ``Model`` is the model of ``ToolResult.data``.
            title: Title that people see.
            more: Sentence to add to the description.
            options: Further attributes of the tool, such as ``is_long``.
        """
        hints = get_type_hints(run, include_extras=True)
        return cls(
            name=run.__name__,
            title=title,
            description=" ".join(f"{run.__doc__} {more}".split()),
            arguments=hints["own"],
            result=hints["return"].__metadata__[0],
            run=run,
            **options,
        )

    @cached_property
    def input_schema(self) -> Schema:
        """JSON Schema of the tool's arguments."""
        return input_schema(self.arguments, hidden=self.hidden)

    @cached_property
    def output_schema(self) -> Schema:
        """JSON Schema of the tool's result."""
        return output_schema(self.result)

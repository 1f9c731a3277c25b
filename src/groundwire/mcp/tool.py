"""A tool: a name, models of arguments and result, and a function from a call to a result."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from pydantic import BaseModel

from groundwire.mcp.arguments import ToolInput
from groundwire.mcp.schemas import Schema, input_schema, output_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Reports progress of a call, and knows whether anyone still waits for it.

    Attributes:
        tell: Function to call with the work done, all work (``None`` if unknown), and a message.
        is_over: Function that returns whether nobody waits any longer.
    """

    tell: Callable[[int, int | None, str], None] = lambda _done, _total, _message: None
    is_over: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a tool by an agent.

    Attributes:
        session: Session of the agent; ``None`` if the transport knows no sessions.
        tenant: Cache namespace of the call, which keeps sessions apart.
        watch: Progress, and whether anyone still waits.
    """

    session: str | None
    tenant: str
    watch: Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call.

    Attributes:
        data: The result as JSON data in the tool's output schema; ``None`` only with an error.
        text: The result in a few lines of text.
        is_error: Whether the call failed.
    """

    data: dict[str, Any] | None
    text: str
    is_error: bool = False


def plain_error(error_type: str, error: str) -> ToolResult:
    """An error of a tool whose result has no place for one."""
    del error_type
    return ToolResult(data=None, text=error, is_error=True)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool as agents see it, and the function behind it.

    Attributes:
        name: Name by which agents call it.
        title: Title that people see.
        description: What it does and when to use it, for the agent.
        arguments: Model of its arguments.
        hidden: Arguments of the model that this server does not take.
        result: Model of its result.
        run: Does the work, in a thread. Its errors become results by ``fails``.
        fails: Makes a result, which is never a pass, from the kind of an error and its message.
        is_read_only: Whether it changes nothing.
        is_open_world: Whether it may send something to another machine.
        is_long: Whether it works for a while, so that few of its kind run at a time.
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
        hidden: frozenset[str],
        more: str = "",
        is_read_only: bool = True,
        is_long: bool = False,
    ) -> "Tool":
        """Make a tool of a function, which gives its name, description and models.

        Args:
            run: Takes a call and ``own``, the model of its arguments; returns a
                :class:`ToolResult`, annotated with the model of its data.
            title: Title that people see.
            hidden: Arguments that this server does not take.
            more: Sentence to add to the description.
            is_read_only: Whether the tool changes nothing.
            is_long: Whether it works for a while.
        """
        hints = get_type_hints(run, include_extras=True)
        return cls(
            name=run.__name__,
            title=title,
            description=" ".join(f"{run.__doc__} {more}".split()),
            arguments=hints["own"],
            hidden=hidden,
            result=hints["return"].__metadata__[0],
            run=run,
            is_read_only=is_read_only,
            is_long=is_long,
        )

    @cached_property
    def input_schema(self) -> Schema:
        """JSON Schema of its arguments."""
        return input_schema(self.arguments, hidden=self.hidden)

    @cached_property
    def output_schema(self) -> Schema:
        """JSON Schema of its result."""
        return output_schema(self.result)

"""What a tool is: a name, schemas, and a function from a call to what is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any

#: A JSON Schema, or a part of one.
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a call is.

    Attributes:
        done: How much is done.
        total: Of how much, as far as is known.
        message: The same in words.
    """

    done: int
    total: int
    message: str


class Watch:
    """Tells how far a call is, and knows whether anyone still waits for it.

    The call runs in a thread, and who waits for it in another.
    """

    def __init__(self, tells: Callable[[Progress], None] | None = None) -> None:
        self._tells, self._cancelled = tells, Event()

    def tell(self, done: int, total: int, message: str) -> None:
        """Say how far it is."""
        if self._tells is not None and not self.is_cancelled:
            self._tells(Progress(done=done, total=total, message=message))

    def cancel(self) -> None:
        """Nobody waits any longer."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits any longer."""
        return self._cancelled.is_set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool.

    Attributes:
        arguments: As the agent sent them.
        session: Whose it is; ``None`` if the transport knows no sessions.
        tenant: Under whose name what is read for it is kept.
        watch: Who waits for it.
    """

    arguments: Mapping[str, Any]
    session: str | None
    tenant: str
    watch: Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a call.

    Attributes:
        data: The result, as JSON data in the tool's output schema; ``None`` only with an error.
        text: The same in a few lines.
        is_error: Whether the tool could not do what it is for.
    """

    data: dict[str, Any] | None
    text: str
    is_error: bool = False


def told_error(error_type: str, error: str) -> Told:
    """An error of a tool that has no result to put it in."""
    del error_type
    return Told(data=None, text=error, is_error=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as agents see it, and what runs it.

    Attributes:
        name: As agents call it.
        title: As people see it.
        description: What it does and when to use it, for the agent.
        input_schema: Of its arguments.
        output_schema: Of its result.
        run: Does the work, in a thread. What it raises is told by ``fails``.
        fails: From the kind of an error and its message to a result that nothing can take for a
            pass.
        is_read_only: Whether it changes nothing.
        is_open_world: Whether it may send something to another machine.
        is_long: Whether it works for a while, so that few of its kind run at a time.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    run: Callable[[Call], Told]
    fails: Callable[[str, str], Told] = told_error
    is_read_only: bool = True
    is_open_world: bool = False
    is_long: bool = False

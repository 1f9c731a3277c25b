"""Answers of a language model on disk, so that no call is paid for twice, whatever is interrupted.

What a reply is kept under is the request without its key; the key is nowhere in it.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from groundwire.evaluation.workflow.model import Reply
from groundwire.evaluation.workflow.stage import StageError

_TABLE = "CREATE TABLE IF NOT EXISTS replies (request TEXT PRIMARY KEY, reply TEXT NOT NULL)"


class Kept:
    """A file of replies. Safe to share between threads; each is on disk when :meth:`put` returns.

    Raises:
        StageError: If the file is something else.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        # Other processes may write it too: who waits, waits that long.
        self._database = sqlite3.connect(path, timeout=60.0, check_same_thread=False)
        try:
            with self._database:
                self._database.execute(_TABLE)
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise StageError(
                path, None, f"it is no cache of answers ({error}). Name another --cache"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._database.close()

    def get(self, key: str) -> Reply | None:
        """The reply to a request, if it is there."""
        query = "SELECT reply FROM replies WHERE request = ?"
        with self._lock, closing(self._database.execute(query, (key,))) as found:
            row = found.fetchone()
        if row is None:
            return None
        try:
            return Reply(**json.loads(row[0]))
        except (ValueError, TypeError):
            return None  # of another version: it is asked again

    def put(self, key: str, reply: Reply) -> None:
        """Keep the reply to a request."""
        with self._lock, self._database:
            self._database.execute(
                "INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, json.dumps(reply.to_dict()))
            )


def key_of(base_url: str, body: Mapping[str, Any]) -> str:
    """What a request is kept under: all that its answer depends on, and no secret."""
    return sha256(json.dumps([base_url, body], sort_keys=True).encode()).hexdigest()

"""Judges answers with worker processes, each of which loads the model once."""

import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import cast

from groundwire.errors import GroundwireError
from groundwire.evaluation.judged_row import JudgedRow
from groundwire.evaluation.judging import Block, Judging, judge_block
from groundwire.evaluation.scale.workers import Recipe, WorkerError


def on_processes(recipe: Recipe, n_workers: int) -> Judging:
    """Make a function that judges blocks with worker processes on this machine.

    Threads share the interpreter lock, so the Python part of judging runs in parallel only in
    processes. Each process has a model of its own.

    Args:
        recipe: The recipe by which each worker loads its detector.
        n_workers: Number of workers; no more are started than there are blocks.
    """
    return partial(_judge, recipe, n_workers)


def _judge(
    recipe: Recipe, n_workers: int, blocks: Iterator[Block]
) -> Generator[Sequence[JudgedRow]]:
    # Not forked: a fork would copy locks that other threads of this process hold.
    context = get_context("spawn")
    processes = []
    busy: list[Connection] = []
    try:
        for _, block in zip(range(n_workers), blocks, strict=False):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, recipe), daemon=True)
            process.start()
            theirs.close()  # only the worker keeps this end: when it dies, reading reports EOF
            processes.append(process)
            _give(ours, block)
            busy.append(ours)
        while busy:
            for ready in cast("list[Connection]", wait(busy)):
                judged = _take(ready)
                block = next(blocks, ())
                if block:
                    _give(ready, block)
                else:
                    busy.remove(ready)
                    ready.close()
                yield judged
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _give(worker: Connection, block: Block) -> None:
    # If the worker has ended, reading its results raises the error.
    with suppress(BrokenPipeError):
        worker.send(block)


def _take(worker: Connection) -> list[JudgedRow]:
    try:
        found: list[JudgedRow] | GroundwireError = worker.recv()
    except (EOFError, ConnectionResetError) as error:
        raise WorkerError(
            "A worker process ended unforeseen; perhaps there was not enough memory for all of "
            "them, and fewer --workers need less."
        ) from error
    if isinstance(found, GroundwireError):
        raise found
    return found


def _work(driver: Connection, recipe: Recipe) -> None:
    """Judge the blocks that a worker receives, until the other end of the pipe is closed."""
    # Ctrl-C reaches all processes. Only the driver handles it, and then ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            detector = recipe.detector()
        except GroundwireError as error:
            driver.send(error)
            return
        while True:
            driver.send([*judge_block(detector, driver.recv())])

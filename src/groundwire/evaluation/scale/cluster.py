"""Judges answers on a Ray cluster; each worker loads one model.

Blocks are passed to the workers through Ray's object store, which spills to disk, and results are
returned to the caller. The workers need no access to the data files.
"""

import logging
import os
import pickle
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any

from groundwire.errors import MissingExtraError
from groundwire.evaluation.judged_row import JudgedRow
from groundwire.evaluation.judging import Block, Judging, judge_block
from groundwire.evaluation.scale.tables import judged_rows, judged_table
from groundwire.evaluation.scale.workers import Recipe, WorkerError

#: Size in bytes of the object store that :func:`start_local` starts.
STORE_BYTES = 200 * 2**20


class JudgeActor:
    """Ray actor that loads a detector once and judges batches with it."""

    def __init__(self, recipe: Recipe) -> None:
        """Load the detector by the recipe."""
        self._detector = recipe.detector()

    def __call__(self, table: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Judge the blocks of one batch, a table of :func:`_packed` blocks."""
        blocks = map(pickle.loads, table["block"].to_pylist())  # safe: this run pickled the blocks
        return judged_table(judge_block(self._detector, [*chain.from_iterable(blocks)]))


def on_ray(recipe: Recipe, n_workers: int | None = None) -> Judging:
    """Make a function that judges blocks with Ray Data.

    It uses the cluster that this process is connected to, else the cluster of ``RAY_ADDRESS``, else
    a new one on this machine.

    Args:
        recipe: The recipe by which each worker loads its detector.
        n_workers: Number of workers; by default one for each processor of the cluster.

    Raises:
        MissingExtraError: If Ray is not installed.
    """
    _ray()
    return partial(_judge, recipe, n_workers)


def _judge(
    recipe: Recipe, n_workers: int | None, blocks: Iterator[Block]
) -> Generator[Sequence[JudgedRow]]:
    ray = _ray()
    with _cluster(n_workers):
        # Each block is put into the object store when it is read, so that this process holds one
        # block at a time.
        batches = [ray.put(_packed(block)) for block in blocks]
        if not batches:
            return
        n_actors = n_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Ray's log and progress bars are turned off: the command shows its own progress.
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        ray.data.DataContext.get_current().enable_progress_bars = False
        judged = ray.data.from_arrow_refs(batches).map_batches(
            JudgeActor,
            fn_constructor_args=(recipe,),
            batch_size=None,  # a batch is a block: so the answers to a context stay together
            batch_format="pyarrow",
            zero_copy_batch=True,
            compute=ray.data.ActorPoolStrategy(size=min(n_actors, len(batches))),
            num_cpus=1,
        )
        try:
            for table in judged.iter_batches(batch_size=None, batch_format="pyarrow"):
                yield list(judged_rows(table.to_pylist()))
        except ray.exceptions.RayError as error:
            raise WorkerError(f"Ray could not go on ({_first_line(error)}).") from error


def _packed(block: Block) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Pickle a block into the single cell of an Arrow table, which Ray can pass on."""
    import pyarrow as pa

    return pa.table({"block": pa.array([pickle.dumps(block)], pa.large_binary())})


@contextmanager
def _cluster(n_workers: int | None) -> Iterator[None]:
    """Connect to a Ray cluster, unless this process is connected to one already.

    The cluster is that of ``RAY_ADDRESS``, or else a new one on this machine. A connection that was
    made here is closed at the end of the block, which also stops a new cluster.
    """
    ray = _ray()
    if ray.is_initialized():
        yield
        return
    if os.environ.get("RAY_ADDRESS"):
        ray.init(logging_level="error", log_to_driver=False)
    else:
        start_local(n_workers)
    try:
        yield
    finally:
        ray.shutdown()


def start_local(n_cpus: int | None = None) -> None:
    """Start Ray on this machine for this process; other machines cannot reach it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # errors are raised, not logged
    _ray().init(
        address="local",
        num_cpus=n_cpus,
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        logging_level="error",
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )


def _ray() -> Any:  # noqa: ANN401 - a module without types
    try:
        import ray
        import ray.data
        import ray.exceptions
    except ImportError as error:
        raise MissingExtraError("Judging on Ray", "ray") from error
    return ray


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"[:300]

"""Downloads the official files of a benchmark from the Hugging Face hub."""

from dataclasses import dataclass
from pathlib import Path

from groundwire.errors import InputError
from groundwire.evaluation.benches.registry import Bench


class NoDataError(InputError):
    """The files of a benchmark are missing; the message says where to get them."""

    def __init__(self, bench: Bench, problem: str) -> None:
        super().__init__(bench, problem)
        self.bench, self.problem = bench, problem

    def __str__(self) -> str:
        bench = self.bench
        return (
            f"The files of {bench.title} are not here: {self.problem}. Fetch them from "
            f"{bench.url} ({', '.join(bench.fetch)}) and name the file or folder with --data."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Files that were fetched from the hub.

    Attributes:
        folder: The folder that holds the files.
        commit: The commit of the dataset at which the files were fetched.
    """

    folder: Path
    commit: str


def fetch(
    bench: Bench, split: str, *, revision: str | None = None, endpoint: str | None = None
) -> Fetched:
    """Fetch the files of a split; files that are in the cache are not fetched again.

    Args:
        bench: The benchmark.
        split: Name of the split.
        revision: Commit, branch or tag; by default the newest commit, which the result names.
        endpoint: URL of the hub; by default the one that the environment names.

    Raises:
        NoDataError: If the files are not on the hub, or the hub does not give them.
    """
    if not bench.hub:
        raise NoDataError(bench, "they are not on the Hugging Face hub")
    # Imported here: it takes 200 ms, and nothing else needs it.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    patterns = [pattern.format(split=split) for pattern in bench.hub_files]
    try:
        folder = Path(
            snapshot_download(
                bench.hub,
                repo_type="dataset",
                revision=revision,
                allow_patterns=patterns,
                endpoint=endpoint,
            )
        )
    except (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        OSError,
        ValueError,
    ) as error:
        # Not shown: the hub's own message is long, and names internal addresses.
        problem = (
            f"the hub did not give them ({type(error).__name__}): see the network, HF_ENDPOINT, "
            "HF_HUB_OFFLINE, and HF_TOKEN for one whose conditions are to be accepted"
        )
        raise NoDataError(bench, problem) from error
    return Fetched(folder=folder, commit=folder.name)

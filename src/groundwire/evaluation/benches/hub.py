"""Downloads the official files of a benchmark from the Hugging Face hub."""

from pathlib import Path

from groundwire.errors import InputError
from groundwire.evaluation.benches.registry import Bench


def fetch(bench: Bench, split: str, *, revision: str | None = None) -> Path:
    """Download the files of a benchmark's split, unless Hugging Face's local cache has them.

    ``revision`` is a commit, branch or tag of the dataset; by default the newest commit.

    Returns:
        The folder of the files; its name is the commit of the dataset.

    Raises:
        InputError: If the benchmark is not on the hub, or the download fails.
    """
    if not bench.hub:
        raise _no_data(bench, "they are not on the Hugging Face hub")
    # Imported here, because the import is slow, and only a download needs the library.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    patterns = [pattern.format(split=split) for pattern in bench.hub_files]
    try:
        folder = snapshot_download(
            bench.hub, repo_type="dataset", revision=revision, allow_patterns=patterns
        )
        return Path(folder)
    # LocalEntryNotFoundError and OfflineModeIsEnabled are subclasses of OSError.
    except (HfHubHTTPError, OSError, ValueError) as error:
        # The hub's own message is not shown: it is long, and names internal addresses.
        problem = (
            f"the hub did not give them ({type(error).__name__}): see the network, HF_ENDPOINT, "
            "HF_HUB_OFFLINE, and HF_TOKEN for one whose conditions are to be accepted"
        )
        raise _no_data(bench, problem) from error


def _no_data(bench: Bench, problem: str) -> InputError:
    return InputError(
        f"The files of {bench.title} are not here: {problem}. Fetch them from {bench.url} "
        f"({', '.join(bench.fetch)}) and name the file or folder with --data."
    )

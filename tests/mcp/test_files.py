"""Lines of files as evidence: what can be had, and what cannot, whatever a path looks like."""

import os
from pathlib import Path

import pytest

from groundwire.mcp.arguments import CallError
from groundwire.mcp.files import MAX_FILE_BYTES, MAX_LINES, Roots
from groundwire.mcp.store import FileRange

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An allowed folder, beside a file that is not in it."""
    (tmp_path / "secret.txt").write_text("the secret\n")
    allowed = tmp_path / "allowed"
    (allowed / "inner").mkdir(parents=True)
    (allowed / "a.txt").write_text("one\ntwo\nthree\n")
    (allowed / "inner" / "b.txt").write_text("inner one\n")
    return allowed


@pytest.fixture
def roots(root: Path) -> Roots:
    return Roots.of([root])


def read(roots: Roots, path: object, start: int = 1, end: int = 1) -> str:
    return roots.read(str(path), start, end)[0]


def test_lines_count_from_1_and_both_ends_are_included(roots: Roots, root: Path) -> None:
    text, place = roots.read("a.txt", 2, 3)
    assert text == "two\nthree"
    assert place == FileRange(path=str(root.resolve() / "a.txt"), start_line=2, end_line=3)


def test_a_path_is_absolute_or_from_an_allowed_folder_on(roots: Roots, root: Path) -> None:
    assert read(roots, "inner/b.txt") == "inner one"
    assert read(roots, root / "inner" / "b.txt") == "inner one"
    assert read(roots, "inner/../a.txt") == "one"


def test_of_several_folders_the_first_that_has_the_file(roots: Roots, root: Path) -> None:
    both = Roots.of([root / "inner", root])
    assert read(both, "b.txt") == "inner one"
    assert read(both, "a.txt") == "one"


def test_line_ends_of_all_systems_are_line_ends(roots: Roots, root: Path) -> None:
    (root / "mixed.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\nfour")
    assert read(roots, "mixed.txt", 1, 4) == "one\ntwo\nthree\nfour"


def test_without_an_allowed_folder_nothing_is_read_and_it_says_how_to_allow_one(
    root: Path,
) -> None:
    with pytest.raises(CallError, match="--root DIR"):
        read(Roots(), root / "a.txt")


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "inner/../../secret.txt",
        "./inner/./.././../secret.txt",
        "/etc/passwd",
        "../../../../../../../../etc/passwd",
        "..",
        "/",
        "//etc/passwd",
        "~/.ssh/id_rsa",
        "file:///etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_allowed_folder(roots: Roots, path: str) -> None:
    with pytest.raises(CallError, match=r"no file in an allowed folder|cannot be read"):
        read(roots, path)


def test_a_folder_whose_name_begins_like_the_allowed_one_is_another(
    roots: Roots, root: Path
) -> None:
    sibling = root.with_name("allowed-not")
    sibling.mkdir()
    (sibling / "c.txt").write_text("c\n")
    with pytest.raises(CallError, match="no file in an allowed folder"):
        read(roots, sibling / "c.txt")


def test_nothing_is_learnt_of_what_is_there_elsewhere(roots: Roots, root: Path) -> None:
    told = []
    for name in ("secret.txt", "nothing.txt"):
        with pytest.raises(CallError) as refused:
            read(roots, root.parent / name)
        told.append(str(refused.value).replace(name, "NAME"))
    assert told[0] == told[1]


@posix
def test_a_link_to_somewhere_else_is_refused_and_one_within_is_followed(
    roots: Roots, root: Path
) -> None:
    (root / "out.txt").symlink_to(root.parent / "secret.txt")
    (root / "up").symlink_to(root.parent)
    (root / "within.txt").symlink_to(root / "inner" / "b.txt")
    (root / "loop").symlink_to(root / "loop")
    for path in ("out.txt", "up/secret.txt", "up/../secret.txt"):
        with pytest.raises(CallError, match="no file in an allowed folder"):
            read(roots, path)
    with pytest.raises(CallError):
        read(roots, "loop")
    assert read(roots, "within.txt") == "inner one"


@posix
def test_an_allowed_folder_may_itself_be_a_link(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    assert read(Roots.of([link]), link / "a.txt") == "one"


@posix
@pytest.mark.parametrize("swapped", ["inner", "inner/b.txt"])
def test_a_link_that_is_put_in_place_after_the_path_was_looked_up_is_not_followed(
    roots: Roots, root: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root.parent / "b.txt").write_text("the secret\n")
    resolve = os.path.realpath

    def swapping(path: str) -> str:
        found = resolve(path)
        place = root / swapped
        if not place.is_symlink():
            place.rename(root / "moved")
            place.symlink_to(root.parent if swapped == "inner" else root.parent / "b.txt")
        return found

    monkeypatch.setattr(os.path, "realpath", swapping)
    with pytest.raises(CallError, match=r"has changed meanwhile|no regular file"):
        read(roots, "inner/b.txt")


@posix
def test_what_is_no_regular_file_is_refused_without_waiting_for_it(
    roots: Roots, root: Path
) -> None:
    os.mkfifo(root / "pipe")
    for path in ("pipe", "inner", "."):
        with pytest.raises(CallError, match="no regular file"):
            read(roots, path)


@posix
def test_devices_are_refused() -> None:
    with pytest.raises(CallError, match="no regular file"):
        read(Roots.of([Path("/dev")]), "zero")


def test_binary_files_and_other_encodings_are_refused(roots: Roots, root: Path) -> None:
    (root / "binary").write_bytes(b"one\x00two\n")
    (root / "latin").write_bytes("caf\xe9\n".encode("latin-1"))
    with pytest.raises(CallError, match="binary"):
        read(roots, "binary")
    with pytest.raises(CallError, match=r"no UTF-8 text \(byte 3\)"):
        read(roots, "latin")


def test_lines_are_bounded_in_number(roots: Roots, root: Path) -> None:
    (root / "long.txt").write_text("x\n" * (MAX_LINES + 1))
    assert read(roots, "long.txt", 2, MAX_LINES + 1).count("\n") == MAX_LINES - 1
    with pytest.raises(CallError, match="2,001 lines, and a span has at most 2,000"):
        read(roots, "long.txt", 1, MAX_LINES + 1)


def test_files_are_bounded_in_size(roots: Roots, root: Path) -> None:
    with (root / "huge.txt").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(CallError, match="16,000,001 bytes"):
        read(roots, "huge.txt")


def test_lines_that_are_not_there_are_refused(roots: Roots) -> None:
    with pytest.raises(CallError, match="has 3 lines, and no line 4"):
        read(roots, "a.txt", 2, 4)
    with pytest.raises(CallError, match="before start_line"):
        read(roots, "a.txt", 2, 1)
    with pytest.raises(CallError, match="no file in an allowed folder"):
        read(roots, "nothing.txt")


@pytest.mark.parametrize("path", ["a\0.txt", "x" * 5000, "x/" * 2000])
def test_names_that_no_file_can_have_are_refused(roots: Roots, path: str) -> None:
    with pytest.raises(CallError):
        read(roots, path)

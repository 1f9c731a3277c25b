"""URLs of databases: which there are, and what is shown of them."""

from pathlib import Path

import pytest

from groundwire.config import parse
from groundwire.control.store import Store
from groundwire.control.store.address import DatabaseAddress
from groundwire.errors import ConfigError, SettingError


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///own.db", Path("own.db")),
        ("sqlite:///data/own.db", Path("data/own.db")),
        ("sqlite:////var/lib/own.db", Path("/var/lib/own.db")),
        ("sqlite:///C:/data/own.db", Path("C:/data/own.db")),
        ("sqlite:////a%20b/%C3%BC.db", Path("/a b/ü.db")),
        ("sqlite:///~/own.db", Path.home() / "own.db"),
    ],
)
def test_three_slashes_are_relative_and_four_are_not(url: str, path: Path) -> None:
    assert DatabaseAddress.read(url).path == path


def test_a_url_of_postgresql_is_passed_on_as_it_is() -> None:
    url = "postgres://me:p%40ss@db.example:5433/own?sslmode=verify-full&search_path=mine"
    assert DatabaseAddress.read(url).dsn == url.replace("postgres://", "postgresql://")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "own.db",
        "mysql://me:hunter2@db.example/own",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://host/own.db",
        "sqlite:///own.db?mode=memory",
        "postgresql://me:hunter2@db.example",
        "postgresql:///own",
        "postgresql://me:hunter2@db.example:port/own",
        "postgresql://me:hun/ter2@db.example/own",
        "postgresql://me:hun ter2@db.example/own",
        "postgresql://me:***@db.example/own",
        "postgresql://me@db.example/own?password=hunter2",
        "postgresql://me:hunter2@db.example/own#hunter2",
    ],
)
def test_what_is_no_database_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(SettingError, match="It must be postgresql://") as wrong:
        Store(url)
    with pytest.raises(ConfigError, match=r" = \*\*\* is not possible") as refused:
        parse("", name="", environ={"GROUNDWIRE_STORE_URL": url or "x"})
    with pytest.raises(ConfigError) as also:
        parse(f"store: {{url: '{url}'}}", name="a.yaml")
    for error in (wrong, refused, also):
        assert "ter2" not in f"{error.value}{error.value!r}"


def test_what_a_url_may_have_after_a_question_mark_is_said() -> None:
    with pytest.raises(SettingError, match="of parameters it takes sslmode, "):
        Store("postgresql://db.example/own?ssl=true")


def test_a_password_is_shown_nowhere() -> None:
    store = Store("postgresql://me:hunter2@db.example:5433/own")
    assert "hunter2" not in f"{store} {store!r} {store.address} {store.where}"
    assert store.where == "postgresql://me:***@db.example:5433/own"


def test_a_file_is_shown_as_its_url() -> None:
    assert repr(Store("sqlite:////data/own.db")) == "Store('sqlite:////data/own.db')"


def test_the_store_of_a_configuration_is_a_file_in_its_folder(tmp_path: Path) -> None:
    config = parse(f"gateway: {{data_dir: {tmp_path}}}", name="")
    assert Store.of(config).address.path == tmp_path / "groundwire.db"


def test_the_store_of_a_configuration_is_where_it_says() -> None:
    store = Store.of(parse("store: {url: 'postgresql://me:secret@db.example/own'}", name=""))
    assert store.address.dsn == "postgresql://me:secret@db.example/own"
    assert not store.is_sqlite

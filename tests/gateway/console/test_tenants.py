"""Tenants in the console: what they inherit, what is saved and where, and their keys."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from groundwire.config.tenants import KINDS
from groundwire.control.accounts import AccountRole
from tests.gateway.admin.plane import pipeline_around
from tests.gateway.chats import fixed
from tests.gateway.console.desk import Desk, desk
from tests.render.test_render import Page

YAML = """\
check: {action: header}
tenants: {"fixed": {min_severity: 2}}
"""


@pytest.fixture(scope="module")
def anna(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Anna, an admin, before a console whose configuration has a tenant of its own."""
    with desk(tmp_path_factory.mktemp("tenants"), YAML) as made:
        made.add("anna")
        made.sign_in()
        yield made


def test_others_than_admins_see_metadata_without_its_secrets(anna: Desk) -> None:
    own = {"billing.code": "B-4711", "password": "hunter2-hunter2"}
    anna.run(anna.control.registry.put_metadata("hooli", own))
    assert "hunter2" in anna.get("/tenants/hooli").text
    anna.add("vic", AccountRole.VIEWER)
    anna.sign_in("vic")
    page = anna.get("/tenants/hooli").text
    anna.sign_in()
    assert ("B-4711" in page, "password" in page, "hunter2" in page) == (True, True, False)


def make(anna: Desk, id_: str) -> str:
    answer = anna.post("/tenants", {"id": id_, "name": ""})
    assert answer.headers["location"] == f"/console/tenants/{id_}?done=made"
    return f"/tenants/{id_}"


def fields(anna: Desk, path: str) -> dict[str, str]:
    """What stands in the fields of the form, as a browser would send it."""
    return fields_of(anna.get(path).text)


def fields_of(page: str) -> dict[str, str]:
    found, name = dict.fromkeys(["version", "seen", *KINDS], ""), ""
    for tag, attributes in Page(page).tags:
        if tag == "select":
            name = attributes["name"] or ""
        elif tag == "option" and "selected" in attributes and name:
            found[name] = attributes["value"] or ""
        elif tag == "input" and attributes.get("name") in found:
            found[attributes["name"] or ""] = attributes.get("value") or ""
    return found


def save(anna: Desk, path: str, **changes: str) -> str:
    """Change fields and save; where that leads, or the page with what is wrong."""
    answer = anna.post(path, fields(anna, path) | changes)
    return answer.headers.get("location", answer.text)


def test_the_trail_says_in_words_who_changed_what(anna: Desk) -> None:
    path = "/tenants/fixed"  # of the configuration, so it is not made by the first change
    before = len(anna.events("TENANT_CREATED"))
    save(anna, path, operating_point="0.3", action="block")
    save(anna, path, operating_point="0.2", action="")
    assert len(anna.events("TENANT_CREATED")) == before
    page = " ".join(Page(anna.get("/audit?type=changes&tenant=fixed").text).text.split())
    for line in (
        "by anna, operating point: inherited → 0.3",
        "by anna, operating point: 0.3 → 0.2",
        "by anna, grounding.action: inherited → BLOCK",
        "by anna, grounding.action: BLOCK → inherited",
    ):
        assert line in page
    assert "/console/audit?type=changes&amp;tenant=fixed" in anna.get(path).text


def is_untouched(anna: Desk, id_: str) -> bool:
    record = anna.run(anna.control.registry.tenant(id_))
    return bool(record.updated_at == record.created_at)


def test_a_tenant_inherits_and_the_page_says_from_where(anna: Desk) -> None:
    path = make(anna, "acme")
    assert not any(value for name, value in fields(anna, path).items() if name in KINDS)
    page = anna.get(path).text
    assert '<option value="">inherit: header</option>' in page
    assert "Inherited from the configuration (groundwire.yaml:1)" in page
    fixed = anna.get("/tenants/fixed").text
    assert "Inherited from the configuration (groundwire.yaml:2)" in fixed


def test_what_dvara_knows_is_saved_as_metadata_and_the_rest_as_policy(anna: Desk) -> None:
    path = make(anna, "dvara")
    assert save(anna, path, action="block", max_sources="20", release="deferred").endswith("=saved")
    record = anna.run(anna.control.registry.tenant("dvara"))
    assert record.metadata == {"grounding.action": "BLOCK", "grounding.max-sources": "20"}
    assert record.policy == {"release": "deferred"}
    events = anna.events("TENANT_METADATA_UPDATED", "TENANT_POLICY_UPDATED")[-2:]
    assert [each["payload"]["actor"] for each in events] == ["account:anna"] * 2
    assert [each["payload"]["diff"]["added"] for each in events] == [
        {"grounding.action": "BLOCK", "grounding.max-sources": "20"},
        {"release": "deferred"},
    ]
    own = fields(anna, path)
    assert (own["action"], own["max_sources"], own["release"]) == ("block", "20", "deferred")
    assert save(anna, path).endswith("?done=same")
    assert save(anna, path, action="", release="").endswith("?done=saved")
    record = anna.run(anna.control.registry.tenant("dvara"))
    assert (record.metadata, record.policy) == ({"grounding.max-sources": "20"}, {})


def test_a_policy_that_counts_before_metadata_is_what_changes(anna: Desk) -> None:
    path = make(anna, "both")
    anna.run(anna.control.registry.set_policy("both", {"action": "flag"}, merges=True))
    anna.run(anna.control.registry.put_metadata("both", {"grounding.action": "LOG"}))
    save(anna, path, action="block")
    record = anna.run(anna.control.registry.tenant("both"))
    assert (record.policy, record.metadata["grounding.action"]) == ({"action": "block"}, "LOG")
    save(anna, path, action="")  # to inherit, neither may say anything
    record = anna.run(anna.control.registry.tenant("both"))
    assert (record.policy, record.metadata) == ({}, {})


def test_what_is_wrong_is_told_at_its_field_and_nothing_is_saved(anna: Desk) -> None:
    path = make(anna, "wrong")
    page = save(anna, path, action="blok", max_sources="many", operating_point="2", release="")
    tags = [attributes for _, attributes in Page(page).tags if "aria-invalid" in attributes]
    assert [each["name"] for each in tags] == ["action", "operating_point", "max_sources"]
    assert "did you mean &#39;block&#39;?" in page
    assert '<option value="blok" selected>' in page  # what was sent still stands there
    assert is_untouched(anna, "wrong")


def test_a_combination_that_is_not_possible_is_refused(anna: Desk) -> None:
    path = make(anna, "combined")
    with closing(pipeline_around(fixed(), anna.control.config, anna.control)) as pipeline:
        anna.control.pipeline = pipeline
        page = save(anna, path, detector="no-such-detector")
        anna.control.pipeline = None
    tags = [attributes for _, attributes in Page(page).tags if "aria-invalid" in attributes]
    assert [each["name"] for each in tags] == ["detector"]
    assert is_untouched(anna, "combined")


def test_a_change_that_somebody_else_made_meanwhile_is_not_undone(anna: Desk) -> None:
    path = make(anna, "busy")
    sent = fields(anna, path) | {"action": "log"}
    anna.run(anna.control.registry.put_metadata("busy", {"grounding.action": "BLOCK"}))
    answer = anna.post(path, sent)
    assert (answer.status_code, "Somebody else changed this tenant" in answer.text) == (409, True)
    assert '<option value="log" selected>' in answer.text
    assert save(anna, path, action="log").endswith("?done=saved")
    sent = fields(anna, path)
    assert save(anna, path, max_sources="3").endswith("?done=saved")
    answer = anna.post(path, sent | {"on_error": "block"})
    assert answer.status_code == 409
    assert 'name="max_sources" value="3"' in answer.text  # of somebody else, and still there
    assert '<option value="block" selected>' in answer.text


def test_the_strict_preset_is_filled_in_and_saved_only_then(anna: Desk) -> None:
    path = make(anna, "strict")
    sent = fields(anna, path) | {"max_sources": "3"}
    found = fields_of(anna.post(f"{path}/strict", sent).text)
    assert found.pop("max_sources") == "3"  # not saved yet, and still there
    names = ("action", "unverified_action", "partial_action", "on_error")
    assert {found[name] for name in names} == {"block"}
    assert is_untouched(anna, "strict")
    anna.post(path, found)
    record = anna.run(anna.control.registry.tenant("strict"))
    assert record.policy == dict.fromkeys(names[1:], "block")
    assert record.metadata == {"grounding.action": "BLOCK"}


def test_values_that_are_not_valid_are_shown_with_what_is_possible(anna: Desk) -> None:
    path = make(anna, "lenient")
    anna.run(anna.control.registry.put_metadata("lenient", {"grounding.max-sources": "fifty"}))
    assert "grounding.max-sources = &#39;fifty&#39; is not possible" in anna.get(path).text
    assert "check its settings" in anna.get("/tenants?q=lenient").text


def test_tenants_are_found_renamed_and_deleted_and_viewers_only_see(anna: Desk) -> None:
    path = make(anna, "passing")
    anna.post(f"{path}/name", {"name": "Passing Ltd"})
    page = anna.get("/tenants?q=PASSING+l").text
    assert "Passing Ltd" in page
    assert "/console/tenants/acme" not in page
    assert anna.post(f"{path}/name", {"name": "two\nlines"}).status_code == 422
    assert anna.post(f"{path}/delete", {"id": "another"}).status_code == 422
    assert anna.post(f"{path}/delete", {"id": "passing"}).status_code == 303
    assert anna.get(path).status_code == 404
    assert anna.post("/tenants", {"id": "not one"}).status_code == 422
    assert anna.post("/tenants", {"id": "fixed"}).status_code == 409


def test_a_long_list_of_tenants_comes_in_pages(tmp_path: Path) -> None:
    with desk(tmp_path, is_local_demo=True) as console:
        for n in range(102):
            console.run(console.control.registry.create(f"t{n:03}"))
        page = console.get("/tenants").text
        assert "/console/tenants/t000" in page
        assert "/console/tenants/t101" not in page
        after = page.partition("after=")[2].partition('"')[0]
        assert "/console/tenants/t101" in console.get(f"/tenants?after={after}").text


def test_a_key_is_shown_once_works_and_is_revoked(anna: Desk) -> None:
    path = make(anna, "keyed")
    made = anna.post(f"{path}/keys", {"name": "ci", "days": "30"})
    secret = made.text.partition('<code class="secret">')[2].partition("<")[0]
    assert secret.startswith("gw_")
    found = anna.control.directory.find(secret.encode())
    assert found is not None
    assert found.tenant == "keyed"
    page = anna.get(f"{path}/keys").text
    assert secret not in page
    assert found.key_id in page
    assert anna.post(f"{path}/keys/{found.key_id}").headers["location"].endswith("?done=revoked")
    assert anna.control.directory.find(secret.encode()) is None
    events = anna.events("KEY_CREATED", "KEY_REVOKED")[-2:]
    assert [each["payload"]["actor"] for each in events] == ["account:anna"] * 2
    for days in ("soon", "-1", "1e99"):
        assert anna.post(f"{path}/keys", {"days": days}).status_code == 422

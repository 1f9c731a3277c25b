"""``groundwire labels``: on the database itself, and on record."""

import asyncio
import json
from pathlib import Path

from groundwire.control.audit.events import response_events
from groundwire.control.audit.quoted import AuditText, Keeping
from groundwire.control.review.labels import Labels
from groundwire.control.store import Store
from groundwire.control.verdicts import AnswerReview
from tests.cli.conftest import invoke
from tests.cli.test_keys import prepare
from tests.control.audit.filled import KEY, Written
from tests.gateway.admin.plane import recorded
from tests.gateway.answers import partial


async def fill(url: str) -> str:
    """Record an answer with labels; the id of its event."""
    keeping = Keeping(text=AuditText.FULL)
    (event,) = response_events(partial(), tenant="acme", trace_id="t1", keeping=keeping)
    async with Store(url) as store:
        await Written(store).add(event)
        await Labels(store).save(
            AnswerReview(event_id=event.id, account="rita", tenant="acme", marks=())
        )
    return event.id


def test_labels_of_a_tenant_are_printed_and_the_export_is_recorded(tmp_path: Path) -> None:
    prepare(tmp_path)
    url = f"sqlite:///{tmp_path / 'groundwire.db'}"
    event_id = asyncio.run(fill(url))
    environ = {
        "GROUNDWIRE_GATEWAY_DATA_DIR": str(tmp_path),
        "GROUNDWIRE_AUDIT_KEY": KEY.decode(),
    }
    found = invoke("labels", "--tenant", "acme", environ=environ)
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["id"] == event_id
    assert "1 labelled answers." in found.stderr
    assert invoke("labels", "--tenant", "globex", environ=environ).stdout == ""
    first, _ = recorded(url, "RECORDS_EXPORTED")
    assert first["payload"] == {
        "actor": "command-line",
        "filters": {"labels": "all", "tenant": "acme"},
    }

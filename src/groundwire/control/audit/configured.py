"""Makes the audit log that a configuration describes."""

from groundwire.config import Config
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.own_trail import refuses_foreign
from groundwire.control.audit.signing import signing_keys
from groundwire.control.audit.sinks import FileSink, Sink, StdoutSink
from groundwire.control.audit.store_sink import StoreSink
from groundwire.control.folder import data_folder
from groundwire.control.store import Store

#: Limit in seconds on the time that an event waits for further events, which are then written
#: together with it. This spares a busy gateway a commit for every answer. An event for which a
#: response waits is written at once.
LINGER_S = 0.1

#: The default file of the audit log if there is no store, in the data folder of the gateway.
FILE = "audit.jsonl"


def audit_log(config: Config, *, is_stored: bool) -> AuditLog:
    """Make the audit log that a configuration describes; nothing is started yet.

    If ``audit.enabled`` is false, the log drops all events. If the gateway has a store
    (``is_stored``) and ``audit.path`` is not set, the log writes to the store; otherwise to a file
    or to standard output.

    Raises:
        ConfigError: If the keys cannot be read, used or made.
        SettingError: If the address of the store is not valid, or the log's file cannot be written.
    """
    own = config.audit
    if not own.enabled:
        return AuditLog(None)
    is_synced = own.durability == "before_response"
    keys = signing_keys(config)
    sink: Sink
    if own.path == "-":
        sink = StdoutSink()
    elif own.path is None and is_stored:
        store = Store.of(config, is_synced=is_synced)
        sink = StoreSink(store, keys, refuses_foreign=refuses_foreign(config))
    else:
        sink = FileSink(own.path or data_folder(config) / FILE, is_synced=is_synced)
    # Expired details (all findings about an answer) are removed from the store only, so other sinks
    # get details only if details may be kept for ever.
    keeps = own.detail_days != 0 if isinstance(sink, StoreSink) else own.detail_days is None
    return AuditLog(
        sink,
        key=keys[0],
        queue_size=own.queue_size,
        keeps_details=keeps,
        linger_s=0.0 if is_synced else LINGER_S,
    )

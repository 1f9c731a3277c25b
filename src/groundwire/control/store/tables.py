"""The tables of the store. Moments are whole microseconds since 1970 in UTC."""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

from groundwire.control.store.moments import Moment

#: Names of constraints, so that migrations can name what they change.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

#: Characters of a tenant's id, at most.
TENANT_CHARS = 128

tenants = Table(
    "tenants",
    metadata,
    Column("id", String(TENANT_CHARS), primary_key=True),
    Column("name", Text),
    # DVARA's metadata: texts by key, unchanged.
    Column("metadata", JSON, nullable=False),
    # Ours: fields of Overrides, of JSON's types; one that is absent inherits.
    Column("policy", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    # Grows with each change, and from one tenant of an id to the next: If-Match compares it.
    Column("version", Integer, nullable=False),
)

#: Keys of requests and of the admin plane. Of each only the hash is kept.
keys = Table(
    "keys",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("sha256", String(64), nullable=False, unique=True),
    # Of a request's key; an admin key has a role in its place.
    Column("tenant", String(TENANT_CHARS), ForeignKey("tenants.id", ondelete="CASCADE")),
    Column("role", String(16)),
    Column("name", Text),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
    Column("last_used_at", Moment),
    CheckConstraint("(tenant IS NULL) <> (role IS NULL)", name="owner"),
    Index(None, "tenant"),
)

#: One row, whose number counts up with every change of tenants and keys.
changes = Table(
    "changes",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

#: People who sign in to the console. Of a password only the hash of Argon2 is kept.
accounts = Table(
    "accounts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("password", Text, nullable=False),
    Column("role", String(16), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("signed_in_at", Moment),
)

#: Who is signed in. The cookie has a random token, of which only the hash is kept.
sessions = Table(
    "sessions",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("account", String(64), ForeignKey("accounts.name", ondelete="CASCADE"), nullable=False),
    Column("expires_at", Moment, nullable=False),
    Index(None, "account"),
    Index(None, "expires_at"),
)

#: Answers by the hour, in seconds since 1970, and by what they have in common.
activity = Table(
    "activity",
    metadata,
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("tenant", String(TENANT_CHARS), primary_key=True),
    Column("model", String(TENANT_CHARS), primary_key=True),
    Column("outcome", String(16), primary_key=True),
    Column("action", String(16), primary_key=True),
    Column("n", BigInteger, nullable=False),
)

#: How often the stages of checks took how long: ``range`` is a range of milliseconds.
check_times = Table(
    "check_times",
    metadata,
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("stage", String(16), primary_key=True),
    Column("range", Integer, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
)

#: The audit trail: a row is only ever added, and removed by retention alone.
audit_records = Table(
    "audit_records",
    metadata,
    Column("writer", String(32), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    # Copies of values in the line, for queries; ``audit verify`` compares them with the line.
    Column("event_id", String(36), nullable=False),
    Column("moment", BigInteger, nullable=False),
    Column("tenant", String(TENANT_CHARS), nullable=False),
    Column("type", String(64), nullable=False),
    Column("trace_id", String(64), nullable=False),
    # The event as it was written, of which the chain is made.
    Column("line", Text, nullable=False),
    # SHA-256 of the detail, whether that is still kept or not; null if there was none.
    Column("detail_sha256", String(64)),
    Column("previous", String(64), nullable=False),
    Column("mac", String(64), nullable=False),
    # One for each way to ask: each gives the order of time, so that a page reads no more rows than
    # it shows, however many there are.
    Index(None, "moment", "writer", "seq"),
    Index(None, "tenant", "moment", "writer", "seq"),
    Index(None, "tenant", "type", "moment", "writer", "seq"),
    Index(None, "type", "moment", "writer", "seq"),
    Index(None, "trace_id", "moment", "writer", "seq"),
    Index(None, "event_id"),
)

#: All findings in full. They are kept for a shorter time than the records.
audit_details = Table(
    "audit_details",
    metadata,
    Column("writer", String(32), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("moment", BigInteger, nullable=False),
    Column("detail", Text, nullable=False),
    Index(None, "moment"),
)

#: The end of each writer's chain: it shows if records are missing there.
audit_writers = Table(
    "audit_writers",
    metadata,
    Column("writer", String(32), primary_key=True),
    Column("started_at", BigInteger, nullable=False),
    # When it ended in order; null: it writes still, or was killed.
    Column("ended_at", BigInteger),
    # Its last record.
    Column("seq", BigInteger, nullable=False),
    Column("mac", String(64), nullable=False),
    # The signature of the row: without the key, nobody can move the end of the chain back.
    Column("signature", String(64), nullable=False),
)

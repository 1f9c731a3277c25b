"""Defines the tables of the store. Moments are stored as microseconds since 1970 in UTC."""

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

#: All tables. Their constraints have names, so that migrations can refer to them.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

#: Most characters of a tenant's id.
TENANT_CHARS = 128

#: Most characters of ``subject``, by which a provider of OpenID Connect identifies a person.
SUBJECT_CHARS = 255

tenants = Table(
    "tenants",
    metadata,
    Column("id", String(TENANT_CHARS), primary_key=True),
    Column("name", Text),
    # DVARA's metadata: key → text, as the client sent it.
    Column("metadata", JSON, nullable=False),
    # Groundwire's policy: fields of Overrides as JSON values; a missing field is inherited.
    Column("policy", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    # The version grows with each change, also if a tenant is deleted and one with the same id is
    # made. If-Match compares it.
    Column("version", Integer, nullable=False),
)

#: Keys of tenants and of the admin plane. Only the hash of a key is kept.
keys = Table(
    "keys",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("sha256", String(64), nullable=False, unique=True),
    # The tenant of a tenant's key; an admin key has a role instead.
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

#: A single row, with the number of changes of tenants and keys so far.
changes = Table(
    "changes",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

#: Accounts of people who sign in to the console. Only the Argon2 hash of a password is kept; it is
#: empty if the owner signs in at an OpenID Connect provider. The provider (``issuer``) knows the
#: owner as ``subject``.
accounts = Table(
    "accounts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("password", Text, nullable=False),
    Column("role", String(16), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("signed_in_at", Moment),
    Column("issuer", String(512)),
    Column("subject", String(SUBJECT_CHARS)),
    Index(None, "issuer", "subject", unique=True),
)

#: Sessions of people who are signed in. A session's cookie has a random token, of which only the
#: hash is kept.
sessions = Table(
    "sessions",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("account", String(64), ForeignKey("accounts.name", ondelete="CASCADE"), nullable=False),
    Column("expires_at", Moment, nullable=False),
    Index(None, "account"),
    Index(None, "expires_at"),
)

#: Labels that reviewers gave to recorded answers; one row for each answer and reviewer. They stay
#: when the account is removed, so ``account`` is not a foreign key.
labels = Table(
    "labels",
    metadata,
    Column("event_id", String(36), primary_key=True),
    Column("account", String(64), primary_key=True),
    Column("tenant", String(TENANT_CHARS), nullable=False),
    Column("labelled_at", Moment, nullable=False),
    # A list of marks: see groundwire.control.verdicts.Mark.
    Column("marks", JSON, nullable=False),
    # Facts about the check of the answer: see groundwire.control.verdicts.CheckFacts.
    Column("facts", JSON(none_as_null=True)),
    Index(None, "account", "labelled_at"),
    Index(None, "tenant", "event_id"),
)

#: Numbers of answers with the same stretch of time, tenant, model, outcome and action. ``slot`` is
#: the beginning of the stretch, in seconds since 1970.
activity = Table(
    "activity",
    metadata,
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("tenant", String(TENANT_CHARS), primary_key=True),
    Column("model", String(TENANT_CHARS), primary_key=True),
    Column("outcome", String(16), primary_key=True),
    Column("action", String(16), primary_key=True),
    Column("n", BigInteger, nullable=False),
    sqlite_with_rowid=False,  # sums of many rows take half the time
)

#: How often a stage of a check took a time in a range of milliseconds, within the stretch of time
#: that begins at ``slot``. ``range`` is the number of the range; see
#: :mod:`groundwire.control.activity`.
check_times = Table(
    "check_times",
    metadata,
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    Column("stage", String(16), primary_key=True),
    Column("range", Integer, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
    sqlite_with_rowid=False,  # sums of many rows take half the time
)

#: The records of the audit trail. Rows are never changed, and only retention removes them.
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
    # The event as a line of JSON, which is signed.
    Column("line", Text, nullable=False),
    # SHA-256 of the detail, also if the detail was removed; null if the event had none.
    Column("detail_sha256", String(64)),
    Column("previous", String(64), nullable=False),
    Column("mac", String(64), nullable=False),
    # There is an index for each kind of filter, in the order of time, so that the query of a page
    # reads only the rows of that page.
    Index(None, "moment", "writer", "seq"),
    Index(None, "tenant", "moment", "writer", "seq"),
    Index(None, "tenant", "type", "moment", "writer", "seq"),
    Index(None, "type", "moment", "writer", "seq"),
    Index(None, "trace_id", "moment", "writer", "seq"),
    Index(None, "event_id"),
)

#: The details of records: all findings about an answer. They may be removed before their records.
audit_details = Table(
    "audit_details",
    metadata,
    Column("writer", String(32), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("moment", BigInteger, nullable=False),
    Column("detail", Text, nullable=False),
    Index(None, "moment"),
)

#: The end of each writer's chain, which shows whether records are missing at its end.
audit_writers = Table(
    "audit_writers",
    metadata,
    Column("writer", String(32), primary_key=True),
    Column("started_at", BigInteger, nullable=False),
    # The moment when the chain ended normally; null if its process still writes, or was killed.
    Column("ended_at", BigInteger),
    # Number and MAC of the last record.
    Column("seq", BigInteger, nullable=False),
    Column("mac", String(64), nullable=False),
    # The signature of the row: without the key, nobody can move the end of the chain back.
    Column("signature", String(64), nullable=False),
)

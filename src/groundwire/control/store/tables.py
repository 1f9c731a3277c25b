"""Defines the tables of the store. Moments are microseconds since 1970 in UTC, except ``slot``."""

import sqlalchemy as sa

from groundwire.control.store.moments import Moment

#: All tables. Their constraints have names, so that migrations can refer to them.
metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

#: Highest number of characters of a tenant's id.
TENANT_CHARS = 128

#: Highest number of characters of ``subject``, an OpenID Connect provider's id of a person.
SUBJECT_CHARS = 255

tenants = sa.Table(
    "tenants",
    metadata,
    sa.Column("id", sa.String(TENANT_CHARS), primary_key=True),
    sa.Column("name", sa.Text),
    # Texts by key, as clients of DVARA (another gateway) set them; some are settings.
    sa.Column("metadata", sa.JSON, nullable=False),
    # Groundwire's policy: fields of Overrides as JSON values; a missing field is inherited.
    sa.Column("policy", sa.JSON, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("updated_at", Moment, nullable=False),
    # The version grows with each change, even if a tenant is deleted and made again. The header
    # If-Match is compared with the version.
    sa.Column("version", sa.Integer, nullable=False),
)

#: Keys of tenants and of the admin plane. Only the hash of a key is kept.
keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.String(12), primary_key=True),
    sa.Column("sha256", sa.String(64), nullable=False, unique=True),
    # The tenant of a tenant's key; an admin key has a role instead.
    sa.Column("tenant", sa.String(TENANT_CHARS), sa.ForeignKey("tenants.id", ondelete="CASCADE")),
    sa.Column("role", sa.String(16)),
    sa.Column("name", sa.Text),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("expires_at", Moment),
    sa.Column("revoked_at", Moment),
    sa.Column("last_used_at", Moment),
    sa.CheckConstraint("(tenant IS NULL) <> (role IS NULL)", name="owner"),
    sa.Index(None, "tenant"),
)

#: Has a single row: the number of changes of tenants and keys so far.
changes = sa.Table(
    "changes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.CheckConstraint("id = 1", name="single"),
)

#: Accounts of people who sign in to the console. ``password`` has only the Argon2 hash of a
#: password. The column is empty if the owner signs in at an OpenID Connect provider. Then
#: ``issuer`` is the provider's URL, and ``subject`` the provider's id of the owner.
accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("password", sa.Text, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("signed_in_at", Moment),
    sa.Column("issuer", sa.String(512)),
    sa.Column("subject", sa.String(SUBJECT_CHARS)),
    sa.Index(None, "issuer", "subject", unique=True),
)

#: Sessions of people who have signed in; expired ones stay until the next sign-in. A session's
#: cookie has a random token, of which only the hash is kept.
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("sha256", sa.String(64), primary_key=True),
    sa.Column(
        "account", sa.String(64), sa.ForeignKey("accounts.name", ondelete="CASCADE"), nullable=False
    ),
    sa.Column("expires_at", Moment, nullable=False),
    sa.Index(None, "account"),
    sa.Index(None, "expires_at"),
)

#: Labels of recorded answers: one row for each reviewer and each event whose answer the reviewer
#: has labelled. Rows stay when the reviewer's account is removed, so ``account`` is not a foreign
#: key.
labels = sa.Table(
    "labels",
    metadata,
    sa.Column("event_id", sa.String(36), primary_key=True),
    sa.Column("account", sa.String(64), primary_key=True),
    sa.Column("tenant", sa.String(TENANT_CHARS), nullable=False),
    sa.Column("labelled_at", Moment, nullable=False),
    # A list of marks: see groundwire.control.verdicts.Mark.
    sa.Column("marks", sa.JSON, nullable=False),
    # Facts about the check of the answer: see groundwire.control.verdicts.CheckFacts.
    sa.Column("facts", sa.JSON(none_as_null=True)),
    sa.Index(None, "account", "labelled_at"),
    sa.Index(None, "tenant", "event_id"),
)

#: Each row counts in ``n`` the answers of one period, tenant, model, outcome and action.
#: ``slot`` is the beginning of the period, in seconds since 1970.
activity = sa.Table(
    "activity",
    metadata,
    sa.Column("slot", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("tenant", sa.String(TENANT_CHARS), primary_key=True),
    sa.Column("model", sa.String(TENANT_CHARS), primary_key=True),
    sa.Column("outcome", sa.String(16), primary_key=True),
    sa.Column("action", sa.String(16), primary_key=True),
    sa.Column("n", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,  # without row ids, sums of many rows take half the time
)

#: Each row counts in ``n`` how often, in one period, a stage of checks had a duration in one range.
#: ``slot`` is the beginning of the period, in seconds since 1970; ``range`` is the range's number,
#: see :mod:`groundwire.control.activity`.
check_times = sa.Table(
    "check_times",
    metadata,
    sa.Column("slot", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("stage", sa.String(16), primary_key=True),
    sa.Column("range", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("n", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,  # without row ids, sums of many rows take half the time
)

#: The records of the audit trail. Rows are never changed, and are removed only when they expire.
audit_records = sa.Table(
    "audit_records",
    metadata,
    sa.Column("writer", sa.String(32), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    # Copies of values in ``line``, for queries; ``audit verify`` compares them with the line.
    sa.Column("event_id", sa.String(36), nullable=False),
    sa.Column("moment", sa.BigInteger, nullable=False),
    sa.Column("tenant", sa.String(TENANT_CHARS), nullable=False),
    sa.Column("type", sa.String(64), nullable=False),
    sa.Column("trace_id", sa.String(64), nullable=False),
    # The event as a line of JSON, which is signed.
    sa.Column("line", sa.Text, nullable=False),
    # SHA-256 of the detail, even if the detail was removed; null if the event had none.
    sa.Column("detail_sha256", sa.String(64)),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("mac", sa.String(64), nullable=False),
    # Most indexes are in the order of time, so that most pages of the trail need no sorting.
    sa.Index(None, "moment", "writer", "seq"),
    sa.Index(None, "tenant", "moment", "writer", "seq"),
    sa.Index(None, "tenant", "type", "moment", "writer", "seq"),
    sa.Index(None, "type", "moment", "writer", "seq"),
    sa.Index(None, "trace_id", "moment", "writer", "seq"),
    sa.Index(None, "event_id"),
)

#: The details of records: all findings about an answer. A detail may be removed before its record.
audit_details = sa.Table(
    "audit_details",
    metadata,
    sa.Column("writer", sa.String(32), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("moment", sa.BigInteger, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Index(None, "moment"),
)

#: The condition under which a detail belongs to a record.
OWN_DETAIL = sa.and_(
    audit_details.c.writer == audit_records.c.writer, audit_details.c.seq == audit_records.c.seq
)

#: The end of each chain, which shows whether the last records are missing; ``writer`` is the
#: chain's id.
audit_writers = sa.Table(
    "audit_writers",
    metadata,
    sa.Column("writer", sa.String(32), primary_key=True),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    # The moment when the chain ended normally; null if it has not.
    sa.Column("ended_at", sa.BigInteger),
    # Number and MAC of the last record.
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("mac", sa.String(64), nullable=False),
    # The signature of the row.
    sa.Column("signature", sa.String(64), nullable=False),
)

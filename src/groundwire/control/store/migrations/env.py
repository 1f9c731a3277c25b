"""Runs migrations on a given connection; Alembic executes this file."""

from alembic import context

from groundwire.control.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=context.config.attributes["version_table"],
    render_as_batch=True,  # for new migrations: SQLite can change little in a table
    transaction_per_migration=False,
)
context.run_migrations()

"""How the tables came about, for Alembic."""

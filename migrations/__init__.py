"""The schema's history, run by alembic."""

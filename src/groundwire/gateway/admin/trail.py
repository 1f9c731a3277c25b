"""``/v1/admin/audit``: what was found, done and changed."""

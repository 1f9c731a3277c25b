"""The gateway's state, such as tenants, accounts and the audit trail, and the database for it."""

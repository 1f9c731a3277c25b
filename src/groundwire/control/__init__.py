"""The state of the gateway: tenants, keys, accounts, the audit trail, and the database for them."""

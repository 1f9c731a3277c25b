"""The state of the gateway: tenants, keys, the audit trail, and the database that holds them."""

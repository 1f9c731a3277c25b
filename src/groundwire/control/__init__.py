"""What the gateway keeps: tenants, keys, the audit trail, and the database that holds them."""

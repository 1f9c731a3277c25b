"""The state of the gateway, such as tenants, accounts and the audit trail, and its database."""

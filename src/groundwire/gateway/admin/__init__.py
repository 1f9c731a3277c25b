"""The admin plane: an HTTP API on a separate port.

``app`` joins middleware and routes, and ``auth`` checks keys and roles. ``tenants``, ``keys`` and
``trail`` have the endpoints, ``route`` reads their requests, and ``models`` describes requests and
responses. ``problems`` turns errors into the HTTP errors that clients get.
"""

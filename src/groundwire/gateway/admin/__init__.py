"""The admin plane: an HTTP API on a port of its own.

``app`` joins layers and routes; ``auth`` checks keys and roles. ``tenants``, ``keys`` and ``trail``
have the endpoints, ``route`` reads their requests, ``models`` has the shapes,
``problems`` the errors, ``document`` the OpenAPI document.
"""

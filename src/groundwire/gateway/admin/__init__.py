"""The admin plane: an HTTP API of its own, on a port of its own.

``app`` joins its layers and routes; ``auth`` says who may do what, ``logins`` which logins are
worth an event. ``tenants``, ``keys``, ``trail`` and ``own`` answer, ``route`` reads requests,
``models`` has their shapes, ``problems`` what is told of errors, ``document`` the OpenAPI document.
"""

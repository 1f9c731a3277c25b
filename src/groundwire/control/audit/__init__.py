"""The audit trail: signed records of what the gateway found and did.

``event`` defines an event; ``events`` builds the events about answers, ``control_events`` the
events about tenants, keys and accounts. ``quoted`` decides how much of a text an event keeps,
``redact`` hides secrets and other kinds of text that the setting ``audit.redact`` names, and
``detail`` collects all findings about an answer.
``chain`` signs events as records, ``log`` writes these to one of ``sinks`` or to ``store_sink``;
``configured`` makes the log of a configuration. ``trail`` reads the records in the store,
``retention`` removes old records, and ``verify`` finds changed and missing records.
"""

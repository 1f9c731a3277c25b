"""Envoy's filter for external processing (``ext_proc``, v3): checks of answers that pass Envoy.

``messages`` has the parts of its protocol that are used here, ``processor`` the gRPC service. Both
need the extra ``envoy``.
"""

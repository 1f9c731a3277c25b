"""The gRPC service for Envoy's filter ``ext_proc`` (v3): checks answers that pass through Envoy.

``messages`` has the parts of the filter's protocol that are used, ``exchange`` handles one request
and its response, and ``processor`` is the service. All need the extra ``envoy``.
"""

"""The gRPC service for Envoy's filter ``ext_proc`` (v3): checks answers that pass through Envoy.

``processor`` is the service, ``exchange`` handles one request and its response, ``reply`` is the
model's response, and ``messages`` has the filter's protocol. All need the extra ``envoy``.
"""

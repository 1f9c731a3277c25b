"""``groundwire demo``: a walk through what a client sees, over real HTTP.

``scenes.toml`` has the scenes: questions, the answers of a scripted model (``model.py``), the
configurations of the gateways before it (``serving.py``), and what must come back. ``walk.py`` asks
and compares, ``screen.py`` shows it.
"""

"""``groundwire demo``: a walk through what a client sees, over real HTTP.

``scenes.toml`` has the scenes: questions, the answers of a scripted model (``model.py``), and the
configurations of the gateways before it (``serving.py``). ``walk.py`` asks them and shows what
comes back.
"""

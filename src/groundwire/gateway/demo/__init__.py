"""``groundwire demo``: shows by examples what a client of the gateway sees, over real HTTP.

``scenes.toml`` has the scenes: questions, the answers of a scripted model (``model.py``), and the
configurations of the gateways in front of the model (``serving.py``). ``walk.py`` sends the
questions and shows the responses.
"""

"""``groundwire demo``: a walk through what a client sees, over real HTTP.

A scripted model (``model.py``) stands behind gateways with real configurations (``settings.py``,
``serving.py``); scenes (``scenes.py``) ask them as any client would (``asking.py``) and say what
must come back; ``walk.py`` joins the two, and ``screen.py`` shows it.
"""

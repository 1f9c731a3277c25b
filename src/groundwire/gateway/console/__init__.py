"""The console: pages of the admin plane for people, with accounts of their own.

``app.py`` has the routes, ``visit.py`` what every page needs: who asks, and what they may do.
"""

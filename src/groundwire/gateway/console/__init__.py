"""The console: web pages on the admin port, for people.

``app.py`` joins the pages. ``visit.py`` finds the person who sent a request, and their role.
"""

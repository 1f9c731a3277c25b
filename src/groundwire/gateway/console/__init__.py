"""The console: web pages of the admin plane, for people.

``app.py`` has the routes. ``visit.py`` finds the person who sent a request, and their role.
"""

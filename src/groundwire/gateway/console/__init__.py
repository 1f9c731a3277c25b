"""The console: web pages of the admin plane, for people.

``app.py`` has the routes. ``visit.py`` gives every page the person who asks and their role.
"""

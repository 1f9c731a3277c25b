"""The console: web pages of the admin plane, for people who sign in with an account.

``app.py`` has the routes. ``visit.py`` tells every page who asks, and what that person may do.
"""

"""Tenants and their keys: stored, known to every process, in effect at once.

``record`` has the values, ``legal`` says what is valid, ``configured`` reads the configuration.
``registry`` and ``stored_keys`` read and change the database in a ``transaction``. ``directory``
answers requests, and ``watching`` keeps it up to date. ``effective`` says which settings hold for a
tenant and why; ``first_start`` makes the first keys.
"""

"""Tenants and their keys: stored in the database, and soon known to all processes.

``record`` defines their values, ``legal`` validates them, ``configured`` reads the configuration.
``registry`` reads and changes the database in a ``transaction``. ``directory`` looks up the keys of
requests, and ``watching`` keeps it up to date. ``effective`` computes which settings hold for a
tenant, and where they come from.
"""

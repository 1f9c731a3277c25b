"""Tenants and their keys. They are in the database, and all processes soon learn of changes.

``record`` defines their values, ``legal`` validates them, ``configured`` reads the configuration.
``registry`` reads and changes the database in a ``transaction``. ``directory`` looks up the keys of
requests, and ``watching`` keeps it up to date. ``effective`` computes which settings hold for a
tenant, and where they come from.
"""

"""Tenants and keys, configured or stored; all processes soon learn of changes in the database.

``record`` defines their values, ``legal`` validates them, ``configured`` reads the configuration.
``registry`` reads and changes the database in a ``transaction``. ``directory`` looks up the keys of
requests, and ``watching`` keeps the directory up to date. ``effective`` computes which settings
hold for a tenant, and where they come from.
"""

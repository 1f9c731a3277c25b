"""An MCP server: agents verify what they write, against evidence that the server holds.

It needs the ``mcp`` extra, which only ``server``, ``stdio`` and ``http`` import. A call walks from
``server`` through ``toolbox`` to one tool of ``verifying``, ``citing``, ``checking`` or
``holding``. ``arguments`` reads what an agent sent, ``given`` finds the spans that it means,
``models`` has what judges, ``watched`` says how far it is, ``told`` puts the result in words.
``store``, ``sessions``, ``files`` and ``search`` are the evidence that the server holds.
"""

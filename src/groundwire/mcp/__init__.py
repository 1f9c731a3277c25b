"""An MCP server: agents verify what they write, against evidence that the server holds.

It needs the ``mcp`` extra, which only ``server``, ``stdio`` and ``http`` import. A call goes from
``server`` through ``toolbox``, which reads its ``arguments``, to one tool of ``verifying``,
``citing``, ``checking`` or ``evidence_tools``. ``given`` finds the evidence that the call means,
``models`` holds the models, ``watched`` reports progress, ``results`` and ``text_results`` describe
what comes back. ``store``, ``sessions``, ``files`` and ``search`` are the evidence that the server
holds.
"""

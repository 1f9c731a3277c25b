"""An MCP server whose tools verify the answers of agents against evidence.

Evidence comes with a call, or was stored in the server by earlier calls. Stored evidence is called
*held evidence*; the modules ``store``, ``sessions``, ``files`` and ``search`` are about it.

``server`` receives a call, and ``toolbox`` parses it with the models of ``arguments`` and runs one
of the tools in ``verifying``, ``citing``, ``checking`` and ``evidence_tools``. ``given`` finds the
evidence of a call, and ``models`` loads the models. Results are defined in ``results`` and written
as text in ``text_results``.

The server needs the ``mcp`` extra. Only ``server``, ``stdio`` and ``http`` import the MCP SDK.
"""

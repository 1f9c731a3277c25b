"""An MCP server whose tools verify the answers of agents against evidence.

Evidence comes with a call, or was stored in the server by earlier calls: *held evidence*, in
``store``, ``sessions``, ``files`` and ``search``.

``server`` receives a call, and ``toolbox`` parses it with the models of ``arguments`` and runs one
of the tools in ``verifying``, ``citing``, ``checking`` and ``evidence_tools``. ``given`` finds the
evidence of a call, and ``models`` loads the models. Results are defined in ``results`` and written
as text in ``text_results``.

The server needs the ``mcp`` extra. Only ``server``, ``stdio`` and ``http`` import the MCP SDK.
"""

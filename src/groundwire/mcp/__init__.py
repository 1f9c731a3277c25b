"""An MCP server whose tools verify the answers of agents against evidence.

Evidence comes with a call, or was stored in the server by earlier calls. Stored evidence is called
*held evidence*: ``store`` and ``sessions`` keep it, and ``search`` searches it.

``server`` receives a call, and ``toolbox`` parses its arguments and runs one of the tools in
``verifying``, ``citing``, ``checking`` and ``evidence_tools``. ``given`` finds the evidence of a
call, and ``models`` loads the models. ``text_results`` writes results as text.

The server needs the ``mcp`` extra. Only ``server``, ``stdio`` and ``http`` import the MCP SDK.
"""

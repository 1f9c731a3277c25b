"""An MCP server whose tools verify the answers of agents against evidence.

Evidence comes with a call, or was stored in the server by earlier calls: *held evidence*.
``store``, ``sessions``, ``files`` and ``search`` implement held evidence.

``server`` receives a call, and ``toolbox`` parses it with the models of ``arguments`` and runs one
of the tools in ``verifying``, ``citing``, ``checking`` and ``evidence_tools``. For the tools,
``given`` finds the evidence of the call, ``models`` loads the models, and ``watched`` reports
progress. Results are defined in ``results`` and written as text in ``text_results``.

The server needs the ``mcp`` extra, which only ``server``, ``stdio`` and ``http`` import.
"""

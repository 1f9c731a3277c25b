"""An MCP server, with whose tools agents verify their answers against evidence.

The evidence comes with a call, or is stored in the server before: then it is called held evidence.
``store``, ``sessions``, ``files`` and ``search`` implement held evidence.

``server`` receives a call, and ``toolbox`` parses it with the models of ``arguments`` and runs one
of the tools in ``verifying``, ``citing``, ``checking`` and ``evidence_tools``. For the tools
``given`` finds the evidence of the call, ``models`` loads the models, and ``watched`` reports
progress. Results are defined in ``results`` and written as text in ``text_results``.

The server needs the ``mcp`` extra, which only ``server``, ``stdio`` and ``http`` import.
"""

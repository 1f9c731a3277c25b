"""Models with their graphs, tokenizers and caches. No other package runs inference."""

import os

# Stops ONNX Runtime 1.32 from writing a device id under the home directory and looking up its
# maker's host. It reads this variable only once, when it is first imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

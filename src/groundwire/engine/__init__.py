"""Models with their graphs, tokenizers and caches. No other subpackage uses ONNX Runtime."""

import os

# Stops ONNX Runtime 1.32 from writing a device id under the home directory and looking up a host of
# Microsoft. ONNX Runtime reads this variable only once, at its first import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

"""Models: graphs, tokenizers, caches. The only room that imports an inference library."""

import os

# ONNX Runtime 1.32 writes a device id under the home directory and looks up its maker's host. It
# reads this variable when it is first imported; no later call stops it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

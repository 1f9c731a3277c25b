"""The runtime: graphs, caches, tokenizers; the only place that imports an inference library."""

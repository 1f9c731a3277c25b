"""The interfaces of other hallucination detectors, for code that was written for them."""

"""The interfaces of other hallucination detectors, and adapters for frameworks."""

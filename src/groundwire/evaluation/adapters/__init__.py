"""Other detectors behind the interface of ours, so that the same harness measures them."""

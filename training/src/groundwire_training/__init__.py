"""Training the reader (extra ``train``): data, labels, model, loop, calibration, export."""

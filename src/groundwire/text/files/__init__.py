"""Files of rows: how they are read, and how they are written so that a cut run can go on."""

"""The parts of the gateway that deal with HTTP, such as headers, event streams and errors."""

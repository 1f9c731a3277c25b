"""What every request of the gateway passes, whatever it asks for."""

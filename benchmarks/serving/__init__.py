"""What ``gateway.py`` measures with: processes on the loopback interface, and what is asked."""

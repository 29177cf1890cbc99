"""The long-lived service: its supervisor, its signals, its HTTP end."""

"""Replays of time ranges and of dead letters."""

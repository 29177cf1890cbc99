"""Fills gaps in the measurements of weather stations, and finds pairs of stations that something separates."""

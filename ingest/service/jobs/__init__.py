"""Background jobs that a service runs beside its pipelines."""

"""The service: pipelines, supervisor, signals and HTTP endpoint."""

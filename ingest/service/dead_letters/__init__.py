"""The dead-letter queues of pipelines, and the large values of their dead letters."""

"""The pure middle: chain, task and what a task reports."""

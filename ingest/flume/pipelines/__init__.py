"""The output of an import: the pipeline file (`document`) and the outcome for each part (`report`)."""

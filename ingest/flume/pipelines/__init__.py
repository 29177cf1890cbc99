"""Our side of an import: the pipeline file that is written (`document`), and what became of each part (`report`)."""

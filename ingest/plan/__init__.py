"""A checked configuration becomes a plan, the plan travels to the workers and becomes live parts."""

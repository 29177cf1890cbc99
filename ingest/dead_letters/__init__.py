"""Events that can not pass as they are: kept whole with the reason, listed, and run again when the reason is gone."""

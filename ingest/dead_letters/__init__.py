"""Dead letters: failed events, stored with the source's record and the error, and replayed on request."""

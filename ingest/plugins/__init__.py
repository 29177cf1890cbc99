"""Third-party code: found, imported, checked against the contract, and guarded when called."""

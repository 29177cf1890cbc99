"""Code that is not ours: found and imported, held to the contract, and guarded when it is called."""

"""The page of a service for a browser; it asks the other pages of the endpoint and loads nothing from elsewhere."""

"""What the command line and the documentation are made from: pages, error pages, schema, drawing."""

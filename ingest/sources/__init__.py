"""What a source is: its options, how its events are told apart, and how records become events."""

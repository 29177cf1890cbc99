"""
The sink `kafka`: events as records of a topic.

`sink` has the options. `records` makes the record of an event; `task_writer` sends records in the tasks. `committing`
is the driver's half, which writes nothing: it looks at the topic, and tells the tasks which records the broker refuses.
"""

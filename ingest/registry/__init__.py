"""
Schemas of a registry with Confluent's API.

- `options`: the part `registry` of a pipeline file
- `client`: asks a registry over HTTP
- `cache`: schemas that were looked up, in the state of the service
- `message`: the schemas as the driver sends them to the tasks
- `table`: the schemas in a task
- `looking_up`: the driver's half: looks up what tasks request
"""

"""
Translates properties files of Flume 1 ("next generation").

`properties` parses the file. `agents` follows each HBase sink back to its sources, and uses `kafka`, `interceptors`,
`selectors` and `serializers` to translate the components. Names such as source and sink are Flume's in this package.
"""

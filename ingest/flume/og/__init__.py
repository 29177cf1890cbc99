"""
Translates data-flow text of Flume 0.9 ("original generation").

`lexer` and `parser` produce a syntax `tree`. `dataflow` finds the paths from sources to HBase sinks, and uses
`decorators` and `sinks` to translate the components with their `arguments`. Names such as decorator and sink are
Flume's in this package.
"""

"""
Data-flow text of Flume 0.9 ("original generation"): sources, decorators and sinks here are Flume's.

`lexer` and `parser` make a `tree`; `dataflow` finds the ways through it and has `decorators` and `sinks` translate what
stands on them, each by its `arguments`.
"""

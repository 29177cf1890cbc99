"""The built-in decorators: one file each, named as in YAML. Only names here, so importing the package is free."""

BUILTIN = {
    "csv": "decorators.csv:Csv",
    "digest": "decorators.digest:Digest",
    "ex_date": "decorators.ex_date:ExDate",
    "filter": "decorators.filter:Filter",
    "format": "decorators.format:Format",
    "gunzip": "decorators.gunzip:Gunzip",
    "interval_droppy_append": "decorators.interval_droppy_append:IntervalDroppyAppend",
    "interval_sampler": "decorators.interval_sampler:IntervalSampler",
    "json": "decorators.json:Json",
    "kv": "decorators.kv:Kv",
    "mask": "decorators.mask:Mask",
    "mult": "decorators.mult:Mult",
    "prob_sampler": "decorators.prob_sampler:ProbSampler",
    "regex": "decorators.regex:Regex",
    "rename": "decorators.rename:Rename",
    "select": "decorators.select:Select",
    "split": "decorators.split:Split",
    "timestamp": "decorators.timestamp:Timestamp",
    "unbatch": "decorators.unbatch:Unbatch",
    "value": "decorators.value:Value",
}

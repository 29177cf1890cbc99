"""The built-in decorators: one file each, named as in YAML. Only names here, so importing the package is free."""

BUILTIN = {
    "digest": "decorators.digest:Digest",
    "ex_date": "decorators.ex_date:ExDate",
    "filter": "decorators.filter:Filter",
    "format": "decorators.format:Format",
    "json": "decorators.json:Json",
    "mask": "decorators.mask:Mask",
    "regex": "decorators.regex:Regex",
    "rename": "decorators.rename:Rename",
    "select": "decorators.select:Select",
    "split": "decorators.split:Split",
    "timestamp": "decorators.timestamp:Timestamp",
    "value": "decorators.value:Value",
}

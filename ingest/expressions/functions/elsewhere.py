"""Names of functions in other tools, for suggestions."""

OURS = {
    theirs: ours
    for ours, names in {
        "add": "plus sum",
        "byte_length": "bytes",
        "concat": "cat join",
        "crc32": "adler32 checksum hash murmur murmur2 murmur3 xxhash",
        "date": "date_format format_date format_timestamp strftime ts_format ts_strftime",
        "decode": "base64_decode decode_base64 decode_hex decode_percent from_base64 from_hex unescape_url urldecode",
        "default": "coalesce if_null ifnull nvl or_else",
        "div": "divide",
        "encode": "base64 encode_base64 encode_hex encode_percent escape_url to_base64 to_hex urlencode",
        "epoch_s": "epoch to_unix to_unix_timestamp ts_unix unix",
        "extract": "find parse_regex re_find regex_extract",
        "hmac_sha256": "hmac",
        "if": "case cond if_else ifelse iif when",
        "int": "floor number parse_int to_int to_number trunc",
        "iso": "iso8601 rfc3339",
        "json": "encode_json format_json json_encode json_quote json_string to_json tojson",
        "length": "char_length count len size strlen",
        "lower": "downcase lowercase to_lower tolower",
        "mod": "modulo remainder",
        "mul": "multiply product times",
        "pad_left": "left_pad lpad rjust zfill",
        "pad_right": "ljust right_pad rpad",
        "piece": "index nth split",
        "ratio": "quotient",
        "replace_pattern": "gsub re_replace re_replace_all regex_replace regexp_replace",
        "sub": "minus subtract",
        "sha256": "sha2 sha3 sha512",
        "substring": "left mid right slice substr",
        "trim": "strip strip_whitespace trim_space",
        "truncate_time": "date_trunc trunc_time ts_round ts_trunc",
        "upper": "to_upper toupper upcase uppercase",
        "uuid": "guid ksuid nanoid uuid4 uuid5 uuid_v4 uuid_v5 uuid_v7",
    }.items()
    for theirs in names.split()
}
"""Name in another tool -> the nearest function of ours."""

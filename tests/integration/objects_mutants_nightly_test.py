"""Mutants of object stores and their cache: names, what is tried again, signatures and credentials. With one rule of it broken a
unit test must turn red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

OBJECTS = "agent/src/objects/"


def of_objects(tests):
    return "objects_test", tests


def of_rules(tests):
    return "object_rules_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a name of an object that leads out of its folder": (
        of_objects("ObjectKeyTest.*"), OBJECTS + "object_key.cpp", r"\(part == \"\.\" \|\| part == \"\.\.\"\)", "part == \".\""),
    "an object that is expected soonest and goes first": (
        of_objects("EvictionTest.*"), OBJECTS + "cache/eviction.cpp", r"~\*object\.next_use", "*object.next_use"),
    "two versions of an object under one name": (
        of_objects("CacheNameTest.*"), OBJECTS + "cache/cache_name.cpp", r"key\.source \+ '\\0' \+ key\.version", "key.source"),
    "credentials that are used to their last second": (
        of_rules("FreshnessTest.*"), OBJECTS + "credentials/freshness.cpp", r"left <= kExpiryMargin", "left <= Duration(0)"),
    "a page in place of an object that is tried once": (
        of_rules("RetryTest.*"), OBJECTS + "remote/retry.cpp",
        r"status == 408 \|\| status == 425 \|\| status == 429\) return true;",
        "status == 408 || status == 429) return true;"),
    "a pause that does not wait for as long as the server says": (
        of_rules("RetryTest.*"), OBJECTS + "remote/retry.cpp", r"std::max\(jittered, \*retry_after\)",
        "std::min(jittered, *retry_after)"),
    "bytes of a range that end before they begin": (
        of_rules("ContentRangeTest.*"), OBJECTS + "remote/content_range.cpp", r" \|\| \*last < \*first", ""),
    "a redirection from TLS to plain HTTP": (
        of_rules("LocationTest.*"), OBJECTS + "remote/location.cpp",
        r"  if \(scheme == \"https://\" && [^;]*;\n", ""),
    "a token of a session that is sent and not signed": (
        of_rules("SigV4Test.*"), OBJECTS + "s3/protocol/sigv4.cpp",
        r"(  if \(!credentials\.session_token\.empty\(\)\)\n    added\.emplace_back\([^;]*;\n)"
        r"(  request\.headers\.insert\([^;]*;\n)",
        r"\2\1"),
}


def mutants():
    return of_rows(MUTANTS)


class ObjectsMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)

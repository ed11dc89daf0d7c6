"""bench_ratios.py [--enforce=measured | --enforce=all] TABLE RESULT...: writes the comparisons of TABLE into
each row of the results: `ratios`, a list of {field, of, ratio, least}. A ratio above 1 is better for us: a rate over its limit or
peer, a time or an amount of memory under it. For a limit of 0 the ratio is 1 if it is kept, else 0. Fields that this run did not
measure are left out. A missing table compares nothing. A row of one name in two results is refused: one would be compared in
the other's place.

With --enforce, a ratio below the least one in TABLE is printed, and the exit code is 1. With --enforce=all, so is a line of TABLE
that has a least ratio and found nothing to compare: a renamed benchmark would have no limit."""
import fnmatch
import json
import os
import sys

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
HIGHER_IS_BETTER = ("items_per_second", "bytes_per_second")


def table_of(path):
    """[(row, field, limit or peer, least ratio or None)]"""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        lines = [[cell.strip() for cell in line.split("|")] for line in file if line.strip() and not line.startswith("#")]
    return [(row, field, other, number(least[0]) if least else None) for row, field, other, *least in lines]


def value_of(row, field):
    value = row.get(field)
    return value * SECONDS[row["time_unit"]] if value is not None and field in ("real_time", "cpu_time") else value


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def other_of(row, pattern, other, rows):
    """(its name, its value): a number, a counter of the same row, or a field of a peer's row. A * in the peer's name stands
    for the text that it matched in the row's name."""
    if (limit := number(other)) is not None:
        return f"limit {other}", limit
    name, _, field = other.rpartition(" ")
    if not name:
        return field, value_of(row, field)
    if "*" in name:
        name = name.replace("*", row["name"][pattern.index("*"):])
    return name, value_of(rows[name], field) if name in rows else None


def ratio_of(field, ours, against):
    """None if one of them was not measured, or the divisor is 0."""
    if ours is None or against is None:
        return None
    if ours == against:
        return 1.0
    above, below = (ours, against) if field in HIGHER_IS_BETTER else (against, ours)
    return above / below if below else None


def compare(rows, table):
    """(lines below their least ratio, lines that were not measured), of the lines that have a least ratio."""
    short, unmeasured = [], []
    for pattern, field, other, least in table:
        compared = False
        for row in [row for name, row in rows.items() if fnmatch.fnmatchcase(name, pattern)]:
            name, against = other_of(row, pattern, other, rows)
            ratio = ratio_of(field, value_of(row, field), against)
            if ratio is None:
                continue
            compared = True
            found = {"field": field, "of": name, "ratio": round(ratio, 3)}
            row.setdefault("ratios", []).append(found if least is None else {**found, "least": least})
            if least is not None and ratio < least:
                short.append(f"{row['name']}: {field} is {ratio:.3g} times as good as {name}, and {least:g} is the least")
        if least is not None and not compared:
            unmeasured.append(f"{pattern}: {field} was not compared with {other}: one of them was not measured")
    return short, unmeasured


def rows_of(results):
    rows, found_in = {}, {}
    for path, result in results.items():
        for row in result["benchmarks"]:
            name = row["name"]
            if name in rows:
                sys.exit(f"error: {path} and {found_in[name]} both have a row '{name}'. Next: give one of them another name")
            rows[name], found_in[name] = row, path
    return rows


def main(table, paths, enforced):
    results = {}
    for path in paths:
        with open(path) as file:
            results[path] = json.load(file)
    short, unmeasured = compare(rows_of(results), table_of(table))
    for path, result in results.items():
        with open(path, "w") as file:
            json.dump(result, file, indent=1)
    complaints = {"": [], "measured": short, "all": short + unmeasured}[enforced]
    for complaint in complaints:
        print(f"error: {complaint}", file=sys.stderr)
    if complaints:
        print("Next: scripts/bench --peers --enforce NAME on a quiet machine; if it is short there, too, find what became slow "
              "since docs/nightly.md had the benchmarks green", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    words = sys.argv[1:]
    enforced = words.pop(0).removeprefix("--enforce=") if words[0].startswith("--enforce=") else ""
    sys.exit(main(words[0], words[1:], enforced))

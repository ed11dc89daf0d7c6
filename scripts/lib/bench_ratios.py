"""bench_ratios.py TABLE RESULT...: writes into each row of the results what TABLE compares it with: `ratios`, a list of
{field, of, ratio}, where a ratio above 1 is the better for us: a rate over its limit or peer, a time or an amount of memory
under it. A limit of 0 is kept, which is 1, or is not, which is 0. What was not measured in this run is left out. A table that
is not there compares nothing. A row of one name in two results is refused: one would be compared in the other's place."""
import fnmatch
import json
import os
import sys

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
HIGHER_IS_BETTER = ("items_per_second", "bytes_per_second")


def table_of(path):
    """[(row, field, limit or peer)]"""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [tuple(cell.strip() for cell in line.split("|")) for line in file if line.strip() and not line.startswith("#")]


def value_of(row, field):
    value = row.get(field)
    return value * SECONDS[row["time_unit"]] if value is not None and field in ("real_time", "cpu_time") else value


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def other_of(row, pattern, other, rows):
    """(what it is called, its value): a number, a counter of the same row, or a field of a peer's row, in whose name a *
    stands for what it stood for in the row's."""
    if (limit := number(other)) is not None:
        return f"limit {other}", limit
    name, _, field = other.rpartition(" ")
    if not name:
        return field, value_of(row, field)
    if "*" in name:
        name = name.replace("*", row["name"][pattern.index("*"):])
    return name, value_of(rows[name], field) if name in rows else None


def ratio_of(field, ours, against):
    """Nothing where one of them was not measured, or nothing can be divided by it."""
    if ours is None or against is None:
        return None
    if ours == against:
        return 1.0
    above, below = (ours, against) if field in HIGHER_IS_BETTER else (against, ours)
    return above / below if below else None


def compare(rows, table):
    for pattern, field, other in table:
        for row in [row for name, row in rows.items() if fnmatch.fnmatchcase(name, pattern)]:
            name, against = other_of(row, pattern, other, rows)
            ratio = ratio_of(field, value_of(row, field), against)
            if ratio is not None:
                row.setdefault("ratios", []).append({"field": field, "of": name, "ratio": round(ratio, 3)})


def rows_of(results):
    rows, found_in = {}, {}
    for path, result in results.items():
        for row in result["benchmarks"]:
            name = row["name"]
            if name in rows:
                sys.exit(f"error: {path} and {found_in[name]} both have a row '{name}'. Next: give one of them another name")
            rows[name], found_in[name] = row, path
    return rows


def main(table, paths):
    results = {}
    for path in paths:
        with open(path) as file:
            results[path] = json.load(file)
    compare(rows_of(results), table_of(table))
    for path, result in results.items():
        with open(path, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

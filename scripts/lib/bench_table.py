"""Prints google-benchmark's JSON files as one table: benchmark, real time, CPU time, rate, peak memory if a benchmark has the
counter peak_bytes, and its other counters; then the comparisons of bench_ratios.py."""
import json
import sys

# Fields that google-benchmark itself writes into a row; all other numbers are counters.
OWN = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations", "real_time",
       "cpu_time", "rounds", "items_per_second", "bytes_per_second", "peak_bytes"}


def amount(value, unit):
    prefix = ""
    for prefix in ("", "k", "M", "G", "T"):
        if value < 1000 or prefix == "T":
            break
        value /= 1000
    return f"{value:.3g} {prefix}{unit}"


def rate(row):
    for key, unit in (("bytes_per_second", "B/s"), ("items_per_second", "/s")):
        if key in row:
            return amount(row[key], unit)
    return ""


def peak(row):
    return amount(row["peak_bytes"], "B") if "peak_bytes" in row else ""


def counters(row):
    numbers = ((key, value) for key, value in row.items() if key not in OWN and isinstance(value, (int, float)))
    return ", ".join(f"{key} {value:.4g}" for key, value in numbers if not isinstance(value, bool))


def rows(paths):
    for path in paths:
        with open(path) as file:
            yield from json.load(file)["benchmarks"]


def cells(row):
    if row.get("error_occurred"):
        return row["name"], "failed", row.get("error_message", ""), "", "", ""
    unit = row["time_unit"]
    return (row["name"], f"{row['real_time']:.4g} {unit}", f"{row['cpu_time']:.4g} {unit}", rate(row), peak(row),
            counters(row))


def least_of(ratio):
    return "" if ratio.get("least") is None else f"{ratio['least']:g} x"


def print_table(table):
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        columns = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, len(row) - 1)] + [row[-1]]
        print("  ".join(columns).rstrip())


def main(paths):
    all_rows = list(rows(paths))
    print_table([("benchmark", "real", "cpu", "rate", "peak", "counters"), *map(cells, all_rows)])
    ratios = [(row["name"], each["field"], f"{each['ratio']:.3g} x", least_of(each), each["of"])
              for row in all_rows for each in row.get("ratios", ())]
    if ratios:
        print()
        print_table([("above 1 is better", "of its", "ratio", "least", "to"), *ratios])


if __name__ == "__main__":
    main(sys.argv[1:])

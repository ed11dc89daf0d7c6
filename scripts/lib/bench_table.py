"""Prints google-benchmark's JSON files as one table: benchmark, real time, CPU time, rate, and peak memory where a
benchmark has the counter peak_bytes."""
import json
import sys


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


def rows(paths):
    for path in paths:
        with open(path) as file:
            for row in json.load(file)["benchmarks"]:
                if row.get("error_occurred"):
                    yield row["name"], "failed", row.get("error_message", ""), "", ""
                else:
                    unit = row["time_unit"]
                    yield (row["name"], f"{row['real_time']:.4g} {unit}", f"{row['cpu_time']:.4g} {unit}", rate(row),
                           peak(row))


def main(paths):
    table = [("benchmark", "real", "cpu", "rate", "peak"), *rows(paths)]
    widths = [max(len(row[column]) for row in table) for column in range(5)]
    for row in table:
        cells = [row[0].ljust(widths[0])] + [row[column].rjust(widths[column]) for column in (1, 2, 3, 4)]
        print("  ".join(cells).rstrip())


if __name__ == "__main__":
    main(sys.argv[1:])

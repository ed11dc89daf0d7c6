"""bench_merge.py OUT IN...: merges files of google-benchmark's JSON with the same rows into one; each number is the median of
their numbers, and `rounds` is the number of files."""
import json
import statistics
import sys

NAMES = ("iterations", "repetitions", "repetition_index", "family_index", "per_family_instance_index", "threads")


def median_of(rows):
    merged = dict(rows[0], rounds=len(rows))
    for key, value in rows[0].items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and key not in NAMES:
            merged[key] = statistics.median(row[key] for row in rows if key in row)
    return merged


def main(out, paths):
    rounds = []
    for path in paths:
        with open(path) as file:
            rounds.append(json.load(file))
    rows = {}
    for row in (row for one in rounds for row in one["benchmarks"]):
        rows.setdefault(row["name"], []).append(row)
    with open(out, "w") as file:
        json.dump(dict(rounds[0], benchmarks=[median_of(same) for same in rows.values()]), file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

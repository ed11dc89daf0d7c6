"""Mutants of how ranks meet and add up gradients, which unit tests have to catch."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

COLLECTIVES = "agent/src/torch/collectives/"
NCCL = COLLECTIVES + "nccl/nccl_collective.cpp"
BUCKETS = COLLECTIVES + "gradients/gradient_buckets.cpp"

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a parameter that two modules share, averaged twice": (
        ("weights_fingerprint_test", "TrainedWeights.*"), COLLECTIVES + "gradients/weights_fingerprint.cpp",
        r"return known\.insert\(tensor\.unsafeGetTensorImpl\(\)\)\.second;",
        "return known.insert(tensor.unsafeGetTensorImpl()).second || true;"),
    "a piece with gradients of two modules": (
        ("gradient_buckets_test", "GradientBuckets.*"), BUCKETS, r"is_end\[i\] \|\| ", ""),
    "pieces that always begin in the order of the first step": (
        ("gradient_watch_test", "BucketSchedule.*"), COLLECTIVES + "gradients/bucket_schedule.cpp",
        r"std::ranges::stable_sort\(order, \{\}, position\);", ""),
    "the buckets of another module": (
        ("averager_test", "AveragerTest.*"), COLLECTIVES + "averager.cpp",
        r"std::rotate\(known, known \+ 1, trained_modules_\.end\(\)\);", ""),
    "a rank that counts as much as one with more samples": (
        ("gradient_buckets_test", "GradientBuckets.*"), BUCKETS,
        r"samples \? static_cast<double>\(\*samples\) : 1\.0 / world_size", "1.0 / world_size"),
    "samples that some ranks alone give": (
        ("gradient_buckets_test", "GradientBuckets.*"), BUCKETS, r"if \(gave != world_size_\) \{",
        "if (false) {"),
    "a wish of a rank that is lost": (
        ("gradient_buckets_test", "GradientBuckets.*"), BUCKETS, r"if \(control\[bit\] > 0\.5F\)",
        "if (control[bit] > 1.5F)"),
    "gradients that do not wait for their sums on the device": (
        ("device_collective_test", "DeviceCollective.HasTheMeans*"), NCCL,
        r"stream_\.make_current_stream_wait\(\);",
        ""),
    "sums on the device that do not wait for their gradients": (
        ("device_collective_test", "DeviceCollective.HasTheMeans*"), COLLECTIVES + "nccl/side_stream.cpp",
        r"current_stream_event_\.block\(stream_\);", ""),
    "sums on the device that nothing marks": (
        ("device_collective_test", "DeviceCollective.HasTheMeans*"), NCCL, r"\n    stream_\.mark\(\);", ""),
    "gradients of several streams that are not waited for": (
        ("averager_test", "AveragerTest.*"), COLLECTIVES + "averager.cpp", r"filled\.block\(now\);", ""),
    "an accelerator that the first module of an attempt was not on": (
        ("averager_test", "AveragerTest.*"), COLLECTIVES + "averager.cpp",
        r" \|\| \(!device\.is_cpu\(\) && device != device_\)", ""),
    "a refusal of NCCL that is taken for a lost rank": (
        ("device_collective_test", "DeviceCollective.WhatNccl*"), NCCL, r"if \(error\.is_usage_error\(\) && !has_completed_\)",
        "if (false)"),
    "weights of which only the first parameter counts": (
        ("weights_fingerprint_test", "WeightsFingerprint.*"), COLLECTIVES + "gradients/weights_fingerprint.cpp",
        r"add_value_bytes\(all, mark\.sums\[i\]\)",
        "add_value_bytes(all, mark.sums[0])"),
}


def mutants():
    return of_rows(MUTANTS)


class CollectivesMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Mutants of what binds the agent's state and data to LibTorch, which its unit tests have to catch."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

TORCH = "agent/src/torch/"

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "an error of a device whose number is not looked at": (
        ("device_errors_test", "DeviceErrors.*"), TORCH + "device_errors.cpp", r"of_device->get_error_code\(\)",
        "of_device->get_error_code() * 0"),
    "a digest that takes a parameter for a buffer": (
        ("digest_test", "Digest.*"), TORCH + "digest.cpp", r'"buffer " \+ item\.key\(\)', '"parameter " + item.key()'),
    "a digest without types": (("digest_test", "Digest.*"), TORCH + "digest.cpp", r"feed\.text\(tensor->dtype\);", ""),
    "a seed that reaches no generator": (
        ("numerics_test", "NumericsTest.*"), TORCH + "numerics.cpp", r"\{ at::manual_seed\(seed\); \}",
        "{ static_cast<void>(seed); }"),
    "an epoch that is not counted": (
        ("stream_sampler_test", "*"), TORCH + "data/stream_sampler.cpp", r"  place\.check_was_trained\(\);\n", ""),
    "an untracked parameter of an optimizer that is not named": (
        ("track_test", "TrackOptimizers.*"), TORCH + "tracking/track_optimizer.cpp",
        r"memory\.bytes != 0\)\n          out\.changes\(",
        "memory.bytes == 0)\n          out.changes("),
}


def mutants():
    return of_rows(MUTANTS)


class TorchMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Mutants of what is made of a device's error, which unit tests have to catch."""

import unittest

from mutants import MutantTest, TableOfSources, of_rows

DEVICES = "agent/src/devices/"


def of_devices(tests):
    return "devices_rules_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a process that goes on after an abort that does not end": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"abort == NcclAbortResult::kOverdue\)\n    why",
        "false)\n    why"),
    "a process that goes on with a device that fails": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"if \(probe == ProbeResult::kSticky\)\n    why",
        "if (false)\n    why"),
    "a node whose memory has an uncorrectable error is kept": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"if \(facts\.has_uncorrectable_error\)", "if (false)"),
    "a device that is gone taken for a configuration": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"if \(facts\.is_device_missing\)", "if (false)"),
    "a row that waits for a reset and explains everything": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"is_row_remap_pending && may_be_hardware",
        "is_row_remap_pending"),
    "an ECC error taken for the program's": (
        of_devices("FaultDecision.*"), DEVICES + "cuda_errors.cpp", r"\{214, (\S+) CudaErrorClass::kHardware",
        r"{214, \1 CudaErrorClass::kKernelFault"),
    "an error of a link that explains everything": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"unclear_xid && may_be_hardware", "unclear_xid"),
    "an Xid that a program's kernel causes taken for broken hardware": (
        of_devices("Xids.*"), DEVICES + "xids.cpp", r"\{31, kHarmless", "{31, kFatal"),
}


def mutants():
    return of_rows(MUTANTS)


class DevicesMutants(TableOfSources, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#include "agent/src/devices/xids.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace ratoon::devices::xids_test {
namespace {

using enum XidSeverity;

// The column "Immediate Action" of NVIDIA's Xid catalogue (Xids 1 to 172) for Ampere and newer GPUs. Xids
// that are left out have an action that concerns a program, a library or the driver (such as RESTART_APP,
// IGNORE, CHECK_MECHANICALS or UPDATE_SWFW), or are unused.
const std::map<std::uint64_t, std::string> kActions = {
    {46, "RESET_GPU"},
    {48, "WORKFLOW_XID_48"},
    {62, "RESET_GPU"},
    {63, "IGNORE"},
    {64, "RESET_GPU"},
    {74, "WORKFLOW_NVLINK_ERR"},
    {79, "RESTART_BM"},
    {94, "RESTART_APP"},
    {95, "RESET_GPU"},
    {109, "RESET_GPU"},
    {110, "RESET_GPU"},
    {119, "RESET_GPU"},
    {120, "RESET_GPU"},
    {136, "RESET_GPU"},
    {140, "RESET_GPU"},
    {143, "RESET_GPU"},
    {144, "WORKFLOW_NVLINK5_ERR"},
    {145, "WORKFLOW_NVLINK5_ERR"},
    {146, "WORKFLOW_NVLINK5_ERR"},
    {147, "WORKFLOW_NVLINK5_ERR"},
    {148, "WORKFLOW_NVLINK5_ERR"},
    {149, "WORKFLOW_NVLINK5_ERR"},
    {150, "WORKFLOW_NVLINK5_ERR"},
    {151, "RESTART_VM"},
    {155, "RESET_GPU"},
    {156, "RESET_GPU"},
    {157, "IGNORE"},
    {158, "RESET_GPU"},
    {160, "IGNORE"},
    {161, "IGNORE"},
    {162, ""},  // "Power Smoothing HW Circuitry capability reengaged"
    {163, ""},  // "... disengaged": "No GPU reset required"
    {164, ""},
    {165, ""},
    {167, ""},  // "PCIE_FATAL_TIMEOUT"
};

// The actions of workflows: Xid 48 and 74 need "a GPU reset or node reboot". The table "XID 144-150 Decode"
// chooses between IGNORE and RESET_GPU by a subcode and an error status in the kernel log.
const std::map<std::string, XidSeverity> kSeverities = {
    {"", kHarmless},
    {"IGNORE", kHarmless},
    {"RESTART_APP", kHarmless},
    {"RESET_GPU", kFatal},
    {"RESTART_BM", kFatal},
    {"RESTART_VM", kFatal},
    {"WORKFLOW_XID_48", kFatal},
    {"WORKFLOW_NVLINK_ERR", kFatal},
    {"WORKFLOW_NVLINK5_ERR", kUnclear},
};

// Where the product deliberately does something other than the catalogue, with the reason in xids.cpp.
const std::map<std::uint64_t, XidSeverity> kExceptions = {{94, kFatal}, {109, kHarmless}, {167, kFatal}};

TEST(Xids, HaveTheSeverityOfTheActionInTheCatalogue) {
  for (std::uint64_t xid = 0; xid < 1100; ++xid) {
    XidSeverity expected = kHarmless;
    if (const auto row = kActions.find(xid); row != kActions.end()) expected = kSeverities.at(row->second);
    if (const auto row = kExceptions.find(xid); row != kExceptions.end()) expected = row->second;
    EXPECT_EQ(severity_of_xid(xid), expected) << xid;
  }
}

TEST(Xids, ThoseThatAProgramsKernelCausesAreHarmless) {
  for (const std::uint64_t xid : {13U, 31U, 43U, 45U, 109U}) {
    EXPECT_EQ(severity_of_xid(xid), kHarmless) << xid;
    EXPECT_NE(describe_xid(xid), "") << xid;
  }
}

TEST(Xids, EachFatalOrUnclearOneHasASentence) {
  for (std::uint64_t xid = 0; xid < 1100; ++xid)
    EXPECT_TRUE(severity_of_xid(xid) == kHarmless || !describe_xid(xid).empty()) << xid;
  EXPECT_EQ(describe_xid(999), "");
}

}  // namespace
}  // namespace ratoon::devices::xids_test

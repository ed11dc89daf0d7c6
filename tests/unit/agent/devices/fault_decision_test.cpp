#include "agent/src/devices/fault_decision.h"

#include <initializer_list>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "agent/src/devices/cuda_errors.h"

namespace ratoon::devices::fault_decision_test {
namespace {

using enum FaultAction;

constexpr std::initializer_list<FaultOrigin> kPlaces = {FaultOrigin::kProgram, FaultOrigin::kCollective,
                                                        FaultOrigin::kStart, FaultOrigin::kSave};
constexpr std::initializer_list<NcclAbortResult> kAborts = {
    NcclAbortResult::kNotNeeded, NcclAbortResult::kDone, NcclAbortResult::kOverdue};
constexpr std::initializer_list<ProbeResult> kProbes = {ProbeResult::kClean, ProbeResult::kSticky,
                                                        ProbeResult::kOverdue};

// Written by hand from the documentation, separately from the product's table: for a running program, with
// all collectives aborted, a probe with the expected result after such an error, and no known fault of the
// device.
const std::set<int> kNeverRestart = {3,   46,  102, 103, 127, 214, 216, 220, 226, 304, 700,
                                     702, 710, 714, 715, 716, 717, 718, 719, 721, 800, 802,
                                     803, 805, 806, 807, 808, 809, 810, 911, 999};
const std::set<int> kFreshProcess = {226, 702, 805, 806, 807, 808, 809, 810, 911, 999};
const std::set<int> kOtherMachine = {100, 214, 220};
const std::set<int> kOtherMachineWhereBroken = {3, 46, 102, 103, 127, 216, 304, 800, 802, 803};
const std::set<int> kNoError = {0, 600};
// The errors that only a start may call a configuration that fails everywhere.
const std::set<int> kConfigurationAtStart = {34, 35, 36, 100, 101, 209, 222, 804};

std::vector<DeviceFault> all_faults() {
  std::vector<DeviceFault> faults = {
      {.kind = FaultKind::kNone}, {.kind = FaultKind::kPeerLost}, {.kind = FaultKind::kMemory}};
  for (const auto& row : cuda_errors()) faults.push_back({.kind = FaultKind::kCuda, .code = row.code});
  for (const int code : {-1, 12345}) faults.push_back({.kind = FaultKind::kCuda, .code = code});
  for (int code = -1; code <= 9; ++code) faults.push_back({.kind = FaultKind::kNccl, .code = code});
  return faults;
}

std::vector<DeviceFacts> all_facts() {
  std::vector<DeviceFacts> all;
  for (unsigned bits = 0; bits < 64; ++bits) {
    DeviceFacts facts{.has_uncorrectable_error = (bits & 1) != 0,
                      .has_row_remap_failed = (bits & 2) != 0,
                      .is_row_remap_pending = (bits & 4) != 0,
                      .is_device_missing = (bits & 8) != 0};
    if ((bits & 16) != 0) facts.unclear_xid = 145;
    if ((bits & 32) != 0) facts.fatal_xid = 79;
    all.push_back(facts);
  }
  return all;
}

bool has_hardware_evidence(const DeviceFacts& facts) {
  return facts.fatal_xid || facts.has_uncorrectable_error || facts.has_row_remap_failed ||
         facts.is_device_missing;
}

FaultDecision after_cuda(int code, FaultOrigin where = FaultOrigin::kProgram,
                         ProbeResult probe = ProbeResult::kClean, const DeviceFacts& facts = {}) {
  return decide_after_fault({.kind = FaultKind::kCuda, .code = code}, where, NcclAbortResult::kDone, probe,
                            facts);
}

FaultDecision after_nccl(int code, FaultOrigin where = FaultOrigin::kCollective) {
  return decide_after_fault({.kind = FaultKind::kNccl, .code = code}, where, NcclAbortResult::kDone,
                            ProbeResult::kClean, {});
}

FaultAction expected_of_cuda(int code, ProbeResult probe) {
  const bool works = probe == ProbeResult::kClean;
  if (kNoError.contains(code)) return works ? kRestartInProcess : kStartAgain;
  if (kFreshProcess.contains(code)) return kStartAgain;
  if (kOtherMachine.contains(code)) return kLeaveNode;
  if (kOtherMachineWhereBroken.contains(code)) return works ? kProgramError : kLeaveNode;
  return kProgramError;
}

TEST(FaultDecision, EachErrorOfCudaInAProgramThatRunsHasItsAction) {
  ASSERT_EQ(cuda_errors().size(), 133U) << "all of CUDA 13.0's";
  for (const auto& row : cuda_errors()) {
    const bool is_sticky = kNeverRestart.contains(row.code);
    const ProbeResult probe = is_sticky ? ProbeResult::kSticky : ProbeResult::kClean;
    EXPECT_EQ(after_cuda(row.code, FaultOrigin::kProgram, probe).action, expected_of_cuda(row.code, probe))
        << row.code << " " << row.name;
  }
}

TEST(FaultDecision, EachErrorOfCudaAtTheStartHasItsAction) {
  for (const auto& row : cuda_errors()) {
    const auto action = after_cuda(row.code, FaultOrigin::kStart).action;
    FaultAction expected = expected_of_cuda(row.code, ProbeResult::kSticky);
    if (kConfigurationAtStart.contains(row.code)) expected = kConfiguration;
    if (row.code == 2) expected = kStartAgain;
    if (kNoError.contains(row.code)) expected = kRestartInProcess;
    EXPECT_EQ(action, expected) << row.code << " " << row.name;
  }
}

TEST(FaultDecision, EachResultOfNcclHasItsAction) {
  const std::map<int, std::pair<FaultAction, FaultAction>> expected = {
      {0, {kRestartInProcess, kRestartInProcess}},
      {1, {kRestartInProcess, kStartAgain}},
      {2, {kRestartInProcess, kStartAgain}},
      {3, {kStartAgain, kStartAgain}},
      {4, {kProgramError, kProgramError}},
      {5, {kProgramError, kProgramError}},
      {6, {kRestartInProcess, kRestartInProcess}},
      {7, {kRestartInProcess, kRestartInProcess}},
      {8, {kStartAgain, kStartAgain}},
      {-1, {kStartAgain, kStartAgain}},
  };
  for (const auto& [code, actions] : expected) {
    EXPECT_EQ(after_nccl(code).action, actions.first) << code;
    EXPECT_EQ(after_nccl(code, FaultOrigin::kStart).action, actions.second) << code;
  }
}

// Holds for each error, in any place and with any facts.
struct Laws {
  const DeviceFault& what;
  FaultOrigin where;
  NcclAbortResult abort;
  ProbeResult probe;
  const DeviceFacts& facts;
  const FaultDecision& decision;

  [[nodiscard]] bool is_cuda_in(const std::set<int>& codes) const {
    return what.kind == FaultKind::kCuda && codes.contains(what.code);
  }

  void check() const {
    check_restart();
    check_hardware();
    check_code();
    EXPECT_TRUE(what.kind == FaultKind::kNone || decision.sentence.starts_with(describe(what, where) + ": "))
        << decision.sentence;
    EXPECT_TRUE(decision.sentence.ends_with("."));
    EXPECT_EQ(decision.sentence.find(".."), std::string::npos) << decision.sentence;
  }
  void check_restart() const {
    if (decision.action != kRestartInProcess) return;
    EXPECT_FALSE(is_cuda_in(kNeverRestart));
    EXPECT_FALSE(has_hardware_evidence(facts));
    EXPECT_EQ(probe, ProbeResult::kClean);
    EXPECT_NE(abort, NcclAbortResult::kOverdue);
    EXPECT_FALSE(decision.skips_destructors);
  }
  void check_hardware() const {
    if (has_hardware_evidence(facts)) {
      EXPECT_EQ(decision.action, kLeaveNode);
    }
    if (decision.action == kConfiguration) {
      EXPECT_EQ(where, FaultOrigin::kStart);
      EXPECT_TRUE(is_cuda_in(kConfigurationAtStart));
    }
    if (is_cuda_in(kNeverRestart) && (facts.is_row_remap_pending || facts.unclear_xid)) {
      EXPECT_TRUE(decision.action == kLeaveNode || kOtherMachineWhereBroken.contains(what.code));
    }
    if (abort == NcclAbortResult::kOverdue || probe != ProbeResult::kClean) {
      EXPECT_TRUE(decision.skips_destructors);
    }
  }
  void check_code() const {
    const std::map<FaultAction, std::optional<int>> codes = {
        {kRestartInProcess, std::nullopt},
        {kStartAgain, abort == NcclAbortResult::kOverdue ? 86 : 81},
        {kLeaveNode, 85},
        {kProgramError, 1},
        {kConfiguration, 82}};
    EXPECT_EQ(decision.exit_code, codes.at(decision.action));
  }
};

TEST(FaultDecision, TheLawsHoldForEachErrorInEachCase) {
  for (const auto& what : all_faults())
    for (const auto where : kPlaces)
      for (const auto abort : kAborts)
        for (const auto probe : kProbes)
          for (const auto& facts : all_facts()) {
            const auto decision = decide_after_fault(what, where, abort, probe, facts);
            Laws{what, where, abort, probe, facts, decision}.check();
            ASSERT_FALSE(testing::Test::HasFailure()) << decision.sentence;
          }
}

TEST(FaultDecision, AnXidThatAProgramCausesLeavesTheErrorToTheProgram) {
  // The facts contain nothing: such an Xid is not fatal, so that it never becomes a fact.
  EXPECT_EQ(after_cuda(700, FaultOrigin::kProgram, ProbeResult::kSticky).action, kProgramError);
  EXPECT_EQ(after_cuda(700, FaultOrigin::kProgram, ProbeResult::kSticky, {.fatal_xid = 48}).action,
            kLeaveNode);
}

TEST(FaultDecision, ARowThatWaitsForAResetMattersOnlyWithAnErrorThatItExplains) {
  const DeviceFacts waits{.is_row_remap_pending = true};
  const auto peer = decide_after_fault({.kind = FaultKind::kPeerLost}, FaultOrigin::kCollective,
                                       NcclAbortResult::kDone, ProbeResult::kClean, waits);
  EXPECT_EQ(peer.action, kRestartInProcess);
  EXPECT_EQ(after_cuda(2, FaultOrigin::kProgram, ProbeResult::kClean, waits).action, kProgramError);
  EXPECT_EQ(after_cuda(719, FaultOrigin::kProgram, ProbeResult::kSticky, waits).action, kLeaveNode);
}

TEST(FaultDecision, AnErrorOfALinkMattersOnlyWithAnErrorThatItExplains) {
  const DeviceFacts link{.unclear_xid = 145};
  const auto none =
      decide_after_fault({}, FaultOrigin::kProgram, NcclAbortResult::kNotNeeded, ProbeResult::kClean, link);
  EXPECT_EQ(none.action, kRestartInProcess);
  EXPECT_EQ(after_cuda(2, FaultOrigin::kProgram, ProbeResult::kClean, link).action, kProgramError);
  const auto kernel = after_cuda(719, FaultOrigin::kCollective, ProbeResult::kClean, link);
  EXPECT_EQ(kernel.action, kLeaveNode);
  EXPECT_NE(kernel.sentence.find("Xid 145 (an error of an NVLink connection)"), std::string::npos)
      << kernel.sentence;
}

TEST(FaultDecision, ADeviceThatIsGoneIsNoConfiguration) {
  EXPECT_EQ(after_cuda(100, FaultOrigin::kStart).action, kConfiguration);
  EXPECT_EQ(after_cuda(100, FaultOrigin::kStart, ProbeResult::kClean, {.is_device_missing = true}).action,
            kLeaveNode);
  EXPECT_EQ(after_cuda(100).action, kLeaveNode) << "there was one before";
}

TEST(FaultDecision, ItsSentenceNamesTheErrorThePlaceAndTheReason) {
  EXPECT_EQ(
      after_cuda(700, FaultOrigin::kCollective, ProbeResult::kSticky, {.fatal_xid = 79}).sentence,
      "CUDA error 700 (cudaErrorIllegalAddress) in a collective: the driver reported Xid 79 (the GPU has "
      "fallen off the bus). Training continues on another machine; have this device tested.");
  EXPECT_EQ(describe({.kind = FaultKind::kNccl, .code = 2}, FaultOrigin::kSave),
            "NCCL result 2 (ncclSystemError) in a save");
  EXPECT_EQ(describe({.kind = FaultKind::kCuda, .code = 12345}, FaultOrigin::kStart),
            "CUDA error 12345 (unknown to this version of Ratoon) at the start");
}

}  // namespace
}  // namespace ratoon::devices::fault_decision_test

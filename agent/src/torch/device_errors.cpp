#include "agent/src/torch/device_errors.h"

#include <exception>
#include <optional>

#include <c10/util/Exception.h>

#include "agent/src/devices/fault_decision.h"
#include "agent/src/devices/health/watched_devices.h"
#include "agent/src/session/shutdown/exit_report.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

using devices::FaultKind;

std::optional<devices::DeviceFault> device_fault_of(const std::exception& error) {
  if (const auto* of_device = dynamic_cast<const c10::AcceleratorError*>(&error))
    return devices::DeviceFault{.kind = FaultKind::kCuda, .code = of_device->get_error_code()};
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr)
    return devices::DeviceFault{.kind = FaultKind::kMemory};
  return std::nullopt;
}

// decide_after_fault() may decide that this process continues. In this case the exit code is kStartAgain,
// because the exception of the training function ends this process even if its device works.
std::optional<session::ErrorMeaning> explain_device_error(const std::exception& error) {
  const auto fault = device_fault_of(error);
  const auto decision =
      devices::decide_after_fault(fault.value_or(devices::DeviceFault()), devices::FaultOrigin::kProgram,
                                  devices::NcclAbortResult::kNotNeeded, devices::ProbeResult::kClean,
                                  devices::read_device_facts(devices::kDriverTimeout));
  if (!fault && decision.action != devices::FaultAction::kLeaveNode) return std::nullopt;
  return session::ErrorMeaning{
      .exit_code = decision.exit_code.value_or(static_cast<int>(ExitCode::kStartAgain)),
      .sentence = decision.sentence,
      .must_skip_teardown = decision.skips_destructors};
}

}  // namespace

void register_device_error_explainer() {
  session::set_error_explainer(explain_device_error);
}

}  // namespace ratoon

// Selects the accelerator of a process, on a machine with several processes.
//
//   const at::Device device = ratoon::torch::device_for(session, "cuda");
//   Net net;
//   net->to(device);
#pragma once

#include <string>

#include <c10/core/Device.h>

#include <ratoon/session.h>

namespace ratoon::torch {

// `name` is "cpu", "cuda", "cuda:1" or another device kind that LibTorch knows. A name without a number
// selects the device of this process's local rank, or the only device that this process sees, if the launcher
// gave each process its own. Throws Failure if there is no device for this process. The exit code is 85, so
// that another machine continues, if this machine was given more NVIDIA devices than the process sees; in
// other cases it is 82.
[[nodiscard]] at::Device device_for(const Session& session, const std::string& name);

}  // namespace ratoon::torch

// Selects the device of a process if several processes of one machine each use an accelerator.
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
// selects the device with the number of the local rank. If the process sees only one device, because the
// launcher gave each process one device, this device is selected. The selected device becomes the current
// device of the calling thread. Throws Failure if the machine has no device `name` for this process. The exit
// code is 85 if the process sees fewer NVIDIA devices than were assigned to this machine: the operator then
// uses another machine. If this process sees all assigned devices, but not the requested device, the exit
// code is 82.
[[nodiscard]] at::Device device_for(const Session& session, const std::string& name);

}  // namespace ratoon::torch

// Which accelerator a process of several on a machine trains on.
//
//   const at::Device device = ratoon::torch::device_for(session, "cuda");
//   Net net;
//   net->to(device);
#pragma once

#include <string>

#include <c10/core/Device.h>

#include <ratoon/session.h>

namespace ratoon::torch {

// "cpu", "cuda", "cuda:1" or another kind that LibTorch knows. Without a number it is the one of this
// process's local rank, or the only one that this process sees, as where the launcher gave each its own.
// Throws Failure where there is none for this process: with exit code 85, so that another machine goes on,
// where this machine was given more NVIDIA devices than the process sees; else with 82.
[[nodiscard]] at::Device device_for(const Session& session, const std::string& name);

}  // namespace ratoon::torch

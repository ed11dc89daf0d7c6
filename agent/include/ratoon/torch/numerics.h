// The settings of LibTorch on which the bits of results depend. A program that includes this header, or
// <ratoon/torch/track.h>, saves the settings in checkpoints and accepts the flag --deterministic:
//
//   ./trainer --deterministic --save-folder checkpoints --run-name first
//
// --deterministic selects deterministic algorithms, the number of threads with which the run began, and AVX2
// if the processor has it. An operation that has no deterministic algorithm throws an exception. With
// --deterministic, Ratoon sets the environment variables ATEN_CPU_CAPABILITY, MKL_CBWR, ONEDNN_MAX_CPU_ISA
// and CUBLAS_WORKSPACE_CONFIG, unless they are set already. LibTorch reads the environment variable
// ATEN_CPU_CAPABILITY at its first computation. If the program creates tensors before train(), set
// ATEN_CPU_CAPABILITY before the process starts.
#pragma once

namespace ratoon {

bool attach_torch_numerics();  // returns true, for the line below

inline const bool torch_numerics_are_attached = attach_torch_numerics();

}  // namespace ratoon

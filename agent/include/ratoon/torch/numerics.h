// LibTorch's numerics: settings on which bits depend. This header (included by <ratoon/torch/track.h>)
// attaches LibTorch's settings before main(): checkpoints contain them, and --deterministic pins them:
//
//   ./trainer --deterministic --save-folder checkpoints --run-name first
//
// --deterministic pins deterministic algorithms (an operation that has none throws), the number of threads
// with which the run began, and AVX2 if the processor has it. To pin the settings, Ratoon sets
// ATEN_CPU_CAPABILITY, MKL_CBWR, ONEDNN_MAX_CPU_ISA and CUBLAS_WORKSPACE_CONFIG, unless they are set already.
// LibTorch reads ATEN_CPU_CAPABILITY at its first computation: if the program creates tensors before train(),
// set this variable in the process's environment.
#pragma once

namespace ratoon {

bool attach_torch_numerics();  // returns true, for the line below

inline const bool torch_numerics_are_attached = attach_torch_numerics();

}  // namespace ratoon

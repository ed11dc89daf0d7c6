// LibTorch's numerics: brought by <ratoon/torch/track.h>, they attach themselves before main(), so that
// checkpoints have them and --deterministic pins them:
//
//   ./trainer --deterministic --save-folder checkpoints --run-name first
//
// Pinned are: deterministic algorithms (an operation that has none throws), as many threads as the run began
// with, and AVX2 where the processor has it. ATEN_CPU_CAPABILITY, MKL_CBWR, ONEDNN_MAX_CPU_ISA and
// CUBLAS_WORKSPACE_CONFIG are set for that, where they are not set already. LibTorch looks at the first when
// it computes first: tensors that are made before train() need it in the environment of the process.
#pragma once

namespace ratoon {

bool attach_torch_numerics();  // true, for the line below

inline const bool torch_numerics_are_attached = attach_torch_numerics();

}  // namespace ratoon

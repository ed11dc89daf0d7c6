// nccl.h includes this header, but needs nothing from it without half-precision types. cuda_runtime.h in this
// folder gives the reason for this file.
#pragma once

// nccl.h includes this header and needs nothing from it if no half-precision types are used. See
// cuda_runtime.h in this folder.
#pragma once

// nccl.h includes this header, but needs no declaration from it if half-precision types are switched off.
// cuda_runtime.h in this folder gives the reason for this file.
#pragma once

// nccl.h includes this header and needs nothing from it if no half-precision types are used. The reason for
// this file is in cuda_runtime.h in this folder.
#pragma once

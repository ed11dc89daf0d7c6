// The declarations that nccl.h needs from CUDA's headers, because the wheels that contain NCCL do not contain
// a complete set of them. Only the NCCL files of this module include this folder, and they only pass streams
// on to NCCL.
#pragma once

#include <stddef.h>  // nccl.h uses size_t, which it gets from here

using cudaStream_t = struct CUstream_st*;

// Declares what nccl.h needs from CUDA's headers, because the Python wheels with NCCL do not contain all of
// CUDA's headers. Only the NCCL files of this module include this folder, and they only pass CUDA streams on
// to NCCL.
#pragma once

#include <stddef.h>  // nccl.h uses size_t, which it gets from here

using cudaStream_t = struct CUstream_st*;

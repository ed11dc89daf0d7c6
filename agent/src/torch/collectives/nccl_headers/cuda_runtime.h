// All that nccl.h needs of CUDA's headers: the wheels that bring NCCL do not bring a complete set of those.
// Only nccl.cpp sees this folder; it passes no stream to anybody.
#pragma once

#include <stddef.h>  // nccl.h writes size_t and gets it from here

using cudaStream_t = struct CUstream_st*;

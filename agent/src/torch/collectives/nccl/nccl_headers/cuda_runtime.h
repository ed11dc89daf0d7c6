// Declares the types that nccl.h needs from CUDA's headers, because the Python wheels that contain NCCL do
// not contain all headers of CUDA. Only the files in torch/collectives/nccl/ that include nccl.h use the
// headers in nccl_headers/. These files use CUDA streams only to pass them on to NCCL.
#pragma once

#include <stddef.h>  // nccl.h uses size_t, which it gets from here

using cudaStream_t = struct CUstream_st*;

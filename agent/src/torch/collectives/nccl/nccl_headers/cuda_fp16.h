// nccl.h includes this header, but needs no declaration from it if half-precision types are switched off.
// This empty file replaces CUDA's own cuda_fp16.h, because the Python wheels that contain NCCL do not contain
// all headers of CUDA.
#pragma once

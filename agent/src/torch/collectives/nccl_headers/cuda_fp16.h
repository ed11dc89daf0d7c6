// nccl.h includes this and, without half-precision types in sight, uses nothing of it. See cuda_runtime.h
// beside it.
#pragma once

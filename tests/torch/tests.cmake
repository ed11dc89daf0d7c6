# Included by tests/CMakeLists.txt where RATOON_WITH_TORCH is on.
ratoon_test(torch/tensor_bytes_test LIBS ratoon::agent_torch)
ratoon_test(torch/digest_test LIBS ratoon::agent_torch)
ratoon_test(torch/track_test LIBS ratoon::agent_torch)
ratoon_test(torch/gradient_buckets_test LIBS ratoon::agent_torch)
if(RATOON_WITH_CUDA)
  ratoon_test(torch/nccl_test LIBS ratoon::agent_torch_cuda)
endif()

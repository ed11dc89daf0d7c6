# What needs a GPU: built everywhere where LibTorch is, skipped with a sentence where there is none.
if(RATOON_ON_GPU)
  ratoon_test(gpu/data_on_gpu_test LIBS ratoon::agent_torch_cuda)
else()
  ratoon_test(gpu/data_on_gpu_test LIBS ratoon::agent_torch)
endif()
# What scripts/gpu runs, for a machine that has the CUDA half of LibTorch.
if(RATOON_ON_GPU)
  ratoon_program(gpu_probe
    SOURCES gpu/probe/averaging.cpp gpu/probe/bits.cpp gpu/probe/facts.cpp gpu/probe/faults.cpp gpu/probe/gpu.cpp
            gpu/probe/main.cpp gpu/probe/restart.cpp
    LIBS ratoon::agent_torch_cuda nlohmann_json::nlohmann_json)
endif()

# What needs a GPU: built everywhere where LibTorch is, skipped with a sentence where there is none.
ratoon_test(gpu/data_on_gpu_test LIBS ratoon::agent_torch)

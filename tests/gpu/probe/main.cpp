// gpu_probe STAGE: one stage of scripts/gpu, on a machine with an accelerator.
#include <cstdio>
#include <map>
#include <string>

#include "tests/gpu/probe/stages.h"

int main(int argc, char** argv) {
  using namespace ratoon::gpu_probe;
  const std::map<std::string, int (*)()> stages = {{"facts", facts},          {"bits", bits},
                                                   {"averaging", averaging},  {"restart", restart},
                                                   {"assert", device_assert}, {"stuck", stuck_kernel},
                                                   {"memory", out_of_memory}, {"own_group", own_group}};
  const auto stage = stages.find(argc == 2 ? argv[1] : "");
  if (stage == stages.end()) {
    std::fprintf(stderr, "gpu_probe: say one stage of:");
    for (const auto& [name, run] : stages) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 82;
  }
  return stage->second();
}

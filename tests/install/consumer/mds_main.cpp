// A program that links ratoon::agent_mds: it reads shards, without LibTorch.
#include <cstdio>

#include <ratoon/mds_dataset.h>

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const auto data = ratoon::MdsDataset::open(argv[1]);
  ratoon::Sample sample;
  data->read(0, sample);
  std::printf("%llu samples\n", static_cast<unsigned long long>(data->size()));
  return 0;
}

// Evaluates the network that digits trains, on pictures that it was not trained with. The run may still be
// training; its newest checkpoint is read.
//
//   ./evaluate checkpoints/digits                      the newest checkpoint
//   ./evaluate checkpoints/digits 200                  the checkpoint of step 200
//   ./evaluate checkpoints/digits/weights.safetensors  the weights at the end of the run
#include <cstdio>
#include <cstdlib>

#include <ATen/core/grad_mode.h>

#include <ratoon/failure.h>
#include <ratoon/load.h>
#include <ratoon/torch/track.h>

#include "../digits/glyphs.h"
#include "../digits/net.h"

namespace {

constexpr std::int64_t kPictures = 2048;
constexpr std::uint64_t kSeed = 2026;  // different from the seed of the training

int evaluate(const ratoon::LoadFrom& from) {
  Net net;
  const ratoon::LoadedFrom loaded = ratoon::load(from, "net", *net);
  for (const std::string& why : loaded.passed_over)
    std::fprintf(stderr, "a newer checkpoint is not sound: %s\n", why.c_str());

  const Glyphs glyphs = make_glyphs(kPictures, kSeed);
  const at::NoGradGuard no_gradients;
  net->eval();
  const auto read = net->forward(glyphs.images).argmax(1);
  const auto right = read.eq(glyphs.labels).sum().item<std::int64_t>();
  std::printf("%s: accuracy %.4f on %lld pictures\n", loaded.what.c_str(),
              static_cast<double>(right) / static_cast<double>(kPictures), static_cast<long long>(kPictures));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s RUN_FOLDER|MANIFEST|FILE.safetensors [STEP]\n", argv[0]);
    return 2;
  }
  ratoon::LoadFrom from{.place = argv[1]};
  if (argc == 3) from.step = std::strtoull(argv[2], nullptr, 10);
  try {
    return evaluate(from);
  } catch (const ratoon::Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return failure.exit_code;
  }
}

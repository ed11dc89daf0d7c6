// Reads shards in the format of MosaicML Streaming without LibTorch: local or remote, in a different order
// each epoch, augmented, prefetched by threads. No code here handles failures, and still a killed run
// resumes:
//
//   cmake --build build/no-torch --target shards && cd /tmp
//   .../build/no-torch/bin/shards --list > first.log &     creates its own data set, and reads it
//   kill -9 $!                                             at any time
//   .../build/no-torch/bin/shards --list >> first.log      resumes with the exact next sample
//
// Steps after the last checkpoint are trained again, with the same samples and the same augmentation. No
// other sample is repeated, and none is left out. The digests in the last line equal the digests of an
// uninterrupted run, with any values of --threads and --cache and at any location of the data.
// docs/train/data.md explains it; `shards --help` lists the flags.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <thread>
#include <utility>

#include <ratoon/data_loader.h>
#include <ratoon/mds_dataset.h>
#include <ratoon/train.h>

#include "flags.h"
#include "shapes.h"

namespace {

// Pictures (uint8, height x width, optionally x bytes of a pixel) are randomly mirrored and made brighter or
// darker; other fields are unchanged. The random numbers belong to the sample: they do not depend on the
// thread that reads it, nor on the time.
void augment(ratoon::Sample& sample, ratoon::SampleRandom& random) {
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const ratoon::Field from = sample.field(i);
    if (from.type != ratoon::ElementType::kUint8 || from.shape.size() < 2 || from.bytes.empty()) continue;
    const bool is_mirrored = random.below(2) == 1;
    const int brighter = static_cast<int>(random.below(33)) - 16;
    const std::size_t row = from.bytes.size() / from.shape[0], pixel = row / from.shape[1];
    const auto to = sample.replace(i, from.type, from.shape);
    for (std::size_t at = 0; at < to.size(); ++at) {
      const std::size_t left = at % row - at % pixel;  // the offset in the row of the pixel that is written
      const std::size_t source = is_mirrored ? at + row - pixel - 2 * left : at;
      const int value = std::to_integer<int>(from.bytes[source]) + brighter;
      to[at] = static_cast<std::byte>(std::clamp(value, 0, 255));
    }
  }
}

// A digest over the sample's content after augmentation.
std::uint64_t digest_of(const ratoon::Batch& batch, std::size_t row) {
  std::uint64_t digest = 0;
  for (const ratoon::BatchColumn& column : batch.columns())
    digest = ratoon::hash64(digest, column.row(row).text());
  return digest;
}

void report(const ratoon::Session& session, std::uint64_t step, const ratoon::Batch& batch,
            bool lists_samples) {
  if (!lists_samples && step % 20 != 0) return;
  std::printf("rank %" PRIu32 " step %" PRIu64 " epoch %" PRIu64, session.rank(), step, batch.epoch());
  for (std::size_t row = 0; lists_samples && row < batch.size(); ++row)
    std::printf(" %" PRIu64 ":%08" PRIx64, batch.slots()[row].sample, digest_of(batch, row) >> 32);
  std::printf("\n");
}

ratoon::StreamOptions stream_options(const ratoon::Dataset& data, const Flags& flags) {
  return {.global_batch = flags.batch,
          .seed = flags.seed,
          .order = flags.window > 0 ? ratoon::SampleOrder::kBlocks : ratoon::SampleOrder::kShuffled,
          .window_shards = flags.window,
          .sources = {ratoon::source_of(data)}};
}

void train(ratoon::Session& session, const Flags& flags) {
  if (flags.makes_data) make_shapes(session, flags.data, flags.samples);
  const auto data = ratoon::MdsDataset::open(
      flags.data, {.cache_folder = flags.cache, .cache_bytes_max = flags.cache_bytes});
  ratoon::Stream stream(session.stream_options(stream_options(*data, flags)));
  ratoon::DataLoader loader(data, stream,
                            {.rank = session.rank(),
                             .world_size = session.world_size(),
                             .threads = static_cast<std::uint32_t>(flags.threads),
                             .augment = augment});
  std::uint64_t model = 0;  // simulates weights: depends on all samples and on their order
  session.track("stream", stream);
  session.track("model", model);

  const std::uint64_t total = stream.batches_until_epoch(flags.epochs);
  const auto steps = session.steps(total);  // after this call, stream and model have the state of the last
                                            // checkpoint
  std::printf("attempt %" PRIu64 " rank %" PRIu32 " of %" PRIu32 " goes on with step %" PRIu64 " of %" PRIu64
              "\n",
              session.attempt(), session.rank(), session.world_size(), session.steps_done(), total);
  for (const std::uint64_t step : steps) {
    const ratoon::Batch batch = loader.next();
    for (std::size_t row = 0; row < batch.size(); ++row)
      model = ratoon::mix_into(model, digest_of(batch, row));
    loader.advance(batch);  // it is in the model now, so count it
    report(session, step, batch, flags.lists_samples);
    std::this_thread::sleep_for(std::chrono::milliseconds(flags.pause_ms));
  }
  std::printf("done: %" PRIu64 " steps, %" PRIu64 " samples, digest %016" PRIx64 ", model %016" PRIx64 "\n",
              stream.batches(), stream.cursor(), stream.digest(), model);
}

}  // namespace

int main(int argc, char** argv) {
  const ratoon::Options defaults{.save_folder = "shards-runs",
                                 .run_name = "first",
                                 .save_every = ratoon::Every::steps(20),
                                 .member = {}};
  auto options = ratoon::take_options(argc, argv, defaults, {.of_program = {"--seed"}});
  const auto flags = read_flags(argc, argv);  // of the flags that are left
  if (!flags) {
    std::fprintf(stderr, "shards: %s\n", flags.error().message().c_str());
    return 82;
  }
  if (flags->wants_help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);  // complete lines, also in files
  return ratoon::train(std::move(options), [&](ratoon::Session& session) { train(session, *flags); });
}

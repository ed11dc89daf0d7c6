#include <stdexcept>

#include <ratoon/failure.h>
#include <ratoon/torch/order_sampler.h>
#include <ratoon/torch/stream_sampler.h>

#include "agent/src/torch/data/samples_of.h"
#include "base/contract/exit_code.h"

namespace ratoon::torch {
namespace {

// One pass of the loader over the samples of an epoch, which begins with begin(). All numbers in EpochPass
// count batches.
struct EpochPass {
  StreamReader reader;      // with the plan at begin()
  std::uint64_t began = 0;  // trained before begin()
  std::uint64_t seen = 0;   // trained at the last check
  std::uint64_t fetched = 0;
  std::uint64_t end = 0;  // the first batch of the next epoch
  bool is_exhausted = false;
};

}  // namespace

struct StreamSampler::LoopPosition {
  LoopPosition(Stream* of, std::uint32_t of_rank, std::uint32_t of_world)
      : stream(of), rank(of_rank), world_size(of_world) {
    static_cast<void>(share_of({}, rank, world_size));  // throws if the rank does not exist
  }

  // Own: the stream of a sampler to which the program passed no stream. The member `iteration` counts the
  // trained batches, so set_iteration() sets only this number and does not move the stream.
  struct Own {
    explicit Own(const StreamOptions& of) : options(of), stream(of) {}
    StreamOptions options;
    Stream stream;
    std::uint64_t iteration = 0;
  };

  [[nodiscard]] std::uint64_t iteration() const { return own ? own->iteration : stream->batches(); }
  [[nodiscard]] std::uint64_t epoch() const {
    return stream->reader().batch(iteration()).first / stream->epoch_slots();
  }
  void move_on(std::uint64_t batches);
  void check_pass();
  void check_was_trained() const;
  void check_no_share_is_empty(const EpochPass& next) const;

  std::unique_ptr<Own> own;
  Stream* stream;
  std::uint32_t rank;
  std::uint32_t world_size;
  std::optional<EpochPass> pass;
  bool was_set = false;  // whether the position was set since the pass began
};

void StreamSampler::LoopPosition::move_on(std::uint64_t batches) {
  if (own) {
    own->iteration += batches;
  } else {
    stream->advance(batches);
  }
}

// Throws if the program changed the position or the plan of the stream in the middle of an epoch, because the
// loader's next batches would not follow the trained batches.
void StreamSampler::LoopPosition::check_pass() {
  const std::uint64_t now = iteration();
  const bool is_in_pass = now >= pass->seen && now <= pass->fetched;
  if (!is_in_pass || !pass->reader.is_same_plan(stream->reader()))
    throw std::logic_error("the stream was moved to batch " + std::to_string(now) +
                           ", or its plan was changed, while the loader was in the middle of an epoch: leave "
                           "the loop over the loader and begin it anew");
  pass->seen = now;
}

// Throws if the program forgot to call advance(). Without advance(), each pass of the loader returns the same
// epoch, as in a PyTorch program that forgets set_epoch().
void StreamSampler::LoopPosition::check_was_trained() const {
  if (!pass || was_set || !pass->is_exhausted || iteration() != pass->began) return;
  // A new attempt has loaded the stream, which stands again where the pass began.
  if (!pass->reader.is_same_plan(stream->reader())) return;
  throw std::logic_error("the loader gave the " + std::to_string(pass->end - pass->began) +
                         " batches of an epoch, but none was counted as trained: call advance() after each "
                         "batch, or set_iteration() before the loader begins");
}

// Every rank needs at least one sample of each batch, because LibTorch's loader cannot return an empty batch.
// check_no_share_is_empty() throws on all ranks, before the epoch begins, so that no rank waits for another.
void StreamSampler::LoopPosition::check_no_share_is_empty(const EpochPass& next) const {
  for (const std::uint64_t number : {next.began, next.end - 1}) {
    const SlotRange batch = next.reader.batch(number);
    if (batch.size() >= world_size) continue;
    throw std::invalid_argument("batch " + std::to_string(number) + " has " + std::to_string(batch.size()) +
                                " samples for " + std::to_string(world_size) +
                                " ranks, but LibTorch's loader takes no empty share: make the global batch "
                                "larger, or give the stream EpochEnd::kCarry or kDrop");
  }
}

StreamSampler::StreamSampler(const StreamOptions& options, std::uint32_t rank, std::uint32_t world_size) {
  auto own = std::make_unique<LoopPosition::Own>(options);
  loop_position_ = std::make_shared<LoopPosition>(&own->stream, rank, world_size);
  loop_position_->own = std::move(own);
}

StreamSampler::StreamSampler(Stream& stream, std::uint32_t rank, std::uint32_t world_size)
    : loop_position_(std::make_shared<LoopPosition>(&stream, rank, world_size)) {}

void StreamSampler::set_iteration(std::uint64_t batches) {
  LoopPosition& place = *loop_position_;
  const std::uint64_t now = place.iteration();
  if (place.own) {
    static_cast<void>(place.stream->reader().batch(batches));  // throws if there is no such batch
    place.own->iteration = batches;
  } else if (batches >= now) {
    place.stream->advance(batches - now);
  } else {
    throw std::invalid_argument("the stream has trained " + std::to_string(now) +
                                " batches and cannot go back to " + std::to_string(batches) +
                                ": load an earlier state of it");
  }
  place.was_set = true;
}

void StreamSampler::advance(std::uint64_t batches) {
  LoopPosition& place = *loop_position_;
  if (place.pass) place.check_pass();
  const std::uint64_t fetched = place.pass ? place.pass->fetched - place.pass->seen : 0;
  if (batches > fetched)
    throw std::invalid_argument(
        "advance(" + std::to_string(batches) + ") exceeds the " + std::to_string(fetched) +
        " fetched batches that are not counted as trained yet; advance() counts batches, not samples");
  place.move_on(batches);
  place.pass->seen += batches;
}

std::uint64_t StreamSampler::iteration() const {
  return loop_position_->iteration();
}

std::uint64_t StreamSampler::epoch() const {
  return loop_position_->epoch();
}

std::uint64_t StreamSampler::index_in_epoch() const {
  return iteration() - loop_position_->stream->batches_until_epoch(epoch());
}

std::uint64_t StreamSampler::batches_in_epoch() const {
  const std::uint64_t now = epoch();
  return loop_position_->stream->batches_until_epoch(now + 1) -
         loop_position_->stream->batches_until_epoch(now);
}

std::size_t StreamSampler::batch_size() const {
  return (loop_position_->stream->global_batch() + loop_position_->world_size - 1) /
         loop_position_->world_size;
}

std::string StreamSampler::save_state() const {
  const LoopPosition& place = *loop_position_;
  if (!place.own) return place.stream->save_state();
  Stream stream(place.own->options);
  const std::uint64_t batches = place.own->iteration;
  if (batches > 0) stream.begin_at(stream.reader().batch(batches).first, batches);
  return stream.save_state();
}

void StreamSampler::load_state(std::string_view state) {
  LoopPosition& place = *loop_position_;
  if (place.own) {
    Stream stream(place.own->options);
    stream.load_state(state);
    if (stream.next_batch() != place.stream->reader().batch(stream.batches()))
      throw Failure(static_cast<int>(ExitCode::kConfiguration),
                    "the plan of the saved run changed while it ran: the saved run's next batch after " +
                        std::to_string(stream.batches()) + " batches, at slot " +
                        std::to_string(stream.cursor()) +
                        ", is not the batch that the sampler's options give; load the state into a Stream, "
                        "and make the sampler from that stream");
    place.own->iteration = stream.batches();
  } else {
    place.stream->load_state(state);
  }
  place.was_set = true;
}

void StreamSampler::reset(std::optional<std::size_t> new_size) {
  LoopPosition& place = *loop_position_;
  const std::uint64_t samples = count_samples(place.stream->reader());
  if (new_size && *new_size != samples)
    throw std::invalid_argument("a stream of " + std::to_string(samples) + " samples cannot be reset to " +
                                std::to_string(*new_size));
  place.check_was_trained();
  const std::uint64_t now = place.iteration();
  EpochPass next{.reader = place.stream->reader(), .began = now, .seen = now, .fetched = now};
  next.end = place.stream->batches_until_epoch(place.epoch() + 1);
  place.check_no_share_is_empty(next);
  place.pass = std::move(next);
  place.was_set = false;
}

std::optional<std::vector<std::size_t>> StreamSampler::next(std::size_t batch_size) {
  LoopPosition& place = *loop_position_;
  if (!place.pass) reset();
  place.check_pass();
  EpochPass& pass = *place.pass;
  if (pass.fetched == pass.end) {
    pass.is_exhausted = true;
    return std::nullopt;
  }
  if (batch_size != this->batch_size()) {
    throw std::invalid_argument(
        "the loader's batch_size is " + std::to_string(batch_size) +
        ", but a rank's share of a global batch of " + std::to_string(place.stream->global_batch()) +
        " among " + std::to_string(place.world_size) + " ranks is " + std::to_string(this->batch_size()) +
        ": set batch_size to sampler.batch_size(), or change the global batch");
  }
  const SlotRange batch = pass.reader.batch(pass.fetched);
  ++pass.fetched;
  return samples_of(pass.reader, share_of(batch, place.rank, place.world_size));
}

void StreamSampler::save(::torch::serialize::OutputArchive& archive) const {
  detail::write_state(archive, save_state());
}

void StreamSampler::load(::torch::serialize::InputArchive& archive) {
  load_state(detail::read_state(archive));
}

}  // namespace ratoon::torch

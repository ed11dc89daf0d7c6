// epochs() turns a run into a loop over epochs, and each epoch into a loop over its batches.
//
//   ratoon::DataLoader loader(data, stream, {.rank = session.rank(), .world_size = session.world_size()});
//   session.track("stream", stream);
//   for (auto epoch : ratoon::epochs(session, stream, 90)) {
//     for (ratoon::Batch& batch : epoch.batches(loader)) train(batch);
//     const double loss = validate(net);                    // part of the last step of the epoch
//     session.save_best("validation loss", loss, {.keep = 3});
//   }
//
// Each batch is one step of the run. The step of an epoch's last batch ends only when the body of the loop
// over epochs ends. The checkpoint of this step therefore contains the changes that the code after the loop
// over batches makes, and a resume from the checkpoint does not repeat this code. A batch with samples of two
// epochs belongs to the epoch in which it begins.
//
// The run ends after `count` epochs, at --max-duration, or after Session::finish(). If the run ends within an
// epoch, the code after the loop over batches still runs once, after the last step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <ratoon/session.h>
#include <ratoon/stream.h>
#include <ratoon/until.h>

namespace ratoon {

class Epoch {
 public:
  Epoch(Session& session, const Stream& stream)
      : session_(&session), stream_(&stream), number_(stream.epoch()) {}

  [[nodiscard]] std::uint64_t number() const { return number_; }  // from 0

  // The batches of this epoch that are not trained yet. `Loader` is a DataLoader over the stream, or a type
  // with the same next() and advance().
  template <class Loader>
  class Batches {
   public:
    using Batch = decltype(std::declval<Loader&>().next());

    class Iterator {
     public:
      using value_type = Batch;
      using difference_type = std::ptrdiff_t;

      explicit Iterator(Batches& of) : batches_(&of) { take(); }
      [[nodiscard]] Batch& operator*() const { return *batches_->batch_; }
      [[nodiscard]] Batch* operator->() const { return &*batches_->batch_; }
      Iterator& operator++() {
        batches_->loader_->advance(*batches_->batch_);
        batches_->batch_.reset();
        if (batches_->epoch_->is_over()) {
          batches_->epoch_->session_->begin_tail_of_epoch();  // the step ends with the body of the outer loop
          return *this;
        }
        static_cast<void>(batches_->epoch_->session_->step_done());
        take();
        return *this;
      }
      void operator++(int) { ++*this; }
      [[nodiscard]] bool operator==(std::default_sentinel_t) const { return !batches_->batch_; }

     private:
      void take() {
        if (!batches_->epoch_->is_over() && !batches_->epoch_->session_->is_over())
          batches_->batch_ = batches_->loader_->next();
      }
      Batches* batches_;
    };

    [[nodiscard]] Iterator begin() { return Iterator(*this); }
    [[nodiscard]] std::default_sentinel_t end() const { return {}; }

   private:
    friend class Epoch;
    Batches(const Epoch& epoch, Loader& loader) : epoch_(&epoch), loader_(&loader) {}
    const Epoch* epoch_;
    Loader* loader_;
    std::optional<Batch> batch_{};
  };
  template <class Loader>
  [[nodiscard]] Batches<Loader> batches(Loader& loader) const {
    return Batches<Loader>(*this, loader);
  }

 private:
  // Returns whether the last batch of the epoch is trained.
  [[nodiscard]] bool is_over() const { return stream_->epoch() != number_; }

  Session* session_;
  const Stream* stream_;
  std::uint64_t number_;
};

class EpochRange {
 public:
  EpochRange(Session& session, const Stream& stream, std::uint64_t count)
      : session_(&session), stream_(&stream), count_(count) {}

  class Iterator {
   public:
    using value_type = Epoch;
    using difference_type = std::ptrdiff_t;

    Iterator(Session& session, const Stream& stream)
        : session_(&session), stream_(&stream), epoch_(session, stream) {}
    [[nodiscard]] const Epoch& operator*() const { return epoch_; }
    [[nodiscard]] const Epoch* operator->() const { return &epoch_; }
    Iterator& operator++() {
      if (session_->is_over()) return *this;
      if (stream_->epoch() == epoch_.number()) {
        session_->refuse_call("the loop over the batches of epoch " + std::to_string(epoch_.number()) +
                              " was left before its last batch: do not leave the loop early; to end the "
                              "run early, call Session::finish() and let the loop end");
      }
      static_cast<void>(session_->step_done());
      epoch_ = Epoch(*session_, *stream_);
      return *this;
    }
    void operator++(int) { ++*this; }
    [[nodiscard]] bool operator==(std::default_sentinel_t) const { return session_->is_over(); }

   private:
    Session* session_;
    const Stream* stream_;
    Epoch epoch_;
  };

  [[nodiscard]] Iterator begin() {
    session_->follow(*stream_);
    session_->resume(Until::epochs(count_));
    return {*session_, *stream_};
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  Session* session_;
  const Stream* stream_;
  std::uint64_t count_;
};

[[nodiscard]] inline EpochRange epochs(Session& session, const Stream& stream, std::uint64_t count) {
  return {session, stream, count};
}

}  // namespace ratoon

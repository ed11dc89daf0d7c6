// Session: the training function's connection to its run. Each call of the training function has its own
// Session.
//
//   [](ratoon::Session& session) {
//     std::int64_t sum = 0;
//     session.track("sum", sum);
//     for (std::uint64_t step : session.steps(1000)) sum += work(step);
//   }
//
// Use a Session only on the training function's thread; but any thread may call check() and notify().
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <typeindex>
#include <utility>

#include <ratoon/options.h>
#include <ratoon/result.h>
#include <ratoon/save_ticket.h>
#include <ratoon/session/averaging.h>
#include <ratoon/session/keep_best.h>
#include <ratoon/session/phase.h>
#include <ratoon/session/rendezvous.h>
#include <ratoon/session/summable.h>
#include <ratoon/session/tracked_as.h>
#include <ratoon/session/values.h>
#include <ratoon/state.h>
#include <ratoon/stateful.h>
#include <ratoon/until.h>

namespace ratoon {

struct StreamOptions;  // <ratoon/stream.h>

class Session {
 public:
  class Engine;
  class AttemptLoop;
  explicit Session(std::unique_ptr<Engine> engine);  // train() calls this
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Creates a session without train(), for a training loop that cannot become a function:
  //
  //   ratoon::Session session(ratoon::Options::from_environment(argc, argv));
  //   session.track("net", net);
  //   session.follow(stream);
  //   session.resume(ratoon::Until::epochs(90));
  //   while (!session.is_over())
  //     for (auto& batch : *loader) {
  //       ...;
  //       if (!session.step_done()) break;
  //     }
  //   return session.complete();
  //
  // Where train() would return or call its function again, a session without train() prints a message and
  // ends the process. The process's exit code is the one that train() would return, or 81 if a new process
  // can continue the run. If a session ends the process, objects on the stack are not destroyed.
  explicit Session(Result<Options> options);
  // Restores the tracked objects from the newest checkpoint. The run ends after finish() or at `until`, and
  // the program's loop ends with the run. --max-duration replaces `until`. Without `until` and
  // --max-duration, the program itself decides when its loop ends.
  void resume();
  void resume(Until until);
  [[nodiscard]] bool is_over() const;
  // Ends a step: counts, saves and commits it. Call finish() and save() before step_done(), because a resumed
  // run does not repeat code after it. Returns whether there is another step. Throws after the run's end.
  bool step_done();
  // Completes the run; all ranks call complete() after the same step. Saves the last step if it is not saved
  // yet, and returns the process's exit code. The process ends with exit code 82 if finish() was not called
  // and the run is not at the end that resume() or --max-duration set. If the process must end early, for
  // example after SIGTERM, complete() saves the tracked objects and ends the process with exit code 80, and
  // the next start resumes. A program may leave a training loop early only after step_done(). If the process
  // ends with exit code 0 but complete() was not called, the exit code becomes 82.
  [[nodiscard]] int complete();

  // Adds an object to every checkpoint of this run and restores it when steps() begins. The object must
  // outlive the loop over steps(): the next save refuses an object that was destroyed. Tracking the same name
  // twice is a configuration error.
  void track(std::string name, Stateful& object);

  // Tracks a number: adds it to every checkpoint and restores it when steps() begins.
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void track(std::string name, T& value) {
    track_state(
        std::move(name), [&value](StateWriter& out) { out.number("", value); },
        [&value](StateReader& in) { in.number("", value); });
  }

  // Tracks an object whose type has a TrackAdapter, which defines how to save and restore it.
  template <HasTrackAdapter T>
  void track(std::string name, T& object, const TrackedAs& as = {});

  // Tracks CPU memory of the program as one tensor, in row-major order. The tracked memory must keep its
  // address and its size.
  //   session.track("weights", std::span(weights, count), {.shape = {layers, width}, .is_weight = true});
  template <class T, std::size_t kExtent>
    requires(std::is_arithmetic_v<T> && !std::is_const_v<T> && !std::same_as<T, long double>)
  void track(std::string name, std::span<T, kExtent> memory, const TrackedMemory& how = {}) {
    track_memory(std::move(name), stored_type_of<T>(), std::as_writable_bytes(std::span<T>(memory)),
                 memory.size(), how);
  }

  // The compiler selects this overload for a type that track() cannot save, and reports an error.
  template <class T>
    requires(!std::is_arithmetic_v<T> && !std::derived_from<T, Stateful> && !requires { T::extent; } &&
             !HasTrackAdapter<T>)
  void track(std::string /*name*/, T& /*object*/) {
    static_assert(sizeof(T) == 0,
                  "Session::track() does not know this type: include <ratoon/torch.h> or "
                  "<ratoon/random_engine.h>, specialize ratoon::TrackAdapter<T> (<ratoon/state.h>), or use "
                  "std::map instead of an unordered container.");
  }

  // Averages every gradient over all ranks, once a step. Include <ratoon/torch.h>, or another header that
  // defines average_gradients_of() for the type of the model.
  //   session.average_gradients(*net);                                            // after backward()
  //   session.average_gradients(*net, {.backward = [&] { loss.backward(); }});    // during it
  template <class Model>
  void average_gradients(Model&& model, const Averaging& how = {}) {
    answer([&] { average_gradients_of(*this, model, how); });
  }

  class StepRange;
  // Iterates over the remaining steps until `total` steps of the run are done. The loop restores the tracked
  // objects, counts steps, saves and commits checkpoints, and throws Interrupted when the set of processes
  // changes. All ranks leave the loop after the same step, because the last checkpoint needs all of them.
  //
  // The run is complete when the loop over steps() has no further step. If the training function returns from
  // within the loop after the set of processes changed, Ratoon calls it again. If it returns because the
  // process must end, Ratoon ends the process. Any other early return ends the process with exit code 82.
  //
  // steps() refuses a checkpoint if its names differ from the tracked names: every object needs its state.
  [[nodiscard]] StepRange steps(std::uint64_t total);
  // Iterates until the run has done the amount `until`, counted from its beginning. --max-duration overrides
  // the end of both overloads of steps().
  [[nodiscard]] StepRange steps(Until until);

  // Sets the stream whose epochs and samples the session counts: a ratoon::Stream, or a type with the same
  // functions cursor() and epoch_slots(). If the stream has batches(), the session also counts batches. The
  // stream must outlive the loop over steps(). Call follow() before steps().
  template <class Counted>
    requires(requires(const Counted& stream) {
      { stream.cursor() } -> std::convertible_to<std::uint64_t>;
      { stream.epoch_slots() } -> std::convertible_to<std::uint64_t>;
    })
  void follow(const Counted& stream) {
    std::function<std::uint64_t()> batches;
    if constexpr (requires {
                    { stream.batches() } -> std::convertible_to<std::uint64_t>;
                  })
      batches = [&stream] { return stream.batches(); };
    follow_data([&stream] { return stream.cursor(); }, [&stream] { return stream.epoch_slots(); },
                std::move(batches));
  }

  // on_epoch_begin() calls `act` with the number of each epoch, counted from 0, before the first step whose
  // batch begins in the epoch. on_epoch_end() calls `act` after the step with the epoch's last sample and
  // before its save, so checkpoints contain the changes that `act` makes. A resumed run repeats a call only
  // if its step was lost: the first step of the epoch for on_epoch_begin(), the last one for on_epoch_end().
  // The duration of `act` counts as validation. Call follow() first, or use epochs(). If the loop has begun,
  // `act` is called from the next boundary of epochs on. Another call of the same function replaces `act`.
  //   session.on_epoch_end([&](std::uint64_t epoch) {
  //     log(epoch, metrics.find("loss")->mean());
  //     metrics.reset();
  //   });
  void on_epoch_begin(std::function<void(std::uint64_t epoch)> act);
  void on_epoch_end(std::function<void(std::uint64_t epoch)> act);

  // Reports a value of the current step, the mean of `samples` samples, for the history on the disk and for
  // /metrics. The progress bar shows the reported value named "loss". Values reported before
  // average_gradients() are shown as the mean over ranks, weighted by samples. Values reported after
  // average_gradients(), or in a step without it, are not averaged: the history shows the value of rank 0,
  // and /metrics of each rank shows its own value. All values belong to the step in which they are reported.
  // A reported value that is infinite or not a number does not end the run.
  void report(std::string_view name, double value, std::uint64_t samples = 1);

  // Replaces each number by its sum over all ranks, with the same bits on all ranks. Integers are summed
  // exactly. If the type cannot hold a sum, all ranks throw a Failure and no number changes. Sums of floats
  // are computed in double and rounded once. All ranks call sum() in the same order, with equally many
  // numbers of one type; a rank without values passes zeros. sum() waits for all ranks without a time limit,
  // and logs after ten seconds which ranks have not called sum(). Use sum() for counts, losses and measures,
  // and average_gradients() for gradients.
  //   std::array<std::int64_t, 2> counts{right, all};
  //   session.sum(counts);
  void sum(std::span<double> numbers);
  void sum(std::span<float> numbers);
  void sum(std::span<std::int32_t> numbers);
  void sum(std::span<std::int64_t> numbers);
  void sum(std::span<std::uint32_t> numbers);
  void sum(std::span<std::uint64_t> numbers);
  // Returns the sum of one number of each rank. Smaller integers are summed as std::int32_t.
  template <Summable T>
  [[nodiscard]] SumOf<T> sum(T number) {
    auto sum_of_all = static_cast<SumOf<T>>(number);
    sum(std::span(&sum_of_all, 1));
    return sum_of_all;
  }
  // Returns the mean over the samples of all ranks; this rank has `samples` samples with the mean `value`.
  // mean() also reports the result like report(). If all ranks have 0 samples, the mean is NaN.
  //   const double loss = session.mean("validation loss", total / count, count);
  double mean(std::string_view name, double value, std::uint64_t samples);

  // Saves the current step when it ends, in addition to --save-every. If `keep` has a text, the checkpoint is
  // pinned: it is never removed from the folder or a store until unpin() or `ratoon checkpoint unpin`. If the
  // ranks call agree() in every step, a single rank may call save(). If several ranks never call agree(),
  // save() is a configuration error. If the program calls agree(), even with one rank, a save requested in
  // one step is made at the end of the next step, even if a process is lost between the two steps. A save
  // requested in the run's last step saves that step. Only rank 0's SaveTicket can wait for stores.
  //   if (loss < lowest) session.save("a loss of " + std::to_string(lowest = loss));
  SaveTicket save(const std::string& keep = "");

  // Removes the pin of this run's checkpoint of step `step`, as `ratoon checkpoint list` shows the step, in
  // the folder and in all stores. The run then removes the checkpoint like any other. The request is in the
  // next checkpoint and takes effect at its commit. If a rank is lost before the commit, the repeated step
  // calls unpin() again. One rank may call unpin() for all ranks. Without a pin, unpin() changes nothing.
  //   session.unpin(step_of_last_milestone);
  void unpin(std::uint64_t step);

  // If `value` is among the `keep` best values of this name, saves the current step and pins the checkpoint.
  // A checkpoint that is no longer among the `keep` best checkpoints loses its pin and is removed like any
  // other checkpoint. Returns whether the step will be saved, which is false after the run's end. All ranks
  // call save_best() in the same step. save_best() uses only the value of rank 0, so pass the result of
  // mean(). A value that is infinite or not a number never counts as best. Call save_best() after the
  // optimizer's step or in on_epoch_end(), because the checkpoint contains the tracked objects as they are at
  // the end of the step. A resumed run keeps the same checkpoints as an uninterrupted run.
  //   const double loss = session.mean("validation loss", mean_here, samples_here);
  //   session.save_best("validation loss", loss, {.keep = 3});
  bool save_best(std::string_view name, double value, const KeepBest& how = {});

  // Ends the run after the current step, for example because the loss no longer falls. After finish(), the
  // run's last step is the current step, or the next step if the ranks call agree() in every step. Do not
  // leave the loop after finish(): steps() ends it, saves the last step and completes the run. One rank may
  // call finish() for all ranks. If the run is started again with the same end, it makes no further step.
  void finish(const std::string& reason);

  // Tells the session that this process will be ended after `left`. The session saves at once, continues the
  // training, saves again as late as possible, and ends the process with exit code 80. A second call of
  // notify() replaces the first call. Any thread may call notify().
  //   watch_my_cloud([&session](auto left) { session.notify(left, "a spot reclaim"); });
  void notify(std::chrono::nanoseconds left, const std::string& why);
  void take_back_notice();

  // Until the returned object is destroyed, time is recorded as time of `phase`. The time accounting and the
  // hang detection use the phase. Another in() in an inner scope replaces the phase in the inner scope.
  //
  //   if (is_epoch_over) {
  //     const auto validates = session.in(ratoon::Phase::kValidation);
  //     validate(net);
  //   }
  class PhaseScope;
  [[nodiscard]] PhaseScope in(Phase phase);
  // Reports that the current step does not hang although it takes longer than other steps. still_alive()
  // restarts the time limit of the step. In a validation, still_alive() is not necessary.
  void still_alive();

  [[nodiscard]] std::uint64_t attempt() const;
  [[nodiscard]] std::uint32_t rank() const;
  [[nodiscard]] std::uint32_t world_size() const;
  // The place in its member (a pod; outside of jobs, each process of `ratoon launch`) and the member's size.
  [[nodiscard]] std::uint32_t local_rank() const;
  [[nodiscard]] std::uint32_t local_size() const;
  // The number of steps whose results are in the tracked state.
  [[nodiscard]] std::uint64_t steps_done() const;
  // Returns the step of the run's checkpoint from which steps() will resume; 0: the run has no checkpoint.
  [[nodiscard]] std::uint64_t resumes_at() const;

  // Reads the value that was tracked as `name` from the checkpoint from which steps() will resume. Returns
  // nothing if the run has no checkpoint. A name that is not in the checkpoint is a configuration error. Call
  // peek() before steps().
  //   auto width = session.peek<std::int64_t>("width").value_or(flags.width);
  template <class T>
    requires(std::is_arithmetic_v<T> || HasTrackAdapter<T>)
  [[nodiscard]] std::optional<T> peek(const std::string& name);

  // Returns the path of the run's folder; empty if the run is only in a store.
  [[nodiscard]] std::string folder() const;

  // Returns the value of --seed. Before each call of the training function, Ratoon seeds the generators of
  // the computing library with seed(), in the same way on all ranks.
  [[nodiscard]] std::uint64_t seed() const;
  // Returns a seed for the random number generator `name` on this rank. The seed is derived from --seed, the
  // name, the rank, and the step at which this session resumed. Call seed_of() for random numbers that differ
  // between ranks, after all ranks have created the same weights:
  //   torch::manual_seed(session.seed_of("dropout"));
  [[nodiscard]] std::uint64_t seed_of(std::string_view name) const;
  // Returns the options `of_program`, in which the values of --seed and --global-batch, if given, replace the
  // program's values. Stream::load_state() refuses a checkpoint with another seed or global batch, unless
  // Stream::accept() allows it.
  //   ratoon::Stream stream(session.stream_options({.samples = 4096, .global_batch = 96, .seed = 17}));
  [[nodiscard]] StreamOptions stream_options(StreamOptions of_program) const;

  // ---- Only programs with their own collectives need the functions below; a training function that uses
  // Ratoon's collectives never calls them.
  //
  //   const auto waits = session.in(ratoon::Phase::kCollective);    // waiting here is not a hang
  //   while (!work.is_done_within(10ms)) session.check();           // instead of waiting without an end
  //   session.agree(reduced_with_or(session.requests()));           // once a step, on every rank

  // Call explain() if an exception of another library, for example of a collective, ends the loop. If a lost
  // process may be the cause (`may_be_loss`), explain() waits until the coordinator reports the loss. If the
  // set of processes changed or this process must end, explain() throws like check(). explain() returns only
  // for errors of the program. The messages of exceptions that explain() throws begin with `ended_by`:
  //   session.explain(std::string("the program threw ") + error.what(), is_error_of_network(error));
  void explain(const std::string& ended_by, bool may_be_loss);
  // With a single process, the returned port is 0 and there is no listening socket.
  [[nodiscard]] Rendezvous rendezvous() const;
  // Throws Interrupted if the set of processes changed, and Failure if this process must end. Any thread may
  // call check().
  void check() const;
  // Returns, as bits, the actions that this rank asks all ranks to take after this step, such as a save.
  [[nodiscard]] std::uint32_t requests() const;
  // Every rank passes the bitwise OR of the requests of all ranks to agree(). The requested actions, such as
  // a save, take effect at the end of the current step. With several processes, requests take effect only in
  // steps in which agree() is called. A single process needs no agree().
  void agree(std::uint32_t requests_of_all);
  // Exchanges the requests and the reported values of this step between all ranks, for a program without its
  // own collectives. agree() uses the connection of sum(). All ranks call agree() once a step, before the
  // step ends.
  void agree();
  // numbers() returns the numbers that the program sums over all ranks and passes to take_sums(). From the
  // sums, Ratoon computes the means of reported values. Without take_sums(), each rank shows its own values.
  static constexpr std::size_t kNumbers = 32;
  [[nodiscard]] std::array<float, kNumbers> numbers() const;
  void take_sums(std::span<const float, kNumbers> sums_of_all);
  // Adds a function that is called on the training thread before the tracked objects are read for a save.
  // `check` waits until no operation changes the tracked objects any longer, or throws an exception. The
  // session calls the added functions in the order in which they were added, and removes them when it ends.
  void before_saves(std::function<void()> check);
  // Adds a function that is called only before a save that all ranks make together. `check` may wait for
  // other ranks. For the save in complete(), which a rank may make alone, `check` is not called.
  void before_saves_of_all(std::function<void()> check);
  // Returns the object of type T that the session owns, and creates it at the first call. The session
  // destroys the object after the training function has returned or thrown.
  template <class T, class... Arguments>
  T& part(Arguments&&... arguments) {
    auto& part = owned_objects_[typeid(T)];
    if (!part) part = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    return *static_cast<T*>(part.get());
  }

 private:
  friend class StepIterator;
  friend class Epoch;  // <ratoon/session/epochs.h>
  friend class EpochRange;
  friend class AppendFile;

  enum class Tracked { kState, kWeights, kSeeded };
  void track_state(std::string name, std::function<void(StateWriter&)> save,
                   std::function<void(StateReader&)> load, Tracked kind = Tracked::kState);
  void track_memory(std::string name, ElementType type, std::span<std::byte> memory, std::size_t count,
                    const TrackedMemory& how);
  [[nodiscard]] bool peek_state(const std::string& name, std::function<void(StateReader&)> load);
  // Returns the same seed at each start of the run, so that random numbers drawn before steps() do not differ
  // after a resume. For a rank without a saved generator state, steps() uses seed_of().
  [[nodiscard]] std::uint64_t first_seed_of(std::string_view name) const;
  void follow_data(std::function<std::uint64_t()> cursor, std::function<std::uint64_t()> epoch_slots,
                   std::function<std::uint64_t()> batches);
  // Calls `act`. If `act` throws in a session without train(), the process ends.
  void answer(const std::function<void()>& act) const;
  [[noreturn]] void leave_in_place() const;
  void begin_tail_of_epoch();
  // Throws a configuration error, because the program called Ratoon in a wrong way.
  void refuse_call(const std::string& why) const;
  // Throws if the run is not at its end when the training function has returned.
  void refuse_early_return() const;

  std::unique_ptr<AttemptLoop> attempt_loop_;  // only in a session without train()
  bool is_complete_ = false;                   // complete() was called
  bool has_checked_interruption_ = false;      // explain() was called, and returned
  mutable bool is_process_ending_ = false;     // the process is about to end
  const int uncaught_exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<Engine> engine_;
  // The last exception that Ratoon threw on the training thread. If the training function catches this
  // exception, Ratoon throws it again when the step or the function ends.
  mutable std::exception_ptr last_exception_;
  const std::thread::id training_thread_ = std::this_thread::get_id();
  std::map<std::type_index, std::shared_ptr<void>> owned_objects_;
};

}  // namespace ratoon

#include <ratoon/session/loop.h>  // the types that steps() and in() return, and templates of Session

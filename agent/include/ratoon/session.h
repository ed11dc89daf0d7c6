// Session: one attempt of a run, as the training function uses it.
//
//   [](ratoon::Session& session) {
//     std::int64_t sum = 0;
//     session.track("sum", sum);
//     for (std::uint64_t step : session.steps(1000)) sum += work(step);
//   }
//
// Use a Session on the thread that runs the training function. Only check() and notify() may be called from
// any thread.
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
#include <ratoon/session/rendezvous.h>
#include <ratoon/session/tracked_as.h>
#include <ratoon/session/values.h>
#include <ratoon/state.h>
#include <ratoon/stateful.h>
#include <ratoon/until.h>

namespace ratoon {

struct StreamOptions;  // <ratoon/stream.h>

// kData: the rank waits for samples; set by DataLoader::next(). kCollective: the rank waits for other ranks;
// set by average_gradients(). kValidation: its time never counts as a hang, however long it is. If a step was
// validated and then lost, the repeated step is validated again.
enum class Phase { kData, kValidation, kCollective };

class Session {
 public:
  class Engine;
  class AttemptLoop;
  explicit Session(std::unique_ptr<Engine> engine);  // train() calls this
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Creates a session without train(), for a loop that cannot become a function:
  //
  //   ratoon::Session session(ratoon::Options::from_environment(argc, argv));
  //   session.track("net", net);
  //   session.resume(ratoon::Until::epochs(90));
  //   while (!session.is_over())
  //     for (auto& batch : *loader) {
  //       ...;
  //       if (!session.step_done()) break;
  //     }
  //   return session.complete();
  //
  // Where train() would return or call its function again, this session ends the process: with a message and
  // the exit code of train(), or with 81 if a new start of the process can continue. When the session ends
  // the process, objects on the stack are not destroyed.
  explicit Session(Result<Options> options);
  // Restores the tracked objects. The run ends after finish() or at `until`, which --max-duration replaces;
  // the program's loop ends with the run. If nothing sets an end, the program ends its loop by itself.
  void resume();
  void resume(Until until);
  [[nodiscard]] bool is_over() const;
  // Ends a step: counts, saves and commits, as the loop over steps() does. Returns whether there is another
  // step: a step after the run's end is refused.
  bool step_done();
  // Completes the run; all ranks call complete() after the same step. Saves the tracked objects once more if
  // needed, and returns the process's exit code. The process ends with exit code 82 if the run is not at the
  // end that resume() or --max-duration set and finish() was not called. If the process was told to leave,
  // for example by SIGTERM, complete() saves the tracked objects and ends the process with exit code 80; the
  // next start continues. A program must therefore leave a loop early only after step_done(). Exit code 0
  // without complete(), by returning from main() or by exit(), becomes 82.
  [[nodiscard]] int complete();

  // Adds an object to every checkpoint of this run and restores it when steps() begins. The object must
  // outlive the loop. Tracking the same name twice is a configuration error.
  void track(std::string name, Stateful& object);

  // Tracks a number as other objects are tracked.
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void track(std::string name, T& value) {
    track_state(
        std::move(name), [&value](StateWriter& out) { out.number("", value); },
        [&value](StateReader& in) { in.number("", value); });
  }

  // Tracks an object whose type has a TrackAdapter.
  template <class T>
    requires(requires(T& object, const std::string& name) { TrackAdapter<T>::check(object, name); })
  void track(std::string name, T& object, const TrackedAs& as = {}) {
    answer([&] { TrackAdapter<T>::check(object, name); });
    constexpr bool kIsWeights = requires { requires TrackAdapter<T>::kIsWeights; };
    Tracked kind = kIsWeights && as.is_weight ? Tracked::kWeights : Tracked::kState;
    if constexpr (requires { TrackAdapter<T>::seed(object, std::uint64_t{}); }) {
      TrackAdapter<T>::seed(object, first_seed_of(name));
      kind = Tracked::kSeeded;
    }
    track_state(
        std::move(name), [&object](StateWriter& out) { TrackAdapter<T>::save(object, out); },
        [&object](StateReader& in) { TrackAdapter<T>::load(object, in); }, kind);
  }

  // Tracks CPU memory of the program as one tensor, in row-major order. The memory must keep its address and
  // its size.
  //   session.track("weights", std::span(weights, count), {.shape = {layers, width}, .is_weight = true});
  template <class T, std::size_t kExtent>
    requires(std::is_arithmetic_v<T> && !std::is_const_v<T> && !std::same_as<T, long double>)
  void track(std::string name, std::span<T, kExtent> memory, const TrackedMemory& how = {}) {
    track_memory(std::move(name), stored_type_of<T>(), std::as_writable_bytes(std::span<T>(memory)),
                 memory.size(), how);
  }

  // Rejects every other type when the program is compiled.
  template <class T>
    requires(
        !std::is_arithmetic_v<T> && !std::derived_from<T, Stateful> && !requires { T::extent; } &&
        !requires(T& object, const std::string& name) { TrackAdapter<T>::check(object, name); })
  void track(std::string /*name*/, T& /*object*/) {
    static_assert(sizeof(T) == 0,
                  "Session::track() does not know this type: include <ratoon/torch.h> or "
                  "<ratoon/random_engine.h>, specialize ratoon::TrackAdapter<T> (<ratoon/state.h>), or use "
                  "std::map instead of an unordered container.");
  }

  // Averages every gradient over all ranks, once a step. Needs <ratoon/torch.h>, or another header with an
  // average_gradients_of() for the type of the model.
  //   session.average_gradients(*net);                                            // after backward()
  //   session.average_gradients(*net, {.backward = [&] { loss.backward(); }});    // during it
  template <class Model>
  void average_gradients(Model& model, const Averaging& how = {}) {
    answer([&] { average_gradients_of(*this, model, how); });
  }

  class StepRange;
  // Iterates over the remaining steps until `total` steps of the run are done. The loop restores the tracked
  // objects, counts, saves and commits checkpoints, and throws Interrupted when the world changes. All ranks
  // leave the loop after the same step, because the last checkpoint needs all of them.
  //
  // The run is complete when the loop over steps() ends by itself. If the function leaves the loop early and
  // returns, Ratoon calls it again after a change of the world, exits as ordered if the process was told to
  // leave, and in all other cases ends the process with exit code 82.
  //
  // A checkpoint is refused if its names are not exactly the tracked names, because an object without a saved
  // state would start anew beside objects that resume.
  [[nodiscard]] StepRange steps(std::uint64_t total);
  // Iterates until this amount is done, counted from the run's beginning. --max-duration overrides the end in
  // both overloads of steps().
  [[nodiscard]] StepRange steps(Until until);

  // Sets the stream whose epochs and samples are counted: a ratoon::Stream, or a type with its cursor() and
  // epoch_slots(). If the type has batches(), they are counted too, for steps that accumulate gradients over
  // several batches. The stream must outlive the loop. Call follow() before steps().
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

  // Calls `act` with the number of each epoch that ends, from 0, after the step that takes its last sample
  // and before that step is saved. The changes that `act` makes (for example a reset of means) are therefore
  // in the checkpoint. In the run's committed history `act` is called once per epoch, also if a batch spans
  // two epochs. Needs follow(). Call on_epoch_end() before steps(). The time of `act` counts as validation.
  //   session.on_epoch_end([&](std::uint64_t epoch) {
  //     log(epoch, metrics.find("loss")->mean());
  //     metrics.reset();
  //   });
  void on_epoch_end(std::function<void(std::uint64_t epoch)> act);

  // Reports a value of the current step, the mean of `samples` samples, for the history on the disk and for
  // /metrics. The progress bar shows the value named "loss". Values reported before average_gradients() are
  // shown as the mean over ranks, weighted by samples. Values reported after average_gradients(), or in a
  // step without it, are not averaged: the history shows rank 0's value, and /metrics of each rank shows that
  // rank's value. All values belong to the step in which they are reported. A value that is not finite never
  // ends the run.
  void report(std::string_view name, double value, std::uint64_t samples = 1);

  // Replaces each number by its sum over all ranks, with the same bits on all ranks. All ranks make the same
  // calls of sum(), in the same order, with equally many numbers; a rank with nothing to add passes zeros.
  // sum() waits for the other ranks without a time limit. Use sum() for counts, losses and measures, in a
  // step, at the end of an epoch or in a validation; for gradients use average_gradients().
  //   std::array<double, 2> counts{right, all};
  //   session.sum(counts);
  void sum(std::span<double> numbers);
  [[nodiscard]] double sum(double number);
  // Returns the mean over the samples of all ranks; this rank has `samples` samples with the mean `value`.
  // Also reports the mean, as report() does. Without any sample the mean is not a number.
  //   const double loss = session.mean("validation loss", total / count, count);
  double mean(std::string_view name, double value, std::uint64_t samples);

  // Saves the current step when it ends, in addition to --save-every. With a reason the checkpoint is pinned:
  // retention never removes it, in the folder and in the stores that receive it, until `ratoon checkpoint
  // unpin`. If the ranks call agree() once a step, one rank may call save() alone. If several ranks never
  // call agree(), save() is a configuration error. If agree() is called, even in a world of one rank, the
  // next step is saved at its end, in a world of any size and even if a process is lost between the steps. A
  // save requested in the run's last step saves that step. Only rank 0's SaveTicket can wait for stores.
  //   if (loss < lowest) session.save("a loss of " + std::to_string(lowest = loss));
  SaveTicket save(const std::string& keep = "");

  // Saves the current step when it ends if the value is among the best of this name, and pins that
  // checkpoint. A checkpoint that is no longer among the best `keep` ones loses its pin, and retention
  // removes it. Returns whether the step is saved; after the run's end the answer is false. All ranks call
  // save_best() in the same step, and the value of rank 0 counts: use mean(). A value that is not finite is
  // never among the best. Call save_best() after the changes of the step, for example after the step of the
  // optimizer, or in on_epoch_end(): the checkpoint holds the tracked objects as they are when the step ends.
  // A resumed run acts as an unbroken one. `ratoon checkpoint list` shows the pins.
  //   const double loss = session.mean("validation loss", mean_here, samples_here);
  //   session.save_best("validation loss", loss, {.keep = 3});
  bool save_best(std::string_view name, double value, const KeepBest& how = {});

  // Ends the run early, for example because the loss no longer falls. The run's last step is the current
  // step, or the next step if the ranks call agree() once a step. Let the loop end by itself: the last step
  // is saved and the run is complete. One rank may call finish() alone. If the program is started again, the
  // run is complete at once, unless it has another end by then.
  void finish(const std::string& reason);

  // Tells the session that this process will be ended after `left`. The session saves at once, trains on,
  // saves again as late as possible, and leaves with exit code 80. A second call of notify() replaces the
  // first call. May be called from any thread.
  //   watch_my_cloud([&session](auto left) { session.notify(left, "a spot reclaim"); });
  void notify(std::chrono::nanoseconds left, const std::string& why);
  void take_back_notice();

  // Marks the purpose of time in the loop that the step itself does not use. The run's time accounting and
  // the hang detection use this purpose. The phase ends with the scope, or when an inner scope begins.
  //
  //   if (is_epoch_over) {
  //     const auto validates = session.in(ratoon::Phase::kValidation);
  //     validate(net);
  //   }
  class PhaseScope;
  [[nodiscard]] PhaseScope in(Phase phase);
  // Reports that the current step takes longer than others but does not hang: its time is measured anew from
  // this call on. Call still_alive() for work other than validation (docs/train/hangs.md).
  void still_alive();

  [[nodiscard]] std::uint64_t attempt() const;
  [[nodiscard]] std::uint32_t rank() const;
  [[nodiscard]] std::uint32_t world_size() const;
  // The rank among the processes of this machine or pod, and the number of these processes, by which a
  // program selects its device.
  [[nodiscard]] std::uint32_t local_rank() const;
  [[nodiscard]] std::uint32_t local_size() const;
  // The number of steps whose results are in the tracked state.
  [[nodiscard]] std::uint64_t steps_done() const;
  // The step of the run's own checkpoint from which steps() will go on; 0: there is no checkpoint.
  [[nodiscard]] std::uint64_t resumes_at() const;

  // The value that was tracked under `name` in the run's own checkpoint from which steps() goes on; nothing
  // if there is no such checkpoint. An unknown name is a configuration error. Call peek() before steps().
  //   auto width = session.peek<std::int64_t>("width").value_or(flags.width);
  template <class T>
    requires(std::is_arithmetic_v<T> || requires(T& object) { TrackAdapter<T>::check(object, ""); })
  [[nodiscard]] std::optional<T> peek(const std::string& name) {
    T value{};
    const bool is_there = peek_state(name, [&value](StateReader& in) {
      if constexpr (std::is_arithmetic_v<T>)
        in.number("", value);
      else
        TrackAdapter<T>::load(value, in);
    });
    return is_there ? std::optional<T>(std::move(value)) : std::nullopt;
  }

  // The run's own folder; empty if the run is kept in a store alone.
  [[nodiscard]] std::string folder() const;

  // --seed. Before each call of the training function, the generators of the computing library are seeded
  // with this seed, in the same way on all ranks.
  [[nodiscard]] std::uint64_t seed() const;
  // The seed for a generator of this name on this rank. The seed is derived from --seed, the name, the rank,
  // and the step where the attempt begins. Use this seed for random numbers that differ between ranks, after
  // all ranks have created the same weights:
  //   torch::manual_seed(session.seed_of("dropout"));
  [[nodiscard]] std::uint64_t seed_of(std::string_view name) const;
  // Returns the program's stream options in which --seed and --global-batch, if given, replace the program's
  // values. If the run began with other values, Stream::load_state() refuses the state, unless the program
  // accepts the differences.
  //   ratoon::Stream stream(session.stream_options({.samples = 4096, .global_batch = 96, .seed = 17}));
  [[nodiscard]] StreamOptions stream_options(StreamOptions of_program) const;

  // ---- The functions below are for programs with their own collectives; a training function that uses
  // Ratoon's collectives never calls them.
  //
  //   const auto waits = session.in(ratoon::Phase::kCollective);    // waiting here is not a hang
  //   while (!work.is_done_within(10ms)) session.check();           // instead of waiting without an end
  //   session.agree(reduced_with_or(session.requests()));           // once a step, on every rank

  // Call explain() if an exception that is not Ratoon's ends the loop, for example from a collective of the
  // program. If a lost process may be the cause, explain() waits for the report of that loss, which may come
  // later. If the world changed or this process was told to leave, the attempt ends as in check(). explain()
  // returns only if the program itself is at fault. The message begins with `ended_by`:
  //   session.explain(std::string("the program threw ") + error.what(), is_error_of_network(error));
  void explain(const std::string& ended_by, bool may_be_loss);
  // A world of one process has no rendezvous: port 0 and no descriptor.
  [[nodiscard]] Rendezvous rendezvous() const;
  // Throws Interrupted if the world changed, and Failure if this process must leave. May be called from any
  // thread.
  void check() const;
  // Returns, as bits, the actions that this rank wants all ranks to do after the same step.
  [[nodiscard]] std::uint32_t requests() const;
  // Takes the bits that any rank requested; every rank passes the same bits. The requested actions take
  // effect at the end of the current step. With one process, the requests of that process take effect without
  // agree(). With several processes, requests take effect only in steps in which agree() is called.
  void agree(std::uint32_t requests_of_all);
  // agree() for a program that has no collective of its own: exchanges the requests of this step, and the
  // reported values, over the connection that sum() uses. All ranks call agree() once a step, before the step
  // ends.
  void agree();
  // Numbers to sum over all ranks together with the requests; always kNumbers of them. The means of the
  // reported values follow from the sums of these numbers over all ranks. The numbers are optional: without
  // them, each rank shows its own values.
  static constexpr std::size_t kNumbers = 32;
  [[nodiscard]] std::array<float, kNumbers> numbers() const;
  void take_sums(std::span<const float, kNumbers> sums_of_all);
  // Adds a function that is called on the training thread before the tracked objects are read for a save.
  // `check` waits for operations that may still change the objects, or fails. `check` may throw. The
  // added functions are called in the order of their addition, and are removed when the attempt ends.
  void before_saves(std::function<void()> check);
  // Adds a function that is called only for saves that all ranks make in this step, so `check` may wait for
  // the other ranks. `check` is not called for the save of complete(), which a rank may make alone.
  void before_saves_of_all(std::function<void()> check);
  // Returns this attempt's single object of type T, and creates it at the first call. The object is destroyed
  // after the training function has returned or thrown, before the session is destroyed.
  template <class T, class... Arguments>
  T& part(Arguments&&... arguments) {
    auto& part = parts_[typeid(T)];
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
  // Returns one seed for all attempts, so that draws before steps() do not differ after a resume. In steps()
  // a rank continues with its own state, and a rank that is new to the world starts with seed_of().
  [[nodiscard]] std::uint64_t first_seed_of(std::string_view name) const;
  void follow_data(std::function<std::uint64_t()> cursor, std::function<std::uint64_t()> epoch_slots,
                   std::function<std::uint64_t()> batches);
  // Calls `act`. If `act` throws in a session without train(), the process ends.
  void answer(const std::function<void()>& act) const;
  [[noreturn]] void leave_in_place() const;
  void begin_tail_of_epoch();
  // Reports that the program called Ratoon in a wrong way.
  void refuse_call(const std::string& why) const;
  // Throws if the run is not at its end when the training function has returned.
  void refuse_early_return() const;

  std::unique_ptr<AttemptLoop> attempts_;  // only in a session without train()
  bool is_complete_ = false;               // complete() was called
  bool has_explained_ = false;             // explain() was called, and returned
  mutable bool has_left_ = false;          // the process is about to end
  const int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<Engine> engine_;
  // The exception that Ratoon threw on the training thread. The training function must let the exception
  // pass: a caught exception is thrown again at the end of the step and of the function.
  mutable std::exception_ptr thrown_;
  const std::thread::id training_thread_ = std::this_thread::get_id();
  std::map<std::type_index, std::shared_ptr<void>> parts_;
};

}  // namespace ratoon

#include <ratoon/session/loop.h>  // the types that steps() and in() return

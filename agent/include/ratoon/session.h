// Session: one attempt of a run, as the training function sees it.
//
//   [](ratoon::Session& session) {
//     std::int64_t sum = 0;
//     session.track("sum", sum);
//     for (std::uint64_t step : session.steps(1000)) sum += work(step);
//   }
//
// All but check() and notify() is for the thread that runs the training function.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>

#include <ratoon/options.h>
#include <ratoon/result.h>
#include <ratoon/save_ticket.h>
#include <ratoon/state.h>
#include <ratoon/stateful.h>
#include <ratoon/until.h>

namespace ratoon {

struct StreamOptions;  // <ratoon/stream.h>

// Where the ranks of an attempt meet, for whoever brings a collective. The same listening socket serves every
// attempt of a process, so what is stored there is named by the attempt.
struct Rendezvous {
  std::string host{};  // rank 0's
  std::uint16_t port = 0;
  int listening_fd = -1;   // on rank 0: bound to host:port and listening; dup() it, it stays the session's
  std::string own_host{};  // the address under which other ranks reach this process
  std::string secret{};    // of this attempt, which its ranks alone know; never to be logged
};

// How an object is saved and restored that is no Stateful: specialised for types of other libraries
// (<ratoon/torch/track.h> does so for LibTorch) and for a program's own; <ratoon/state.h> has an example.
//   static void check(T& object, const std::string& name);   called at once; may throw Failure
//   static void save(T& object, StateWriter& out);
//   static void load(T& object, StateReader& in);            says what it wants; may throw Failure
//   static void seed(T& object, std::uint64_t seed);         called at once; for generators of random numbers
//   static constexpr bool kIsWeights = true;                 where --load-from is to fill it; else left out
template <class T>
struct TrackAdapter;

// kData: waits for samples, as DataLoader::next() says by itself. kCollective: waits for other ranks, as
// average_gradients() says by itself. kValidation: after a step that was validated before a loss, it is made
// again; it is no hang however long it takes.
enum class Phase { kData, kValidation, kCollective };

// How Session::average_gradients() takes the mean.
struct Averaging {
  // How many this rank's gradients are the mean of, where ranks have unequal numbers: each counts by its own.
  // Given on all ranks, or on none. A rank that has none in this step calls it, too, with 0.
  std::optional<std::uint64_t> samples{};
  // What gives the gradients, once each: the last backward() of the step. They are averaged while it goes on.
  std::function<void()> backward{};
  // What is added up at once; all ranks give the same. Default: 25 MiB on an accelerator, 8 MiB on the CPU.
  std::optional<std::size_t> bucket_bytes{};
  // Gradients in half precision are added up in it, on an accelerator: half the bytes for the wire, and sums
  // with as few digits. Without it they are added up in single precision.
  bool sum_in_half_precision = false;
  // On an accelerator: whether to return before the means are complete there, so that the optimizer's kernels
  // are queued behind them. A save waits for them; it and the next call find their errors.
  bool return_early = false;
  // Gradients on an accelerator are added up on the CPU all the same, which is slow: for ranks that share a
  // device, which NCCL refuses.
  bool over_host = false;
};

class Session {
 public:
  class Engine;
  class Attempts;
  explicit Session(std::unique_ptr<Engine> engine);  // train() makes it
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // In place, for a loop that cannot become a function:
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
  // Where train() would call its function again or return, this ends the process: with a sentence and the
  // same exit code, 81 where a fresh start goes on. What is on the stack is not destroyed then.
  explicit Session(Result<Options> options);
  // Restores what is tracked. The run is over where finish(), the end that is given here, or --max-duration
  // says so, and the program's loop ends with it; without an end it ends its loop by itself.
  void resume();
  void resume(Until until);
  [[nodiscard]] bool is_over() const;
  // Counts, saves and commits, as the loop over steps() does after each step.
  // Whether there is another one: a step after the run's end is refused.
  bool step_done();
  // The run is done, all ranks after the same step: what is tracked is saved once more if it must be. Returns
  // the exit code of the process. It is not done before the end that resume() or --max-duration gave, unless
  // finish() said so: the process ends with 82 then. Nor is it where the process was told to leave, as by
  // SIGTERM: what is tracked is saved, the process ends with 80, and the next start goes on. So a loop that
  // is left early is left behind step_done(). A process that ends with exit code 0 without it, by return from
  // main() or exit(), ends with 82.
  [[nodiscard]] int complete();

  // Puts an object into every checkpoint of this run and restores it when steps() begins. It must outlive the
  // loop. The same name twice is a configuration error.
  void track(std::string name, Stateful& object);

  // The same for a plain value.
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void track(std::string name, T& value) {
    track_state(
        std::move(name), [&value](StateWriter& out) { out.number("", value); },
        [&value](StateReader& in) { in.number("", value); });
  }

  // The same for what has a TrackAdapter.
  template <class T>
    requires(requires(T& object, const std::string& name) { TrackAdapter<T>::check(object, name); })
  void track(std::string name, T& object) {
    answer([&] { TrackAdapter<T>::check(object, name); });
    Tracked kind = requires { requires TrackAdapter<T>::kIsWeights; } ? Tracked::kWeights : Tracked::kState;
    if constexpr (requires { TrackAdapter<T>::seed(object, std::uint64_t{}); }) {
      TrackAdapter<T>::seed(object, first_seed_of(name));
      kind = Tracked::kSeeded;
    }
    track_state(
        std::move(name), [&object](StateWriter& out) { TrackAdapter<T>::save(object, out); },
        [&object](StateReader& in) { TrackAdapter<T>::load(object, in); }, kind);
  }

  // The mean of every gradient over all ranks, once a step; needs <ratoon/torch.h>, or another header with an
  // average_gradients_of() for the type of the model.
  //   session.average_gradients(*net);                                            // after backward()
  //   session.average_gradients(*net, {.backward = [&] { loss.backward(); }});    // beside it
  template <class Model>
  void average_gradients(Model& model, const Averaging& how = {}) {
    answer([&] { average_gradients_of(*this, model, how); });
  }

  class StepRange;
  // All ranks leave the loop after the same step: the last checkpoint needs all of them.
  // The steps that are left until `total` steps of the run are done: restores what is tracked, counts, saves
  // and commits checkpoints, and throws Interrupted when the world changes. The run is complete where this
  // loop ends by itself: a function that leaves it before, and returns, is called again where the world had
  // changed or has left as it was told to; else its process ends with exit code 82. Names of what is tracked
  // are those that the checkpoint has, or it is refused: a state that nobody takes would begin anew next to
  // what goes on.
  [[nodiscard]] StepRange steps(std::uint64_t total);
  // The same until so much is done, counted from the run's beginning. --max-duration outweighs both.
  [[nodiscard]] StepRange steps(Until until);

  // What epochs and samples are counted of: a ratoon::Stream, or what has its cursor() and epoch_slots().
  // With its batches() they are counted, too: gradients may be summed over several in a step. It must outlive
  // the loop; called before steps().
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

  // `act` is called with the number of each epoch that ends, from 0, after the step that takes its last
  // sample and before that step is saved: what it changes (means that begin anew, say) is in the checkpoint,
  // and in the run's committed history it happens once an epoch, also where a batch belongs to two. Needs
  // follow(); called before steps(). The time is that of a validation.
  //   session.on_epoch_end([&](std::uint64_t epoch) {
  //     log(epoch, metrics.find("loss")->mean());
  //     metrics.reset();
  //   });
  void on_epoch_end(std::function<void(std::uint64_t epoch)> act);

  // A number of the step under way, the mean of so many samples: for the history on the disk, /metrics and,
  // where it is called "loss", the bar. Of what is reported before average_gradients() these show the mean
  // over ranks, weighted by samples; of what comes after it, or in a step without it, rank 0's own (/metrics
  // of another rank: that rank's). All of it belongs to the step in which it is reported. Finite or not, it
  // never ends the run.
  void report(std::string_view name, double value, std::uint64_t samples = 1);

  // The step under way is saved when it ends, beside what --save-every says. With a reason it is
  // pinned: retention never lets it go, here and in the stores that get it, until `ratoon checkpoint unpin`
  // does. One rank is enough, where all agree once a step; with several ranks that do not, it is a
  // configuration error. Where the ranks agree, one alone as well, it is the end of the next step that is
  // saved: in a world of any size, and whatever is lost between the two. The run's last step is saved for
  // what is asked in it. What stores hold is known on rank 0.
  //   if (loss < lowest) session.save("a loss of " + std::to_string(lowest = loss));
  SaveTicket save(const std::string& keep = "");

  // The run is done before its time, say because the loss no longer falls. The step under way is the last
  // one, or the next where the ranks agree once a step, as for save(): let the loop end by itself. That step
  // is saved, and the run is complete. One rank is enough. Started again the run is complete at once, unless
  // it has another end by then.
  void finish(const std::string& reason);

  // This process will be ended after so long, as somebody told the program: it saves at once, trains on,
  // saves again as late as it can, and leaves with exit code 80. Told again it replaces what was told before.
  // From any thread.
  //   watch_my_cloud([&session](auto left) { session.notify(left, "a spot reclaim"); });
  void notify(std::chrono::nanoseconds left, const std::string& why);
  void take_back_notice();

  // What the time inside of the loop is spent for, where it is not the step itself: for the ledger of the run
  // and for whoever looks at a process that takes long. Until the scope ends, or another one within it
  // begins.
  //
  //   if (is_epoch_over) {
  //     const auto validates = session.in(ratoon::Phase::kValidation);
  //     validate(net);
  //   }
  class PhaseScope;
  [[nodiscard]] PhaseScope in(Phase phase);
  // The step under way takes longer than others, and does not hang: its time counts anew from here. For work
  // that is no validation; docs/train/hangs.md.
  void still_alive();

  [[nodiscard]] std::uint64_t attempt() const;
  [[nodiscard]] std::uint32_t rank() const;
  [[nodiscard]] std::uint32_t world_size() const;
  // Among the processes of this machine, or of this pod: which device this process takes, and how many share
  // the machine.
  [[nodiscard]] std::uint32_t local_rank() const;
  [[nodiscard]] std::uint32_t local_size() const;
  // Steps that are in the tracked state.
  [[nodiscard]] std::uint64_t steps_done() const;

  // --seed. Generators of the library that computes begin with it each time that the training function is
  // called, on all ranks alike.
  [[nodiscard]] std::uint64_t seed() const;
  // What a generator of this name begins with on this rank: it follows from --seed, the name, the rank, and
  // the step where the attempt begins. For what each rank draws by itself, once all have made the same
  // weights:
  //   torch::manual_seed(session.seed_of("dropout"));
  [[nodiscard]] std::uint64_t seed_of(std::string_view name) const;
  // The program's options of a stream, with --seed and --global-batch in their place where these are given:
  // what the job says of its samples outweighs the program. A run that has begun with other ones is refused
  // as Stream::load_state() says, unless the program accepts them.
  //   ratoon::Stream stream(session.stream_options({.samples = 4096, .global_batch = 96, .seed = 17}));
  [[nodiscard]] StreamOptions stream_options(StreamOptions of_program) const;

  // ---- for collectives; a training function that uses those of Ratoon never calls what follows.
  //
  //   const auto waits = session.in(ratoon::Phase::kCollective);                // who waits does not hang
  //   while (!work.is_done_within(10ms)) session.check();                       // instead of waiting blindly
  //   session.agree(reduced_with_or(session.wishes()));                         // once a step, on every rank

  // A world of one process has no need to meet: port 0 and no descriptor.
  [[nodiscard]] Rendezvous rendezvous() const;
  // Throws Interrupted when the world changed, and Failure when this process is to leave. From any thread.
  void check() const;
  // Bits of what this rank would like to happen on all ranks after the same step.
  [[nodiscard]] std::uint32_t wishes() const;
  // The bits that any rank wished for, the same on every rank; takes effect at the end of the current step.
  // With one process wishes count by themselves. With more they count only in steps in which this is called.
  void agree(std::uint32_t wishes_of_all);
  // Numbers that come with the wishes, always as many: added up over all ranks they are means of what was
  // reported. Leaving them out is allowed; then values are those of each rank.
  static constexpr std::size_t kNumbers = 32;
  [[nodiscard]] std::array<float, kNumbers> numbers() const;
  void take_sums(std::span<const float, kNumbers> sums_of_all);
  // Called on the training thread before what is tracked is read for a save: waits for what may still change
  // it, or fail. May throw. All that are given are called in this order, until the attempt ends.
  void before_saves(std::function<void()> check);
  // The same, and only for saves that all ranks make in this step, so `check` may wait for the other ranks.
  // Not called for the save of complete(), which a rank may make alone.
  void before_saves_of_all(std::function<void()> check);
  // The one T of this attempt, made when it is asked for first. It goes when the training function has
  // returned or thrown, before the session does.
  template <class T, class... Arguments>
  T& part(Arguments&&... arguments) {
    auto& part = parts_[typeid(T)];
    if (!part) part = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    return *static_cast<T*>(part.get());
  }

 private:
  friend class StepIterator;

  enum class Tracked { kState, kWeights, kSeeded };
  void track_state(std::string name, std::function<void(StateWriter&)> save,
                   std::function<void(StateReader&)> load, Tracked kind = Tracked::kState);
  // What a generator begins with in every attempt: what is drawn before steps() is the same after a resume.
  // There a rank goes on with its own state, and one that is new to the world with seed_of().
  [[nodiscard]] std::uint64_t first_seed_of(std::string_view name) const;
  void follow_data(std::function<std::uint64_t()> cursor, std::function<std::uint64_t()> epoch_slots,
                   std::function<std::uint64_t()> batches);
  // Calls it; what it throws ends the process where the session is in place.
  void answer(const std::function<void()>& act) const;
  [[noreturn]] void leave_in_place() const;
  // The training function returned: throws where the run is not at its end.
  void refuse_early_return() const;

  std::unique_ptr<Attempts> attempts_;  // in place alone
  bool is_complete_ = false;            // as complete() has it
  const int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<Engine> engine_;
  mutable std::exception_ptr thrown_;  // by the newest step, of Ratoon's own: the function is to let it pass
  std::map<std::type_index, std::shared_ptr<void>> parts_;
};

class Session::PhaseScope {
 public:
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  friend class Session;
  PhaseScope(Session& session, Phase phase);
  Session& session_;
  const int outer_;
  const int exceptions_;  // when it began: one that came meanwhile ends it unfinished
};

// Walks over step numbers: `*it` is the number of steps done before this one. Advancing ends the step.
class StepIterator {
 public:
  using value_type = std::uint64_t;
  using difference_type = std::ptrdiff_t;

  explicit StepIterator(Session& session) : session_(&session) {}
  [[nodiscard]] std::uint64_t operator*() const;
  StepIterator& operator++();
  void operator++(int) { ++*this; }
  [[nodiscard]] bool operator==(std::default_sentinel_t) const;

 private:
  Session* session_;
};

class Session::StepRange {
 public:
  explicit StepRange(Session& session) : session_(&session) {}
  [[nodiscard]] StepIterator begin() const { return StepIterator(*session_); }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  Session* session_;
};

}  // namespace ratoon

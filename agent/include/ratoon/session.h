// Session: one attempt of a run, as the training function sees it.
//
//   [](ratoon::Session& session) {
//     std::int64_t sum = 0;
//     session.track("sum", sum);
//     for (std::uint64_t step : session.steps(1000)) sum += work(step);
//   }
//
// All but check() is for the thread that runs the training function.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>

#include <ratoon/stateful.h>

namespace ratoon {

// Where the ranks of an attempt meet, for whoever brings a collective. The same listening socket serves every
// attempt of a process, so what is stored there is named by the attempt.
struct Rendezvous {
  std::string host;  // rank 0's
  std::uint16_t port = 0;
  int listening_fd = -1;  // on rank 0: bound to host:port and listening; dup() it, it stays the session's
  std::string own_host;   // the address under which other ranks reach this process
};

// How an object is saved and restored that is no Stateful: specialised for types of other libraries
// (<ratoon/torch/track.h> does so for LibTorch), with
//   static void check(T& object, const std::string& name);   called at once; may throw Failure
//   static std::string save(T& object, const std::string& name);
//   static void load(T& object, const std::string& name, std::string_view state);   may throw Failure
template <class T>
struct TrackAdapter;

class Session {
 public:
  class Engine;
  explicit Session(std::unique_ptr<Engine> engine);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Puts an object into every checkpoint of this run and restores it when steps() begins. It must outlive the
  // loop. The same name twice is a configuration error.
  void track(std::string name, Stateful& object);

  // The same for a plain value, kept as its bytes.
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void track(std::string name, T& value) {
    track_bytes(
        std::move(name),
        [&value] { return std::string(reinterpret_cast<const char*>(&value), sizeof value); },
        [&value](std::string_view state) { return copy_exactly(state, &value, sizeof value); });
  }

  // The same for what has a TrackAdapter.
  template <class T>
    requires(requires(T& object, const std::string& name) { TrackAdapter<T>::check(object, name); })
  void track(std::string name, T& object) {
    TrackAdapter<T>::check(object, name);
    track_bytes(
        name, [&object, name] { return TrackAdapter<T>::save(object, name); },
        [&object, name](std::string_view state) {
          TrackAdapter<T>::load(object, name, state);
          return true;
        });
  }

  // The mean of every gradient over all ranks, once a step; needs <ratoon/torch.h>, or another header with an
  // average_gradients_of() for the type of the model.
  template <class Model>
  void average_gradients(Model& model) {
    average_gradients_of(*this, model);
  }

  class StepRange;
  // All ranks leave the loop after the same step: the last checkpoint needs all of them.
  // The steps that are left until `total` steps of the run are done: restores what is tracked, counts, saves
  // and commits checkpoints, and throws Interrupted when the world changes. Whoever leaves the loop early
  // keeps what was saved by then.
  [[nodiscard]] StepRange steps(std::uint64_t total);

  [[nodiscard]] std::uint64_t attempt() const;
  [[nodiscard]] std::uint32_t rank() const;
  [[nodiscard]] std::uint32_t world_size() const;
  // Steps that are in the tracked state.
  [[nodiscard]] std::uint64_t steps_done() const;

  // ---- for collectives; a training function that uses those of Ratoon never calls what follows.
  //
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
  friend int run_attempt(Session& session, const std::function<void(Session&)>& function);

  void track_bytes(std::string name, std::function<std::string()> save,
                   std::function<bool(std::string_view)> load);
  static bool copy_exactly(std::string_view from, void* to, std::size_t size) {
    if (from.size() != size) return false;
    std::memcpy(to, from.data(), size);
    return true;
  }

  std::unique_ptr<Engine> engine_;
  std::map<std::type_index, std::shared_ptr<void>> parts_;
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

// session/state/: the state of a run: the tracked objects, how they are filled from a checkpoint or a file,
// and the weights at the end.
//
// TrackedObjects saves the objects that a training function tracks in a checkpoint, and restores
// them.
//
// The name of a tensor consists of the object's name and the tensor's own name, as in "net.fc1.weight". If
// the name of an object begins like the tensor names of another object, as 'net.fc1' does beside 'net',
// "tracked:" is put before it, so that the two never collide.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/state.h>
#include <ratoon/stateful.h>

#include "agent/src/checkpoint/load/checkpoint_reader.h"

namespace ratoon::session {

// Views of the tracked objects' memory, and of bytes that were made for saving. The views are valid while
// this object and the tracked objects exist.
struct CollectedState {
  std::vector<TensorView> tensors{};
  std::vector<std::shared_ptr<const void>> owners{};
  std::vector<StateWriter::Memory> written{};  // the bytes of tensors, and what else objects say they wrote
  struct Changed {
    std::string object;
    std::string what;
    StateWriter::Memory memory;
  };
  std::vector<Changed> changed{};              // memory of other objects that an object changes
  std::vector<std::string> without_tensors{};  // objects of weights without tensors
  std::set<std::string> seeded{};              // tensors of generators that are seeded anew in each attempt
};

// A source from which tracked objects get their state: a checkpoint, or memory.
class StateSource {
 public:
  using Form = checkpoint::CheckpointReader::Form;
  virtual ~StateSource() = default;
  // Returns the names of the tensors that this rank has.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // Returns whether the source has the tensors of this rank, and not of another rank.
  [[nodiscard]] virtual bool is_own() const = 0;
  [[nodiscard]] virtual Result<std::optional<Form>> find(std::string_view name) = 0;
  [[nodiscard]] virtual Result<void> load(std::span<const checkpoint::TensorSpec> wanted,
                                          std::span<const std::span<std::byte>> into) = 0;
  // Returns the texts with this name from ranks that left the world and whose state this rank takes over, in
  // the order of ranks.
  [[nodiscard]] virtual Result<std::vector<std::string>> texts_of_gone(std::string_view /*name*/) {
    return std::vector<std::string>();
  }
};

void save_stateful(const Stateful& object, StateWriter& out);
void load_stateful(Stateful& object, StateReader& in);

// kPosition: the position of the next samples. kSeeded: a generator that track() seeds anew in each attempt.
enum class ObjectKind { kState, kWeights, kPosition, kSeeded };

// The prefix of an object's name that lies within the name of another object.
inline constexpr const char* kNestedPrefix = "tracked:";

// Parts of a checkpoint. kState: all parts except the positions in the data.
enum class LoadParts { kWeights, kState, kAll };

class TrackedObjects {
 public:
  using Save = std::function<void(StateWriter&)>;
  using Load = std::function<void(StateReader&)>;

  // Tracks an object. Throws a Failure if the name is taken or invalid.
  void add(std::string name, Save save, Load load, ObjectKind kind = ObjectKind::kState);

  // Collects all state. Throws a Failure if two tensors have the same name.
  [[nodiscard]] CollectedState collect() const;

  // Throws a Failure if an object changes memory that no object contains, because that memory would be in no
  // checkpoint.
  static void check_all_tracked(const CollectedState& state);

  // Collects the requests of all objects, checks that all requested tensors exist, reads the tensors, and
  // lets the objects finish. If the checkpoint is another program's, throws a Failure before any object is
  // changed. A returned error comes from a disk or from damaged data. `checkpoint` names the checkpoint in
  // messages: "the checkpoint of step 20". On a rank that is new to the world, random number generators are
  // seeded with the result of `seed_of` for their names. If only parts of a checkpoint are loaded, the other
  // parts of the checkpoint are ignored. If the world's size is given, objects that are summed over ranks
  // also get the states of ranks that left the world.
  using SeedOf = std::function<std::uint64_t(std::string_view name)>;
  [[nodiscard]] Result<void> restore(checkpoint::CheckpointReader& reader, const std::string& checkpoint,
                                     const SeedOf& seed_of, LoadParts parts = LoadParts::kAll,
                                     std::uint32_t world_size = 0) const;
  // Restores all parts of the checkpoint. Throws a Failure, if at all, before any object is changed.
  [[nodiscard]] Result<void> restore(StateSource& source, const std::string& checkpoint,
                                     const SeedOf& seed_of) const;

  // Returns whether a checkpoint's tensor belongs to a tracked object of weights and is a weight itself. A
  // random number generator, whose name begins with kGeneratorPrefix, is no weight, because its state
  // continues only in its own run.
  [[nodiscard]] bool is_weight(std::string_view tensor) const;
  [[nodiscard]] bool has_weights() const;

  // Restores only objects of weights, and ignores the rest of the checkpoint. Throws a Failure if no tracked
  // object has weights.
  [[nodiscard]] Result<void> restore_weights(checkpoint::CheckpointReader& reader,
                                             const std::string& checkpoint) const;

 private:
  struct Object {
    Save save;
    Load load;
    ObjectKind kind = ObjectKind::kState;
  };
  // Restores objects. `seed_of` is null if only weights are loaded, which need no seeds.
  [[nodiscard]] Result<void> restore(StateSource& source, const std::string& checkpoint,
                                     const SeedOf* seed_of, LoadParts parts) const;
  // Returns the prefix of the names of an object's tensors.
  [[nodiscard]] std::string base_of(const std::string& name) const;
  void refuse_untracked(const StateSource& source, const std::string& checkpoint) const;

  std::map<std::string, Object> objects_;
};

}  // namespace ratoon::session

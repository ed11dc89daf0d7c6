// session/state/: the state of a run: saves the tracked objects, loads them from a checkpoint or a file, and
// writes the final weights.
//
// TrackedObjects: saves the objects that a training function tracks to checkpoints, and restores them.
//
// The name of a tensor consists of the object's name and the tensor's own name, as in "net.fc1.weight". An
// object's name may begin with another object's name, as 'net.fc1' begins with 'net'. The tensor names of
// such an object get the prefix "tracked:", so that no two tensors have the same name.
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

// CollectedState: views of the tracked objects' memory, and of bytes that the objects made for the save. The
// views of a CollectedState are valid as long as it and the tracked objects exist.
struct CollectedState {
  std::vector<TensorView> tensors{};
  std::vector<std::shared_ptr<const void>> owners{};
  std::vector<StateWriter::Memory> written{};  // the bytes of tensors, and what else objects say they wrote
  struct Changed {
    std::string object;
    std::string what;
    StateWriter::Memory memory;
  };
  std::vector<Changed> changed{};                      // memory of other objects that an object changes
  std::vector<std::string> objects_without_tensors{};  // objects of weights without tensors
  std::set<std::string> seeded_tensors{};  // tensors of generators that are seeded anew in each attempt
};

// StateSource: a checkpoint or a snapshot in memory, from which tracked objects are restored.
class StateSource {
 public:
  using Form = checkpoint::CheckpointReader::TensorForm;
  virtual ~StateSource() = default;
  // Returns the names of the tensors that the source has for this rank.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // Returns whether the source has tensors that this rank itself saved, and not only tensors of another rank.
  [[nodiscard]] virtual bool is_own() const = 0;
  [[nodiscard]] virtual Result<std::optional<Form>> find(std::string_view name) = 0;
  [[nodiscard]] virtual Result<void> load(std::span<const checkpoint::TensorSpec> wanted,
                                          std::span<const std::span<std::byte>> into) = 0;
  // A former rank is a rank that no longer exists. If this rank adds the states of former ranks to its own
  // state, returns the texts that the former ranks saved under this name, in the order of the ranks.
  [[nodiscard]] virtual Result<std::vector<std::string>> texts_of_former_ranks(std::string_view /*name*/) {
    return std::vector<std::string>();
  }
};

void save_stateful(const Stateful& object, StateWriter& out);
void load_stateful(Stateful& object, StateReader& in);

// ObjectKind: the kind of a tracked object. kPosition: a position in the data. kSeeded: a random number
// generator that track() seeds in each attempt.
enum class ObjectKind { kState, kWeights, kPosition, kSeeded };

// If an object's name begins with another object's name, the tensor names of the object have the prefix
// kNestedPrefix.
inline constexpr const char* kNestedPrefix = "tracked:";

// LoadParts: which parts of a checkpoint to load. kState: all parts except the positions in the data.
enum class LoadParts { kWeights, kState, kAll };

class TrackedObjects {
 public:
  using Save = std::function<void(StateWriter&)>;
  using Load = std::function<void(StateReader&)>;

  // Tracks an object. Throws a Failure if the name is invalid or already used.
  void add(std::string name, Save save, Load load, ObjectKind kind = ObjectKind::kState);

  // Collects all state. Throws a Failure if two tensors have the same name.
  [[nodiscard]] CollectedState collect() const;

  // Throws a Failure if a tracked object, such as an optimizer, changes memory that no tracked object saves.
  static void check_all_tracked(const CollectedState& state);

  // Restores all objects: collects the tensors that the objects request, checks that they exist, reads them,
  // and calls the at_end() functions of the objects. Throws a Failure, before any object is changed, if the
  // checkpoint does not match the tracked objects. Returns an error if a disk fails or data is damaged.
  // `checkpoint` is the checkpoint's name in messages, such as "the checkpoint of step 20". On a rank without
  // a saved state in the checkpoint, random number generators are seeded with `seed_of(name)`. Parts of the
  // checkpoint that are not to be loaded are ignored. If `world_size` is given, objects that combine the
  // states of all ranks also get the states of ranks that no longer exist.
  using SeedOf = std::function<std::uint64_t(std::string_view name)>;
  [[nodiscard]] Result<void> restore(checkpoint::CheckpointReader& reader, const std::string& checkpoint,
                                     const SeedOf& seed_of, LoadParts parts = LoadParts::kAll,
                                     std::uint32_t world_size = 0) const;
  // Restores all tracked objects from the checkpoint. If restore() throws a Failure, no object has changed.
  [[nodiscard]] Result<void> restore(StateSource& source, const std::string& checkpoint,
                                     const SeedOf& seed_of) const;

  // Returns whether a tensor of a checkpoint is a weight: it belongs to a tracked object of weights and is
  // not a random number generator. The name of a generator begins with kGeneratorPrefix.
  [[nodiscard]] bool is_weight(std::string_view tensor) const;
  [[nodiscard]] bool has_weights() const;

  // Restores from a checkpoint only the tracked objects that have weights. Throws a Failure if no tracked
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
  // Returns the prefix of an object's tensor names, such as "net" or "tracked:net.fc1".
  [[nodiscard]] std::string tensor_prefix_of(const std::string& name) const;
  void refuse_untracked(const StateSource& source, const std::string& checkpoint) const;

  std::map<std::string, Object> objects_;
};

}  // namespace ratoon::session

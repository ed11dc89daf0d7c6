#include "agent/src/session/tracked_objects.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include <ratoon/failure.h>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/types.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {
namespace {

using checkpoint::CheckpointReader;
using checkpoint::in_quotes;

constexpr std::size_t kNameBytesMax = 255;
constexpr const char* kNested = "tracked:";

[[noreturn]] void refuse(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
}

bool is_among(LoadParts parts, ObjectKind kind) {
  if (parts == LoadParts::kAll) return true;
  return parts == LoadParts::kWeights ? kind == ObjectKind::kWeights : kind != ObjectKind::kPosition;
}

std::string full_name(const std::string& base, const std::string& name) {
  return name.empty() ? base : base + "." + name;
}

class Writer final : public StateWriter {
 public:
  explicit Writer(CollectedState& state) : state_(state) {}

  void begin(const std::string& object, std::string base) {
    object_ = &object;
    base_ = std::move(base);
  }

  using StateWriter::tensor;
  void tensor(TensorView view, std::shared_ptr<const void> owner) override {
    view.name = full_name(base_, view.name);
    if (checkpoint::count_bytes(view.type, view.shape) != view.bytes.size()) {
      throw std::invalid_argument("tracked " + in_quotes(*object_) + ": tensor " + in_quotes(view.name) +
                                  " has " + std::to_string(view.bytes.size()) +
                                  " bytes, and its type and shape say otherwise");
    }
    if (!names_.insert(view.name).second) {
      refuse("two tensors are called " + in_quotes(view.name) +
             " in the checkpoint; give one of the two objects or tensors another name");
    }
    state_.tensors.push_back(std::move(view));
    if (owner) state_.owners.push_back(std::move(owner));
  }

  [[noreturn]] void refuse(const std::string& why) const override {
    session::refuse("tracked " + in_quotes(*object_) + ": " + why);
  }

 private:
  CollectedState& state_;
  const std::string* object_ = nullptr;
  std::string base_;
  std::unordered_set<std::string> names_;
};

// What all objects want together.
struct Wishes {
  std::vector<checkpoint::TensorSpec> wanted;
  std::vector<std::span<std::byte>> into;
  std::vector<std::function<void()>> at_end;
};

// Two places may be the same memory, as tied weights are: never filled at the same time.
std::vector<Wishes> in_rounds(std::vector<checkpoint::TensorSpec> wanted,
                              std::vector<std::span<std::byte>> into) {
  std::vector<std::size_t> order(into.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::less<>(), [&](std::size_t i) { return into[i].data(); });
  std::vector<std::size_t> round(into.size());
  std::vector<const std::byte*> ends;  // of the last place of each round
  for (const std::size_t i : order) {
    const auto is_free = [&](const std::byte* end) { return !std::less<>()(into[i].data(), end); };
    round[i] = static_cast<std::size_t>(std::ranges::find_if(ends, is_free) - ends.begin());
    if (round[i] == ends.size()) ends.push_back(nullptr);
    ends[round[i]] = into[i].data() + into[i].size();
  }
  std::vector<Wishes> rounds(ends.size());
  for (std::size_t i = 0; i < into.size(); ++i) {
    rounds[round[i]].wanted.push_back(std::move(wanted[i]));
    rounds[round[i]].into.push_back(into[i]);
  }
  return rounds;
}

// Leaves an object's load(): the object cannot help it.
struct UnreadableState {
  Error error;
};

std::string described(ElementType type, const TensorShape& shape) {
  return std::string(checkpoint::safetensors_name(type)) + " of shape [" + checkpoint::to_text(shape) + "]";
}

class Reader final : public StateReader {
 public:
  // Without `seed_of` it is for weights alone.
  Reader(CheckpointReader& reader, const std::string& checkpoint, const TrackedObjects::SeedOf* seed_of,
         Wishes& wishes)
      : reader_(reader), checkpoint_(checkpoint), seed_of_(seed_of), wishes_(wishes) {}

  void begin(const std::string& object, std::string base) {
    object_ = &object;
    base_ = std::move(base);
  }

  std::optional<Form> find(const std::string& name) override { return find_full(full_name(base_, name)); }

  bool is_for_weights_alone() const override { return seed_of_ == nullptr; }

  std::optional<std::uint64_t> new_seed(const std::string& name) const override {
    if (seed_of_ == nullptr || reader_.has_saved()) return std::nullopt;
    return (*seed_of_)(full_name(*object_, name));
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& tensor : reader_.own()) {
      if (!tensor.name.starts_with(base_)) continue;
      const std::string_view rest = std::string_view(tensor.name).substr(base_.size());
      if (rest.empty())
        names.emplace_back();
      else if (rest.front() == '.')
        names.emplace_back(rest.substr(1));
    }
    return names;
  }

  void tensor(const WantedTensor& wanted, std::span<std::byte> into) override {
    const std::string name = full_name(base_, wanted.name);
    check_place(name, wanted, into.size());
    const auto form = find_full(name);
    if (!form) refuse_missing(wanted.name, name);
    const TensorShape& whole = wanted.box ? wanted.box->whole_shape : wanted.shape;
    if (checkpoint::layout_rank(form->type) != checkpoint::layout_rank(wanted.type) || form->shape != whole) {
      refuse("tensor " + in_quotes(name) + " is " + described(form->type, form->shape) + " in " +
             checkpoint_ + " and " + described(wanted.type, whole) +
             " in the program: it is of another program; build what is tracked as the run began with it, or "
             "begin a run of another name");
    }
    wishes_.wanted.push_back({.name = name, .type = wanted.type, .shape = wanted.shape, .box = wanted.box});
    wishes_.into.push_back(into);
  }

  void bytes(const std::string& name, std::function<void(std::string)> take) override {
    const auto form = find(name);
    if (!form) refuse_missing(name, full_name(base_, name));
    const bool is_text = form->type == ElementType::kUint8 && form->shape.size() == 1;
    const auto text = std::make_shared<std::string>(is_text ? form->shape.front() : 0, '\0');
    tensor({.name = name, .shape = {text->size()}}, std::as_writable_bytes(std::span(*text)));
    at_end([text, take = std::move(take)] { take(std::move(*text)); });
  }

  void at_end(std::function<void()> act) override {
    wishes_.at_end.push_back([this, object = object_, act = std::move(act)] {
      object_ = object;  // who refuses then is still called by its name
      act();
    });
  }

  [[noreturn]] void refuse(const std::string& why) const override {
    session::refuse("tracked " + in_quotes(*object_) + ": " + why);
  }

 private:
  std::optional<Form> find_full(const std::string& name) {
    auto found = reader_.find(name);
    if (!found) throw UnreadableState{found.error()};
    if (!*found) return std::nullopt;
    return Form{.type = (*found)->type, .shape = std::move((*found)->shape)};
  }

  void check_place(const std::string& name, const WantedTensor& wanted, std::size_t bytes) const {
    if (wanted.box && !checkpoint::holds(*wanted.box, wanted.shape))
      throw std::invalid_argument("tensor " + in_quotes(name) + " does not lie in the whole of its box");
    if (checkpoint::count_bytes(wanted.type, wanted.shape) != bytes)
      throw std::invalid_argument("tensor " + in_quotes(name) + " is wanted in a place of another size");
  }

  [[noreturn]] void refuse_missing(const std::string& name, const std::string& full) {
    if (name.empty()) {
      session::refuse(checkpoint_ + " has no state named " + in_quotes(*object_) +
                      ": it is of another program");
    }
    const bool was_one_text = find_full(base_).has_value();
    refuse(checkpoint_ + " has no tensor " + in_quotes(full) +
           (was_one_text
                ? ", but all of this object as one text, as Ratoon saved it before tensors had their "
                  "own names; begin a run of another name"
                : ": it is of another program"));
  }

  CheckpointReader& reader_;
  const std::string& checkpoint_;
  const TrackedObjects::SeedOf* const seed_of_;
  Wishes& wishes_;
  const std::string* object_ = nullptr;
  std::string base_;
};

}  // namespace

void TrackedObjects::add(std::string name, Save save, Load load, ObjectKind kind) {
  const bool is_printable =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (name.empty() || name.size() > kNameBytesMax || !is_printable || name.starts_with("__")) {
    refuse("a tracked object needs a name of 1 to " + std::to_string(kNameBytesMax) +
           " printable ASCII characters that does not begin with '__'");
  }
  if (!objects_.emplace(name, Object{std::move(save), std::move(load), kind}).second)
    refuse("'" + name + "' is tracked twice: give each object its own name");
}

std::string TrackedObjects::base_of(const std::string& name) const {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    if (objects_.contains(name.substr(0, dot))) return kNested + name;
  }
  return name;
}

// What is not asked for would begin anew, next to what goes on.
void TrackedObjects::refuse_untracked(const CheckpointReader& reader, const std::string& checkpoint) const {
  std::set<std::string, std::less<>> bases;
  for (const auto& [name, object] : objects_) bases.insert(base_of(name));
  for (const auto& tensor : reader.own()) {
    const std::string_view name = tensor.name;
    bool is_tracked = bases.contains(name);
    for (std::size_t dot = name.find('.'); dot != name.npos && !is_tracked; dot = name.find('.', dot + 1))
      is_tracked = bases.contains(name.substr(0, dot));
    if (is_tracked) continue;
    refuse(checkpoint + " has a state named " + in_quotes(name) +
           " that nothing tracks: track it, or begin a run of another name");
  }
}

bool TrackedObjects::has_weights() const {
  return std::ranges::any_of(objects_,
                             [](const auto& named) { return named.second.kind == ObjectKind::kWeights; });
}

bool TrackedObjects::is_weight(std::string_view tensor) const {
  return std::ranges::any_of(objects_, [&](const auto& named) {
    if (named.second.kind != ObjectKind::kWeights) return false;
    const std::string base = base_of(named.first);
    if (tensor == base) return true;
    return tensor.starts_with(base + ".") && !tensor.substr(base.size() + 1).starts_with(kGeneratorPrefix);
  });
}

CollectedState TrackedObjects::collect() const {
  CollectedState state;
  Writer writer(state);
  for (const auto& [name, object] : objects_) {
    writer.begin(name, base_of(name));
    object.save(writer);
  }
  return state;
}

Result<void> TrackedObjects::restore(CheckpointReader& reader, const std::string& checkpoint,
                                     const SeedOf& seed_of, LoadParts parts) const {
  return restore(reader, checkpoint, &seed_of, parts);
}

Result<void> TrackedObjects::restore_weights(CheckpointReader& reader, const std::string& checkpoint) const {
  if (!has_weights()) {
    refuse("weights of " + checkpoint +
           " are to begin with (--load-from), and nothing that is tracked has any: track the model");
  }
  return restore(reader, checkpoint, nullptr, LoadParts::kWeights);
}

Result<void> TrackedObjects::restore(CheckpointReader& reader, const std::string& checkpoint,
                                     const SeedOf* seed_of, LoadParts parts) const {
  Wishes wishes;
  Reader asked(reader, checkpoint, seed_of, wishes);
  try {
    for (const auto& [name, object] : objects_) {
      if (!is_among(parts, object.kind)) continue;
      asked.begin(name, base_of(name));
      object.load(asked);
    }
  } catch (const UnreadableState& why) {
    return why.error;
  }
  if (parts == LoadParts::kAll) refuse_untracked(reader, checkpoint);
  for (const Wishes& round : in_rounds(std::move(wishes.wanted), std::move(wishes.into))) {
    if (auto loaded = reader.load(round.wanted, round.into); !loaded) return loaded.error();
  }
  for (const auto& act : wishes.at_end) act();
  return {};
}

}  // namespace ratoon::session

#include "agent/src/session/state/tracked_objects.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include <ratoon/failure.h>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "agent/src/session/state/checkpoint_source.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {
namespace {

using checkpoint::CheckpointReader;
using checkpoint::in_quotes;

constexpr std::size_t kNameBytesMax = 255;

[[noreturn]] void refuse(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
}

bool is_part_loaded(LoadParts parts, ObjectKind kind) {
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
                                  " bytes, which do not match its type and shape");
    }
    if (!names_.insert(view.name).second) {
      refuse("two tensors are called " + in_quotes(view.name) +
             " in the checkpoint; give one of the two objects or tensors another name");
    }
    if (!view.bytes.empty()) lies_at({.begin = view.bytes.data(), .bytes = view.bytes.size()});
    state_.tensors.push_back(std::move(view));
    if (owner) state_.owners.push_back(std::move(owner));
  }

  [[noreturn]] void refuse(const std::string& why) const override {
    session::refuse("tracked " + in_quotes(*object_) + ": " + why);
  }

  void lies_at(const Memory& memory) override { state_.written.push_back(memory); }
  void changes(const std::string& what, const Memory& memory) override {
    state_.changed.push_back({.object = *object_, .what = what, .memory = memory});
  }

 private:
  CollectedState& state_;
  const std::string* object_ = nullptr;
  std::string base_;
  std::unordered_set<std::string> names_;
};

// WantedTensors: the tensors that tracked objects request from a checkpoint, and the memory that they fill.
struct WantedTensors {
  std::vector<checkpoint::TensorSpec> wanted;
  std::vector<std::span<std::byte>> into;
  std::vector<std::function<void()>> at_end;
  std::vector<std::function<void()>> after_all;
};

// Two requested tensors may share memory, like tied weights. Divides the tensors into rounds, so that tensors
// that share memory are not filled at the same time.
std::vector<WantedTensors> split_into_rounds(std::vector<checkpoint::TensorSpec> wanted,
                                             std::vector<std::span<std::byte>> into) {
  std::vector<std::size_t> order(into.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::less<>(), [&](std::size_t i) { return into[i].data(); });
  std::vector<std::size_t> round(into.size());
  std::vector<const std::byte*> ends;  // the end of the last place of each round
  for (const std::size_t i : order) {
    const auto is_free = [&](const std::byte* end) { return !std::less<>()(into[i].data(), end); };
    round[i] = static_cast<std::size_t>(std::ranges::find_if(ends, is_free) - ends.begin());
    if (round[i] == ends.size()) ends.push_back(nullptr);
    ends[round[i]] = into[i].data() + into[i].size();
  }
  std::vector<WantedTensors> rounds(ends.size());
  for (std::size_t i = 0; i < into.size(); ++i) {
    rounds[round[i]].wanted.push_back(std::move(wanted[i]));
    rounds[round[i]].into.push_back(into[i]);
  }
  return rounds;
}

std::string describe_tensor_type(ElementType type, const TensorShape& shape) {
  return std::string(checkpoint::safetensors_name(type)) + " of shape [" + checkpoint::to_text(shape) + "]";
}

class Reader final : public StateReader {
 public:
  // `seed_of` is null if only weights are loaded, because weights need no seeds.
  Reader(StateSource& source, const std::string& checkpoint, const TrackedObjects::SeedOf* seed_of,
         WantedTensors& all)
      : source_(source), checkpoint_(checkpoint), seed_of_(seed_of), all_(all) {}

  // The read error of the source. Objects, above all in Python, may catch its exception or throw another one.
  [[nodiscard]] const std::optional<Error>& read_error() const { return read_error_; }

  void begin(const std::string& object, std::string base) {
    object_ = &object;
    base_ = std::move(base);
  }

  std::optional<Form> find(const std::string& name) override { return find_full(full_name(base_, name)); }

  bool is_for_weights_alone() const override { return seed_of_ == nullptr; }

  std::optional<std::uint64_t> new_seed(const std::string& name) const override {
    if (seed_of_ == nullptr || source_.is_own()) return std::nullopt;
    return (*seed_of_)(full_name(*object_, name));
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const std::string& name : source_.names()) {
      if (!name.starts_with(base_)) continue;
      const std::string_view rest = std::string_view(name).substr(base_.size());
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
    if (checkpoint::storage_order(form->type) != checkpoint::storage_order(wanted.type) ||
        form->shape != whole) {
      refuse("tensor " + in_quotes(name) + " is " + describe_tensor_type(form->type, form->shape) + " in " +
             checkpoint_ + " and " + describe_tensor_type(wanted.type, whole) +
             " in the program: the checkpoint belongs to another program; create the tracked objects as at "
             "the run's beginning, or start a run with another name");
    }
    all_.wanted.push_back({.name = name, .type = wanted.type, .shape = wanted.shape, .box = wanted.box});
    all_.into.push_back(into);
  }

  void bytes(const std::string& name, std::function<void(std::string)> take) override {
    const auto form = find(name);
    if (!form) refuse_missing(name, full_name(base_, name));
    const auto text =
        std::make_shared<std::string>(is_text(form->type, form->shape) ? form->shape.front() : 0, '\0');
    tensor({.name = name, .shape = {text->size()}}, std::as_writable_bytes(std::span(*text)));
    at_end([text, take = std::move(take)] { take(std::move(*text)); });
  }

  void bytes_of_ranks(const std::string& name, std::function<void(std::vector<std::string>)> take) override {
    if (!source_.is_own()) {
      if (!find(name)) refuse_missing(name, full_name(base_, name));
      at_end([take = std::move(take)] { take({}); });
      return;
    }
    auto gone = source_.texts_of_former_ranks(full_name(base_, name));
    if (!gone) throw_read_error(gone.error());
    bytes(name, [states = *std::move(gone), take = std::move(take)](std::string own) mutable {
      states.insert(states.begin(), std::move(own));
      take(std::move(states));
    });
  }

  void at_end(std::function<void()> act) override { all_.at_end.push_back(named(std::move(act))); }
  void after_all(std::function<void()> act) override { all_.after_all.push_back(named(std::move(act))); }

  [[noreturn]] void refuse(const std::string& why) const override {
    session::refuse("tracked " + in_quotes(*object_) + ": " + why);
  }

 private:
  // Wraps a function that an object has registered, so that an error in it names the object.
  std::function<void()> named(std::function<void()> act) {
    return [this, object = object_, act = std::move(act)] {
      object_ = object;
      act();
    };
  }

  [[noreturn]] void throw_read_error(const Error& error) {
    read_error_ = error;
    throw Failure(static_cast<int>(exit_code_of(error.kind())), error.message());
  }

  std::optional<Form> find_full(const std::string& name) {
    auto found = source_.find(name);
    if (!found) throw_read_error(found.error());
    if (!*found) return std::nullopt;
    return Form{.type = (*found)->type, .shape = std::move((*found)->shape)};
  }

  void check_place(const std::string& name, const WantedTensor& wanted, std::size_t bytes) const {
    if (wanted.box && !checkpoint::box_holds(*wanted.box, wanted.shape))
      throw std::invalid_argument("a part of tensor " + in_quotes(name) + " is not within the whole tensor");
    if (checkpoint::count_bytes(wanted.type, wanted.shape) != bytes)
      throw std::invalid_argument("tensor " + in_quotes(name) +
                                  " is to be loaded into memory of another size");
  }

  [[noreturn]] void refuse_missing(const std::string& name, const std::string& full) {
    if (name.empty()) {
      session::refuse(checkpoint_ + " has no state named " + in_quotes(*object_) +
                      ": the checkpoint is of another program");
    }
    const bool was_one_text = find_full(base_).has_value();
    refuse(checkpoint_ + " has no tensor " + in_quotes(full) +
           (was_one_text ? ", because an older Ratoon saved this object as one text, without its tensors' "
                           "names; start a run with another name"
                         : ": the checkpoint is of another program"));
  }

  StateSource& source_;
  const std::string& checkpoint_;
  const TrackedObjects::SeedOf* const seed_of_;
  WantedTensors& all_;
  const std::string* object_ = nullptr;
  std::string base_;
  std::optional<Error> read_error_;
};

}  // namespace

void save_stateful(const Stateful& object, StateWriter& out) {
  out.bytes("", object.save_state());
  for (const StateWriter::Memory& memory : object.saved_memory()) out.lies_at(memory);
}

void load_stateful(Stateful& object, StateReader& in) {
  if (object.adds_up_over_ranks()) {
    in.bytes_of_ranks("", [&object](const std::vector<std::string>& states) { object.load_states(states); });
    return;
  }
  in.bytes("", [&object](const std::string& state) { object.load_state(state); });
}

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

std::string TrackedObjects::tensor_prefix_of(const std::string& name) const {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    if (objects_.contains(name.substr(0, dot))) return kNestedPrefix + name;
  }
  return name;
}

// Throws a Failure if the checkpoint has a state that no tracked object requests, because a part of the
// program's state would not be restored.
void TrackedObjects::refuse_untracked(const StateSource& source, const std::string& checkpoint) const {
  std::set<std::string, std::less<>> bases;
  for (const auto& [name, object] : objects_) bases.insert(tensor_prefix_of(name));
  for (const std::string& whole : source.names()) {
    const std::string_view name = whole;
    bool is_tracked = bases.contains(name);
    for (std::size_t dot = name.find('.'); dot != name.npos && !is_tracked; dot = name.find('.', dot + 1))
      is_tracked = bases.contains(name.substr(0, dot));
    if (is_tracked) continue;
    refuse(checkpoint + " has a state named " + in_quotes(name) +
           " that the program does not track: track it, or start a run with another name");
  }
}

bool TrackedObjects::has_weights() const {
  return std::ranges::any_of(objects_,
                             [](const auto& named) { return named.second.kind == ObjectKind::kWeights; });
}

bool TrackedObjects::is_weight(std::string_view tensor) const {
  return std::ranges::any_of(objects_, [&](const auto& named) {
    if (named.second.kind != ObjectKind::kWeights) return false;
    const std::string base = tensor_prefix_of(named.first);
    return tensor == base ||
           (tensor.starts_with(base + ".") && !tensor.substr(base.size() + 1).starts_with(kGeneratorPrefix));
  });
}

CollectedState TrackedObjects::collect() const {
  CollectedState state;
  Writer writer(state);
  for (const auto& [name, object] : objects_) {
    writer.begin(name, tensor_prefix_of(name));
    const std::size_t before = state.tensors.size();
    object.save(writer);
    const std::string generator = tensor_prefix_of(name) + "." + std::string(kGeneratorPrefix);
    bool has_own_weights = false;  // a module without parameters still saves its random number generator
    for (const TensorView& tensor : std::span(state.tensors).subspan(before)) {
      has_own_weights = has_own_weights || !tensor.name.starts_with(generator);
      if (object.kind == ObjectKind::kSeeded) state.seeded_tensors.insert(tensor.name);
    }
    if (object.kind == ObjectKind::kWeights && !has_own_weights)
      state.objects_without_tensors.push_back(name);
  }
  return state;
}

void TrackedObjects::check_all_tracked(const CollectedState& state) {
  // `written` has the saved ranges of memory, as pairs of begin and end, ascending and without overlap.
  std::map<const std::byte*, const std::byte*, std::less<>> written;
  for (const StateWriter::Memory& memory : state.written) {
    const auto* begin = static_cast<const std::byte*>(memory.begin);
    const std::byte* end = begin + memory.bytes;
    auto next = written.upper_bound(begin);
    if (next != written.begin() && !std::less<>()(std::prev(next)->second, begin)) {
      --next;
      begin = next->first;
    }
    for (; next != written.end() && !std::less<>()(end, next->first); next = written.erase(next))
      end = std::max(end, next->second, std::less<>());
    written[begin] = end;
  }
  for (const auto& changed : state.changed) {
    const auto* const begin = static_cast<const std::byte*>(changed.memory.begin);
    const auto next = written.upper_bound(begin);
    if (next != written.begin() && !std::less<>()(std::prev(next)->second, begin + changed.memory.bytes))
      continue;
    refuse("tracked " + in_quotes(changed.object) + " changes " + changed.what +
           ", which is not tracked: its changes would be lost at each start; track the module or the tensor "
           "too, or leave it out of " +
           in_quotes(changed.object));
  }
}

Result<void> TrackedObjects::restore(StateSource& source, const std::string& checkpoint,
                                     const SeedOf& seed_of) const {
  return restore(source, checkpoint, &seed_of, LoadParts::kAll);
}

Result<void> TrackedObjects::restore(CheckpointReader& reader, const std::string& checkpoint,
                                     const SeedOf& seed_of, LoadParts parts, std::uint32_t world_size) const {
  CheckpointSource source(reader, world_size);
  return restore(source, checkpoint, &seed_of, parts);
}

Result<void> TrackedObjects::restore_weights(CheckpointReader& reader, const std::string& checkpoint) const {
  if (!has_weights()) {
    refuse("weights of " + checkpoint +
           " are requested (--load-from), but no tracked object has weights: track the model");
  }
  CheckpointSource source(reader);
  return restore(source, checkpoint, nullptr, LoadParts::kWeights);
}

Result<void> TrackedObjects::restore(StateSource& source, const std::string& checkpoint,
                                     const SeedOf* seed_of, LoadParts parts) const {
  WantedTensors all;
  Reader asked(source, checkpoint, seed_of, all);
  try {
    for (const auto& [name, object] : objects_) {
      if (!is_part_loaded(parts, object.kind)) continue;
      asked.begin(name, tensor_prefix_of(name));
      object.load(asked);
    }
  } catch (const std::runtime_error&) {
    if (!asked.read_error()) throw;
  }
  if (asked.read_error()) return *asked.read_error();
  if (parts == LoadParts::kAll) refuse_untracked(source, checkpoint);
  for (const WantedTensors& round : split_into_rounds(std::move(all.wanted), std::move(all.into))) {
    if (auto loaded = source.load(round.wanted, round.into); !loaded) return loaded.error();
  }
  for (const auto& act : all.at_end) act();
  for (const auto& act : all.after_all) act();
  return {};
}

}  // namespace ratoon::session

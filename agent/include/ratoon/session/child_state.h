// save_child() and load_child() save and load a member of a tracked object, in a TrackAdapter of your own.
//
//   template <>
//   struct ratoon::TrackAdapter<Agent> {
//     static void check(Agent&, const std::string&) {}
//     static void save(Agent& agent, StateWriter& out) {
//       save_child(out, "net", *agent.net);            // "agent.net.fc1.weight" in the checkpoint
//       save_child(out, "explored", agent.explored);   // a number, a std::map, an at::Tensor, ...
//     }
//     static void load(Agent& agent, StateReader& in) {
//       load_child(in, "net", *agent.net);
//       load_child(in, "explored", agent.explored);
//     }
//   };
//
// The type of a child must be a type that Session::track() accepts, but no subclass of Stateful. Ratoon calls
// check() and seed() only on the TrackAdapter of the outer object. A child's TrackAdapter::check() and seed()
// are not called: seed a child's generator with Session::seed_of(). If the outer adapter has kIsWeights, the
// whole object counts as weights. If the outer adapter has no kIsWeights, track the object's weights
// separately, so that --load-from finds them.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ratoon/session/values.h>
#include <ratoon/state.h>

namespace ratoon {

// Converts the name of a child's tensor to its name in the outer object, and back. The prefix of a random
// number generator stays in front: "generator:cpu" of the child "net" is "generator:net.cpu".
class ChildNames {
 public:
  explicit ChildNames(std::string child) : child_name_(std::move(child)) {}

  [[nodiscard]] std::string outer(const std::string& tensor) const {
    if (tensor.empty()) return child_name_;
    if (!tensor.starts_with(kGeneratorPrefix)) return child_name_ + "." + tensor;
    return std::string(kGeneratorPrefix) + child_name_ + "." + tensor.substr(kGeneratorPrefix.size());
  }
  // Returns nullopt if the tensor belongs to another child.
  [[nodiscard]] std::optional<std::string> inner(const std::string& tensor) const {
    const std::string_view kind = tensor.starts_with(kGeneratorPrefix) ? kGeneratorPrefix : "";
    const std::string_view name = std::string_view(tensor).substr(kind.size());
    if (name == child_name_ && kind.empty()) return "";
    if (!name.starts_with(child_name_ + ".")) return std::nullopt;
    return std::string(kind) + std::string(name.substr(child_name_.size() + 1));
  }
  [[nodiscard]] const std::string& child() const { return child_name_; }

 private:
  std::string child_name_;
};

class ChildWriter final : public StateWriter {
 public:
  ChildWriter(StateWriter& outer, std::string name) : outer_(&outer), names_(std::move(name)) {}

  using StateWriter::tensor;
  void tensor(TensorView view, std::shared_ptr<const void> owner) override {
    view.name = names_.outer(view.name);
    outer_->tensor(std::move(view), std::move(owner));
  }
  [[noreturn]] void refuse(const std::string& why) const override {
    outer_->refuse(names_.child() + ": " + why);
    std::abort();  // never reached: GCC does not see that a virtual function does not return
  }
  void lies_at(const Memory& memory) override { outer_->lies_at(memory); }
  void changes(const std::string& what, const Memory& memory) override {
    outer_->changes(names_.outer(what), memory);
  }

 private:
  StateWriter* outer_;
  ChildNames names_;
};

class ChildReader final : public StateReader {
 public:
  ChildReader(StateReader& outer, std::string name) : outer_(&outer), names_(std::move(name)) {}

  [[nodiscard]] std::optional<Form> find(const std::string& name) override {
    return outer_->find(names_.outer(name));
  }
  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> own;
    for (const std::string& name : outer_->names())
      if (auto inner = names_.inner(name)) own.push_back(*std::move(inner));
    return own;
  }
  [[nodiscard]] bool is_for_weights_alone() const override { return outer_->is_for_weights_alone(); }
  [[nodiscard]] std::optional<std::uint64_t> new_seed(const std::string& name) const override {
    return outer_->new_seed(names_.outer(name));
  }
  void tensor(const WantedTensor& wanted, std::span<std::byte> into) override {
    WantedTensor outer = wanted;
    outer.name = names_.outer(wanted.name);
    outer_->tensor(outer, into);
  }
  void bytes(const std::string& name, std::function<void(std::string)> take) override {
    outer_->bytes(names_.outer(name), std::move(take));
  }
  void bytes_of_ranks(const std::string& name, std::function<void(std::vector<std::string>)> take) override {
    outer_->bytes_of_ranks(names_.outer(name), std::move(take));
  }
  void at_end(std::function<void()> act) override { outer_->at_end(std::move(act)); }
  void after_all(std::function<void()> act) override { outer_->after_all(std::move(act)); }
  [[noreturn]] void refuse(const std::string& why) const override {
    outer_->refuse(names_.child() + ": " + why);
    std::abort();  // never reached: GCC does not see that a virtual function does not return
  }

 private:
  StateReader* outer_;
  ChildNames names_;
};

template <class T>
void save_child(StateWriter& out, const std::string& name, T& object) {
  ChildWriter child(out, name);
  if constexpr (std::is_arithmetic_v<T>)
    child.number("", object);
  else
    TrackAdapter<T>::save(object, child);
}

template <class T>
void load_child(StateReader& in, const std::string& name, T& object) {
  const auto child = std::make_shared<ChildReader>(in, name);
  in.after_all([child] {});  // the reader of the child lives as long as that of the object
  if constexpr (std::is_arithmetic_v<T>)
    child->number("", object);
  else
    TrackAdapter<T>::load(object, *child);
}

}  // namespace ratoon

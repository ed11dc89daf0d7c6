// load(): what a run trained, for evaluation: no session, nothing written, nothing locked. The run may be
// training meanwhile.
//
//   Net net;
//   const auto from = ratoon::load("checkpoints/digits", "net", *net);     // its newest checkpoint
//   std::printf("step %llu\n", static_cast<unsigned long long>(from.step.value_or(0)));
//
//   ratoon::load({.place = "s3://bucket/runs/digits", .step = 1200}, "net", *net, "ema", ema);
//   ratoon::load("checkpoints/digits/weights.safetensors", "net", *net);   // what a run leaves at its end
//
//   const auto tensors = ratoon::load_tensors({.place = "checkpoints/digits"}, {"net.last.bias"});
//
// Names are those that the run gave to track(); what else the checkpoint has stays in it. Every byte of a
// checkpoint is verified before it gets into an object. Generators of random numbers are left as they are.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ratoon/element_type.h>
#include <ratoon/session.h>
#include <ratoon/state.h>
#include <ratoon/stateful.h>
#include <ratoon/store_options.h>
#include <ratoon/tensor_view.h>

namespace ratoon {

struct LoadFrom {
  // A run's folder, <save folder>/<run name>, or its place in a store; one of its manifests, which names one
  // checkpoint; or a file NAME.safetensors, which has no sums to verify.
  std::string place{};
  std::optional<std::uint64_t> step{};  // none: the newest that is sound
  std::uint32_t rank = 0;               // what is not shared is this rank's
  StoreOptions store_options{};
};

struct LoadedFrom {
  std::string what{};                      // the manifest or file, as messages call it
  std::optional<std::uint64_t> step{};     // none: a file that does not say
  std::vector<std::string> passed_over{};  // why newer checkpoints were not taken, a sentence each
};

// An object and what fills it.
struct LoadTarget {
  std::string name{};
  std::function<void(StateReader&)> load{};
};

// What the templates below come to. Throws a Failure that says what is missing or does not fit, and where:
// exit code 82 where that is the program or the place, 83 where checkpoints are damaged, 84 where the disk or
// the store refuses. Nothing is changed unless all names, types and shapes fit.
LoadedFrom load_targets(const LoadFrom& from, const std::vector<LoadTarget>& targets);

// Of an object with a TrackAdapter, such as a module of LibTorch.
template <class T>
  requires(requires(T& object, StateReader& in) { TrackAdapter<T>::load(object, in); })
[[nodiscard]] LoadTarget load_target(std::string name, T& object) {
  TrackAdapter<T>::check(object, name);
  return {std::move(name), [&object](StateReader& in) { TrackAdapter<T>::load(object, in); }};
}
template <class T>
  requires(std::is_arithmetic_v<T>)
[[nodiscard]] LoadTarget load_target(std::string name, T& value) {
  return {std::move(name), [&value](StateReader& in) { in.number("", value); }};
}
[[nodiscard]] inline LoadTarget load_target(std::string name, Stateful& object) {
  return {std::move(name), [&object](StateReader& in) {
            in.bytes("", [&object](const std::string& state) { object.load_state(state); });
          }};
}

template <class T>
void add_targets(std::vector<LoadTarget>& targets, std::string name, T& object) {
  targets.push_back(load_target(std::move(name), object));
}
template <class T, class... Rest>
void add_targets(std::vector<LoadTarget>& targets, std::string name, T& object, Rest&&... rest) {
  targets.push_back(load_target(std::move(name), object));
  add_targets(targets, std::forward<Rest>(rest)...);
}

// Names and objects in turn.
template <class T, class... Rest>
LoadedFrom load(const LoadFrom& from, std::string name, T& object, Rest&&... rest) {
  std::vector<LoadTarget> targets;
  add_targets(targets, std::move(name), object, std::forward<Rest>(rest)...);
  return load_targets(from, targets);
}
template <std::convertible_to<std::string> Place, class T, class... Rest>
LoadedFrom load(const Place& place, std::string name, T& object, Rest&&... rest) {
  return load(LoadFrom{.place = place}, std::move(name), object, std::forward<Rest>(rest)...);
}

struct TensorValue {
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::vector<std::byte> bytes{};  // row-major and little-endian
};

// Whole tensors by the names that they have in the checkpoint, "net.last.bias"; `ratoon checkpoint show`
// lists them. Throws as load_targets() does.
[[nodiscard]] std::map<std::string, TensorValue> load_tensors(const LoadFrom& from,
                                                              const std::vector<std::string>& names);

}  // namespace ratoon

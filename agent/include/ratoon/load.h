// load(): reads trained weights for evaluation. load() starts no session, writes nothing and locks nothing.
// While load() reads a run, another process may continue to train it.
//
//   Net net;
//   const auto from = ratoon::load("checkpoints/digits", "net", *net);     // its newest checkpoint
//   std::printf("step %llu\n", static_cast<unsigned long long>(from.step.value_or(0)));
//
//   ratoon::load({.place = "s3://bucket/runs/digits", .step = 1200}, "net", *net, "ema", ema);
//   ratoon::load("checkpoints/digits/weights.safetensors", "net", *net);   // written at the end of a run
//
//   const auto tensors = ratoon::load_tensors({.place = "checkpoints/digits"}, {"net.last.bias"});
//
// The names of objects are the names that the training program passed to track(). Objects of the checkpoint
// that the program does not name are not read. Checksums of the bytes of a checkpoint are verified before the
// bytes are copied into an object. load() does not change random number generators.
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
  // The source: a run's folder, <save folder>/<run name>; the run's URL in a store; a manifest, which names
  // one checkpoint; or a file NAME.safetensors, which has no checksums.
  std::string place{};
  std::optional<std::uint64_t> step{};  // none: the newest intact checkpoint
  std::uint32_t rank = 0;               // objects that are not shared are read as this rank's
  StoreOptions store_options{};
};

struct LoadedFrom {
  std::string what{};                      // the manifest or file, as messages name it
  std::optional<std::uint64_t> step{};     // none: the file does not contain a step
  std::vector<std::string> passed_over{};  // why newer checkpoints were not used, one sentence each
};

// The name of an object in the checkpoint, and the function that fills the program's object from the
// checkpoint.
struct LoadTarget {
  std::string name{};
  std::function<void(StateReader&)> load{};
};

// Fills all objects, or throws a Failure. If a tensor is missing or does not match, the message of the
// Failure names this tensor. The load() templates call load_targets(). The exit code of the Failure is 82 for
// an error of the program or the path, 83 for damaged checkpoints, and 84 for an error of the disk or the
// store. The program's objects are changed only if all names, types and shapes match the checkpoint.
LoadedFrom load_targets(const LoadFrom& from, const std::vector<LoadTarget>& targets);

// Loads one object that has a TrackAdapter, such as a module of LibTorch.
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

// Loads several objects. The arguments after the source `from` are pairs of a name and an object.
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

// Returns whole tensors by their names in the checkpoint, such as "net.last.bias"; `ratoon checkpoint show`
// lists the names. Throws the same Failures as load_targets().
[[nodiscard]] std::map<std::string, TensorValue> load_tensors(const LoadFrom& from,
                                                              const std::vector<std::string>& names);

}  // namespace ratoon

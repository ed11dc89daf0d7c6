// Tracked objects are saved as named tensors, and the tensors are restored into the memory of the
// objects.
//
//   struct Table { std::vector<float> rows; std::int64_t version = 0; };
//
//   template <>
//   struct ratoon::TrackAdapter<Table> {
//     static void check(Table&, const std::string&) {}
//     static void save(Table& table, StateWriter& out) {
//       out.tensor({.name = "rows", .type = ElementType::kFloat32, .shape = {table.rows.size()},
//                   .bytes = std::as_bytes(std::span(table.rows))});
//       out.number("version", table.version);
//     }
//     static void load(Table& table, StateReader& in) {
//       in.tensor({.name = "rows", .type = ElementType::kFloat32, .shape = {table.rows.size()}},
//                 std::as_writable_bytes(std::span(table.rows)));
//       in.number("version", table.version);
//     }
//   };
//
// If the program tracks a Table, the struct of this example, as "table", its tensors in the checkpoint file
// are "table.rows" and "table.version", which any reader of safetensors shows.
//
// A tensor is restored on the rank that saved it. If the number of ranks changes, rank r restores the tensor
// of rank r modulo the old number of ranks. A new rank restores no state of a random number generator, but
// seeds the generator with StateReader::new_seed(). A tensor whose name begins with kGeneratorPrefix is the
// state of a random number generator, and never counts as a weight.
//
// A tensor with a TensorBox is shared: the box says which part of the whole tensor this rank has. Any number
// of ranks can restore any parts of a shared tensor. The parts of all ranks must cover the whole shared
// tensor. If several ranks save the same part of a shared tensor, they must save the same bytes. Ratoon does
// not commit a checkpoint that lacks a part of a shared tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ratoon/element_type.h>
#include <ratoon/tensor_view.h>

namespace ratoon {

// Defines how to save and restore an object that is not a Stateful. Specialize TrackAdapter for your own
// types and for types of other libraries. <ratoon/torch/track.h> does so for LibTorch.
//   static void check(T& object, const std::string& name);   called at once; may throw Failure
//   static void save(T& object, StateWriter& out);
//   static void load(T& object, StateReader& in);            requests its tensors; may throw Failure
//   static void seed(T& object, std::uint64_t seed);         called at once; for random number generators
//   static constexpr bool kIsWeights = true;                 --load-from fills it; leave it out otherwise
template <class T>
struct TrackAdapter;
template <class T>
concept HasTrackAdapter =
    requires(T& object, const std::string& name) { TrackAdapter<T>::check(object, name); };

inline constexpr std::string_view kGeneratorPrefix = "generator:";

// The element type with which a C++ number is stored in a checkpoint. A C++ type without an ElementType, such
// as long double, is stored as bytes.
template <class T>
  requires(std::is_arithmetic_v<T>)
[[nodiscard]] constexpr ElementType stored_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return ElementType::kBool;
  else if constexpr (std::is_same_v<T, float>)
    return ElementType::kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType::kFloat64;
  else if constexpr (!std::is_integral_v<T>)
    return ElementType::kBytes;
  else if constexpr (sizeof(T) == 1)
    return std::is_signed_v<T> ? ElementType::kInt8 : ElementType::kUint8;
  else if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? ElementType::kInt16 : ElementType::kUint16;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? ElementType::kInt32 : ElementType::kUint32;
  else
    return std::is_signed_v<T> ? ElementType::kInt64 : ElementType::kUint64;
}

template <class T>
[[nodiscard]] TensorShape stored_shape_of() {
  if (stored_type_of<T>() == ElementType::kBytes) return {sizeof(T)};
  return {};
}

// Receives the tensors of an object that is saved. The names of an object's tensors are UTF-8 and unique. An
// object that is a single tensor gives this tensor the name "".
class StateWriter {
 public:
  virtual ~StateWriter() = default;

  // Adds a tensor whose bytes are in the object's memory. The bytes are copied before the training function
  // continues.
  void tensor(TensorView view) { tensor(std::move(view), nullptr); }
  // Adds a tensor whose bytes are in memory that `owner` keeps alive.
  virtual void tensor(TensorView view, std::shared_ptr<const void> owner) = 0;

  // Throws a Failure, because the object cannot be saved. The message begins with the name of the object,
  // such as "tracked 'net': ", and ends with the reason `why`.
  [[noreturn]] virtual void refuse(const std::string& why) const = 0;

  // An object that changes memory of other objects, as an optimizer changes a model's parameters, names this
  // memory with changes(). If no tracked object saves the memory passed to changes(), steps() throws a
  // Failure that contains `what`, because a resume would lose the changes. Memory that an object passes to
  // tensor() counts as saved. If an object passes a copy of its memory to tensor(), for example a copy of GPU
  // memory, call lies_at() with the original memory.
  struct Memory {
    const void* begin = nullptr;
    std::uint64_t bytes = 0;
  };
  virtual void lies_at(const Memory& /*memory*/) {}
  virtual void changes(const std::string& /*what*/, const Memory& /*memory*/) {}

  // Adds bytes that the object made only for this save, such as a text.
  void bytes(std::string name, std::string bytes) {
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    const auto view = std::as_bytes(std::span(*owner));
    tensor({.name = std::move(name), .shape = {view.size()}, .bytes = view}, owner);
  }

  template <class T>
    requires(std::is_arithmetic_v<T>)
  void number(std::string name, T value) {
    auto owner = std::make_shared<const T>(value);
    const auto view = std::as_bytes(std::span(owner.get(), 1));
    tensor(
        {.name = std::move(name), .type = stored_type_of<T>(), .shape = stored_shape_of<T>(), .bytes = view},
        owner);
  }
};

// A tensor to restore. If `box` is set, Ratoon restores only the part of the tensor in `box`.
struct WantedTensor {
  std::string name{};
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::optional<TensorBox> box{};
};

// Restores objects. Before anything is restored, each object requests its tensors and names the memory to
// fill. Bytes are read only after every tracked object has requested its tensors and all tensors were found
// with the requested type and shape. If a tensor is missing or has another type or shape, a Failure with exit
// code 82 names the tensor, and no object has changed. If bytes are found to be damaged, the objects may be
// partly restored, and train() then restores an older checkpoint.
class StateReader {
 public:
  virtual ~StateReader() = default;

  struct Form {
    ElementType type = ElementType::kUint8;  // kBytes and kText too
    TensorShape shape{};                     // of the whole tensor
  };
  // Returns nothing if there is no tensor of this name.
  [[nodiscard]] virtual std::optional<Form> find(const std::string& name) = 0;
  // Returns the names of this object's tensors that the checkpoint has for this rank, in no particular order.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // Whether only weights are loaded, for evaluation or to start another run. If so, an object requests only
  // its weights: no state of a random number generator and no other state.
  [[nodiscard]] virtual bool is_for_weights_alone() const { return false; }

  // If the checkpoint has the states of a random number generator only of other ranks, because this rank is
  // new, returns a seed for the generator of this rank. Returns nothing if the checkpoint has this rank's
  // state of the generator.
  [[nodiscard]] virtual std::optional<std::uint64_t> new_seed(const std::string& /*name*/) const {
    return std::nullopt;
  }

  // Reads a tensor into the memory `into`, whose size must match the type and shape. The memory `into` must
  // stay valid until the at_end() functions are called.
  virtual void tensor(const WantedTensor& wanted, std::span<std::byte> into) = 0;

  template <class T>
    requires(std::is_arithmetic_v<T>)
  void number(const std::string& name, T& value) {
    tensor({.name = name, .type = stored_type_of<T>(), .shape = stored_shape_of<T>()},
           std::as_writable_bytes(std::span(&value, 1)));
  }

  // Requests bytes that were saved with StateWriter::bytes(). After all tensors are read, `take` is called
  // with the bytes.
  virtual void bytes(const std::string& name, std::function<void(std::string)> take) = 0;

  // Reads a state of which only the sum over all ranks matters, such as the state of Metrics. If the number
  // of ranks changes, `take` gets the states of this rank and of ranks that no longer exist, in rank order.
  // On a rank without a saved state, Ratoon calls `take` with an empty list.
  virtual void bytes_of_ranks(const std::string& name, std::function<void(std::vector<std::string>)> take) {
    bytes(name, [take = std::move(take)](std::string own) { take({std::move(own)}); });
  }

  // Adds a function that is called after all tensors are read. The added functions are called in the order of
  // the calls of at_end().
  virtual void at_end(std::function<void()> act) = 0;

  // Adds a function that is called after all at_end() functions. Restore random number generators in a
  // function of after_all(), because objects may draw numbers while they restore themselves.
  virtual void after_all(std::function<void()> act) { at_end(std::move(act)); }

  // Throws a Failure, because the checkpoint does not match the object. The message begins with the name of
  // the object, such as "tracked 'net': ", and ends with the reason `why`.
  [[noreturn]] virtual void refuse(const std::string& why) const = 0;
};

}  // namespace ratoon

// The state of a tracked object in a checkpoint: named tensors, written one by one and restored in place.
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
// If a Table is tracked as "table", its tensors in the checkpoint file are "table.rows" and "table.version",
// which any reader of safetensors shows.
//
// A tensor belongs to the rank that saved it. In a world of another size, rank r restores the tensor of rank
// r modulo the old size. Random number generators are an exception: a new rank seeds its generators
// (StateReader::new_seed()). A tensor whose name begins with kGeneratorPrefix is a generator, and is not a
// weight even in an object of weights.
//
// A tensor with a box is shared: every rank says which part of the whole it has, and any world restores any
// parts. The parts must cover the whole tensor. If several ranks save the same part, they must save the same
// bytes. A checkpoint with a missing part is not committed.
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

// Defines how to save and restore an object that is not a Stateful. Specialize the template for types of
// other libraries (<ratoon/torch/track.h> does so for LibTorch) and for your own types, as above.
//   static void check(T& object, const std::string& name);   called at once; may throw Failure
//   static void save(T& object, StateWriter& out);
//   static void load(T& object, StateReader& in);            requests its tensors; may throw Failure
//   static void seed(T& object, std::uint64_t seed);         called at once; for random number generators
//   static constexpr bool kIsWeights = true;                 --load-from fills it; leave it out otherwise
template <class T>
struct TrackAdapter;

inline constexpr std::string_view kGeneratorPrefix = "generator:";

// The type of a C++ number in a checkpoint. A type without an ElementType, such as long double, is stored as
// bytes.
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

// Receives the tensors of an object. Names are UTF-8 and unique; "" names an object that is a single tensor.
class StateWriter {
 public:
  virtual ~StateWriter() = default;

  // Adds a view: the bytes are the object's memory, and are copied before the training function goes on.
  void tensor(TensorView view) { tensor(std::move(view), nullptr); }
  // Adds a view of memory that `owner` keeps alive.
  virtual void tensor(TensorView view, std::shared_ptr<const void> owner) = 0;

  // Throws a Failure that says why the object cannot be saved: "tracked 'net': " and the reason.
  [[noreturn]] virtual void refuse(const std::string& why) const = 0;

  // For objects that change memory of other objects, as an optimizer changes a model's parameters. changes()
  // names such memory, on any device. Memory that is changed but that no object writes would start anew at
  // each start: steps() refuses it and names it with `what`. Memory that an object passes to tensor() counts
  // as written. Call lies_at() for memory, such as a GPU's, of which a copy was written.
  struct Memory {
    const void* begin = nullptr;
    std::uint64_t bytes = 0;
  };
  virtual void lies_at(const Memory& /*memory*/) {}
  virtual void changes(const std::string& /*what*/, const Memory& /*memory*/) {}

  // Adds bytes that were made for the save, such as a text or an encoding.
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

// A tensor to restore; with a box, the part of it to restore.
struct WantedTensor {
  std::string name{};
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::optional<TensorBox> box{};
};

// Restores objects. Each object first requests its tensors and their destinations. Bytes are read only after
// every tracked object has requested its tensors and all tensors were found with the requested type and
// shape. A missing tensor, or one of another type or shape, gives a Failure with exit code 82 that names it;
// then no object has changed. If bytes turn out to be damaged, destinations may be partly filled; train()
// then restores an older checkpoint.
class StateReader {
 public:
  virtual ~StateReader() = default;

  struct Form {
    ElementType type = ElementType::kUint8;  // kBytes and kText too
    TensorShape shape{};                     // of the whole tensor
  };
  // Returns nothing if there is no tensor of this name.
  [[nodiscard]] virtual std::optional<Form> find(const std::string& name) = 0;
  // The names of this object's tensors that this rank has, in no order.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // Whether a model is loaded outside its run, for evaluation or to start another run, so that state of the
  // run, such as a random number generator, is not requested and may be missing.
  [[nodiscard]] virtual bool is_for_weights_alone() const { return false; }

  // The seed for a random number generator, if this rank is new to the world and the checkpoint has only
  // another rank's state under this name. Returns nothing if the rank restores its own state.
  [[nodiscard]] virtual std::optional<std::uint64_t> new_seed(const std::string& /*name*/) const {
    return std::nullopt;
  }

  // Fills `into`, whose size must match the type and shape. The memory that is filled must stay valid until
  // the at_end() functions are called.
  virtual void tensor(const WantedTensor& wanted, std::span<std::byte> into) = 0;

  template <class T>
    requires(std::is_arithmetic_v<T>)
  void number(const std::string& name, T& value) {
    tensor({.name = name, .type = stored_type_of<T>(), .shape = stored_shape_of<T>()},
           std::as_writable_bytes(std::span(&value, 1)));
  }

  // `take` is called with the bytes that were passed to StateWriter::bytes(), after all tensors are read.
  virtual void bytes(const std::string& name, std::function<void(std::string)> take) = 0;

  // Reads state that is summed over ranks. If the world's size changes, `take` is called with the states that
  // this rank takes over, in the order of their ranks: its own state and those of ranks that left. A new rank
  // gets no states.
  virtual void bytes_of_ranks(const std::string& name, std::function<void(std::vector<std::string>)> take) {
    bytes(name, [take = std::move(take)](std::string own) { take({std::move(own)}); });
  }

  // All `act` are called after all tensors are read, in the order of the calls of at_end().
  virtual void at_end(std::function<void()> act) = 0;

  // `act` is called after the at_end() functions of all objects: for a random number generator, from which an
  // object may draw while it restores itself.
  virtual void after_all(std::function<void()> act) { at_end(std::move(act)); }

  // Throws a Failure that says that the checkpoint does not fit: "tracked 'net': " and the reason.
  [[noreturn]] virtual void refuse(const std::string& why) const = 0;
};

}  // namespace ratoon

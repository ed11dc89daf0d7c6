// What a tracked object is in a checkpoint: tensors by name, written one by one and restored in place.
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
// Tracked as "table", the file has "table.rows" and "table.version", which any reader of safetensors shows.
//
// A tensor belongs to the rank that saved it: rank r of a world of another size restores that of rank r
// modulo the old size, but for generators of random numbers, which begin anew there: StateReader::new_seed().
// One whose name begins with kGeneratorPrefix is such a generator, and no weight though the object is one of
// weights. One with a box is shared: every rank says which part of the
// whole it has, and any world restores any parts of it. Parts have to cover the whole; the same part on
// several ranks is the same bytes. A checkpoint of which a part is missing is not committed.
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

inline constexpr std::string_view kGeneratorPrefix = "generator:";

// The type of a C++ number in a checkpoint; whatever has none there, such as long double, is its bytes.
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

// Takes what an object has. Names are UTF-8, each once; "" is the object itself, where it is a single tensor.
class StateWriter {
 public:
  virtual ~StateWriter() = default;

  // A view: the bytes are the object's memory, and are taken before the training function goes on.
  void tensor(TensorView view) { tensor(std::move(view), nullptr); }
  // The same for memory that only `owner` keeps.
  virtual void tensor(TensorView view, std::shared_ptr<const void> owner) = 0;

  // Throws the Failure that says why the object cannot be saved: "tracked 'net': " and the sentence.
  [[noreturn]] virtual void refuse(const std::string& why) const = 0;

  // For objects that change what others have, as an optimizer changes the parameters of a model: where the
  // memory lies, on whatever device, of what is changed. What is changed and what no object writes would
  // begin anew at each start: steps() refuses it, with `what` it is. What tensor() is given counts as
  // written; lies_at() says it of memory whose contents were written from a copy, as of a GPU's.
  struct Memory {
    const void* begin = nullptr;
    std::uint64_t bytes = 0;
  };
  virtual void lies_at(const Memory& /*memory*/) {}
  virtual void changes(const std::string& /*what*/, const Memory& /*memory*/) {}

  // Bytes that are made for this: a text, or an encoding of something.
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

// What of a tensor is wanted; with a box a part of the whole one.
struct WantedTensor {
  std::string name{};
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::optional<TensorBox> box{};
};

// Gives it back. An object says what it wants and where, for all at once: only when every tracked object has
// done so, and all of it was found in the checkpoint in its form, is anything read. What is not there, or
// there in another form, is a Failure with exit code 82 that names it, and nothing has changed. Where bytes
// turn out to be damaged, places may be filled in part; train() then goes on from an older checkpoint.
class StateReader {
 public:
  virtual ~StateReader() = default;

  struct Form {
    ElementType type = ElementType::kUint8;  // of bytes and text, too
    TensorShape shape{};                     // of the whole tensor
  };
  // None: there is no tensor of this name.
  [[nodiscard]] virtual std::optional<Form> find(const std::string& name) = 0;
  // Of this object's tensors that the rank has, in no order.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // Whether a model is taken out of its run, to be evaluated or to begin another run with: what only goes on
  // with the run, such as a generator of random numbers, is not asked for, and may not be there.
  [[nodiscard]] virtual bool is_for_weights_alone() const { return false; }

  // What a generator of random numbers is seeded with, in place of what the checkpoint has of this name: this
  // rank is new to the world, and that is another rank's. Nothing: the rank goes on with its own.
  [[nodiscard]] virtual std::optional<std::uint64_t> new_seed(const std::string& /*name*/) const {
    return std::nullopt;
  }

  // Fills `into`, as many bytes as type and shape say. They stay where they are until at_end() is called.
  virtual void tensor(const WantedTensor& wanted, std::span<std::byte> into) = 0;

  template <class T>
    requires(std::is_arithmetic_v<T>)
  void number(const std::string& name, T& value) {
    tensor({.name = name, .type = stored_type_of<T>(), .shape = stored_shape_of<T>()},
           std::as_writable_bytes(std::span(&value, 1)));
  }

  // `take` is called with what bytes() of the writer was given, when all is read.
  virtual void bytes(const std::string& name, std::function<void(std::string)> take) = 0;

  // The same for what adds up over ranks. `take` is called with the states that this rank takes over in a
  // world of another size, in the order of their ranks: its own and those of ranks that are gone; none where
  // it is new.
  virtual void bytes_of_ranks(const std::string& name, std::function<void(std::vector<std::string>)> take) {
    bytes(name, [take = std::move(take)](std::string own) { take({std::move(own)}); });
  }

  // `act` is called when all is read, in the order of these calls.
  virtual void at_end(std::function<void()> act) = 0;

  // `act` is called after those of at_end() of all objects: for a generator of random numbers, from which an
  // object that restores itself may draw.
  virtual void after_all(std::function<void()> act) { at_end(std::move(act)); }

  // Throws the Failure that says that the checkpoint does not fit: "tracked 'net': " and the sentence.
  [[noreturn]] virtual void refuse(const std::string& why) const = 0;
};

}  // namespace ratoon

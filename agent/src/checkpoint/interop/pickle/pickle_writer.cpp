#include "agent/src/checkpoint/interop/pickle/pickle_writer.h"

#include <cstdint>
#include <limits>
#include <map>

#include "agent/src/checkpoint/interop/little_endian.h"
#include "agent/src/checkpoint/interop/pickle/pickle_opcode.h"
#include "agent/src/checkpoint/interop/quoted.h"
#include "agent/src/checkpoint/interop/torch_types.h"

namespace ratoon::checkpoint {
namespace {

constexpr char kProtocol = 2;              // the one that torch.load(weights_only=True) reads
constexpr std::size_t kBatchItems = 1000;  // Python sets so many items of a dictionary at once

class Pickler {
 public:
  Pickler() {
    op(opcode::kProto);
    out_ += kProtocol;
  }

  void op(std::uint8_t code) { out_ += static_cast<char>(code); }

  // Python's pickle writer stores every object except numbers and the empty tuple in the memo, even an object
  // that is written only once.
  void put_memo() {
    op(memo_ < 256 ? opcode::kPut : opcode::kLongPut);
    put_index(memo_++);
  }

  void text(std::string_view value) {
    op(opcode::kUnicode);
    put(out_, static_cast<std::uint32_t>(value.size()));
    out_ += value;
    put_memo();
  }

  // Writes a text constant from PyTorch's code, such as "storage". If the pickle already contains this text,
  // writes a reference to the memo.
  void constant_text(std::string_view value) {
    if (get_memo(std::string(value))) return;
    text(value);
  }

  void global(std::string_view module, std::string_view name) {
    std::string lines = std::string(module) + "\n" + std::string(name) + "\n";
    if (get_memo(lines)) return;
    op(opcode::kGlobal);
    out_ += lines;
    put_memo();
  }

  void whole(std::uint64_t value) {
    if (value <= 0xFF) {
      op(opcode::kInt1);
      put(out_, static_cast<std::uint8_t>(value));
    } else if (value <= 0xFFFF) {
      op(opcode::kInt2);
      put(out_, static_cast<std::uint16_t>(value));
    } else if (value <= std::numeric_limits<std::int32_t>::max()) {
      op(opcode::kInt4);
      put(out_, static_cast<std::uint32_t>(value));
    } else {
      std::string digits;  // the fewest bytes whose sign bit is 0
      for (; value != 0; value >>= 8) digits += static_cast<char>(value & 0xFF);
      if ((digits.back() & 0x80) != 0) digits += '\0';
      op(opcode::kLong);
      out_ += static_cast<char>(digits.size());
      out_ += digits;
    }
  }

  void tuple(const TensorShape& numbers) {
    if (numbers.size() > 3) op(opcode::kMark);
    for (const std::uint64_t number : numbers) whole(number);
    constexpr std::uint8_t kBySize[] = {opcode::kEmptyTuple, opcode::kTuple1, opcode::kTuple2,
                                        opcode::kTuple3};
    op(numbers.size() > 3 ? opcode::kTuple : kBySize[numbers.size()]);
    if (!numbers.empty()) put_memo();
  }

  void marked_tuple_end() {
    op(opcode::kTuple);
    put_memo();
  }

  [[nodiscard]] std::string take() {
    op(opcode::kStop);
    return std::move(out_);
  }

 private:
  void put_index(std::uint32_t index) {
    if (index < 256)
      put(out_, static_cast<std::uint8_t>(index));
    else
      put(out_, index);
  }

  // If the memo has the constant, writes a reference to it and returns true. If the constant is not in the
  // memo yet, adds it and returns false: the caller then writes the constant itself.
  bool get_memo(std::string constant) {
    const auto [known, is_new] = constants_.try_emplace(std::move(constant), memo_);
    if (is_new) return false;
    op(known->second < 256 ? opcode::kGet : opcode::kLongGet);
    put_index(known->second);
    return true;
  }

  std::string out_;
  std::uint32_t memo_ = 0;
  std::map<std::string, std::uint32_t> constants_;
};

TensorShape contiguous_strides(const TensorShape& shape) {
  TensorShape strides(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i] == 0 ? 1 : shape[i];
  }
  return strides;
}

Result<void> add_tensor(Pickler& pickler, const TensorSource& tensor, std::size_t storage) {
  const auto known = torch_type_of(tensor.type);
  if (!known)
    return Error(ErrorKind::kInvalid, "tensor " + quoted(tensor.name) + " is of type " +
                                          std::string(name_of(tensor.type)) +
                                          ", which PyTorch does not have; pass it as uint8");
  const bool is_typed = !known->storage.empty();
  const auto size_bytes = size_bytes_of(tensor.type, tensor.shape);
  if (!size_bytes) return size_bytes.error().with_context("tensor " + quoted(tensor.name));

  pickler.global("torch._utils", is_typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  pickler.op(opcode::kMark);
  pickler.op(opcode::kMark);
  pickler.constant_text("storage");
  pickler.global(is_typed ? "torch" : "torch.storage", is_typed ? known->storage : "UntypedStorage");
  pickler.text(std::to_string(storage));
  pickler.constant_text("cpu");
  pickler.whole(is_typed ? *size_bytes / size_of(tensor.type) : *size_bytes);
  pickler.marked_tuple_end();
  pickler.op(opcode::kPersistentId);
  pickler.whole(0);  // its offset in the storage
  pickler.tuple(tensor.shape);
  pickler.tuple(contiguous_strides(tensor.shape));
  pickler.op(opcode::kFalse);  // needs no gradient
  pickler.global("collections", "OrderedDict");
  pickler.op(opcode::kEmptyTuple);
  pickler.op(opcode::kReduce);
  pickler.put_memo();
  if (!is_typed) pickler.global("torch", known->dtype);
  pickler.marked_tuple_end();
  pickler.op(opcode::kReduce);
  pickler.put_memo();
  return {};
}

}  // namespace

Result<std::string> pickle_of(std::span<const TensorSource> tensors) {
  Pickler pickler;
  pickler.op(opcode::kEmptyDict);
  pickler.put_memo();
  const auto add_item = [&](std::size_t i) {
    pickler.text(tensors[i].name);
    return add_tensor(pickler, tensors[i], i);
  };
  if (tensors.size() == 1) {
    if (auto added = add_item(0); !added) return added.error();
    pickler.op(opcode::kSetItem);
  } else if (!tensors.empty()) {
    // Python's pickle writer writes items in batches; after a full last batch it writes an empty batch.
    for (std::size_t begin = 0; begin <= tensors.size(); begin += kBatchItems) {
      pickler.op(opcode::kMark);
      for (std::size_t i = begin; i < tensors.size() && i < begin + kBatchItems; ++i)
        if (auto added = add_item(i); !added) return added.error();
      pickler.op(opcode::kSetItems);
    }
  }
  return pickler.take();
}

}  // namespace ratoon::checkpoint

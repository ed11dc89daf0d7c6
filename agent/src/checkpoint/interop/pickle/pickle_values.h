// The contents of a pickle of tensors and plain containers, as a graph: values refer to each other by number,
// because a pickle may contain one value in several places, or in itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ratoon/element_type.h>
#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

using ValueId = std::uint32_t;

struct NoneValue {};

struct ListValue {
  std::vector<ValueId> items;
  bool is_tuple = false;
};

struct DictValue {
  std::vector<std::pair<ValueId, ValueId>> items;
  bool is_ordered = false;  // collections.OrderedDict
};

// The name of a Python function or class in the pickle. The reader knows these names and computes the results
// of their calls itself; it never runs Python code.
enum class KnownName : std::uint8_t {
  kOrderedDict,
  kSize,
  kRebuildTensorV2,
  kRebuildTensorV3,
  kRebuildParameter,
  kRestoreTypeTag,
  kUntypedStorage,
  kTypedStorage,  // of an element type
  kDtype,         // of an element type
};

struct PythonNameValue {
  KnownName name = KnownName::kOrderedDict;
  ElementType type = ElementType::kUint8;
};

// The storage's bytes are in the archive's record "data/<key>".
struct StorageValue {
  std::string key;
  ElementType type = ElementType::kUint8;
  bool is_typed = false;
  std::uint64_t elements = 0;
};

struct TensorValue {
  std::uint32_t storage = 0;  // its index in Pickle::storages
  ElementType type = ElementType::kUint8;
  std::uint64_t offset = 0;  // in elements, as the strides
  TensorShape shape;
  TensorShape strides;
};

// A value that is a tensor or storage holds only an index into Pickle::tensors or Pickle::storages, so that
// every value is small.
struct TensorIndex {
  std::uint32_t index = 0;
};
struct StorageIndex {
  std::uint32_t index = 0;
};

using PickleValue = std::variant<NoneValue, bool, std::int64_t, double, std::string, ListValue, DictValue,
                                 PythonNameValue, StorageIndex, TensorIndex>;

struct Pickle {
  std::vector<PickleValue> values;
  std::vector<TensorValue> tensors;
  std::vector<StorageValue> storages;
  std::uint64_t dimensions = 0;  // of all tensors together
  ValueId root = 0;
};

}  // namespace ratoon::checkpoint

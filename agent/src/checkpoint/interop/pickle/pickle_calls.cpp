#include "agent/src/checkpoint/interop/pickle/pickle_calls.h"

#include <optional>
#include <span>

namespace ratoon::checkpoint {
namespace {

// A few bytes in a pickle can use one value many times, for example in many tensors. The following limits
// bound the size of each value, so that such a pickle does not take too much memory.
constexpr std::size_t kTupleNumbersMax = 64;
constexpr std::size_t kKeyBytesMax = 64;
constexpr std::uint64_t kDimensionsMax = std::uint64_t{1} << 24;

Error refused_pickle_error(const std::string& what) {
  return Error(ErrorKind::kInvalid,
               what + ", which torch.save of tensors does not write; save the tensors again");
}

template <class T>
const T* value_of(const Pickle& pickle, ValueId id) {
  return std::get_if<T>(&pickle.values[id]);
}

using Arguments = std::span<const ValueId>;

const ListValue* tuple_of(const Pickle& pickle, ValueId id) {
  const auto* list = value_of<ListValue>(pickle, id);
  return list != nullptr && list->is_tuple ? list : nullptr;
}

std::optional<std::uint64_t> as_count(const Pickle& pickle, ValueId id) {
  const auto* number = value_of<std::int64_t>(pickle, id);
  if (number == nullptr || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// Returns the numbers in a tuple, or an error if a number is negative or the tuple has more numbers than the
// limit.
std::optional<TensorShape> as_counts(const Pickle& pickle, ValueId id) {
  const auto* tuple = tuple_of(pickle, id);
  if (tuple == nullptr || tuple->items.size() > kTupleNumbersMax) return std::nullopt;
  TensorShape counts;
  for (const ValueId item : tuple->items) {
    const auto count = as_count(pickle, item);
    if (!count) return std::nullopt;
    counts.push_back(*count);
  }
  return counts;
}

bool is_empty_dict(const Pickle& pickle, ValueId id) {
  const auto* dict = value_of<DictValue>(pickle, id);
  return dict != nullptr && dict->items.empty();
}

// Makes a tensor from the arguments (storage, offset, shape, strides, needs gradient, hooks). After the
// hooks, the arguments may contain a dtype and metadata.
Result<PickleValue> rebuild_tensor(Pickle& pickle, Arguments arguments, bool has_dtype) {
  const std::size_t required = has_dtype ? 7 : 6;
  if (arguments.size() != required && arguments.size() != required + 1)
    return refused_pickle_error("a tensor is built from " + std::to_string(arguments.size()) + " arguments");
  const auto* storage = value_of<StorageIndex>(pickle, arguments[0]);
  const auto offset = as_count(pickle, arguments[1]);
  auto shape = as_counts(pickle, arguments[2]);
  auto strides = as_counts(pickle, arguments[3]);
  if (storage == nullptr || !offset || !shape || !strides || value_of<bool>(pickle, arguments[4]) == nullptr)
    return refused_pickle_error("a tensor's storage, offset, shape or strides are of the wrong kind");
  if (!is_empty_dict(pickle, arguments[5])) return refused_pickle_error("a tensor has hooks on its gradient");
  if (arguments.size() > required && !is_empty_dict(pickle, arguments[required]))
    return Error(ErrorKind::kInvalid,
                 "a tensor is a view that negates or conjugates its storage; save "
                 "tensor.resolve_neg().resolve_conj() in its place");

  const StorageValue& stored = pickle.storages[storage->index];
  ElementType type = stored.type;
  if (has_dtype) {
    const auto* dtype = value_of<PythonNameValue>(pickle, arguments[6]);
    if (dtype == nullptr || dtype->name != KnownName::kDtype || stored.is_typed)
      return refused_pickle_error("the dtype of a tensor or of its storage is of the wrong kind");
    type = dtype->type;
  } else if (!stored.is_typed) {
    return refused_pickle_error("a tensor's storage has no type");
  }
  pickle.dimensions += shape->size() + 1;
  if (pickle.dimensions > kDimensionsMax)
    return Error(ErrorKind::kInvalid,
                 "the pickle has over 16 million tensors and dimensions; save several files");
  const TensorIndex index{static_cast<std::uint32_t>(pickle.tensors.size())};
  pickle.tensors.push_back({.storage = storage->index,
                            .type = type,
                            .offset = *offset,
                            .shape = std::move(*shape),
                            .strides = std::move(*strides)});
  return PickleValue(index);
}

// Makes a parameter from the arguments (tensor, needs gradient, hooks).
Result<PickleValue> rebuild_parameter(const Pickle& pickle, Arguments arguments) {
  if (arguments.size() != 3 || value_of<TensorIndex>(pickle, arguments[0]) == nullptr ||
      value_of<bool>(pickle, arguments[1]) == nullptr || !is_empty_dict(pickle, arguments[2]))
    return refused_pickle_error("a parameter needs a tensor, a bool and empty hooks");
  return PickleValue(*value_of<TensorIndex>(pickle, arguments[0]));
}

}  // namespace

Result<PickleValue> call(Pickle& pickle, ValueId callable, ValueId arguments) {
  const auto* name = value_of<PythonNameValue>(pickle, callable);
  const auto* tuple = tuple_of(pickle, arguments);
  if (name == nullptr || tuple == nullptr)
    return refused_pickle_error("the pickle calls a value that is not a function");
  switch (name->name) {
    case KnownName::kOrderedDict:
      if (!tuple->items.empty())
        return refused_pickle_error("the call that makes an OrderedDict has arguments");
      return PickleValue(DictValue{.items = {}, .is_ordered = true});
    case KnownName::kSize:
      if (tuple->items.size() != 1 || !as_counts(pickle, tuple->items[0]))
        return refused_pickle_error("the call that makes a torch.Size has arguments other than lengths");
      return pickle.values[tuple->items[0]];
    case KnownName::kRebuildTensorV2:
      return rebuild_tensor(pickle, tuple->items, false);
    case KnownName::kRebuildTensorV3:
      return rebuild_tensor(pickle, tuple->items, true);
    case KnownName::kRebuildParameter:
      return rebuild_parameter(pickle, tuple->items);
    case KnownName::kRestoreTypeTag:
      return refused_pickle_error("restore_type_tag has arguments other than a value and the name of a type");
    case KnownName::kUntypedStorage:
    case KnownName::kTypedStorage:
    case KnownName::kDtype:
      break;
  }
  return refused_pickle_error("the pickle calls a type as a function");
}

std::optional<ValueId> find_typed_container(const Pickle& pickle, ValueId callable, ValueId arguments) {
  const auto* name = value_of<PythonNameValue>(pickle, callable);
  const auto* tuple = tuple_of(pickle, arguments);
  if (name == nullptr || name->name != KnownName::kRestoreTypeTag || tuple == nullptr) return std::nullopt;
  if (tuple->items.size() != 2 || value_of<std::string>(pickle, tuple->items[1]) == nullptr)
    return std::nullopt;
  return tuple->items[0];
}

Result<PickleValue> find_storage(Pickle& pickle, ValueId id) {
  const auto* tuple = tuple_of(pickle, id);
  if (tuple == nullptr || tuple->items.size() != 5)
    return refused_pickle_error("a persistent id does not name a storage");
  const auto* tag = value_of<std::string>(pickle, tuple->items[0]);
  const auto* type = value_of<PythonNameValue>(pickle, tuple->items[1]);
  const auto* key = value_of<std::string>(pickle, tuple->items[2]);
  const auto* location = value_of<std::string>(pickle, tuple->items[3]);
  const auto elements = as_count(pickle, tuple->items[4]);
  const bool is_typed = type != nullptr && type->name == KnownName::kTypedStorage;
  if (tag == nullptr || *tag != "storage" || key == nullptr || key->size() > kKeyBytesMax ||
      location == nullptr || !elements ||
      !(is_typed || (type != nullptr && type->name == KnownName::kUntypedStorage)))
    return refused_pickle_error("a persistent id does not name a storage");
  const StorageIndex index{static_cast<std::uint32_t>(pickle.storages.size())};
  pickle.storages.push_back({.key = *key, .type = type->type, .is_typed = is_typed, .elements = *elements});
  return PickleValue(index);
}

Result<void> set_attributes(const Pickle& pickle, ValueId object, ValueId attributes) {
  const auto* dict = value_of<DictValue>(pickle, object);
  if (dict == nullptr || !dict->is_ordered || value_of<DictValue>(pickle, attributes) == nullptr)
    return refused_pickle_error("the pickle sets attributes of an object that is not an OrderedDict");
  return {};
}

}  // namespace ratoon::checkpoint

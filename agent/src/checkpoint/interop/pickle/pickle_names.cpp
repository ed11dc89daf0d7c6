#include "agent/src/checkpoint/interop/pickle/pickle_names.h"

#include <string>

#include "agent/src/checkpoint/interop/quoted.h"
#include "agent/src/checkpoint/interop/torch_types.h"

namespace ratoon::checkpoint {
namespace {

struct AllowedName {
  std::string_view module;
  std::string_view name;
  KnownName known;
};

constexpr AllowedName kAllowedNames[] = {
    {"collections", "OrderedDict", KnownName::kOrderedDict},
    {"torch", "Size", KnownName::kSize},
    {"torch._utils", "_rebuild_tensor_v2", KnownName::kRebuildTensorV2},
    {"torch._utils", "_rebuild_tensor_v3", KnownName::kRebuildTensorV3},
    {"torch._utils", "_rebuild_parameter", KnownName::kRebuildParameter},
    {"torch.jit._pickle", "restore_type_tag", KnownName::kRestoreTypeTag},
    {"torch.storage", "UntypedStorage", KnownName::kUntypedStorage},
};

}  // namespace

Result<PythonNameValue> find_name(std::string_view module, std::string_view name) {
  for (const AllowedName& admitted : kAllowedNames) {
    if (admitted.module == module && admitted.name == name) return PythonNameValue{.name = admitted.known};
  }
  if (module == "torch") {
    if (const auto type = torch_type_of_storage(name))
      return PythonNameValue{.name = KnownName::kTypedStorage, .type = type->type};
    if (const auto type = torch_type_of_dtype(name))
      return PythonNameValue{.name = KnownName::kDtype, .type = type->type};
    if (name.ends_with("Storage"))
      return Error(ErrorKind::kInvalid,
                   "a tensor is stored in a torch." + quoted(name) +
                       ", a type of elements that Ratoon does not have; convert the tensor "
                       "in Python and save it again");
  }
  return Error(
      ErrorKind::kInvalid,
      "the pickle names the Python code " + quoted(std::string(module) + "." + std::string(name)) +
          ", and Ratoon executes no code of a file: tensors in dictionaries, lists and tuples of plain "
          "values are admitted; save those alone, for example torch.save(model.state_dict(), path)");
}

}  // namespace ratoon::checkpoint

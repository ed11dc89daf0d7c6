#include "tests/support/accelerator/map_tensors.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

namespace ratoon::test::accelerator {

c10::IValue map_tensors(const c10::IValue& value, const TensorMap& map) {
  const auto mapped = [&map](const at::Tensor& tensor) { return tensor.defined() ? map(tensor) : tensor; };
  if (value.isTensor()) return mapped(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(mapped(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      list.push_back(tensor ? std::optional(mapped(*tensor)) : std::nullopt);
    return list;
  }
  return value;
}

}  // namespace ratoon::test::accelerator

// Steps that restoring a module and restoring an optimizer share. Each throws a Failure that names the
// tracked object, since only the author of the program can mend what they find.
#pragma once

#include <string>
#include <string_view>

#include "agent/src/torch/tensor_archive.h"

namespace ratoon {

[[noreturn]] void refuse_state(const std::string& name, const std::string& why);

// The state as bytes.
[[nodiscard]] std::string save_archive(const std::string& name, const TensorArchive& archive);

// The state if it is of that kind of object.
[[nodiscard]] TensorsByName read_state(const std::string& name, const std::string& kind,
                                       std::string_view state);

// Throws unless both have one type and one shape.
void check_same_form(const std::string& name, const std::string& tensor_name, const at::Tensor& saved,
                     const at::Tensor& now);

}  // namespace ratoon

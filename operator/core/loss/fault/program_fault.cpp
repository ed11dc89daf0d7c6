#include "operator/core/loss/fault/program_fault.h"

#include <algorithm>
#include <array>

namespace ratoon::core {
namespace {

// Exception types that mean a mistake in the calling code.
constexpr auto kTypes = std::to_array<std::string_view>(
    {// of C++ and PyTorch
     "std::out_of_range", "std::invalid_argument", "std::domain_error", "std::length_error",
     "std::logic_error", "std::bad_cast", "std::bad_any_cast", "std::bad_typeid", "std::bad_optional_access",
     "std::bad_variant_access", "std::bad_function_call", "c10::IndexError", "c10::ValueError",
     "c10::TypeError", "c10::NotImplementedError", "json.exception.",
     // of Python
     "KeyError", "IndexError", "ZeroDivisionError", "ValueError", "TypeError", "AttributeError",
     "ImportError", "ModuleNotFoundError", "NameError", "AssertionError", "NotImplementedError",
     "RecursionError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError", "LookupError",
     "OverflowError"});

// Phrases which show a fault of the program in messages of c10::Error and RuntimeError. Libraries throw these
// two types for all kinds of errors, so the type alone shows no fault of the program.
constexpr auto kPhrases = std::to_array<std::string_view>(
    {"shape", "size mismatch", "sizes of tensors", "The size of tensor", "dimension", "dtype", "scalar type",
     "state_dict", "same device", "require grad", "requires grad", "out of bounds", "out of range",
     "class label", "through the graph", "in-place operation", "Expected "});

}  // namespace

bool is_program_fault(std::string_view fault) {
  const auto is_in = [fault](std::string_view word) { return fault.find(word) != std::string_view::npos; };
  return std::ranges::any_of(kTypes, is_in) || std::ranges::any_of(kPhrases, is_in);
}

}  // namespace ratoon::core

#include "python/src/errors.h"

#include <exception>
#include <stdexcept>
#include <string_view>

#include <nanobind/nanobind.h>

#include "base/contract/exit_code.h"
#include "python/src/bindings.h"

namespace nb = nanobind;

namespace ratoon::python {
namespace {

// A sentence may hold a file's name, which need not be UTF-8.
void raise(std::string_view sentence, int exit_code) {
  const auto text = nb::steal(
      PyUnicode_DecodeUTF8(sentence.data(), static_cast<Py_ssize_t>(sentence.size()), "backslashreplace"));
  const nb::object type = nb::module_::import_("ratoon._errors").attr("RatoonError");
  const nb::object error = type(text, exit_code);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  constexpr int kConfiguration = static_cast<int>(ExitCode::kConfiguration);
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure& failure) {
    raise(failure.what(), failure.exit_code);
  } catch (const std::logic_error& error) {  // std::invalid_argument, std::out_of_range
    raise(error.what(), kConfiguration);
  } catch (const std::overflow_error& error) {
    raise(error.what(), kConfiguration);
  }
}

}  // namespace

void fail(const Error& error) {
  throw Failure(static_cast<int>(exit_code_of(error.kind())), error.message());
}

void bind_errors() {
  nb::register_exception_translator(translate);
}

}  // namespace ratoon::python

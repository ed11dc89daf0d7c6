#include "python/src/errors.h"

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

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

constexpr const char* kThrown = "_thrown";  // the exception of C++ that an Interrupted of Python stands for

void raise_interrupted(const Interrupted& why, const std::exception_ptr& thrown) {
  const nb::object type = nb::module_::import_("ratoon._errors").attr("Interrupted");
  const nb::object error = type(why.what());
  const auto destroy = [](void* kept) noexcept { delete static_cast<std::exception_ptr*>(kept); };
  error.attr(kThrown) = nb::capsule(new std::exception_ptr(thrown), destroy);
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
  } catch (const Interrupted& why) {
    raise_interrupted(why, thrown);
  }
}

}  // namespace

void rethrow_if_known(nb::handle error) {
  const nb::object errors = nb::module_::import_("ratoon._errors");
  const auto text = nb::cast<std::string>(nb::str(error));
  if (nb::isinstance(error, errors.attr("Interrupted"))) {
    if (!nb::hasattr(error, kThrown)) throw Interrupted(text);  // the program's own
    std::rethrow_exception(
        *static_cast<std::exception_ptr*>(nb::cast<nb::capsule>(error.attr(kThrown)).data()));
  }
  if (nb::isinstance(error, errors.attr("RatoonError")))
    throw Failure(nb::cast<int>(error.attr("exit_code")), text);
}

void fail(const Error& error) {
  throw Failure(static_cast<int>(exit_code_of(error.kind())), error.message());
}

void bind_errors() {
  nb::register_exception_translator(translate);
}

}  // namespace ratoon::python

#include "python/src/tracked_state.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ratoon/element_type.h>
#include <ratoon/failure.h>

#include "python/src/errors.h"
#include "python/src/tensors.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

// An error of the program becomes an exception of C++, whose text the session prints without the
// interpreter's lock. An order to leave, such as the SystemExit by which a nested call of the session ends
// the process, stays what it is.
template <class Act>
void call_python(const ExplainError& explain, const Act& act) {
  const nb::gil_scoped_acquire acquired;
  std::string sentence;
  try {
    return act();
  } catch (const nb::python_error& error) {
    rethrow_if_known(error.value());
    if (!error.matches(PyExc_Exception)) throw;
    explain(error.value());
    nb::module_::import_("traceback").attr("print_exception")(error.value());
    sentence = nb::cast<std::string>(error.type().attr("__name__")) + ": " +
               nb::cast<std::string>(nb::str(error.value()));
  }
  throw std::runtime_error(sentence);
}

// An object of Python in a function that C++ copies and destroys without the interpreter's lock.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  ~Held() {
    const nb::gil_scoped_acquire acquired;
    object_.reset();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  // With the interpreter's lock.
  template <class... Arguments>
  void call(Arguments&&... arguments) const {
    object_(std::forward<Arguments>(arguments)...);
  }

 private:
  nb::object object_;
};

class BoundWriter {
 public:
  BoundWriter(StateWriter& out, std::vector<nb::object>& kept) : out_(out), kept_(kept) {}

  void tensor(std::string name, const std::string& type, std::vector<std::uint64_t> shape,
              std::uintptr_t address, std::size_t bytes, nb::object owner) {
    out_.tensor({.name = std::move(name),
                 .type = type_named(type),
                 .shape = std::move(shape),
                 .bytes = {memory_at(address), bytes}});
    kept_.push_back(std::move(owner));
  }
  void bytes(std::string name, const nb::bytes& value) {
    out_.bytes(std::move(name), std::string(value.c_str(), value.size()));
  }
  void lies_at(std::uintptr_t address, std::uint64_t bytes) { out_.lies_at({memory_at(address), bytes}); }
  void changes(const std::string& what, std::uintptr_t address, std::uint64_t bytes) {
    out_.changes(what, {memory_at(address), bytes});
  }
  void refuse(const std::string& why) const { out_.refuse(why); }

 private:
  StateWriter& out_;
  std::vector<nb::object>& kept_;
};

class BoundReader {
 public:
  BoundReader(StateReader& in, const ExplainError& explain) : in_(in), explain_(explain) {}

  [[nodiscard]] std::vector<std::string> names() const { return in_.names(); }
  std::optional<std::pair<std::string, std::vector<std::uint64_t>>> find(const std::string& name) {
    const auto form = in_.find(name);
    if (!form) return std::nullopt;
    return std::pair(std::string(name_of(form->type)), form->shape);
  }
  // The owner of the memory lives until the object is loaded.
  void tensor(const std::string& name, const std::string& type, std::vector<std::uint64_t> shape,
              std::uintptr_t address, std::size_t bytes, nb::object owner) {
    in_.tensor({.name = name, .type = type_named(type), .shape = std::move(shape)},
               {memory_at(address), bytes});
    in_.at_end([owner = std::make_shared<Held>(std::move(owner))] {});
  }
  void bytes(const std::string& name, nb::object take) {
    in_.bytes(name, [&explain = explain_,
                     take = std::make_shared<Held>(std::move(take))](const std::string& value) {
      call_python(explain, [&] { take->call(nb::bytes(value.data(), value.size())); });
    });
  }
  void at_end(nb::object act) { in_.at_end(callback(std::move(act))); }
  void after_all(nb::object act) { in_.after_all(callback(std::move(act))); }
  [[nodiscard]] std::optional<std::uint64_t> new_seed(const std::string& name) const {
    return in_.new_seed(name);
  }
  [[nodiscard]] bool is_for_weights_alone() const { return in_.is_for_weights_alone(); }
  void refuse(const std::string& why) const { in_.refuse(why); }

 private:
  [[nodiscard]] std::function<void()> callback(nb::object act) const {
    return [&explain = explain_, act = std::make_shared<Held>(std::move(act))] {
      call_python(explain, [&] { act->call(); });
    };
  }

  StateReader& in_;
  const ExplainError& explain_;  // of the object, which outlives the load
};

}  // namespace

void TrackedState::save(StateWriter& out) const {
  call_python(explain_, [&] { adapter_.attr("save")(nb::cast(BoundWriter(out, kept_))); });
}

void TrackedState::load(StateReader& in) const {
  call_python(explain_, [&] { adapter_.attr("load")(nb::cast(BoundReader(in, explain_))); });
}

void bind_tracked_state(nb::module_& module) {
  nb::class_<BoundWriter>(module, "StateWriter", "Takes the state of a tracked object.")
      .def("tensor", &BoundWriter::tensor, "name"_a, "type"_a, "shape"_a, "address"_a, "bytes"_a, "owner"_a)
      .def("bytes", &BoundWriter::bytes, "name"_a, "value"_a)
      .def("lies_at", &BoundWriter::lies_at, "address"_a, "bytes"_a)
      .def("changes", &BoundWriter::changes, "what"_a, "address"_a, "bytes"_a)
      .def("refuse", &BoundWriter::refuse, "why"_a);
  nb::class_<BoundReader>(module, "StateReader", "Has the state of a tracked object.")
      .def("names", &BoundReader::names)
      .def("find", &BoundReader::find, "name"_a)
      .def("tensor", &BoundReader::tensor, "name"_a, "type"_a, "shape"_a, "address"_a, "bytes"_a, "owner"_a)
      .def("bytes", &BoundReader::bytes, "name"_a, "take"_a)
      .def("at_end", &BoundReader::at_end, "act"_a)
      .def("after_all", &BoundReader::after_all, "act"_a)
      .def("new_seed", &BoundReader::new_seed, "name"_a)
      .def("is_for_weights_alone", &BoundReader::is_for_weights_alone)
      .def("refuse", &BoundReader::refuse, "why"_a);
}

}  // namespace ratoon::python

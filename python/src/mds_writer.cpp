#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ratoon/mds_writer.h>

#include "python/src/bindings.h"
#include "python/src/forks.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

ElementType type_named(std::string_view name) {
  for (int number = 0; number <= static_cast<int>(ElementType::kComplex64); ++number) {
    const auto type = static_cast<ElementType>(number);
    if (name_of(type) == name) return type;
  }
  throw std::invalid_argument("MdsWriter: there are no arrays of type '" + std::string(name) + "'");
}

// The bytes of an object with Python's buffer protocol, which stay where they are meanwhile.
class Buffer {
 public:
  explicit Buffer(const nb::handle& object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

// What write() looks at, kept until it has done so.
class Kept {
 public:
  MdsValue value_of(const nb::handle& value) {
    if (PyLong_Check(value.ptr())) return integer_of(value);
    if (PyFloat_Check(value.ptr())) return nb::cast<double>(value);
    if (PyUnicode_Check(value.ptr())) {
      texts_.push_back(std::make_unique<std::string>(nb::cast<std::string>(value)));
      return std::string_view(*texts_.back());
    }
    if (!PyList_Check(value.ptr())) return field_of(value);
    auto& fields = *lists_.emplace_back(std::make_unique<std::vector<Field>>());
    for (const nb::handle element : nb::borrow<nb::list>(value)) fields.push_back(field_of(element));
    return std::span<const Field>(fields);
  }

 private:
  static MdsValue integer_of(const nb::handle& value) {
    std::int64_t number = 0;
    if (nb::try_cast(value, number)) return number;
    std::uint64_t large = 0;
    if (nb::try_cast(value, large)) return large;
    throw std::invalid_argument("MdsWriter: a number is not within 64 bits");
  }

  // Bytes as they are, or (type, shape, buffer).
  Field field_of(const nb::handle& value) {
    if (!PyTuple_Check(value.ptr())) {
      buffers_.push_back(std::make_unique<Buffer>(value));
      return {.type = ElementType::kBytes, .bytes = buffers_.back()->bytes()};
    }
    const auto array = nb::borrow<nb::tuple>(value);
    buffers_.push_back(std::make_unique<Buffer>(array[2]));
    shapes_.push_back(
        std::make_unique<std::vector<std::uint64_t>>(nb::cast<std::vector<std::uint64_t>>(array[1])));
    return {.type = type_named(nb::cast<std::string>(array[0])),
            .shape = *shapes_.back(),
            .bytes = buffers_.back()->bytes()};
  }

  std::vector<std::unique_ptr<std::string>> texts_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::unique_ptr<std::vector<std::uint64_t>>> shapes_;
  std::vector<std::unique_ptr<std::vector<Field>>> lists_;
};

class Writer {
 public:
  Writer(const std::string& folder, std::vector<std::pair<std::string, std::string>> columns,
         MdsWriterOptions options)
      : writer_(create(folder, std::move(columns), std::move(options)), "an MdsWriter") {}

  void write(const std::vector<std::pair<std::string, nb::object>>& sample) {
    Kept kept;
    std::vector<MdsWriter::Value> values;
    for (const auto& [column, value] : sample) values.push_back({column, kept.value_of(value)});
    const nb::gil_scoped_release released;
    writer_->write(values);
  }
  void finish() {
    const nb::gil_scoped_release released;
    writer_->finish();
  }

 private:
  static std::unique_ptr<MdsWriter> create(const std::string& folder,
                                           std::vector<std::pair<std::string, std::string>> columns,
                                           MdsWriterOptions options) {
    const nb::gil_scoped_release released;
    return std::make_unique<MdsWriter>(folder, std::move(columns), std::move(options));
  }

  Owned<MdsWriter> writer_;
};

}  // namespace

void bind_mds_writer(nb::module_& module) {
  nb::class_<Writer>(module, "ShardWriter", "The compiled writer behind ratoon.MdsWriter.")
      .def(
          "__init__",
          [](Writer* self, const std::string& folder,
             std::vector<std::pair<std::string, std::string>> columns, std::string compression,
             std::vector<std::string> hashes, std::uint64_t size_limit_bytes) {
            new (self) Writer(folder, std::move(columns),
                              {.compression = std::move(compression),
                               .hashes = std::move(hashes),
                               .size_limit_bytes = size_limit_bytes});
          },
          "folder"_a, "columns"_a, nb::kw_only(), "compression"_a, "hashes"_a, "size_limit_bytes"_a)
      .def("write", &Writer::write, "sample"_a)
      .def("finish", &Writer::finish);
}

}  // namespace ratoon::python

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ratoon/mds_dataset.h>

#include "python/src/bindings.h"
#include "python/src/forks.h"
#include "python/src/interruptible.h"
#include "python/src/store_options.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

using Samples = std::vector<std::unique_ptr<Sample>>;

// A number alone, as Python has it; nothing where the type is none of Python's.
nb::object number_of(const Field& field) {
  switch (field.type) {
    case ElementType::kUint8:
      return nb::cast(field.as<std::uint8_t>());
    case ElementType::kInt8:
      return nb::cast(field.as<std::int8_t>());
    case ElementType::kUint16:
      return nb::cast(field.as<std::uint16_t>());
    case ElementType::kInt16:
      return nb::cast(field.as<std::int16_t>());
    case ElementType::kUint32:
      return nb::cast(field.as<std::uint32_t>());
    case ElementType::kInt32:
      return nb::cast(field.as<std::int32_t>());
    case ElementType::kUint64:
      return nb::cast(field.as<std::uint64_t>());
    case ElementType::kInt64:
      return nb::cast(field.as<std::int64_t>());
    case ElementType::kFloat32:
      return nb::cast(field.as<float>());
    case ElementType::kFloat64:
      return nb::cast(field.as<double>());
    case ElementType::kBytes:
    case ElementType::kText:
    case ElementType::kFloat16:
    case ElementType::kBool:
    case ElementType::kBfloat16:
    case ElementType::kFloat8E4m3Fn:
    case ElementType::kFloat8E5m2:
    case ElementType::kComplex64:
      break;
  }
  return {};
}

// A number, str, bytes, or an array as (type, shape, bytearray), from which the package makes it.
nb::object value_of(const Field& field) {
  if (field.type == ElementType::kText) return nb::str(field.text().data(), field.text().size());
  if (field.type == ElementType::kBytes) return nb::bytes(field.bytes.data(), field.bytes.size());
  if (field.shape.empty()) {
    nb::object number = number_of(field);
    if (number.is_valid()) return number;
  }
  nb::list shape;
  for (const std::uint64_t length : field.shape) shape.append(length);
  const std::string_view type = name_of(field.type);
  return nb::make_tuple(nb::str(type.data(), type.size()), nb::tuple(shape),
                        nb::bytearray(field.bytes.data(), field.bytes.size()));
}

// An MdsDataset that a forked child opens anew: it has none of the threads of its parent.
class Shards {
 public:
  Shards(std::vector<std::string> uris, MdsOptions options)
      : uris_(std::move(uris)),
        options_(std::move(options)),
        is_local_(options_.cache_folder.empty() && std::ranges::all_of(uris_,
                                                                       [](const std::string& uri) {
                                                                         return uri.find("://") ==
                                                                                    std::string::npos ||
                                                                                uri.starts_with("file://");
                                                                       })),
        data_(open()) {}
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;
  ~Shards() {
    if (forks_ != forks()) forget();
  }

  [[nodiscard]] std::shared_ptr<MdsDataset> data() {
    if (forks_ != forks()) {
      auto anew = open();
      forget();
      data_ = std::move(anew);
      forks_ = forks();
    }
    return data_;
  }

  // A local file is read within a moment; what lies elsewhere may take long.
  [[nodiscard]] Samples read(const std::vector<std::uint64_t>& ids) {
    auto data = this->data();
    if (is_local_) {
      const nb::gil_scoped_release released;
      return read_all(*data, ids, {});
    }
    return run_interruptibly(
        [data = std::move(data), ids](const std::stop_token& stop) { return read_all(*data, ids, stop); });
  }

 private:
  static Samples read_all(const MdsDataset& data, const std::vector<std::uint64_t>& ids,
                          const std::stop_token& stop) {
    Samples samples;
    if (ids.size() > 1) data.expect(ids);
    for (const std::uint64_t id : ids) {
      samples.push_back(std::make_unique<Sample>());
      samples.back()->set_stop(stop);
      data.read(id, *samples.back());
    }
    if (ids.size() > 1) data.expect_no_more(ids);
    return samples;
  }

  [[nodiscard]] std::shared_ptr<MdsDataset> open() const {
    return run_interruptibly([uris = uris_, options = options_](const std::stop_token& /*stop*/) {
      return MdsDataset::open(uris, options);
    });
  }
  // Its end would wait for threads that are not in this process.
  void forget() {
    static_cast<void>(std::make_unique<std::shared_ptr<MdsDataset>>(std::move(data_)).release());
  }

  const std::vector<std::string> uris_;
  const MdsOptions options_;
  const bool is_local_;
  std::shared_ptr<MdsDataset> data_;
  std::uint64_t forks_ = forks();
};

nb::list elements_of(const MdsDataset& data, std::size_t column, const Field& list) {
  Sample elements;
  data.elements(column, list, elements);
  nb::list values;
  for (const Field& element : elements.fields()) values.append(value_of(element));
  return values;
}

nb::list read(Shards& shards, const std::vector<std::uint64_t>& ids) {
  const Samples samples = shards.read(ids);
  const auto data = shards.data();
  std::vector<bool> is_list;
  for (std::size_t column = 0; column < data->columns().size(); ++column) {
    const std::string& encoding = data->encoding(column);
    is_list.push_back(encoding.starts_with("list[") || encoding == "jpeg_array" || encoding == "jpegarray");
  }
  nb::list rows;
  for (const auto& sample : samples) {
    nb::list row;
    for (std::size_t column = 0; column < sample->size(); ++column) {
      const Field& field = sample->field(column);
      if (is_list[column])
        row.append(elements_of(*data, column, field));
      else
        row.append(value_of(field));
    }
    rows.append(row);
  }
  return rows;
}

nb::list columns_of(Shards& shards) {
  const auto data = shards.data();
  nb::list columns;
  for (std::size_t i = 0; i < data->columns().size(); ++i)
    columns.append(nb::make_tuple(data->columns()[i].name, data->encoding(i)));
  return columns;
}

MdsOptions make_options(std::string split, std::string cache_folder, std::uint64_t cache_bytes_max,
                        std::uint32_t fetch_threads, bool verifies_local_files, bool maps_files,
                        std::uint64_t memory_bytes_max, const nb::object& store) {
  return {.split = std::move(split),
          .cache_folder = std::move(cache_folder),
          .cache_bytes_max = cache_bytes_max,
          .store = store_options_of(store),
          .fetch_threads = fetch_threads,
          .verifies_local_files = verifies_local_files,
          .maps_files = maps_files,
          .memory_bytes_max = memory_bytes_max};
}

}  // namespace

void bind_mds_dataset(nb::module_& module) {
  nb::class_<Shards>(module, "Shards", "The compiled reader behind ratoon.MdsDataset.")
      .def(
          "__init__",
          [](Shards* self, std::vector<std::string> uris, std::string split, std::string cache_folder,
             std::uint64_t cache_bytes_max, std::uint32_t fetch_threads, bool verifies_local_files,
             bool maps_files, std::uint64_t memory_bytes_max, const nb::object& store) {
            new (self)
                Shards(std::move(uris),
                       make_options(std::move(split), std::move(cache_folder), cache_bytes_max, fetch_threads,
                                    verifies_local_files, maps_files, memory_bytes_max, store));
          },
          "uris"_a, nb::kw_only(), "split"_a, "cache_folder"_a, "cache_bytes_max"_a, "fetch_threads"_a,
          "verifies_local_files"_a, "maps_files"_a, "memory_bytes_max"_a, "store"_a.none())
      .def("size", [](Shards& self) { return self.data()->size(); })
      .def("digest", [](Shards& self) { return self.data()->digest(); })
      .def("shard_sizes", [](Shards& self) { return self.data()->shard_sizes(); })
      .def("columns", columns_of, nb::sig("def columns(self) -> list[tuple[str, str]]"))
      .def("read", read, "ids"_a, nb::sig("def read(self, ids: list[int]) -> list[list[object]]"))
      .def(
          "expect", [](Shards& self, const std::vector<std::uint64_t>& ids) { self.data()->expect(ids); },
          "ids"_a)
      .def(
          "expect_no_more",
          [](Shards& self, const std::vector<std::uint64_t>& ids) { self.data()->expect_no_more(ids); },
          "ids"_a);
}

}  // namespace ratoon::python

// Reads the samples of a batch from a torch::data dataset one by one, each with its own random numbers: in
// get() and in transforms of single examples, current_sample_random() returns the generator of the example.
//
//   ratoon::torch::SampleReads reads{.indices = {3, 5}, .random = {random_of_3, random_of_5}};
//   auto batch = ratoon::torch::read_samples(dataset, reads);
//
// ratoon::torch::batches() calls read_samples(). A dataset with its own get_batch(), or a transform with its
// own apply_batch(), gets the whole batch at once. In its own get_batch() or apply_batch(),
// current_sample_random() throws a Failure.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include <torch/data/datasets/base.h>
#include <torch/data/datasets/map.h>
#include <torch/data/transforms/base.h>

#include <ratoon/sample_random.h>

namespace ratoon::torch {

struct SampleReads {
  std::vector<std::size_t> indices{};
  std::vector<SampleRandom> random{};  // of each index

  [[nodiscard]] std::size_t size() const { return indices.size(); }
};

namespace detail {

// Whether the dataset reads a batch with LibTorch's loop over get().
template <class Dataset>
concept ReadsSingleExamples = requires { typename Dataset::ExampleType; } && requires {
  requires std::same_as<decltype(&Dataset::get_batch),
                        std::vector<typename Dataset::ExampleType> (
                            ::torch::data::datasets::Dataset<Dataset, typename Dataset::ExampleType>::*)(
                            ::torch::ArrayRef<std::size_t>)>;
};

// Whether the transform changes a batch with LibTorch's loop over apply().
template <class Transform>
concept TransformsSingleExamples = requires {
  typename Transform::InputType;
  typename Transform::OutputType;
} && requires {
  requires std::same_as<decltype(&Transform::apply_batch),
                        std::vector<typename Transform::OutputType> (
                            ::torch::data::transforms::Transform<typename Transform::InputType,
                                                                 typename Transform::OutputType>::*)(
                            std::vector<typename Transform::InputType>)>;
};

template <class Transform>
typename Transform::OutputBatchType transform_samples(Transform& transform,
                                                      typename Transform::InputBatchType inputs,
                                                      SampleReads& reads) {
  if constexpr (TransformsSingleExamples<Transform>) {
    typename Transform::OutputBatchType outputs;
    outputs.reserve(inputs.size());
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      const SampleRandomScope scope(reads.random.at(at));
      outputs.push_back(transform.apply(std::move(inputs[at])));
    }
    return outputs;
  } else {
    return transform.apply_batch(std::move(inputs));
  }
}

template <class Dataset>
struct SampleReader {
  static typename Dataset::BatchType read(Dataset& dataset, SampleReads& reads) {
    if constexpr (ReadsSingleExamples<Dataset>) {
      typename Dataset::BatchType batch;
      batch.reserve(reads.size());
      for (std::size_t at = 0; at < reads.size(); ++at) {
        const SampleRandomScope scope(reads.random.at(at));
        batch.push_back(dataset.get(reads.indices[at]));
      }
      return batch;
    } else {
      return dataset.get_batch(reads.indices);
    }
  }
};

template <class Source, class Transform>
struct SampleReader<::torch::data::datasets::MapDataset<Source, Transform>> {
  using Mapped = ::torch::data::datasets::MapDataset<Source, Transform>;

  // MapDataset returns its members as const references, but read() calls non-const functions of these
  // members.
  static typename Mapped::BatchType read(Mapped& mapped, SampleReads& reads) {
    auto& source = const_cast<Source&>(mapped.dataset());
    auto& transform = const_cast<Transform&>(mapped.transform());
    return transform_samples(transform, SampleReader<Source>::read(source, reads), reads);
  }
};

}  // namespace detail

// Returns the same batch as dataset.get_batch(reads.indices).
template <class Dataset>
[[nodiscard]] typename Dataset::BatchType read_samples(Dataset& dataset, SampleReads reads) {
  return detail::SampleReader<Dataset>::read(dataset, reads);
}

}  // namespace ratoon::torch

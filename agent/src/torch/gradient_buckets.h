// GradientBuckets: gradients in a few flat pieces of memory of our own, in the order of the parameters. Of
// our own, since a collective that is given up may still write into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ratoon {

class GradientBuckets {
 public:
  // The pieces depend on the parameters' types and shapes alone. One of them ends with the control word, and
  // so many more numbers.
  explicit GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more = 0);

  [[nodiscard]] bool is_for(const std::vector<at::Tensor>& parameters) const;
  [[nodiscard]] std::vector<at::Tensor>& pieces() { return pieces_; }

  // Of all pieces, before the first is filled: this rank's wishes, and which gradients it has.
  void begin(std::uint32_t wishes);
  // Copies this rank's gradients in, piece by piece, so that one is summed up while the next is filled.
  void fill(std::size_t piece);
  // What else is added up; filled and read by the caller.
  [[nodiscard]] std::span<float> more();
  // After the sum of a piece over all ranks: copies the mean back of what this rank has gradients of.
  void spread(std::size_t piece, std::uint32_t world_size);
  // After that of all: of what other ranks alone have, too. The wishes that any rank had.
  [[nodiscard]] std::uint32_t finish(std::uint32_t world_size);

 private:
  struct Place {
    std::size_t piece = 0;
    std::int64_t offset = 0;
  };
  [[nodiscard]] at::Tensor view_of(std::size_t parameter) const;
  void take_mean(std::size_t parameter, std::uint32_t world_size);

  std::vector<at::Tensor> parameters_;
  std::vector<Place> places_;  // of each parameter
  std::vector<at::Tensor> pieces_;
  at::Tensor control_;  // a view: one number a bit of the wishes, then one a parameter, then more_
  std::size_t more_;
};

}  // namespace ratoon

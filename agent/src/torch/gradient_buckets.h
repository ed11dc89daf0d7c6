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

  // Copies this rank's gradients and its wishes in.
  void fill(std::uint32_t wishes);
  // What else is added up; filled and read by the caller.
  [[nodiscard]] std::span<float> more();
  // After the sum over all ranks: copies the mean back and returns the wishes that any rank had.
  [[nodiscard]] std::uint32_t spread(std::uint32_t world_size);

 private:
  struct Place {
    std::size_t piece = 0;
    std::int64_t offset = 0;
  };
  [[nodiscard]] at::Tensor view_of(std::size_t parameter) const;

  std::vector<at::Tensor> parameters_;
  std::vector<Place> places_;  // of each parameter
  std::vector<at::Tensor> pieces_;
  at::Tensor control_;  // a view: one number a bit of the wishes, then one a parameter, then more_
  std::size_t more_;
};

}  // namespace ratoon

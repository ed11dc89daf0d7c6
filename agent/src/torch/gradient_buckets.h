// GradientBuckets: gradients in a few flat pieces of memory of our own, in the order in which backward()
// comes to them. Of our own, since a collective that is given up may still write into them: let_go() says so.
// What was averaged lies in the pieces and is the parameters' gradient there, so nothing is copied back, but
// for half precision, which is added up in single precision, and for other devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ratoon {

class GradientBuckets {
 public:
  // The pieces depend on the parameters' types and shapes alone: the last parameter is in the first piece.
  // The last piece ends with the control word, and so many more numbers.
  explicit GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more = 0);

  // False, too, where a parameter has another shape or type by now.
  [[nodiscard]] bool is_for(const std::vector<at::Tensor>& parameters) const;
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] std::vector<at::Tensor>& pieces() { return pieces_; }
  // In which piece each parameter's gradient lies.
  [[nodiscard]] std::vector<std::size_t> places() const;

  // A step begins. With `samples` this rank's gradients are the mean of so many, else all ranks count alike.
  void begin(std::uint32_t world_size, std::optional<std::uint64_t> samples = std::nullopt);
  // Puts this rank's share of the mean into a piece.
  void fill(std::size_t piece);
  // Puts this rank's wishes and what gradients it has into the last piece, when it has all that it will have.
  void tell(std::uint32_t wishes);
  // What else is added up; filled and read by the caller.
  [[nodiscard]] std::span<float> more();
  // After the sums of all pieces over all ranks: every gradient that any rank has is the mean of all. Returns
  // the wishes that any rank had.
  [[nodiscard]] std::uint32_t finish();

  // No gradient lies in the pieces any more.
  void let_go();

 private:
  struct Place {
    std::size_t piece = 0;
    std::int64_t offset = 0;
  };
  void place_pieces();
  void fill_one(std::size_t parameter) const;
  [[nodiscard]] double sum_of_samples() const;  // 1 where none were given

  std::vector<at::Tensor> parameters_;
  std::vector<Place> places_;      // of each parameter
  std::vector<at::Tensor> views_;  // of each parameter: its place as a tensor of its shape
  std::vector<at::Tensor> pieces_;
  at::Tensor control_;
  std::size_t more_;
  std::uint32_t world_size_ = 1;
  std::optional<std::uint64_t> samples_;
};

}  // namespace ratoon

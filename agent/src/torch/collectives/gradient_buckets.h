// GradientBuckets: gradients in a few flat pieces of memory of our own, in the order in which backward()
// comes to them, on the device of the parameters. Of our own, since a collective that is given up may still
// write into them: let_go() says so. What was averaged lies in the pieces and is the parameters' gradient
// there; half precision, which is added up in single precision, has flat pieces of its own for that. A step
// makes no tensors anew, and on an accelerator it only queues kernels.
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
  struct Layout {
    std::size_t bucket_bytes = 8 << 20;
    c10::Device device = c10::kCPU;  // where the pieces lie: the parameters' own, or the CPU
    bool sum_in_half_precision = false;

    friend bool operator==(const Layout&, const Layout&) = default;
  };

  // The pieces depend on the parameters' types and shapes and on the layout alone: the last parameter is in
  // the first piece. The last piece is on the CPU and ends with the control word, and so many more numbers.
  explicit GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more = 0)
      : GradientBuckets(std::move(parameters), more, Layout()) {}
  GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more, const Layout& layout);

  // False, too, where a parameter has another shape or type by now.
  [[nodiscard]] bool is_for(const std::vector<at::Tensor>& parameters, const Layout& layout) const;
  [[nodiscard]] bool is_for(const std::vector<at::Tensor>& parameters) const {
    return is_for(parameters, Layout());
  }
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] std::vector<at::Tensor>& pieces() { return pieces_; }
  // In which piece each parameter's gradient lies.
  [[nodiscard]] std::vector<std::size_t> places() const;

  // A step begins. With `samples` this rank's gradients are the mean of so many, else all ranks count alike.
  void begin(std::uint32_t world_size, std::optional<std::uint64_t> samples = std::nullopt);
  // Puts this rank's share of the mean of one gradient into its piece, on the stream that is current.
  void fill_one(std::size_t parameter);
  // The same for all of a piece that are not there yet.
  void fill(std::size_t piece);
  // Puts this rank's wishes and what gradients it has into the last piece, when it has all that it will have.
  void tell(std::uint32_t wishes);
  // What else is added up; filled and read by the caller.
  [[nodiscard]] std::span<float> more();
  // After the sums of all pieces over all ranks: every gradient that any rank has is the mean of all. Returns
  // the wishes that any rank had. On an accelerator the sums may still be under way, if what is queued on the
  // current stream comes after them.
  [[nodiscard]] std::uint32_t finish();

  // No gradient lies in the pieces any more.
  void let_go();

 private:
  struct Place {
    std::size_t piece = 0;
    std::int64_t offset = 0;
  };
  void place_pieces();
  [[nodiscard]] at::ScalarType type_of_sums(const at::Tensor& parameter) const;
  [[nodiscard]] at::Tensor view_of(std::size_t parameter, const at::Tensor& piece) const;
  [[nodiscard]] double sum_of_samples() const;  // 1 where none were given

  std::vector<at::Tensor> parameters_;
  const Layout layout_;
  std::vector<Place> places_;  // of each parameter
  std::vector<at::Tensor> pieces_;
  std::vector<at::Tensor> divisors_;  // of each piece: one number, the samples of all ranks
  std::vector<at::Tensor>
      means_;  // of each piece, in the parameters' type: the piece itself where it is that
  std::vector<at::Tensor> sum_views_;   // of each parameter: its place in the piece, as a tensor of its shape
  std::vector<at::Tensor> mean_views_;  // the same in the means
  std::vector<bool> is_filled_;         // of each parameter, in this step
  at::Tensor control_;
  std::size_t more_;
  std::uint32_t world_size_ = 1;
  std::optional<std::uint64_t> samples_;
  at::Tensor weight_;  // of this rank's gradients in the sum
};

}  // namespace ratoon

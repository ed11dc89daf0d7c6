// torch/collectives/gradients/: Puts the gradients of a module into buckets, and orders the sums of the
// buckets.
//
// GradientBuckets holds gradients in a few flat pieces of its own memory, in the order in which backward()
// computes them, on the parameters' device. GradientBuckets owns the memory, because an abandoned collective
// may still write there; let_go() takes the parameters' gradients out of it. After averaging, the parameters'
// gradients are views of the pieces. Half precision is summed in single precision, in separate flat pieces. A
// step creates no new tensors, and on an accelerator it only queues kernels.
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
    c10::Device device = c10::kCPU;  // the device of the pieces: the parameters' own, or the CPU
    bool sum_in_half_precision = false;

    friend bool operator==(const Layout&, const Layout&) = default;
  };

  // The pieces depend only on the layout and the parameters' types and shapes. The last parameter is in the
  // first piece. The last piece is on the CPU. The last piece ends with the control word and `more` numbers.
  explicit GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more = 0)
      : GradientBuckets(std::move(parameters), more, Layout()) {}
  GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more, const Layout& layout);

  // Returns whether the buckets fit: false also if a parameter's shape or type has changed.
  [[nodiscard]] bool is_for(const std::vector<at::Tensor>& parameters, const Layout& layout) const;
  [[nodiscard]] bool is_for(const std::vector<at::Tensor>& parameters) const {
    return is_for(parameters, Layout());
  }
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] std::vector<at::Tensor>& pieces() { return pieces_; }
  // Returns, for each parameter, the number of the piece that has its gradient.
  [[nodiscard]] std::vector<std::size_t> places() const;

  // Begins a step. With `samples`, this rank's gradients count as the mean of `samples` samples; without it,
  // all ranks have equal weight.
  void begin(std::uint32_t world_size, std::optional<std::uint64_t> samples = std::nullopt);
  // Writes this rank's share of the mean of one gradient into its piece, on the current stream.
  void fill_one(std::size_t parameter);
  // Writes all gradients of a piece that fill_one() has not written yet.
  void fill(std::size_t piece);
  // After backward(), writes this rank's requests and the list of its gradients into the last piece.
  void tell(std::uint32_t requests);
  // Returns further numbers to sum, which the caller writes before the sum and reads after it.
  [[nodiscard]] std::span<float> more();
  // Call finish() after all pieces were summed over all ranks: each gradient that any rank has becomes the
  // mean over ranks. Returns the combined requests of all ranks. On an accelerator, sums may still run when
  // finish() is called, if operations on the current stream are queued after them.
  [[nodiscard]] std::uint32_t finish();

  // If the gradients of parameters lie in the pieces, unsets the gradients.
  void let_go();

 private:
  struct BucketPosition {
    std::size_t piece = 0;
    std::int64_t offset = 0;
  };
  void place_pieces();
  [[nodiscard]] at::ScalarType type_of_sums(const at::Tensor& parameter) const;
  [[nodiscard]] at::Tensor view_of(std::size_t parameter, const at::Tensor& piece) const;
  [[nodiscard]] double sum_of_samples() const;  // 1 if none were given

  std::vector<at::Tensor> parameters_;
  const Layout layout_;
  std::vector<BucketPosition> places_;  // one per parameter
  std::vector<at::Tensor> pieces_;
  std::vector<at::Tensor> divisors_;  // one per piece: a single number, the samples of all ranks
  std::vector<at::Tensor>
      means_;  // one per piece, in the parameters' type: the piece itself if it has that type
  std::vector<at::Tensor> sum_views_;   // one per parameter: its part of the piece, in its shape
  std::vector<at::Tensor> mean_views_;  // the same for means_
  std::vector<bool> is_filled_;         // one per parameter, in this step
  at::Tensor control_;
  std::size_t more_;
  std::uint32_t world_size_ = 1;
  std::optional<std::uint64_t> samples_;
  at::Tensor weight_;  // weight of this rank's gradients in the sum
};

}  // namespace ratoon

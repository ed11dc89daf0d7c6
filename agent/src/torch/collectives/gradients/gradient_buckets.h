// torch/collectives/gradients/: Copies the gradients of a module into a few flat tensors (buckets), and
// decides the order in which the buckets are summed over the ranks.
//
// GradientBuckets holds gradients in a few flat pieces of its own memory, in the order in which backward()
// computes them, on the parameters' device. GradientBuckets owns the memory of the gradients, because an
// abandoned collective may still write into it. release_gradients() makes sure that no gradient of a
// parameter uses this memory. After the averaging, the gradient of each parameter is a view of its part of a
// piece. Unless sum_in_half_precision is set, gradients in half precision are converted to single precision
// and summed in separate pieces. In a training step, GradientBuckets creates no tensors, and on an
// accelerator it only queues kernels.
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
    // The number of parameters of each module. If module_sizes is empty, all parameters belong to one module.
    std::vector<std::size_t> module_sizes{};

    friend bool operator==(const Layout&, const Layout&) = default;
  };

  // The division into pieces depends only on the layout and on the types and shapes of the parameters. The
  // gradient of the last parameter is in the first piece, because backward() computes it first. No piece has
  // gradients of two modules, so that a module's pieces can be summed before another module has gradients.
  // The last piece is always on the CPU. It ends with the control word (such as the request bits and a flag
  // for each parameter that has a gradient) and `more` further numbers.
  explicit GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more = 0)
      : GradientBuckets(std::move(parameters), more, Layout()) {}
  GradientBuckets(std::vector<at::Tensor> parameters, std::size_t more, const Layout& layout);

  // Returns true if the buckets were made for these parameters and this layout, and no shape or type has
  // changed afterwards.
  [[nodiscard]] bool fits(const std::vector<at::Tensor>& parameters, const Layout& layout) const;
  [[nodiscard]] bool fits(const std::vector<at::Tensor>& parameters) const {
    return fits(parameters, Layout());
  }
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] std::vector<at::Tensor>& pieces() { return pieces_; }
  // Returns, for each parameter, the number of the piece that holds its gradient.
  [[nodiscard]] std::vector<std::size_t> pieces_of_parameters() const;

  // Begins a step. If `samples` is given, this rank's gradients are means over so many samples, and this
  // number is their weight. Without `samples`, the gradients of all ranks have equal weight.
  void begin(std::uint32_t world_size, std::optional<std::uint64_t> samples = std::nullopt);
  // Writes one gradient, multiplied by the weight of this rank, into its piece, on the current stream.
  void fill_gradient(std::size_t parameter);
  // Writes all gradients of a piece, except those that fill_gradient() has already written.
  void fill(std::size_t piece);
  // Writes the control word into the last piece: the request bits of this rank (Session::requests()), its
  // number of samples, and a flag for each parameter that has a gradient. Call write_control_word() after
  // backward().
  void write_control_word(std::uint32_t requests);
  // Returns one number for each piece, at the end of the last piece. The caller writes these numbers before
  // the last piece is summed over the ranks, and reads their sums afterwards.
  [[nodiscard]] std::span<float> values_per_piece();
  // Returns the caller's own numbers at the end of the last piece. The caller writes these numbers before the
  // last piece is summed over the ranks, and reads their sums afterwards.
  [[nodiscard]] std::span<float> extra_numbers();
  // Call finish() after all pieces were summed over all ranks. If at least one rank has the gradient of a
  // parameter, finish() sets this gradient to the mean over the ranks. Returns the request bits of all ranks,
  // combined by a bitwise or. On an accelerator, finish() may be called while sums still run, if the current
  // stream waits for them.
  [[nodiscard]] std::uint32_t finish();

  // Resets those gradients of parameters that are views of the pieces, so that the parameters no longer use
  // this memory.
  void release_gradients();

 private:
  struct BucketPosition {
    std::size_t piece = 0;
    std::int64_t offset = 0;
  };
  void lay_out_pieces();
  [[nodiscard]] at::ScalarType sum_type_of(const at::Tensor& parameter) const;
  [[nodiscard]] at::Tensor view_of(std::size_t parameter, const at::Tensor& piece) const;
  [[nodiscard]] double sum_of_samples() const;  // 1 if none were given

  std::vector<at::Tensor> parameters_;
  const Layout layout_;
  std::vector<BucketPosition> positions_;  // one per parameter
  std::vector<at::Tensor> pieces_;
  std::vector<at::Tensor> divisors_;  // one per piece: a single number, the samples of all ranks
  std::vector<at::Tensor>
      means_;  // one per piece, in the parameters' type: the piece itself if it has that type
  std::vector<at::Tensor> sum_views_;   // one per parameter: its part of the piece, in its shape
  std::vector<at::Tensor> mean_views_;  // the same for means_
  std::vector<bool> is_filled_;         // one per parameter, in this step
  at::Tensor control_word_;
  std::size_t extra_numbers_count_;
  std::uint32_t world_size_ = 1;
  std::optional<std::uint64_t> sample_count_;
  at::Tensor weight_;  // weight of this rank's gradients in the sum
};

}  // namespace ratoon

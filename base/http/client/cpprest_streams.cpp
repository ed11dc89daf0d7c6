#include "base/http/client/cpprest_streams.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace ratoon::http {
namespace {

using StreamBufferBase = concurrency::streams::details::streambuf_state_manager<std::uint8_t>;

// cpprestsdk's HTTP client calls only getn and putn_nocopy; the base class requires the other functions.
class ChannelBuffer : public StreamBufferBase {
 public:
  explicit ChannelBuffer(std::ios_base::openmode mode) : StreamBufferBase(mode) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  std::size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(std::size_t, std::ios_base::openmode) override {}
  std::size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return traits::eof(); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return traits::eof(); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return traits::eof();
  }
  bool acquire(std::uint8_t*& data, std::size_t& size) override {
    data = nullptr;
    size = 0;
    return false;
  }
  void release(std::uint8_t*, std::size_t) override {}

 protected:
  using StreamBufferBase::_putn;
  pplx::task<int_type> _putc(std::uint8_t) override { return no_character(); }
  pplx::task<std::size_t> _putn(const std::uint8_t*, std::size_t) override { return no_bytes(); }
  pplx::task<int_type> _bumpc() override { return no_character(); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return no_character(); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return no_character(); }
  pplx::task<int_type> _ungetc() override { return no_character(); }
  pplx::task<std::size_t> _getn(std::uint8_t*, std::size_t) override { return no_bytes(); }
  std::size_t _scopy(std::uint8_t*, std::size_t) override { return 0; }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  std::uint8_t* _alloc(std::size_t) override { return nullptr; }
  void _commit(std::size_t) override {}

 private:
  static pplx::task<int_type> no_character() { return pplx::task_from_result<int_type>(traits::eof()); }
  static pplx::task<std::size_t> no_bytes() { return pplx::task_from_result<std::size_t>(0); }
};

class DownloadBuffer final : public ChannelBuffer {
 public:
  explicit DownloadBuffer(std::shared_ptr<ExchangeChannel> channel)
      : ChannelBuffer(std::ios_base::out), channel_(std::move(channel)) {}

 protected:
  pplx::task<std::size_t> _putn(const std::uint8_t* data, std::size_t size) override {
    // The library parses a chunk's length as a signed int, so a length of "-1" becomes almost 2^64 bytes.
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      return pplx::task_from_exception<std::size_t>(std::runtime_error("Invalid chunked response header"));
    }
    pplx::task_completion_event<std::size_t> given_back;
    channel_->post(BytesArrived{{reinterpret_cast<const char*>(data), size}, [=] { given_back.set(size); }});
    return pplx::create_task(given_back);
  }

 private:
  std::shared_ptr<ExchangeChannel> channel_;
};

class MemoryUpload final : public ChannelBuffer {
 public:
  explicit MemoryUpload(std::string_view body) : ChannelBuffer(std::ios_base::in), left_(body) {}

 protected:
  pplx::task<std::size_t> _getn(std::uint8_t* into, std::size_t size) override {
    const std::size_t given = std::min(size, left_.size());
    std::memcpy(into, left_.data(), given);
    left_.remove_prefix(given);
    return pplx::task_from_result(given);
  }

 private:
  std::string_view left_;
};

class SourceUpload final : public ChannelBuffer {
 public:
  explicit SourceUpload(std::shared_ptr<ExchangeChannel> channel)
      : ChannelBuffer(std::ios_base::in), channel_(std::move(channel)) {}

 protected:
  pplx::task<std::size_t> _getn(std::uint8_t* into, std::size_t size) override {
    pplx::task_completion_event<std::size_t> given;
    channel_->post(
        BytesWanted{{reinterpret_cast<char*>(into), size}, [=](std::size_t count) { given.set(count); }});
    return pplx::create_task(given);
  }

 private:
  std::shared_ptr<ExchangeChannel> channel_;
};

template <class Buffer, class Argument>
concurrency::streams::streambuf<std::uint8_t> make_buffer(Argument argument) {
  return concurrency::streams::streambuf<std::uint8_t>(std::make_shared<Buffer>(std::move(argument)));
}

}  // namespace

concurrency::streams::ostream make_download(std::shared_ptr<ExchangeChannel> channel) {
  return make_buffer<DownloadBuffer>(std::move(channel)).create_ostream();
}

concurrency::streams::istream make_upload(std::string_view body) {
  return make_buffer<MemoryUpload>(body).create_istream();
}

concurrency::streams::istream make_upload(std::shared_ptr<ExchangeChannel> channel) {
  return make_buffer<SourceUpload>(std::move(channel)).create_istream();
}

}  // namespace ratoon::http

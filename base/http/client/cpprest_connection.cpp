#include "base/http/client/cpprest_connection.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cpprest/http_client.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <pplx/threadpool.h>

#include "base/core/never_destroyed.h"
#include "base/http/client/cpprest_streams.h"
#include "base/http/client/socket_counters.h"

namespace ratoon::http {
namespace {

namespace rest = web::http;
using boost::asio::ip::tcp;

// cpprestsdk's own timeout restarts with each read of up to 64 KiB, so it is disabled; RunningCall limits
// calls.
constexpr std::chrono::hours kClientTimeout{24 * 365};

// We make the connection and hand it to cpprestsdk, so the library never connects to the address in its base
// URL. The base URL has port 1, at which no program listens, so an attempt to connect to it would fail.
constexpr const char* kPlaceholderHttp = "http://127.0.0.1:1";
constexpr const char* kPlaceholderHttps = "https://127.0.0.1:1";

// The connection and the library's callbacks share a CpprestCallState, because a callback may still run after
// the connection has been destroyed.
struct CpprestCallState {
  bool is_tls = false;
  std::shared_ptr<const TlsClient> tls;
  TlsPeer peer;
  UniqueFd unused;  // connected, not yet given to the library
  UniqueFd socket;  // our own descriptor of the same connection
  std::atomic<std::uint64_t> bytes_read_before_reply{kNotYet};
  std::atomic<bool> has_begun{false};  // this exchange has got a connection

  static constexpr std::uint64_t kNotYet = std::numeric_limits<std::uint64_t>::max();

  // cpprestsdk calls attach() before each use of a connection. If the socket is not open, the library needs a
  // new connection. The first time, attach() gives it the connection that we made. Later, attach() throws,
  // because on a second connection the library would repeat the HTTP request. Only HttpTransport may decide
  // to repeat a request.
  void attach(void* handle) {
    using TlsStream = boost::asio::ssl::stream<tcp::socket&>;
    auto* tls_stream = is_tls ? static_cast<TlsStream*>(handle) : nullptr;
    tcp::socket& socket_of_library = is_tls ? tls_stream->next_layer() : *static_cast<tcp::socket*>(handle);
    if (socket_of_library.is_open()) {
      has_begun = true;
      return;
    }
    if (!unused.is_open()) throw std::runtime_error("the open connection is lost");
    if (tls_stream != nullptr) send_server_name_indication(tls_stream->native_handle(), peer);
    // The socket's protocol (v4) only matters for socket options, and the library sets no options. The
    // library's connect() on this socket succeeds at once, because Linux reports a finished non-blocking
    // connect() to the next call.
    socket_of_library.assign(tcp::v4(), unused.get());
    [[maybe_unused]] const int now_of_library = unused.release();
    has_begun = true;
  }

  void note_request_written() {
    const auto reading = read_socket_counters(socket.get());
    bytes_read_before_reply = reading ? reading->read_bytes_max : 0;
  }
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"  // the library's interface has none
// Runs the continuation of a pplx task in the thread that ends the task, so that the call gets the reply's
// head before the library reads the body. All later bytes count as the body.
class InlineScheduler final : public pplx::scheduler_interface {
 public:
  void schedule(pplx::TaskProc_t work, void* argument) override { work(argument); }

  static pplx::task_options options() {
    static const NeverDestroyed<InlineScheduler> scheduler;
    return pplx::task_options(*scheduler);
  }
};

#pragma GCC diagnostic pop

// The destructor of a ReleaseGuard runs when cpprestsdk has dropped its last copy of the request and so has
// finished the call.
class ReleaseGuard {
 public:
  explicit ReleaseGuard(std::shared_ptr<ExchangeChannel> channel) : channel_(std::move(channel)) {}
  ReleaseGuard(const ReleaseGuard&) = delete;
  ReleaseGuard& operator=(const ReleaseGuard&) = delete;
  ~ReleaseGuard() { channel_->post(ExchangeReleased{}); }

 private:
  std::shared_ptr<ExchangeChannel> channel_;
};

HeadArrived convert_head(const rest::http_response& reply) {
  HeadArrived event;
  event.head.status = reply.status_code();
  for (const auto& [name, value] : reply.headers()) event.head.headers.add(name, value);
  event.is_http_1 = reply._get_impl()->http_version().major == 1;
  return event;
}

// Converts the current exception into the event that ends the call.
ExchangeEnded describe_exception() {
  try {
    throw;
  } catch (const web::uri_exception& e) {
    return {.is_whole = false, .is_request_invalid = true, .problem = e.what()};
  } catch (const rest::http_exception& e) {
    return {.is_whole = false, .problem = e.what(), .code = e.error_code().value()};
  } catch (const std::exception& e) {
    return {.is_whole = false, .problem = e.what()};
  } catch (...) {
    return {.is_whole = false, .problem = "an unknown exception"};
  }
}

// If a path begins with two slashes, web::uri(target) would take its first part for a host.
web::uri relative_uri(const Url& url) {
  return web::uri("http://host" + url.target).resource();
}

rest::http_request convert_request(const Request& request, const Url& url,
                                   const std::shared_ptr<ExchangeChannel>& channel) {
  rest::http_request converted(request.method);
  converted.set_request_uri(relative_uri(url));
  const std::string_view body = request.body_view.empty() ? request.body : request.body_view;
  const std::size_t size = body_size_of(request);
  if (size != 0) {
    auto upload = request.body_source != nullptr ? make_upload(channel) : make_upload(body);
    converted.set_body(upload, size, "");
  }
  auto& headers = converted.headers();
  headers.remove("Content-Type");
  for (const auto& [name, value] : request.headers) headers.add(name, value);
  headers.remove("Content-Length");
  if (has_content_length(request)) headers.add("Content-Length", size);
  if (!headers.has("Host")) headers.add("Host", url.host_header);
  if (!headers.has("User-Agent")) headers.add("User-Agent", "ratoon");
  converted.set_response_stream(make_download(channel));
  return converted;
}

class CpprestClientConnection final : public CpprestConnection {
 public:
  CpprestClientConnection(std::shared_ptr<CpprestCallState> state, const char* base_url,
                          const rest::client::http_client_config& config)
      : state_(std::move(state)), client_(base_url, config) {}

  void start(const Request& request, const Url& url,
             const std::shared_ptr<ExchangeChannel>& channel) override {
    state_->bytes_read_before_reply = CpprestCallState::kNotYet;
    state_->has_begun = false;
    auto guard = std::make_shared<ReleaseGuard>(channel);
    try {
      auto converted = convert_request(request, url, channel);
      refuse_changed_target(url);
      converted.set_progress_handler([guard = std::move(guard), state = state_](
                                         rest::message_direction::direction direction, std::uint64_t) {
        if (direction == rest::message_direction::upload) state->note_request_written();
      });
      client_.request(std::move(converted))
          .then([channel](const pplx::task<rest::http_response>& reply) { follow(reply, channel); },
                InlineScheduler::options());
    } catch (...) {
      channel->post(describe_exception());
    }
  }

  std::optional<std::uint64_t> bytes_read_before_reply() const override {
    const std::uint64_t taken = state_->bytes_read_before_reply;
    if (taken == CpprestCallState::kNotYet) return std::nullopt;
    return taken;
  }
  bool was_never_sent() const override { return !state_->has_begun; }
  int socket() const override { return state_->socket.get(); }
  const std::string& certificate_problem() const override { return state_->peer.problem; }
  const std::string& expected_name() const override { return state_->peer.expected_name; }

 private:
  static void conclude(const pplx::task<rest::http_response>& whole,
                       const std::shared_ptr<ExchangeChannel>& channel) {
    try {
      whole.get();
      channel->post(ExchangeEnded{});
    } catch (...) {
      channel->post(describe_exception());
    }
  }

  static void follow(const pplx::task<rest::http_response>& reply,
                     const std::shared_ptr<ExchangeChannel>& channel) {
    try {
      const rest::http_response response = reply.get();
      channel->post(convert_head(response));
      response.content_ready().then(
          [channel](const pplx::task<rest::http_response>& whole) { conclude(whole, channel); },
          InlineScheduler::options());
    } catch (...) {
      channel->post(describe_exception());
    }
  }

  // The library parses URLs and builds them again; a URL that the library would change is not sent.
  void refuse_changed_target(const Url& url) const {
    const auto sent =
        web::uri_builder(client_.base_uri()).append(relative_uri(url)).to_uri().resource().to_string();
    if (sent != url.target) throw web::uri_exception("the path or query cannot be sent as it is written");
  }

  std::shared_ptr<CpprestCallState> state_;
  rest::client::http_client client_;
};

rest::client::http_client_config make_config(const std::shared_ptr<CpprestCallState>& state) {
  rest::client::http_client_config config;
  config.set_timeout(kClientTimeout);
  config.set_max_redirects(0);
  config.set_tlsext_sni_enabled(
      false);  // it would send the Host header with its port; attach() sends the right name
  config.set_nativehandle_options([state](rest::client::native_handle handle) { state->attach(handle); });
  config.set_ssl_context_callback([state](boost::asio::ssl::context& context) {
    if (!state->tls->prepare(context.native_handle(), &state->peer))
      throw std::runtime_error("OpenSSL refused");
  });
  return config;
}

}  // namespace

Result<std::unique_ptr<ClientConnection>> CpprestConnection::make(const Url& url, std::string expected_name,
                                                                  UniqueFd connected,
                                                                  std::shared_ptr<const TlsClient> tls) {
  auto state = std::make_shared<CpprestCallState>();
  state->is_tls = url.is_https;
  state->tls = std::move(tls);
  state->peer.expected_name = std::move(expected_name);
  state->socket = UniqueFd(::fcntl(connected.get(), F_DUPFD_CLOEXEC, 0));
  if (!state->socket.is_open()) return system_error(errno, "keeping a second descriptor for " + url.shown);
  state->unused = std::move(connected);
  try {
    return std::unique_ptr<ClientConnection>(std::make_unique<CpprestClientConnection>(
        state, url.is_https ? kPlaceholderHttps : kPlaceholderHttp, make_config(state)));
  } catch (const std::exception& e) {
    return Error(ErrorKind::kUnavailable, "making a client for " + url.shown + " failed: " + e.what());
  }
}

void prepare_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      // OpenSSL must be initialized before the thread pool, so that at exit the pool's threads end before
      // OpenSSL frees its data for each thread.
      OPENSSL_init_ssl(0, nullptr);
      crossplat::threadpool::initialize_with_threads(4);  // our code never blocks them
    } catch (const std::exception&) {
      // Other code in this process has started the library's thread pool already, so use this pool.
    }
    // Makes cpprestsdk's scheduler before the first HTTP call, because two simultaneous first calls could
    // each make a scheduler.
    static_cast<void>(pplx::get_ambient_scheduler());
  });
}

}  // namespace ratoon::http

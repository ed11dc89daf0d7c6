// CpprestConnection: one cpprestsdk client with exactly one connection. We make the TCP connection, give it
// to the library and keep a second file descriptor of it, to measure a call and, if necessary, to cut the
// connection.
#pragma once

#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"
#include "base/http/client/client_connection.h"
#include "base/http/client/exchange_channel.h"
#include "base/http/tls/tls_client.h"

namespace ratoon::http {

class CpprestConnection : public ClientConnection {
 public:
  // `tls` is null for http:// URLs.
  [[nodiscard]] static Result<std::unique_ptr<ClientConnection>> make(const Url& url,
                                                                      std::string expected_name,
                                                                      UniqueFd connected,
                                                                      std::shared_ptr<const TlsClient> tls);

  // Returns only after the library has released all objects of the call.
  [[nodiscard]] CallOutcome run(const CallPlan& plan) final;

  // Begins a call. All objects to which `request` refers must live until the channel reports
  // ExchangeReleased.
  virtual void start(const Request& request, const Url& url,
                     const std::shared_ptr<ExchangeChannel>& channel) = 0;

  // Returns how many bytes the library had read when it began to wait for the head of the reply, or nothing
  // if it does not wait for the head yet.
  [[nodiscard]] virtual std::optional<std::uint64_t> bytes_read_before_reply() const = 0;

  // Returns whether the server had closed the kept-alive connection before the library sent a byte on it.
  // The result of was_never_sent() is valid only after the HTTP call has ended.
  [[nodiscard]] virtual bool was_never_sent() const = 0;

  // Returns why TLS refused the server's certificate, or an empty text. Call certificate_problem() after the
  // HTTP call.
  [[nodiscard]] virtual const std::string& certificate_problem() const = 0;
  [[nodiscard]] virtual const std::string& expected_name() const = 0;
};

// Limits the size of cpprestsdk's global thread pool (40 threads by default) and makes its scheduler. Only
// the first call of prepare_library() has an effect.
void prepare_library();

}  // namespace ratoon::http

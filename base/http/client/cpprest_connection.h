// CpprestConnection: one cpprestsdk client with exactly one connection. We make the connection, give it to
// the library and keep a second descriptor of it. We use that descriptor to measure a call and, if necessary,
// to cut the connection.
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
  // `tls` is null for http.
  [[nodiscard]] static Result<std::unique_ptr<ClientConnection>> make(const Url& url,
                                                                      std::string expected_name,
                                                                      UniqueFd connected,
                                                                      std::shared_ptr<const TlsClient> tls);

  // Returns when the library has released the exchange.
  [[nodiscard]] CallOutcome run(const CallPlan& plan) final;

  // Begins an exchange. Everything that `request` refers to must live until the channel reports Released.
  virtual void start(const Request& request, const Url& url,
                     const std::shared_ptr<ExchangeChannel>& channel) = 0;

  // The number of bytes that the library had read when it began to wait for the reply's head; nothing before
  // the wait began.
  [[nodiscard]] virtual std::optional<std::uint64_t> taken_before_reply() const = 0;

  // Whether the library found that its kept connection had been closed before it sent anything. Valid only
  // after the exchange has ended.
  [[nodiscard]] virtual bool was_never_sent() const = 0;

  // The reason why TLS refused the other side's certificate, or empty. Only after the exchange has ended.
  [[nodiscard]] virtual const std::string& certificate_problem() const = 0;
  [[nodiscard]] virtual const std::string& expected_name() const = 0;
};

// Bounds cpprestsdk's global pool of threads (40 by default) and makes its scheduler. Only the first call of
// this function has an effect.
void prepare_library();

}  // namespace ratoon::http

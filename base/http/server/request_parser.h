// Reads one request from the bytes of a connection, within limits. Refuses ambiguous requests, which two
// parsers could read differently.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/http/server.h"

namespace ratoon::http {

class RequestParser {
 public:
  enum class State {
    kInHead,
    kInBody,
    kDone,
    kRefused,  // see refusal()
  };

  RequestParser(std::size_t head_bytes_max, std::size_t body_bytes_max);
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;
  ~RequestParser();

  // Removes the parsed bytes from `bytes`; the other bytes, of this or the next request, stay in `bytes`.
  State feed(std::string& bytes);

  // The HTTP status of the reply to a refused request, and a sentence for the reply's body.
  struct Refusal {
    int status = 400;
    std::string reason;
  };
  [[nodiscard]] const Refusal& refusal() const;

  // Call the following functions only after the parser has read the request's whole head.
  [[nodiscard]] bool wants_continue() const;  // the client waits for "100 Continue" before it sends the body
  [[nodiscard]] bool keeps_alive() const;
  [[nodiscard]] bool is_http_1_1() const;
  [[nodiscard]] bool is_head_request() const;
  [[nodiscard]] ServerRequest take_request();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ratoon::http

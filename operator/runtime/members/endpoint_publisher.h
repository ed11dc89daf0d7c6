// EndpointPublisher: makes the Service that members call point to this process, by its EndpointSlice. Only
// the leader publishes its endpoint, which stays in the EndpointSlice until the next leader changes it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "operator/runtime/api_server/api_client.h"

namespace ratoon::runtime {

struct EndpointPublisherOptions {
  std::string name_space;
  std::string service;
  std::string address;  // the address of this pod
  std::uint16_t port = 0;
};

class EndpointPublisher {
 public:
  // The client must outlive this object.
  EndpointPublisher(const ApiClient& client, EndpointPublisherOptions options)
      : client_(client), options_(std::move(options)) {}

  // Writes the EndpointSlice if it has another address than this process. Creates the EndpointSlice again if
  // it was deleted.
  [[nodiscard]] Result<void> publish(const std::stop_token& stop) const;

 private:
  [[nodiscard]] Result<void> make(const std::stop_token& stop) const;

  const ApiClient& client_;
  const EndpointPublisherOptions options_;
};

}  // namespace ratoon::runtime

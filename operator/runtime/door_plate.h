// DoorPlate: has the Service that members call lead to this process, by its EndpointSlice. Only a leader puts
// it up; it stays until the next one changes it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "operator/runtime/api_client.h"

namespace ratoon::runtime {

struct DoorPlateOptions {
  std::string name_space;
  std::string service;
  std::string address;  // of this pod
  std::uint16_t port = 0;
};

class DoorPlate {
 public:
  // The client outlives it.
  DoorPlate(const ApiClient& client, DoorPlateOptions options)
      : client_(client), options_(std::move(options)) {}

  // Writes only where the slice leads elsewhere. One that somebody deleted is made anew.
  [[nodiscard]] Result<void> put_up(const std::stop_token& stop) const;

 private:
  [[nodiscard]] Result<void> make(const std::stop_token& stop) const;

  const ApiClient& client_;
  const DoorPlateOptions options_;
};

}  // namespace ratoon::runtime

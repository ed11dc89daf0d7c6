#include "agent/src/data/loader/sample_failure.h"

#include <exception>
#include <stdexcept>

#include <ratoon/failure.h>

namespace ratoon::data {

void rethrow_with_sample_name(std::string_view doing, const Slot& slot, std::string_view source) {
  const std::string what = std::string(doing) + " sample " + std::to_string(slot.sample) + " of source " +
                           std::to_string(slot.source) + " '" + std::string(source) + "' (epoch " +
                           std::to_string(slot.epoch) + ", slot " + std::to_string(slot.number) + "): ";
  try {
    throw;
  } catch (const Failure& failure) {
    std::throw_with_nested(Failure(failure.exit_code, what + failure.what()));
  } catch (const std::exception& error) {
    std::throw_with_nested(std::runtime_error(what + error.what()));
  } catch (...) {
    std::throw_with_nested(std::runtime_error(what + "an exception that is not a std::exception"));
  }
}

}  // namespace ratoon::data

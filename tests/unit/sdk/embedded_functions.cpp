#include "embedded_functions.h"

#include <cmath>
#include <optional>
#include <stdexcept>

#include "orchid/function.hpp"
#include "orchid/kernel.hpp"

double scalar_product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}
ORCHID_FUNCTION(scalar_product)

std::string greeting_with_call(orchid::Call& call, std::string_view name) {
  return (call.should_stop() ? "stop, " : "hello, ") + std::string(name);
}
ORCHID_FUNCTION(greeting_with_call)

std::int32_t refuses(std::int32_t number) {
  throw std::runtime_error("no " + std::to_string(number));
}
ORCHID_FUNCTION(refuses)

std::optional<double> root_or_reason(orchid::Call& call, double value) {
  constexpr std::string_view why = "it is negative";
  if (value >= 0) return std::sqrt(value);
  orchid_error(call.handle(), why.data(), why.size());
  return std::nullopt;
}
ORCHID_FUNCTION(root_or_reason)

std::vector<double> scaled(std::span<const double> values, double factor) {
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value *= factor;
  return result;
}
ORCHID_FUNCTION(scaled)

struct HalveArgs {
  float* values;
};
ORCHID_KERNEL(halve, HalveArgs) { args.values[item] /= 2; }
ORCHID_KERNEL_FUNCTION(halve)

ORCHID_ENTRY(copies_too_much) {
  void* memory = orchid_device_alloc(call, 8);
  return orchid_device_read(call, orchid_output(call, 9), memory, 9);
}

ORCHID_ENTRY(launches_too_much) {
  const HalveArgs args{nullptr};
  if (orchid_launch(call, &halve, &args, sizeof args, 0) != ORCHID_OK) return ORCHID_BAD_ARGUMENTS;
  return orchid_launch(call, &halve, &args, sizeof args, std::uint64_t{1} << 63);
}

ORCHID_ENTRY(opens_data) {
  orchid::Call running(call);
  return orchid::open_data<double>(running, "weather") ? ORCHID_OK : ORCHID_ERROR;
}

ORCHID_ENTRY(makes_room) {
  orchid::Call running(call);
  auto room = orchid::Room<double>::create(running, 8);
  return room && room->seal(8) ? ORCHID_OK : ORCHID_ERROR;
}

ORCHID_ENTRY(makes_room_without_number) {
  orchid::Call running(call);
  return orchid::Room<double>::create(running, (std::size_t{1} << 61U) + 1) ? ORCHID_OK
                                                                            : ORCHID_ERROR;
}

ORCHID_ENTRY(seals_nothing) {
  char id[ORCHID_DATA_ID_SIZE] = "x";
  const std::int32_t status = orchid_data_seal(call, nullptr, 0, "weather", id);
  return *id == 0 ? status : ORCHID_OK;
}

ORCHID_ENTRY(asks_for_data) {
  const void* bytes = &input;
  std::uint64_t size = 1;
  const std::int32_t status = orchid_data(call, 0, &bytes, &size);
  if (orchid_data_count(call) != 0 || bytes != nullptr || size != 0) return ORCHID_OK;
  return status;
}

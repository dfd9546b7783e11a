#include "foundation/result.h"

#include <array>
#include <cerrno>
#include <system_error>

namespace orchid {
namespace {
constexpr std::array<std::pair<ErrorCode, std::string_view>, 22> names{{
    {ErrorCode::internal, "internal"},
    {ErrorCode::bad_request, "bad_request"},
    {ErrorCode::bad_configuration, "bad_configuration"},
    {ErrorCode::unauthenticated, "unauthenticated"},
    {ErrorCode::denied, "denied"},
    {ErrorCode::not_found, "not_found"},
    {ErrorCode::conflict, "conflict"},
    {ErrorCode::too_large, "too_large"},
    {ErrorCode::module_rejected, "module_rejected"},
    {ErrorCode::no_capacity, "no_capacity"},
    {ErrorCode::quota, "quota"},
    {ErrorCode::unreachable, "unreachable"},
    {ErrorCode::timed_out, "timed_out"},
    {ErrorCode::cancelled, "cancelled"},
    {ErrorCode::lease_ended, "lease_ended"},
    {ErrorCode::disk_full, "disk_full"},
    {ErrorCode::unsupported, "unsupported"},
    {ErrorCode::system, "system"},
    {ErrorCode::compile_limit, "compile_limit"},
    {ErrorCode::no_data_memory, "no_data_memory"},
    {ErrorCode::data_lost, "data_lost"},
    {ErrorCode::data_elsewhere, "data_elsewhere"},
}};
}  // namespace

std::string_view to_string(ErrorCode code) {
  for (const auto& [value, name] : names)
    if (value == code) return name;
  return "internal";
}

std::optional<ErrorCode> parse_error_code(std::string_view text) {
  for (const auto& [value, name] : names)
    if (name == text) return value;
  return std::nullopt;
}

Failure system_failure(ErrorCode code, std::string_view step, int error_number) {
  return {code, std::string(step) + ": " + std::generic_category().message(error_number)};
}

std::unexpected<Failure> fail_errno(std::string_view step) {
  const int error_number = errno;
  const auto code = error_number == ENOSPC ? ErrorCode::disk_full : ErrorCode::system;
  return std::unexpected(system_failure(code, step, error_number));
}

}  // namespace orchid

// Calls whose input is written to where the member reads it.
#include <algorithm>
#include <cstring>
#include <string>

#include "crew/crew_access.h"
#include "orchid/crew.h"
#include "orchid/function.h"
#include "protocol/crew.h"

namespace orchid {
namespace {

[[noreturn]] void refuse(ErrorKind kind, std::string message) {
  throw Error({.kind = kind, .message = std::move(message)});
}

void check(std::size_t size, const std::string& function) {
  if (size > crew::payload_size.value)
    refuse(ErrorKind::too_large,
           "the input of '" + function + "' has up to " + to_string(ByteCount{size}) +
               ", and calls of a crew take at most " + to_string(crew::payload_size) +
               ": put what is larger into a data object");
}

Reply invoke(const CrewFunction& function, unsigned member, std::size_t most, CrewMember::Fill fill,
             const CrewCallOptions& options) {
  const auto call = sdk::CrewAccess::call_of(function, member, {}, options);
  call->most = most;
  call->fill = std::move(fill);
  return sdk::CrewAccess::wait_for(*sdk::CrewAccess::core_of(function), call, options.stop);
}

}  // namespace

Reply CrewMember::invoke_in_place(const CrewFunction& function, const Fill& fill,
                                  const CrewCallOptions& options) const {
  if (sdk::CrewAccess::core_of(function) != core_)
    refuse(ErrorKind::bad_request, "'" + function.name() + "' is a function of another crew");
  return invoke(function, number_, crew::payload_size.value, fill, options);
}

Reply CrewMember::invoke_in_place(const CrewFunction& function, const SourcePart& part,
                                  std::span<const std::byte> source,
                                  const CrewCallOptions& options) const {
  if (sdk::CrewAccess::core_of(function) != core_)
    refuse(ErrorKind::bad_request, "'" + function.name() + "' is a function of another crew");
  std::size_t most = part.fill != nullptr ? crew::payload_size.value : source.size();
  if (part.size != nullptr) most = part.size(source.data(), source.size());
  check(most, function.name());
  const auto fill = [&](std::span<std::byte> room) {
    if (part.fill == nullptr) {
      check(source.size(), function.name());
      if (source.size() > room.size()) return source.size();
      if (!source.empty()) std::memcpy(room.data(), source.data(), source.size());
      return source.size();
    }
    std::size_t size = room.size();
    const std::int32_t status = part.fill(source.data(), source.size(), room.data(), &size);
    if (status != ORCHID_OK)
      refuse(status == ORCHID_BAD_ARGUMENTS ? ErrorKind::bad_request : ErrorKind::function_error,
             "the source's part of '" + function.name() + "' returned status " +
                 std::to_string(status) + ", so the call has not begun");
    return size;
  };
  return invoke(function, number_, most, fill, options);
}

}  // namespace orchid

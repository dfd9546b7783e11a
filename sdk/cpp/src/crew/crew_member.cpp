// Calls whose input is written to where the member reads it.
#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "crew/crew_access.h"
#include "orchid/crew.h"
#include "orchid/function.h"
#include "protocol/crew.h"

namespace orchid {
namespace {

[[noreturn]] void refuse_in_place(ErrorKind kind, std::string message) {
  throw Error({.kind = kind, .message = std::move(message)});
}

void check_size(std::size_t size, const std::string& function) {
  if (size > crew::payload_size.value)
    refuse_in_place(ErrorKind::too_large,
                    "the input of '" + function + "' has up to " + to_string(ByteCount{size}) +
                        ", and calls of a crew take at most " + to_string(crew::payload_size) +
                        ": put what is larger into a data object");
}

Reply invoke_filled(const CrewFunction& function, unsigned member, std::size_t most,
                    CrewMember::Fill fill, const CrewCallOptions& options) {
  const auto call = sdk::CrewAccess::call_of(function, member, {}, options);
  call->most = most;
  call->fill = std::move(fill);
  return sdk::CrewAccess::wait_for(*sdk::CrewAccess::core_of(function), call, options.stop);
}

}  // namespace

Reply CrewMember::invoke_in_place(const CrewFunction& function, const Fill& fill,
                                  const CrewCallOptions& options) const {
  if (sdk::CrewAccess::core_of(function) != core_)
    refuse_in_place(ErrorKind::bad_request,
                    "'" + function.name() + "' is a function of another crew");
  return invoke_filled(function, number_, crew::payload_size.value, fill, options);
}

Reply CrewMember::invoke_in_place(const CrewFunction& function, const SourcePart& part,
                                  std::span<const std::byte> source,
                                  const CrewCallOptions& options) const {
  if (sdk::CrewAccess::core_of(function) != core_)
    refuse_in_place(ErrorKind::bad_request,
                    "'" + function.name() + "' is a function of another crew");
  std::size_t most = part.fill != nullptr ? crew::payload_size.value : source.size();
  if (part.size != nullptr) most = part.size(source.data(), source.size());
  check_size(most, function.name());
  const auto fill = [&](std::span<std::byte> room) {
    if (part.fill == nullptr) {
      check_size(source.size(), function.name());
      if (source.size() > room.size()) return source.size();
      if (!source.empty()) std::memcpy(room.data(), source.data(), source.size());
      return source.size();
    }
    std::size_t size = room.size();
    const std::int32_t status = part.fill(source.data(), source.size(), room.data(), &size);
    if (status != ORCHID_OK)
      refuse_in_place(
          status == ORCHID_BAD_ARGUMENTS ? ErrorKind::bad_request : ErrorKind::function_error,
          "the source's part of '" + function.name() + "' returned status " +
              std::to_string(status) + ", so the call has not begun");
    return size;
  };
  return invoke_filled(function, number_, most, fill, options);
}

namespace sdk {

/// Nothing: it has failed. Nobody reads or writes the room of a place that is free.
std::optional<std::span<const std::byte>> CrewCore::build(CrewCall& call,
                                                          std::uint64_t request_id) {
  if (!call.fill) return call.input;
  const std::span<std::byte> room =
      end_->room(call.member, request_id, 0).first(std::min(call.most, crew::payload_size.value));
  try {
    const std::size_t size = call.fill(room);
    if (size <= room.size()) return room.first(size);
    fail(call, ErrorKind::bad_request,
         "the source's part of the function says that it has written more than there is room for");
  } catch (...) {  // the program's own
    call.told = true;
    call.result.set_exception(std::current_exception());
  }
  return std::nullopt;
}

}  // namespace sdk
}  // namespace orchid

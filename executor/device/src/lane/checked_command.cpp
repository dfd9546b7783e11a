#include "lane/checked_command.h"

#include <algorithm>
#include <cstring>

namespace orchid::executor {
namespace {

std::unexpected<Failure> nonsense(const char* what) {
  return fail(ErrorCode::bad_request,
              std::string("the worker wrote nonsense into its device lane (") + what + ")");
}

/// What is wrong with where the host's bytes are, or null.
const char* check_area(const CheckedCommand& checked, const CallSlabs& slabs) {
  const DeviceCommand& command = checked.command;
  std::uint64_t bytes = 0;
  switch (checked.area) {
    case DeviceHostArea::payload:
      return command.size > most_payload_bytes.value ? "payload" : nullptr;
    case DeviceHostArea::call_input:
      bytes = slabs.request_bytes;
      break;
    case DeviceHostArea::call_output:
      bytes = slabs.response_bytes;
      break;
    default:
      return "area";
  }
  return command.offset > bytes || command.size > bytes - command.offset ? "offset" : nullptr;
}

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Takes name and arguments over. Returns what is wrong with them, or null.
const char* read_launch(std::span<const std::byte> rest, CheckedCommand& checked) {
  const DeviceCommand& command = checked.command;
  if (command.name_length == 0 || command.name_length > longest_kernel_name) return "kernel name";
  if (command.args_size > most_kernel_args) return "arguments";
  if (rest.size() != std::size_t{command.name_length} + command.args_size) return "length";
  checked.kernel.assign(reinterpret_cast<const char*>(rest.data()), command.name_length);
  if (!std::ranges::all_of(checked.kernel, is_of_name)) return "kernel name";
  checked.args = std::make_unique<KernelArgs>();
  if (command.args_size != 0)
    std::memcpy(checked.args->data(), rest.data() + command.name_length, command.args_size);
  return nullptr;
}

/// The length of what follows the command, but for launches.
std::uint64_t expected_rest(const CheckedCommand& checked) {
  const bool carries =
      checked.kind == DeviceCommandKind::write && checked.area == DeviceHostArea::payload;
  return carries ? checked.command.size : 0;
}

}  // namespace

Result<CheckedCommand> check_command(const transport::LaneRequest& request,
                                     const CallSlabs& slabs) {
  if (request.header.kind != static_cast<std::uint8_t>(RequestKind::call) ||
      request.header.flags != 0)
    return nonsense("kind of request");
  if (request.input.size() < sizeof(DeviceCommand)) return nonsense("length");
  CheckedCommand checked;
  checked.number = request.header.request_id;
  std::memcpy(&checked.command, request.input.data(), sizeof(DeviceCommand));
  checked.kind = static_cast<DeviceCommandKind>(checked.command.kind);
  checked.area = static_cast<DeviceHostArea>(checked.command.area);
  const auto rest = request.input.subspan(sizeof(DeviceCommand));
  const char* wrong = checked.command.reserved != 0 ? "reserved field" : nullptr;
  switch (checked.kind) {
    case DeviceCommandKind::alloc:
    case DeviceCommandKind::free:
    case DeviceCommandKind::wait:
    case DeviceCommandKind::end_call:
      break;
    case DeviceCommandKind::write:
    case DeviceCommandKind::read:
      if (wrong == nullptr) wrong = check_area(checked, slabs);
      break;
    case DeviceCommandKind::launch:
      if (wrong == nullptr) wrong = read_launch(rest, checked);
      if (wrong != nullptr) return nonsense(wrong);
      return checked;
    default:
      return nonsense("kind");
  }
  if (wrong == nullptr && rest.size() != expected_rest(checked)) wrong = "length";
  if (wrong != nullptr) return nonsense(wrong);
  checked.payload = rest;
  return checked;
}

}  // namespace orchid::executor

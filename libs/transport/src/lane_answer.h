// lane_answer.h: what an answer's header says, and where its log lies: the same on every lane.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "protocol/call_header.h"
#include "protocol/limits.h"
#include "protocol/outcome.h"
#include "transport/lane.h"
#include "transport/payload_rooms.h"

namespace orchid::transport {

/// Of the answer to call `number`, without its payload.
[[nodiscard]] inline CallHeader answer_header(std::uint64_t number,
                                              const LaneWorker::Answer& answer) {
  CallHeader header;
  header.request_id = number + 1;
  header.deadline_ns = static_cast<std::uint64_t>(answer.run_time.count());
  header.kind = static_cast<std::uint8_t>(answer.kind);
  header.status = static_cast<std::uint8_t>(answer.outcome);
  if (!answer.message.empty()) header.flags |= flag_message;
  if (answer.quick_code) header.flags |= flag_quick;
  return header;
}

/// Bytes of payload and log together. The log begins at the next line after the payload: dropped
/// bytes (u64), then the text.
[[nodiscard]] inline std::uint64_t bytes_with_log(const CallHeader& header) {
  if ((header.flags & flag_log) == 0) return header.payload_length;
  return align_to_line(header.payload_length) + sizeof(std::uint64_t) + header.origin;
}

/// Puts the log behind a payload of `payload` bytes, which lies in the slab from then on. One that
/// does not fit is counted as dropped. `place(size)` makes room in `outputs`, if it can. Returns
/// the text's length; nothing: not even its head fits.
template <typename Place>
[[nodiscard]] std::optional<std::uint64_t> append_log(const LaneWorker::Answer& answer,
                                                      std::size_t payload,
                                                      const OutputRooms& outputs, Place place) {
  const std::uint64_t start = align_to_line(payload);
  std::string_view text = answer.log.substr(0, limits::log_size.value);
  std::uint64_t dropped = answer.log_dropped + (answer.log.size() - text.size());
  if (!place(start + sizeof(dropped) + text.size())) {
    dropped += text.size();
    text = {};
    if (!place(start + sizeof(dropped))) return std::nullopt;
  }
  std::memcpy(outputs.data() + start, &dropped, sizeof(dropped));
  std::memcpy(outputs.data() + start + sizeof(dropped), text.data(), text.size());
  return text.size();
}
[[nodiscard]] inline bool has_log(const LaneWorker::Answer& answer) {
  return !answer.log.empty() || answer.log_dropped != 0;
}

/// What is wrong with a request's kind and flags, or null.
[[nodiscard]] inline const char* check_request(const CallHeader& header) {
  if ((header.flags & ~request_flags) != 0) return "flags";
  switch (static_cast<RequestKind>(header.kind)) {
    case RequestKind::call:
      // A call that is no stream says nothing about its input's end, and a stream has no data.
      return header.flags == flag_last ||
                     ((header.flags & flag_data) != 0 && header.flags != flag_data)
                 ? "flags"
                 : nullptr;
    case RequestKind::stop:
    case RequestKind::more:
      return (header.flags & (flag_stream | flag_data)) != 0 ? "flags" : nullptr;
  }
  return "kind";
}

/// Whether an entry may be answered so: only those of a stream get chunks.
[[nodiscard]] inline bool is_answer(std::uint8_t kind, bool of_stream) {
  switch (static_cast<ResponseKind>(kind)) {
    case ResponseKind::reply:
    case ResponseKind::need_code:
      return true;
    case ResponseKind::need_data:
      return !of_stream;
    case ResponseKind::chunk:
    case ResponseKind::discarded:
      return of_stream;
  }
  return false;
}

/// How a worker may end a call. All else is said by others than user code.
[[nodiscard]] inline bool is_of_function(std::uint8_t status) {
  if (status >= outcome_count) return false;
  switch (static_cast<Outcome>(status)) {
    case Outcome::ok:
    case Outcome::function_error:
    case Outcome::bad_request:
    case Outcome::limit_exceeded:
      return true;
    default:
      return false;
  }
}

/// Takes over what the header says, but for payload and log. Returns what is wrong with it, or
/// null.
[[nodiscard]] inline const char* read_answer_header(const CallHeader& header, bool of_stream,
                                                    LaneResponse& response) {
  if (header.version != call_header_version || !is_of_function(header.status))
    return "version or status";
  if (!is_answer(header.kind, of_stream)) return "kind";
  response.request_id = header.request_id;
  response.kind = static_cast<ResponseKind>(header.kind);
  response.outcome = static_cast<Outcome>(header.status);
  response.payload_is_message = (header.flags & flag_message) != 0;
  response.quick_code = (header.flags & flag_quick) != 0;
  constexpr std::chrono::nanoseconds longest = std::chrono::hours(24 * 365);
  response.run_time = std::chrono::nanoseconds(
      std::min<std::uint64_t>(header.deadline_ns, static_cast<std::uint64_t>(longest.count())));
  return nullptr;
}

/// The log that lies at `log`, whose bounds have been checked.
inline void read_log(const CallHeader& header, const std::byte* log, LaneResponse& response) {
  std::memcpy(&response.log_dropped, log, sizeof(std::uint64_t));
  response.log = {reinterpret_cast<const char*>(log + sizeof(std::uint64_t)), header.origin};
}

}  // namespace orchid::transport

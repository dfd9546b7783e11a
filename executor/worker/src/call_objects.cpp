#include "call_objects.h"

#include <sys/mman.h>

#include <chrono>
#include <utility>

#include "foundation/huge_pages.h"

namespace orchid::executor {
namespace {

/// A part of the time for which executors keep what no call opens (WorkerProcess::keeps_opened).
constexpr std::chrono::seconds tells_again{10};

/// Of a name that has a new version the place is that of an older one for so long.
constexpr std::chrono::seconds place_holds{1};
constexpr std::size_t most_places = 4096;  // functions choose the names

Failure name_too_long() {
  return {ErrorCode::bad_request, "no data has a name of more than " +
                                      std::to_string(longest_service_name) + " characters"};
}

}  // namespace

const orchid::Clock& CallObjects::system_clock() {
  static const SystemClock clock;
  return clock;
}

Result<std::span<const std::byte>> CallObjects::open(std::string_view name) {
  if (const auto known = opened_.find(name); known != opened_.end()) return known->second;
  if (name.size() > longest_service_name) return fail(name_too_long());
  ServiceRequest request{.ask = ServiceAsk::open_data};
  if (const auto data = parse_data_id(name)) {
    if (data_.find(*data) != nullptr) return open_mapped(*data);
    request.data = *data;
  } else if (name.empty()) {
    return fail(ErrorCode::bad_request, "data is opened by its name or its id, and none was given");
  } else {
    request.name = name;
  }
  auto answer = depot_.ask(std::move(request));
  if (!answer) return fail(std::move(answer.error()));
  auto bytes = map(std::move(*answer));
  if (bytes) opened_.emplace(name, *bytes);
  return bytes;
}

/// The executor has it unmapped when it has not heard of it for long. Nobody is asked whether the
/// call may have it: that it is mapped says so.
Result<std::span<const std::byte>> CallObjects::open_mapped(const DataId& data) {
  const MonotonicTime now = clock_.now();
  const auto told = told_.find(data);
  if (told == told_.end() || now - told->second >= tells_again) {
    static_cast<void>(depot_.ask({.ask = ServiceAsk::open_data, .data = data}));
    std::erase_if(told_, [this](const auto& one) { return data_.find(one.first) == nullptr; });
    told_[data] = now;
  }
  return data_.find(data)->bytes();
}

/// What is mapped already stays where it is: calls have its address.
Result<std::span<const std::byte>> CallObjects::map(ServiceClient::Answer answer) {
  if (data_.find(answer.data) == nullptr) {
    if (!answer.file)
      return fail(ErrorCode::unreachable, "the depot has sent no descriptor; try again");
    if (auto mapped = data_.map(answer.data, answer.file.get(), answer.bytes); !mapped)
      return fail(ErrorCode::no_capacity,
                  "the worker could not map the data: " + mapped.error().message);
  }
  told_[answer.data] = clock_.now();
  return data_.find(answer.data)->bytes();
}

/// The depot and the agent take longer than a hop: a chain would ask once for each of its steps.
Result<std::uint32_t> CallObjects::locate(std::string_view name) {
  const MonotonicTime now = clock_.now();
  if (const auto known = places_.find(name); known != places_.end() && now < known->second.until)
    return known->second.member;
  if (name.size() > longest_service_name) return fail(name_too_long());
  ServiceRequest request{.ask = ServiceAsk::locate_data};
  if (const auto data = parse_data_id(name))
    request.data = *data;
  else if (name.empty())
    return fail(ErrorCode::bad_request, "data is named by its name or its id, and none was given");
  else
    request.name = name;
  auto answer = depot_.ask(std::move(request));
  if (!answer) return fail(std::move(answer.error()));
  if (places_.size() >= most_places) places_.clear();
  const auto member = static_cast<std::uint32_t>(answer->bytes);
  places_.insert_or_assign(std::string(name), Place{.member = member, .until = now + place_holds});
  return member;
}

Result<std::span<std::byte>> CallObjects::create(std::uint64_t most) {
  if (most == 0)
    return fail(ErrorCode::bad_request,
                "a room has one byte at least; what is sealed of it may have none");
  made_ = true;  // also when the answer is lost on its way
  auto answer = depot_.ask({.ask = ServiceAsk::create_data, .bytes = most});
  if (!answer) return fail(std::move(answer.error()));
  void* const room =
      ::mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED, answer->file.get(), 0);
  if (room == MAP_FAILED) return fail_errno("the worker could not map the room");
  rooms_.emplace(room, Room{.data = answer->data, .bytes = most});
  const std::span bytes(static_cast<std::byte*>(room), most);
  prefer_huge_pages(bytes.data(), bytes.size());
  return bytes;
}

Result<DataId> CallObjects::seal(const void* room, std::uint64_t used, std::string_view name) {
  auto found = rooms_.extract(room);
  if (found.empty())
    return fail(ErrorCode::conflict,
                "this is no room of this call, or it has been sealed: a room is sealed once");
  const Room& sealed = found.mapped();
  // The seal on writes is refused while it is mapped.
  ::munmap(const_cast<void*>(room), sealed.bytes);
  if (used > sealed.bytes)
    return fail(ErrorCode::too_large, "the room has " + std::to_string(sealed.bytes) +
                                          " bytes, and " + std::to_string(used) +
                                          " are said to be used");
  if (name.size() > longest_service_name) return fail(name_too_long());
  auto answer = depot_.ask({.ask = ServiceAsk::seal_data,
                            .data = sealed.data,
                            .bytes = used,
                            .name = std::string(name)});
  seal_refused_ = seal_refused_ || !answer;
  if (!answer) return fail(std::move(answer.error()));
  ++sealed_;
  return answer->data;
}

void CallObjects::unmap_rooms() {
  for (const auto& [room, of] : rooms_) ::munmap(const_cast<void*>(room), of.bytes);
  rooms_.clear();
}

Result<void> CallObjects::end(bool succeeded) {
  opened_.clear();
  const std::uint64_t sealed = std::exchange(sealed_, 0);
  if (!std::exchange(made_, false)) return {};
  auto answer = depot_.ask({.ask = succeeded ? ServiceAsk::publish_data : ServiceAsk::discard_data,
                            .bytes = succeeded ? sealed : 0});
  if (!answer) return fail(std::move(answer.error()));
  return {};
}

}  // namespace orchid::executor

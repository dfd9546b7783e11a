// What pointer_chase.cpp runs in a crew: a table that is spread over its members, each entry of
// which names one of another member (crew/chase.h). A request has 24 bytes.
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "orchid/function.hpp"

namespace {

struct Request {
  std::uint64_t left;
  std::uint64_t address;
  std::uint64_t number;
};

/// As ChaseTable has it.
constexpr std::uint64_t entries_each = 4096;
std::vector<std::uint64_t> part;  // of this member

std::int32_t answer(orchid_call* call, std::uint64_t address) {
  void* output = orchid_output(call, sizeof(address));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &address, sizeof(address));
  return ORCHID_OK;
}

}  // namespace

/// Input: the entries of the member where it runs.
ORCHID_ENTRY(hold) {
  if (input_size != entries_each * sizeof(std::uint64_t)) return ORCHID_BAD_ARGUMENTS;
  part.resize(entries_each);
  std::memcpy(part.data(), input, input_size);
  return ORCHID_OK;
}

/// Output: the address where the chase has ended.
ORCHID_ENTRY(chase) {
  Request request{};
  if (input_size != sizeof(request) || part.empty()) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&request, input, sizeof(request));
  const auto self = static_cast<std::uint32_t>(orchid_member(call));
  std::uint32_t owner = 0;
  do {
    request.address = part[request.address % entries_each];
    if (--request.left == 0) return answer(call, request.address);
    owner = static_cast<std::uint32_t>(request.address / entries_each + 1);
  } while (owner == self);
  return orchid_forward(call, owner, nullptr, &request, sizeof(request));
}

/// The same through a table that needs no memory: each address follows from the last one, and each
/// step is another member's.
ORCHID_ENTRY(chase_made_up) {
  Request request{};
  if (input_size != sizeof(request)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&request, input, sizeof(request));
  request.address = request.address * 6364136223846793005ULL + 1442695040888963407ULL;
  if (--request.left == 0) return answer(call, request.address);
  const std::uint32_t next = orchid_member(call) % orchid_member_count(call) + 1;
  return orchid_forward(call, next, nullptr, &request, sizeof(request));
}

/// A request with the name of a function behind it, which nobody has loaded: the call goes on
/// there.
ORCHID_ENTRY(carry) {
  Request request{};
  if (input_size <= sizeof(request)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&request, input, sizeof(request));
  const auto* const name = static_cast<const char*>(input) + sizeof(request);
  if (name[input_size - sizeof(request) - 1] != '\0') return ORCHID_BAD_ARGUMENTS;
  return orchid_forward(call, orchid_member(call), name, &request, sizeof(request));
}

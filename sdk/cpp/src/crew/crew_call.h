// crew/crew_call.h: a call of a crew, and a module that it has loaded.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "foundation/clock.h"
#include "foundation/unique_fd.h"
#include "lane_client/policy.h"
#include "orchid/error.h"
#include "orchid/invocation.h"

namespace orchid::sdk {

/// Guarded by its crew's mutex, but for what never changes: digest, key and function.
struct CrewModule {
  std::string digest;
  std::uint64_t key = 0;  // protocol/crew.h
  std::string function;   // that has it, to get its bytes; empty: they are here
  UniqueFd file;          // the bytes, once they are here
  bool fetching = false;
  std::vector<std::string> entries;  // known once a member has loaded it
  std::set<std::size_t> loaded_at;   // seats
  std::set<std::size_t> needed_at;   // seats that wait for the bytes
  std::optional<Error::Details> failure;
};

/// Guarded by its crew's mutex.
struct CrewCall {
  std::shared_ptr<CrewModule> module;
  std::uint16_t entry = 0;
  std::uint32_t member = 0;  // where it begins
  std::vector<std::byte> input;
  /// Instead of that: what writes it to where the member reads it, at most `most` bytes. It lives
  /// as long as its caller waits.
  std::function<std::size_t(std::span<std::byte>)> fill;
  std::size_t most = 0;
  MonotonicTime asked;
  MonotonicTime due;
  bool at_most_once = false;
  bool traced = false;
  std::uint32_t hops = 0;
  std::string function;  // for messages
  std::stop_token stop;
  lane_client::CallHistory history;
  /// What its children have answered in crews that were lost, and how many bytes that is.
  std::map<std::uint64_t, std::vector<std::byte>> kept;
  std::size_t kept_bytes = 0;
  unsigned losses = 0;       // of its crew, while it was under way and no call was to blame
  bool cancel_told = false;  // the members know that it is to end
  bool told = false;         // its caller has its result
  std::promise<Reply> result;
};

}  // namespace orchid::sdk

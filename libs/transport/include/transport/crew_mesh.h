// transport/crew_mesh.h: a member's connections to the members of its crew at other executors: one
// UCX worker for all of them, and a key for each pair (docs/PROTOCOL.md §4, "Crews on several
// hosts").
//
// The two ends of a pair prove to each other on a plain TCP socket that they have its key, before
// either says more and before UCX listens; and UCX reads nothing before all connections but those
// of these peers are cut.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "protocol/call_header.h"
#include "transport/ucx_lane.h"

namespace orchid::transport {

struct CrewLog;

/// The key of a pair: what `secret` (any bytes) makes of the two numbers. Errors: `system`.
[[nodiscard]] Result<ConnectionKey> crew_pair_key(std::span<const std::byte> secret,
                                                  std::uint32_t one, std::uint32_t other);

/// Where a member waits for those with lower numbers. Owned by one thread.
class CrewDoor {
 public:
  /// `address`: an IP address of this host; empty: all of them. Errors: `bad_configuration`,
  /// `system`.
  [[nodiscard]] static Result<CrewDoor> listen(const std::string& address);
  CrewDoor(CrewDoor&& other) noexcept;
  CrewDoor& operator=(CrewDoor&& other) noexcept;
  ~CrewDoor();
  [[nodiscard]] int port() const;
  class State;
  [[nodiscard]] State& state() const { return *state_; }

 private:
  explicit CrewDoor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Owned by one thread, or by whoever holds the lock of its owner; stays where it is. Once it is
/// wired it opens, connects and accepts nothing.
class CrewMesh {
 public:
  struct Peer {
    std::uint32_t member = 0;
    ConnectionKey key{};
    std::string address;  // where its door is, if its number is higher than one's own
  };
  struct Options {
    std::uint32_t member = 0;  // this one
    std::vector<Peer> peers;
    LaneDeadline deadline;
    int stop = -1;  // a descriptor: becomes readable when the wiring is to end
  };
  /// Returns when all peers are connected, and know it. The lower number connects. Errors:
  /// `denied`, `unsupported`, `unreachable`, `timed_out`, `bad_request`, `cancelled`.
  [[nodiscard]] static Result<std::unique_ptr<CrewMesh>> wire(UcxContext& context, CrewDoor* door,
                                                              const Options& options);
  virtual ~CrewMesh() = default;
  CrewMesh(const CrewMesh&) = delete;
  CrewMesh& operator=(const CrewMesh&) = delete;

  [[nodiscard]] virtual std::vector<std::uint32_t> peers() const = 0;
  /// What a pair on one host has in its crew's memory (crew_memory.h): what comes from the peer is
  /// written there, in the peer's direction, and what goes to it may be.
  [[nodiscard]] virtual std::byte* memory_of(std::uint32_t peer) const = 0;

  /// Lets UCX work. False: there was nothing to do. Sends nothing by itself but what peers are
  /// still to hear of calls that are to end.
  virtual bool progress() = 0;
  /// Copies what is to be sent. To a crew that has lost somebody nothing is sent any more.
  virtual void send(std::uint32_t to, const CallHeader& header, std::span<const std::byte> payload,
                    const CrewLog& log) = 0;

  /// Each peer hears that the call is to end, as soon as the kernel takes it: of each place the
  /// largest number, so that what waits for one that computes has an end. What they have said comes
  /// back here, each once.
  virtual void tell_cancelled(std::uint64_t request_id) = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> take_cancelled() = 0;
  /// Each member (not the client) that has not lent anything since it was told hears that this one
  /// has nothing to do.
  virtual void tell_hungry() = 0;
  /// Whether that member has said so, and this is who lends it a child now.
  [[nodiscard]] virtual bool claim_hungry(std::uint32_t member) = 0;

  /// Who is gone, or has sent nonsense.
  [[nodiscard]] virtual const std::optional<Failure>& failure() const = 0;
  /// True: nothing to do, and `wake_descriptor` will become readable.
  [[nodiscard]] virtual bool arm() = 0;
  [[nodiscard]] virtual int wake_descriptor() const = 0;

 protected:
  CrewMesh() = default;
};

}  // namespace orchid::transport

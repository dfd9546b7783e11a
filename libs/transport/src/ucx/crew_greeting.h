// ucx/crew_greeting.h: how two members of a crew prove to each other that they have the key of
// their pair, before either says anything else (docs/PROTOCOL.md §4, "Crews on several hosts").
//
// The connecting one was told an address by somebody who may have lied. So whoever listens there
// gets a hello of which nobody but its sender has chosen a byte, and no more until it has proved
// itself.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "foundation/result.h"
#include "secure/crew_proof.h"
#include "transport/ucx_lane.h"
#include "ucx/hello.h"

namespace orchid::transport {

/// Its key is a salt of 8 bytes, and 8 bytes that only one who has the pair's key makes of that: so
/// peers are told from strangers at once, before those can keep them out.
[[nodiscard]] Result<Hello> make_crew_hello(const ConnectionKey& key,
                                            std::uint16_t version = crew_version);
/// Whether it is of one who has that key, or has heard him say it.
[[nodiscard]] bool is_crew_hello(const Hello& hello, const ConnectionKey& key);

/// The accepting end to the connecting one, which has not proved yet that its hello is its own.
struct CrewWelcome {
  HelloMagic magic = crew_magic;
  std::uint16_t version = crew_version;
  std::array<std::uint16_t, 3> reserved{};
  std::array<std::byte, 16> salt{};
  CrewProof proof{};
};
static_assert(sizeof(CrewWelcome) == 64 &&
              offsetof(CrewWelcome, salt) == offsetof(Welcome, request_bytes));

/// What the two ends of a pair say behind the hello. Errors: `system`.
struct CrewGreeting {
  const ConnectionKey& key;
  const Hello& hello;

  [[nodiscard]] Result<CrewWelcome> welcome() const;
  /// Errors: also `denied`: it is of nobody who has the key.
  [[nodiscard]] Result<void> check(const CrewWelcome& welcome) const;
  /// The connecting end's last word.
  [[nodiscard]] Result<CrewProof> thanks(const CrewWelcome& welcome) const;
  /// Errors: as of the other one.
  [[nodiscard]] Result<void> check(const CrewWelcome& welcome, const CrewProof& thanks) const;
};

}  // namespace orchid::transport

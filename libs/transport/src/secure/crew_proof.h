// secure/crew_proof.h: what only one who has a key can say, and what does not tell the key.
#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

#include "foundation/result.h"

namespace orchid::transport {

using CrewProof = std::array<std::byte, 32>;

/// HMAC-SHA256 of the purpose, and then of `parts`. Who may choose a part must not choose where it
/// ends. Errors: `system`.
[[nodiscard]] Result<CrewProof> make_crew_proof(
    std::span<const std::byte> key, std::string_view purpose,
    std::initializer_list<std::span<const std::byte>> parts);

}  // namespace orchid::transport

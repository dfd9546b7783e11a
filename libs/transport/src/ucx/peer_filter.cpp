#include "ucx/peer_filter.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace orchid::transport {
namespace {

// A program of the kernel's classic packet filter (linux/filter.h, packet(7)). Offsets are those of
// IP's headers: RFC 791 (source at 12) and RFC 8200 (source at 8).
constexpr std::uint32_t network = static_cast<std::uint32_t>(SKF_NET_OFF);
constexpr std::uint32_t v4_source = network + 12;
constexpr std::uint32_t v6_source = network + 8;
constexpr std::uint32_t whole_packet = 0xffff'ffff;

using Program = std::vector<sock_filter>;

sock_filter load(std::uint16_t size, std::uint32_t offset) {
  return {static_cast<std::uint16_t>(BPF_LD | BPF_ABS | size), 0, 0, offset};
}
/// Skips so many instructions where the loaded value is another one.
sock_filter unless_equal(std::uint32_t value, std::uint8_t skip) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, skip, value};
}
sock_filter finish(std::uint32_t bytes) { return {BPF_RET | BPF_K, 0, 0, bytes}; }

std::uint32_t word_of(const HostAddress& address, std::size_t first) {
  std::uint32_t word = 0;
  for (std::size_t i = first; i < first + 4; ++i)
    word = word << 8 | std::to_integer<std::uint32_t>(address.at(i));
  return word;
}

Program v4_part(std::span<const HostAddress> sources) {
  Program program{load(BPF_W, v4_source)};
  for (const HostAddress& source : sources) {
    if (!is_v4(source)) continue;
    program.push_back(unless_equal(word_of(source, 12), 1));
    program.push_back(finish(whole_packet));
  }
  program.push_back(finish(0));
  return program;
}

Program v6_part(std::span<const HostAddress> sources) {
  Program program;
  for (const HostAddress& source : sources) {
    if (is_v4(source)) continue;
    // Past the rest of these eight instructions, and the ninth, which lets the packet through.
    for (std::uint8_t word = 0; word < 4; ++word) {
      program.push_back(load(BPF_W, v6_source + 4U * word));
      program.push_back(
          unless_equal(word_of(source, 4U * word), static_cast<std::uint8_t>(7 - 2 * word)));
    }
    program.push_back(finish(whole_packet));
  }
  program.push_back(finish(0));
  return program;
}

Program program_for(std::span<const HostAddress> sources) {
  const Program v4 = v4_part(sources);
  const Program v6 = v6_part(sources);
  Program program{load(BPF_B, network),
                  {BPF_ALU | BPF_RSH | BPF_K, 0, 0, 4},
                  {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 4},  // of IPv4: over the jump
                  {BPF_JMP | BPF_JA, 0, 0, static_cast<std::uint32_t>(v4.size())}};
  program.insert(program.end(), v4.begin(), v4.end());
  program.insert(program.end(), v6.begin(), v6.end());
  return program;
}

}  // namespace

bool admit_only(int socket, std::span<const HostAddress> sources) {
  Program program = program_for(sources);
  const sock_fprog filter{.len = static_cast<std::uint16_t>(program.size()),
                          .filter = program.data()};
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0;
}

void admit_all(int socket) {
  const int nothing = 0;
  (void)::setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof(nothing));
}

}  // namespace orchid::transport

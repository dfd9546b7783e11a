// foundation/sockets.h: Unix sockets between processes of one host: packets of text with
// descriptors, and who the peer is.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"

namespace orchid {

/// One packet: text (JSON in all our protocols) and the descriptors that came with it.
struct Packet {
  std::string text;
  std::vector<UniqueFd> descriptors;
};

constexpr std::size_t max_packet_bytes = 128 * 1024;
constexpr std::size_t max_packet_descriptors = 8;

/// Two connected SOCK_SEQPACKET ends; both close-on-exec.
[[nodiscard]] Result<std::pair<UniqueFd, UniqueFd>> make_packet_pair();
/// A listening SOCK_SEQPACKET socket at `path`, mode 0600, non-blocking. A path over the kernel's
/// 107 bytes is reached through its directory's descriptor. A stale socket file is replaced.
[[nodiscard]] Result<UniqueFd> listen_packets(const std::filesystem::path& path);
[[nodiscard]] Result<UniqueFd> connect_packets(const std::filesystem::path& path);
/// The same for threads that must not block: a listener that accepts nobody gets `unreachable`. The
/// socket is non-blocking.
[[nodiscard]] Result<UniqueFd> connect_packets_at_once(const std::filesystem::path& path);
/// The same to a SOCK_STREAM listener.
[[nodiscard]] Result<UniqueFd> connect_stream_at_once(const std::filesystem::path& path);

/// Sends one packet; does not block: a peer that lets 128 KiB pile up gets `unreachable`.
[[nodiscard]] Result<void> send_packet(int socket, std::string_view text,
                                       const std::vector<int>& descriptors = {});
/// The next packet, or nothing if none is there (non-blocking sockets and `MSG_DONTWAIT`).
/// `unreachable`: the peer has gone.
[[nodiscard]] Result<std::optional<Packet>> receive_packet(int socket, bool wait);

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
[[nodiscard]] Result<PeerCredentials> peer_credentials(int socket);

/// The form of `path` that fits sockaddr_un: itself, or /proc/self/fd/N/name with `directory` kept
/// open for as long as needed.
struct SocketAddressPath {
  std::string path;
  UniqueFd directory;
};
[[nodiscard]] Result<SocketAddressPath> fit_socket_path(const std::filesystem::path& path);

}  // namespace orchid

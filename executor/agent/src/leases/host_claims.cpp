#include "leases/host_claims.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include "foundation/files.h"
#include "foundation/log.h"
#include "protocol/digest.h"

namespace orchid::executor {

void SocketClaims::belong_to(const std::string& gateway, const std::string& boot_id) {
  group_.clear();
  if (!gateway.empty()) group_ = short_digest(digest_of(as_bytes(gateway + "/" + boot_id)));
}

bool SocketClaims::take(HostPart part, std::uint32_t number) {
  if (group_.empty()) return true;
  const std::string name =
      fmt::format("orchid/{}/{}/{}", group_, part == HostPart::core ? "core" : "gpu", number);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  // A name that begins with a zero byte is no file.
  const std::size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::copy_n(name.begin(), length, address.sun_path + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno == EADDRINUSE) return false;
    log::warn("event=not_claimed name={} reason=\"{}\"", name,
              std::system_category().message(errno));
    return true;
  }
  held_.insert_or_assign({part, number}, std::move(socket));
  return true;
}

}  // namespace orchid::executor

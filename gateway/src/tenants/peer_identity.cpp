#include "tenants/peer_identity.h"

#include <pwd.h>

#include <array>

namespace orchid::gateway {

std::string user_name(uid_t uid) {
  std::array<char, 4096> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, space.data(), space.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return "uid " + std::to_string(uid);
}

}  // namespace orchid::gateway

// protocol/lease_tenant.h: whose a lease or a data object is.
#pragma once
#include <cstdint>
#include <string>

namespace orchid {

struct LeaseTenant {
  std::uint32_t uid = 0;
  std::string name;
  friend bool operator==(const LeaseTenant&, const LeaseTenant&) = default;
};

}  // namespace orchid

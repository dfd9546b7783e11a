// crew/crew_places.h: which members of a crew are where, as its client sees it. Plain data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease_grant.h"

namespace orchid::sdk {

struct CrewPlaces {
  struct Seat {
    GrantedWorker worker;
    std::uint32_t member = 0;  // 0: its executor numbers it
    bool is_far = false;       // it is reached over the network
    /// Of a crew at several executors: the members at this one, with 0 if it is the client's.
    std::vector<std::uint32_t> near = {};
  };
  std::vector<Seat> seats;
  /// Not all of it is at one executor of the client's host.
  bool spread = false;
};

/// `host`: the client's, by its boot id. Members of one executor have numbers that follow each
/// other, those of the client's executor the lowest. One executor is the client's at most: what
/// others of this host have is reached over the network, too.
[[nodiscard]] CrewPlaces places_of(const LeaseGrant& grant, std::string_view host);

/// Who has a data object.
struct DataHolders {
  std::vector<std::string> hosts;      // by name
  std::vector<std::string> executors;  // by id; empty: the gateway is too old to say it
};

/// Where a call goes on that wants a data object, which its executor does not have: a member at one
/// of the executors that have it, for one object always the same one. Others of their hosts do not
/// have it: so what hosts have it counts only where nothing is known of executors. 0: there is
/// none.
struct DataPlace {
  std::string_view data;
  const DataHolders& holders;
};
[[nodiscard]] std::uint32_t member_with_data(std::span<const CrewPlaces::Seat* const> seats,
                                             const CrewPlaces::Seat& asker, const DataPlace& place);

}  // namespace orchid::sdk

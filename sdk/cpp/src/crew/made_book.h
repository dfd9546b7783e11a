// crew/made_book.h: modules that calls of a crew at several executors have made, as its client
// keeps them for members that lack them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/files.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/digest.h"
#include "protocol/lane_messages.h"

namespace orchid::sdk {

/// Pure. Guarded by its crew's mutex. What it keeps is not looked at: whoever compiles it finds out
/// whether it is what its digest says.
class MadeBook {
 public:
  static constexpr std::size_t most = modules_per_worker;

  struct Module {
    std::string base;           // as in LaneMade
    UniqueFd content;           // likewise
    std::uint64_t formation{};  // of the crew that has made it
  };

  /// `content` is of a crew that was formed so often. What an earlier one has made is kept as long
  /// as there is room: children of it that have answered may have named it. What is there stays as
  /// it is. Errors: `no_capacity`, `too_large`, `bad_request` (no sealed memory file, no digest).
  [[nodiscard]] Result<void> keep(const LaneMade& made, UniqueFd content, std::uint64_t formation) {
    if (!is_digest(made.digest) || (!made.base.empty() && !is_digest(made.base)))
      return fail(ErrorCode::bad_request, "a module is kept by its digest");
    if (const auto known = modules_.find(made.digest); known != modules_.end()) {
      known->second.formation = formation;
      return {};
    }
    if (const auto mapped = MappedFile::map(content.get(), {.limit = largest_made_module}); !mapped)
      return fail(mapped.error());
    if (modules_.size() >= most && !drop_one_before(formation))
      return fail(
          ErrorCode::no_capacity,
          "the crew has 64 modules that its calls have made, which is the most: make fewer, "
          "they stay until the crew ends");
    modules_.emplace(made.digest, Module{made.base, std::move(content), formation});
    return {};
  }

  using Entry = std::pair<const std::string, Module>;  // digest, module
  /// Named as in LaneFetch. Null: it is not here.
  [[nodiscard]] const Entry* find(std::string_view name) const {
    if (!name.contains(':')) return nullptr;  // a function's
    const auto found = modules_.lower_bound(name);
    return found != modules_.end() && found->first.starts_with(name) ? &*found : nullptr;
  }

 private:
  [[nodiscard]] bool drop_one_before(std::uint64_t formation) {
    const auto old = std::ranges::find_if(
        modules_, [&](const auto& module) { return module.second.formation < formation; });
    if (old == modules_.end()) return false;
    modules_.erase(old);
    return true;
  }

  std::map<std::string, Module, std::less<>> modules_;  // by digest
};

}  // namespace orchid::sdk

#include "fabric/ucx_context.h"

#include <map>
#include <mutex>
#include <utility>

namespace orchid::sdk {
namespace {

struct Contexts {
  std::mutex mutex;  // guards `made`, whose entries stay where they are
  std::map<std::pair<transport::Fabric, std::string>, transport::UcxContext> made;
};

Contexts& contexts() {
  static Contexts* const all = new Contexts;
  return *all;
}

}  // namespace

Result<transport::UcxContext*> shared_ucx_context(transport::Fabric fabric,
                                                  const std::string& local_host) {
  // A host may change its IPv6 address every day.
  const std::string address = local_host.find(':') == std::string::npos ? local_host : "";
  const std::lock_guard lock(contexts().mutex);
  auto& made = contexts().made;
  if (const auto found = made.find({fabric, address}); found != made.end()) return &found->second;
  auto context = transport::UcxContext::create({.address = address, .fabric = fabric});
  if (!context) return fail(std::move(context.error()));
  return &made.emplace(std::pair(fabric, address), std::move(*context)).first->second;
}

}  // namespace orchid::sdk

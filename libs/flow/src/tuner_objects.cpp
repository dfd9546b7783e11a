// What the tuner knows of a flow's data objects, and which of them it wants to know of.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "flow/tuner.h"
#include "known_objects.h"

namespace orchid::flow {
namespace {

/// Objects that are looked at together.
constexpr std::size_t most_together = 64;

}  // namespace

/// What it was given may have been copied to where it ran.
void Tuner::learn_of_result(const Open& call, const Bytes& output) {
  objects_->may_have_moved(call.data);
  if (call.gives_data && output.size() == sizeof(DataId))
    objects_->made(call.function, data_of(output));
  else if (!output.empty())
    objects_->gave(call.function, output.size());
}

void Tuner::look_at(std::uint32_t node) {
  if (!optimisers_.empty() && is_given_data_[node]) to_look_at_.insert(node);
}

void Tuner::look_behind(std::uint32_t node) {
  for (const std::uint32_t next : plan_.nodes[node].consumers) look_at(next);
}

std::vector<DataId> Tuner::wanted_objects(const Engine& engine) {
  std::vector<DataId> wanted;
  const auto want = [&](const DataId& data) {
    if (!objects_->is_wanted(data) || std::ranges::find(wanted, data) != wanted.end()) return true;
    if (wanted.size() == most_together) return false;
    wanted.push_back(data);
    return true;
  };
  while (!to_look_at_.empty()) {
    const std::uint32_t node = *to_look_at_.begin();
    const bool comes = engine.progress(node).state == NodeState::waiting;
    // The rest of them is looked at next time.
    if ((comes || engine.not_started(node) != 0) &&
        !std::ranges::all_of(engine.data_at(node), want))
      break;
    to_look_at_.erase(node);
  }
  return wanted;
}

void Tuner::see_objects(std::vector<ObjectSituation> objects) {
  if (objects.empty()) to_look_at_.clear();  // nobody tells now; when nodes change it asks again
  for (ObjectSituation& one : objects) objects_->see(std::move(one));
  objects_changed_ = objects_changed_ || !objects.empty();
}

}  // namespace orchid::flow

// Random histories of tenants, executors, copies, lost connections and restarts of the gateway,
// with a model of the executors: whatever happens, the books of data objects say what the executors
// have, and in the end nothing is left anywhere that the books do not know.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/data_catalogue.h"
#include "data_model.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

constexpr int histories = 2'000;
constexpr int steps = 120;
constexpr std::size_t versions = 2;
constexpr std::uint64_t quota = 200;

class DataHistory {
 public:
  explicit DataHistory(unsigned seed) : random_(seed), only_empty_(random_() % 3 == 0) {
    for (unsigned i = 0; i < 2; ++i) add_executor();
  }

  void step() {
    now_ += milliseconds(1 + random_() % 400);
    ModelExecutor& executor = any_executor();
    const unsigned what = random_() % 100;
    if (what < 30)
      make(executor);
    else if (what < 57)
      go_on_sealing();
    else if (what < 60)
      give_up_a_room();
    else if (what < 64)
      use_or_release();
    else if (what < 69)
      remove();
    else if (what < 78)
      deliver_drop(executor);
    else if (what < 84)
      evict(executor);
    else if (what < 90)
      begin_anew(executor);
    else if (what < 92)
      replace(executor);
    else if (what < 94)
      take_for_gone(executor);
    else if (what < 95)
      restart_gateway();
    else
      expire();
    deliver(catalogue_.take_orphans());
    for (int i = 0; i < 2; ++i) move_copies();
    check();
  }

  /// All that is on the way arrives, and the rooms are given up.
  void settle() {
    while (!used_.empty()) release_one();
    while (!rooms_.empty()) give_up_a_room();
    while (give_up_a_copy()) {
    }
    for (ModelExecutor& executor : executors_) {
      while (!executor.to_drop.empty()) deliver_drop(executor);
      begin_anew(executor);
    }
    // What the last one brought back may have been too much for the others.
    for (ModelExecutor& executor : executors_)
      while (!executor.to_drop.empty()) deliver_drop(executor);
    check();
    for (const ModelExecutor& executor : executors_) {
      std::uint64_t bytes = 0;
      for (const auto& [id, object] : executor.objects) {
        const auto found =
            catalogue_.find(object.terms.tenant.uid, {.id = id}, MonotonicTime::min());
        REQUIRE(found.has_value());
        bytes += object.terms.bytes.value;
      }
      REQUIRE(catalogue_.used_at(executor.id).value == bytes);
    }
  }

 private:
  void add_executor() { executors_.push_back({.id = ExecutorId("e" + std::to_string(++named_))}); }
  ModelExecutor& any_executor() { return executors_[random_() % executors_.size()]; }
  ModelExecutor* executor_of(const ExecutorId& id) {
    const auto found = std::ranges::find(executors_, id, &ModelExecutor::id);
    return found == executors_.end() ? nullptr : &*found;
  }
  uid_t any_tenant() { return 1000 + random_() % 2; }
  /// As the seed has it: books that are ordered by ids are so again.
  DataId any_id() {
    DataId id;
    for (std::byte& byte : id.bytes) byte = static_cast<std::byte>(random_());
    return id;
  }
  std::string any_name() { return random_() % 3 == 0 ? "" : std::string(1, "abc"[random_() % 3]); }

  /// What was written last under a name is not dropped for older versions of it.
  void send(const DataDrops& drops) {
    for (const DataDrop& drop : drops) {
      const bool is_newest = std::ranges::any_of(
          newest_, [&](const auto& entry) { return entry.second == drop.data; });
      REQUIRE_FALSE(is_newest);
      if (ModelExecutor* executor = executor_of(drop.executor))
        executor->to_drop.push_back(drop.data);
    }
  }

  /// Of copies, of which others are left, or of what is lost.
  void deliver(const DataDrops& drops) {
    for (const DataDrop& drop : drops)
      if (ModelExecutor* executor = executor_of(drop.executor))
        executor->to_drop.push_back(drop.data);
  }

  struct Arriving {
    DataId id;
    ExecutorId to;
  };
  [[nodiscard]] std::optional<Arriving> any_arriving() {
    std::vector<Arriving> all;
    for (const DataObject* object :
         catalogue_.sealed_after({}, catalogue_.count(DataState::sealed)))
      for (const DataHolder& one : object->arriving) all.push_back({object->id, one.executor});
    if (all.empty()) return std::nullopt;
    std::ranges::sort(all, {}, [](const Arriving& one) { return std::pair(one.id, one.to); });
    return all[random_() % all.size()];
  }

  bool give_up_a_copy() {
    const auto copy = any_arriving();
    if (!copy) return false;
    counted_on_.erase({copy->id, copy->to});
    const DataDrops drops = catalogue_.give_up_copy(copy->id, copy->to);
    REQUIRE(drops.size() == 1);
    deliver(drops);
    REQUIRE(catalogue_.give_up_copy(copy->id, copy->to).empty());
    return true;
  }

  /// It is sealed there, which the gateway hears unless it has given it up.
  void finish_a_copy() {
    const auto copy = any_arriving();
    if (!copy) return;
    ModelExecutor* executor = executor_of(copy->to);
    REQUIRE(executor != nullptr);
    ModelObject& object = executor->objects.at(copy->id);
    REQUIRE_FALSE(object.is_sealed);
    object.is_sealed = true;
    object.was_published = true;
    object.sealed = now_;
    object.order = catalogue_.sealed(copy->id)->order;
    counted_on_.erase({copy->id, copy->to});
    REQUIRE(catalogue_.finish_copy(copy->id, copy->to));
    REQUIRE_FALSE(catalogue_.finish_copy(copy->id, copy->to));
  }

  void begin_a_copy() {
    ModelExecutor& executor = any_executor();
    if (!executor.is_known) return;
    const auto all = catalogue_.of_tenant(any_tenant());
    if (all.empty()) return;
    const DataObject& object = *all[random_() % all.size()];
    const bool is_there = catalogue_.has(executor.id, object.id);
    const bool is_to_drop =
        std::ranges::find(executor.to_drop, object.id) != executor.to_drop.end();
    if (!catalogue_.begin_copy(object.id, {executor.id, "host"})) {
      REQUIRE((object.state != DataState::sealed || is_there || is_to_drop));
      return;
    }
    REQUIRE((object.state == DataState::sealed && !is_there));
    counted_on_.erase({object.id, executor.id});
    // A drop that it is told of before is answered late, when the room is there.
    if (std::erase(executor.to_drop, object.id) != 0)
      catalogue_.dropped(executor.id, object.id, DataEnd::deleted);
    // As the executor has it that sealed it first.
    executor.objects[object.id] = {.terms = {.tenant = object.tenant,
                                             .bytes = object.bytes,
                                             .name = object.name,
                                             .version = object.version,
                                             .secret = object.secret}};
  }

  void move_copies() {
    const unsigned what = random_() % 10;
    if (what < 4)
      begin_a_copy();
    else if (what < 7)
      finish_a_copy();
    else if (what == 7)
      give_up_a_copy();
    else if (const auto copy = any_arriving(); copy && what == 8)
      count_on(*copy);
    else if (copy)
      do_not_count_on(*copy);
  }

  /// Whose object is not lost with its last holder.
  void count_on(const Arriving& copy) {
    catalogue_.count_on_copy(copy.id, copy.to);
    counted_on_.emplace(copy.id, copy.to);
  }

  void do_not_count_on(const Arriving& copy) {
    catalogue_.do_not_count_on_copy(copy.id, copy.to);
    counted_on_.erase({copy.id, copy.to});
  }

  [[nodiscard]] bool is_counted_on(const DataObject& object) const {
    return std::ranges::any_of(object.arriving, [&](const DataHolder& one) {
      return counted_on_.contains({object.id, one.executor});
    });
  }

  void forget_newest(DataId id) {
    std::erase_if(newest_, [&](const auto& entry) { return entry.second == id; });
  }

  void expire() {
    const DataDrops drops = catalogue_.expire(now_);
    std::erase_if(newest_, [&](const auto& entry) {
      const auto found =
          catalogue_.find(entry.first.first, {.id = entry.second}, MonotonicTime::min());
      return !found && found.error().code == ErrorCode::not_found;  // a lost one expires, too
    });
    send(drops);
  }

  void make(ModelExecutor& executor) {
    if (!executor.is_known) return;
    DataCatalogue::NewObject wanted{.id = any_id(),
                                    .tenant = {.uid = any_tenant(), .name = "somebody"},
                                    .bytes = {},
                                    .name = any_name(),
                                    .secret = std::to_string(random_())};
    // One of the two may have nothing but empty ones.
    const bool is_empty = wanted.tenant.uid == 1001 && only_empty_;
    wanted.bytes.value = is_empty ? 0 : random_() % 60;
    if (random_() % 4 == 0) wanted.expires_in = milliseconds(random_() % 3000);
    if (!wanted.name.empty()) require_something(wanted);
    const std::string if_match =
        wanted.precondition.if_match.empty() ? "" : wanted.precondition.if_match.front();
    const uid_t tenant = wanted.tenant.uid;
    const std::uint64_t before = catalogue_.used_by(tenant).value;
    const std::uint64_t size = wanted.bytes.value;
    const auto made = catalogue_.make_room(wanted, now_);
    if (!made) {
      REQUIRE((made.error().code == ErrorCode::conflict || before + size > quota));
      return;
    }
    REQUIRE(before + size <= quota);
    const DataObject& object = **made;
    catalogue_.put_room(object.id, {executor.id, "host"});
    executor.objects[object.id] = {.terms = {.tenant = object.tenant,
                                             .bytes = object.bytes,
                                             .name = object.name,
                                             .version = object.version,
                                             .expires_in = wanted.expires_in,
                                             .secret = object.secret}};
    rooms_[object.id] = {.where = executor.id, .if_match = if_match};
  }

  void require_something(DataCatalogue::NewObject& wanted) {
    const unsigned what = random_() % 5;
    if (what == 0) wanted.precondition.if_none_match = true;
    const auto newest = newest_.find({wanted.tenant.uid, wanted.name});
    if (what == 1 && newest != newest_.end())
      wanted.precondition.if_match = {to_string(newest->second)};
  }

  void go_on_sealing() {
    if (rooms_.empty()) return;
    const DataId id = std::next(rooms_.begin(), random_() % rooms_.size())->first;
    switch (rooms_.at(id).stage) {
      case ModelRoom::Stage::written:
        return ask_to_seal(id);
      case ModelRoom::Stage::asked:
        return seal(id);
      case ModelRoom::Stage::sealed:
        return hear_that_it_is_sealed(id);
    }
  }

  void ask_to_seal(DataId id) {
    const bool is_there = catalogue_.room(id) != nullptr;
    DataDrops drops;
    const auto may = catalogue_.begin_to_seal(id, drops);
    if (!may) {
      REQUIRE((may.error().code == (is_there ? ErrorCode::conflict : ErrorCode::not_found)));
      rooms_.erase(id);
    } else if (*may) {
      rooms_.at(id).stage = ModelRoom::Stage::asked;
    }
    send(drops);
  }

  ModelObject* known_object(DataId id) {
    ModelExecutor* executor = executor_of(rooms_.at(id).where);
    if (executor == nullptr || !executor->is_known) return nullptr;
    const auto found = executor->objects.find(id);
    return found == executor->objects.end() ? nullptr : &found->second;
  }

  void seal(DataId id) {
    ModelObject* object = known_object(id);
    const DataObject* room = catalogue_.room(id);
    if (object == nullptr || room == nullptr) return;  // until it is given up
    object->is_sealed = true;
    object->sealed = now_;
    object->order = room->order;
    rooms_.at(id).stage = ModelRoom::Stage::sealed;
  }

  void hear_that_it_is_sealed(DataId id) {
    ModelObject* object = known_object(id);
    const ModelRoom room = rooms_.at(id);
    rooms_.erase(id);
    const bool is_there = catalogue_.room(id) != nullptr;
    DataDrops drops;
    const auto published = catalogue_.publish(id, drops, now_);
    REQUIRE(published.has_value() == is_there);
    if (!published) return;
    REQUIRE(object != nullptr);
    REQUIRE((*published)->id == id);
    REQUIRE((*published)->state == DataState::sealed);
    object->was_published = true;
    if (const std::string& name = object->terms.name; !name.empty()) {
      const std::pair key{object->terms.tenant.uid, name};
      const auto before = newest_.find(key);
      // Nobody has put anything between what it was to replace and it.
      if (!room.if_match.empty() && before != newest_.end() && !some_came_back_)
        REQUIRE(to_string(before->second) == room.if_match);
      newest_[key] = id;
      orders_[id] = object->order;
    }
    for (const DataDrop& drop : drops) REQUIRE_FALSE(is_used(drop.data));
    send(drops);
  }

  /// Its writer goes, or the executor does not answer in time: it may have sealed it all the same.
  void give_up_a_room() {
    if (rooms_.empty()) return;
    const DataId id = std::next(rooms_.begin(), random_() % rooms_.size())->first;
    if (rooms_.at(id).stage == ModelRoom::Stage::asked && random_() % 2 == 0) seal(id);
    rooms_.erase(id);
    send(catalogue_.abandon(id));
  }

  /// What was sealed with nobody to hear of it, and comes back to a gateway that does not know that
  /// it was to be dropped, is there after all: nobody was told that it is not.
  void count_what_nobody_heard_of() {
    for (const ModelExecutor& executor : executors_)
      for (const auto& [id, object] : executor.objects) {
        if (!object.is_sealed || object.was_published) continue;
        const auto newest = newest_.find({object.terms.tenant.uid, object.terms.name});
        if (newest == newest_.end() || object.order < orders_.at(newest->second)) continue;
        newest->second = id;
        orders_[id] = object.order;
      }
  }

  void remove() {
    const uid_t tenant = any_tenant();
    const auto all = catalogue_.of_tenant(tenant);
    if (all.empty()) return;
    const DataObject& object = *all[random_() % all.size()];
    DataReference reference{.id = object.id};
    if (!object.name.empty() && random_() % 2 == 0) reference = {.name = object.name};
    std::vector<DataId> going;
    for (const DataObject* one : all)
      if (reference.id ? one->id == *reference.id : one->name == reference.name)
        going.push_back(one->id);
    auto drops = catalogue_.remove(tenant, reference, {}, now_);
    if (!drops) return;
    for (const DataId& id : going) forget_newest(id);
    removed_.insert(going.begin(), going.end());
    send(*drops);
  }

  void use_or_release() {
    const auto all = catalogue_.of_tenant(any_tenant());
    if (random_() % 2 == 0 && !all.empty()) {
      used_.push_back(all[random_() % all.size()]->id);
      catalogue_.use(used_.back());
    } else if (!used_.empty()) {
      release_one();
    }
  }

  void release_one() {
    const auto one = used_.begin() + static_cast<std::ptrdiff_t>(random_() % used_.size());
    const DataId id = *one;
    used_.erase(one);
    DataDrops drops;
    catalogue_.release(id, drops);
    send(drops);
  }

  /// What has ended, or was lost and forgotten, is nobody's any more.
  void forget_used() {
    std::erase_if(used_, [&](DataId id) {
      return std::ranges::none_of(std::array{1000U, 1001U}, [&](uid_t tenant) {
        const auto found = catalogue_.find(tenant, {.id = id}, MonotonicTime::min());
        return found || found.error().code == ErrorCode::data_lost;
      });
    });
  }

  [[nodiscard]] bool is_used(DataId id) const {
    return std::ranges::find(used_, id) != used_.end();
  }

  void deliver_drop(ModelExecutor& executor) {
    if (executor.to_drop.empty()) return;
    const DataId id = executor.to_drop.front();
    executor.to_drop.erase(executor.to_drop.begin());
    executor.objects.erase(id);
    catalogue_.dropped(executor.id, id, DataEnd::deleted);
  }

  void evict(ModelExecutor& executor) {
    if (executor.objects.empty()) return;
    const auto victim = std::next(executor.objects.begin(), random_() % executor.objects.size());
    const DataId id = victim->first;
    const DataEnd reason = !victim->second.is_sealed ? DataEnd::unfinished
                           : random_() % 2 == 0      ? DataEnd::evicted
                                                     : DataEnd::expired;
    executor.objects.erase(victim);
    forget_newest(id);
    catalogue_.dropped(executor.id, id, reason);
  }

  /// Its stream begins anew: what was on the way to it is lost, and so are its rooms.
  void begin_anew(ModelExecutor& executor) {
    // Their clocks are not looked at: a hello may have been on the way for long.
    const milliseconds on_the_way(random_() % 500);
    executor.to_drop.clear();
    std::erase_if(executor.objects, [](const auto& entry) { return !entry.second.is_sealed; });
    std::vector<DataHeld> held;
    for (const auto& [id, object] : executor.objects)
      held.push_back(
          {.data = id,
           .terms = object.terms,
           .created_ago =
               std::chrono::duration_cast<milliseconds>(now_ - object.sealed) + on_the_way,
           .order = object.order});
    executor.is_known = true;
    send(catalogue_.executor_joined({executor.id, "host"}, held, std::nullopt, now_));
  }

  void replace(ModelExecutor& executor) {
    catalogue_.executor_gone(executor.id);
    for (const auto& [id, object] : executor.objects) forget_newest(id);
    executor = {.id = ExecutorId("e" + std::to_string(++named_))};
    begin_anew(executor);
  }

  /// It comes back with all that it has, now or later.
  void take_for_gone(ModelExecutor& executor) {
    catalogue_.executor_gone(executor.id);
    forget_used();
    executor.is_known = false;
    executor.to_drop.clear();
    some_came_back_ = true;
    if (random_() % 2 == 0) remove();
    if (random_() % 2 == 0) begin_anew(executor);
  }

  void restart_gateway() {
    catalogue_ = DataCatalogue(limits, ++epoch_);
    count_what_nobody_heard_of();
    rooms_.clear();
    used_.clear();
    removed_.clear();
    for (ModelExecutor& executor : executors_) {
      executor.is_known = false;
      executor.to_drop.clear();
      if (random_() % 4 != 0) begin_anew(executor);
    }
    some_came_back_ = true;
  }

  void check() {
    forget_used();
    std::map<ExecutorId, std::uint64_t> at;
    for (const auto& [id, written] : rooms_)
      if (const DataObject* room = catalogue_.room(id)) {
        REQUIRE(room->holders.size() == 1);
        at[written.where] += room->bytes.value;
      }
    for (const uid_t tenant : {1000U, 1001U}) check(tenant, at);
    for (const ModelExecutor& executor : executors_)
      REQUIRE(catalogue_.used_at(executor.id).value == at[executor.id]);
  }

  void check(uid_t tenant, std::map<ExecutorId, std::uint64_t>& at) {
    std::uint64_t bytes = 0;
    for (const auto& [id, written] : rooms_)
      if (const DataObject* room = catalogue_.room(id);
          room != nullptr && room->tenant.uid == tenant)
        bytes += room->bytes.value;
    std::map<std::string, std::set<std::uint64_t>> names;
    std::map<std::string, std::size_t> used;
    for (const DataObject* object : catalogue_.of_tenant(tenant)) {
      REQUIRE(object->tenant.uid == tenant);
      REQUIRE_FALSE(removed_.contains(object->id));
      REQUIRE((object->state == DataState::lost) ==
              (object->holders.empty() && !is_counted_on(*object)));
      if (object->state != DataState::lost) bytes += object->bytes.value;
      if (!object->name.empty()) REQUIRE(names[object->name].insert(object->version).second);
      if (is_used(object->id)) ++used[object->name];
      for (const DataHolder& holder : object->holders) {
        at[holder.executor] += object->bytes.value;
        const ModelExecutor* executor = executor_of(holder.executor);
        REQUIRE(executor != nullptr);
        REQUIRE(executor->objects.contains(object->id));
        REQUIRE(executor->objects.at(object->id).is_sealed);
      }
      REQUIRE((object->state == DataState::sealed || object->arriving.empty()));
      for (const DataHolder& one : object->arriving) {
        at[one.executor] += object->bytes.value;
        const ModelExecutor* executor = executor_of(one.executor);
        REQUIRE(executor != nullptr);
        REQUIRE(executor->objects.contains(object->id));
        REQUIRE_FALSE(executor->objects.at(object->id).is_sealed);
      }
      const auto stranger = catalogue_.find(2000, {.id = object->id}, now_);
      REQUIRE(stranger.error().code == ErrorCode::not_found);
      check_found(*object);
    }
    for (const auto& [name, numbers] : names) {
      REQUIRE(numbers.size() <= versions + used[name]);
      const auto written = newest_.find({tenant, name});
      if (written == newest_.end()) continue;
      const auto newest = catalogue_.find(tenant, {.name = name}, MonotonicTime::min());
      const auto by_id = catalogue_.find(tenant, {.id = written->second}, MonotonicTime::min());
      // Its number may have been given to a room while its executor was away.
      if (by_id && !(*by_id)->name.empty())
        REQUIRE((newest.has_value() && (*newest)->id == written->second));
    }
    REQUIRE(catalogue_.used_by(tenant).value == bytes);
    if (!some_came_back_) REQUIRE(bytes <= quota);
  }

  void check_found(const DataObject& object) {
    const auto found = catalogue_.find(object.tenant.uid, {.id = object.id}, now_);
    if (object.expires <= now_)
      REQUIRE(found.error().code == ErrorCode::not_found);
    else if (object.state == DataState::lost)
      REQUIRE(found.error().code == ErrorCode::data_lost);
    else
      REQUIRE((found.has_value() && *found == &object));
  }

  static constexpr DataCatalogue::Limits limits{
      .versions = versions, .per_tenant = ByteCount{quota}, .lost = 8};
  std::mt19937 random_;
  bool only_empty_;
  MonotonicTime now_{std::chrono::hours(1)};
  DataCatalogue catalogue_{limits};
  std::vector<ModelExecutor> executors_;
  std::map<DataId, ModelRoom> rooms_;
  std::vector<DataId> used_;                                // by calls, each once
  std::map<std::pair<uid_t, std::string>, DataId> newest_;  // written last, and not ended since
  std::map<DataId, std::uint64_t> orders_;                  // of those that were ever the newest
  std::set<DataId> removed_;                                // by this gateway
  std::set<std::pair<DataId, ExecutorId>> counted_on_;      // copies, also of earlier ones
  unsigned named_ = 0;
  std::uint64_t epoch_ = 1;
  /// An executor that was taken for lost, or to another gateway: what it brings back is more than a
  /// quota, and newer than what was known.
  bool some_came_back_ = false;
};

}  // namespace

TEST_CASE("whatever happens, the books of data objects say what the executors have") {
  log::configure("unit_gateway", LogLevel::error);
  for (unsigned seed = 1; seed <= histories; ++seed) {
    CAPTURE(seed);
    DataHistory history(seed);
    for (int i = 0; i < steps; ++i) history.step();
    history.settle();
  }
}

}  // namespace orchid::gateway

// Random histories of copies, with a model of the executors and of what is on its way to and from
// them: whatever is lost, deleted or killed, each copy that was begun ends once, and in the end
// every executor has what the books say, and no room and no transfer besides.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <variant>

#include "data/data_copies.h"
#include "foundation/log.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int copy_histories = 1'500;
constexpr int copy_steps = 150;
constexpr uid_t owner = 1000;

/// An executor process, and the depots on its host.
struct CopyExecutor {
  std::map<DataId, bool> objects{};  // true: sealed
  std::map<TransferNumber, DataId> sends{};
  std::map<TransferNumber, DataId> fetches{};
  bool answers = true;
  std::deque<std::function<void()>> inbox{};   // what the gateway has said
  std::deque<std::function<void()>> outbox{};  // what the gateway has yet to hear
};

class CopyHistory {
 public:
  explicit CopyHistory(unsigned seed)
      : random_(seed),
        copies_(
            books_, [this](const ExecutorId& id) { return executors_.at(id).answers; },
            {.sends = 2, .receives = 2},
            [](const ExecutorId&, const ExecutorId&) { return Distance::elsewhere; }) {
    for (const char* name : {"a", "b", "c", "d"}) executors_[ExecutorId(name)];
  }

  void step() {
    now_ += milliseconds(random_() % 700);
    const unsigned what = random_() % 100;
    if (what < 6)
      put();
    else if (what < 26)
      begin();
    else if (what < 75)
      work();
    else if (what < 82)
      fail_a_transfer();
    else if (what < 86)
      toggle_silence();
    else if (what < 89)
      begin_anew();
    else if (what < 91)
      take_for_gone();
    else if (what < 94)
      remove();
    else
      copies_.tick(now_);
    pass_on();
    check();
  }

  /// Everybody answers, and nothing is deleted any more: all that was begun ends.
  void settle() {
    for (auto& [id, executor] : executors_) executor.answers = true;
    for (int rounds = 0; copies_.under_way() != 0 && rounds < 200; ++rounds) {
      for (auto& [id, executor] : executors_) work(id, executor);
      now_ += seconds(1);
      copies_.tick(now_);
      pass_on();
    }
    REQUIRE(copies_.under_way() == 0);
    REQUIRE(waiting_.empty());
    for (int rounds = 0; rounds < 50; ++rounds)
      for (auto& [id, executor] : executors_) {
        work(id, executor);
        pass_on();
      }
    check();
    for (const auto& [id, executor] : executors_) {
      REQUIRE(executor.fetches.empty());
      REQUIRE(executor.sends.empty());
      for (const auto& [data, is_sealed] : executor.objects) {
        REQUIRE(is_sealed);
        REQUIRE(books_.has(id, data));
      }
    }
  }

 private:
  using Named = std::map<ExecutorId, CopyExecutor>::value_type;
  Named& any() { return *std::next(executors_.begin(), random_() % executors_.size()); }
  [[nodiscard]] const DataObject* any_object() {
    auto all = books_.sealed_after({}, books_.count(DataState::sealed));
    if (all.empty()) return nullptr;
    std::ranges::sort(all, {}, [](const DataObject* one) { return one->id; });
    return all[random_() % all.size()];
  }

  void put() {
    auto& [name, executor] = any();
    const DataId id = (*books_.make_room({.id = make_data_id(),
                                          .tenant = {.uid = owner, .name = "anna"},
                                          .bytes = ByteCount{1 + (random_() % 50)},
                                          .secret = "s"},
                                         now_))
                          ->id;
    books_.put_room(id, {name, "host"});
    DataDrops drops;
    REQUIRE(books_.begin_to_seal(id, drops).value());
    REQUIRE(books_.publish(id, drops, now_).has_value());
    executor.objects[id] = true;
  }

  void begin() {
    auto& [name, executor] = any();
    const DataObject* object = any_object();
    if (object == nullptr || !copies_.begin(object->id, {name, "host"}, now_)) return;
    waiting_.insert({object->id, name});
  }

  void work() {
    auto& [name, executor] = any();
    work(name, executor);
  }

  /// It reads one message, gets on with a transfer, and is heard once.
  void work(const ExecutorId& name, CopyExecutor& executor) {
    if (!executor.answers) return;
    if (!executor.inbox.empty()) {
      const auto obey = std::move(executor.inbox.front());
      executor.inbox.pop_front();
      obey();
    }
    if (!executor.fetches.empty() && random_() % 2 == 0) {
      const auto [transfer, data] = *executor.fetches.begin();
      executor.fetches.erase(transfer);
      for (auto& [other, sender] : executors_) sender.sends.erase(transfer);
      executor.outbox.emplace_back(
          [this, name, transfer] { copies_.fetched(name, transfer, now_); });
    }
    if (executor.outbox.empty()) return;
    const auto say = std::move(executor.outbox.front());
    executor.outbox.pop_front();
    say();
  }

  void fail_a_transfer() {
    auto& [name, executor] = any();
    const Failure why{ErrorCode::unreachable, "killed"};
    if (random_() % 2 == 0 && !executor.fetches.empty()) {
      const TransferNumber transfer = executor.fetches.begin()->first;
      executor.fetches.erase(transfer);
      executor.outbox.emplace_back([this, name, transfer, why] {
        copies_.not_fetched(name, transfer, ByteCount{1}, why, now_);
      });
    } else if (!executor.sends.empty()) {
      const TransferNumber transfer = executor.sends.begin()->first;
      executor.sends.erase(transfer);
      executor.outbox.emplace_back(
          [this, name, transfer, why] { copies_.not_offered(name, transfer, why, now_); });
    }
  }

  void toggle_silence() {
    auto& [name, executor] = any();
    executor.answers = !executor.answers;
  }

  /// What was on its way is lost, and so are its rooms and transfers.
  void lose_all(CopyExecutor& executor) {
    executor.inbox.clear();
    executor.outbox.clear();
    executor.sends.clear();
    executor.fetches.clear();
    std::erase_if(executor.objects, [](const auto& entry) { return !entry.second; });
  }

  void begin_anew() {
    auto& [name, executor] = any();
    lose_all(executor);
    executor.answers = true;
    std::vector<DataHeld> held;
    for (const auto& [id, is_sealed] : executor.objects) {
      const DataObject* object = books_.sealed(id);
      held.push_back({.data = id,
                      .terms = {.tenant = {.uid = owner, .name = "anna"},
                                .bytes = object == nullptr ? sizes_.at(id) : object->bytes,
                                .secret = "s"}});
    }
    drop(books_.executor_joined({name, "host"}, held, std::nullopt, now_));
  }

  void take_for_gone() {
    auto& [name, executor] = any();
    books_.executor_gone(name);
    lose_all(executor);
    executor.objects.clear();
    begin_anew_of(name, executor);
  }
  void begin_anew_of(const ExecutorId& name, CopyExecutor& executor) {
    executor.answers = true;
    drop(books_.executor_joined({name, "host"}, {}, std::nullopt, now_));
  }

  void remove() {
    const DataObject* object = any_object();
    if (object == nullptr) return;
    auto drops = books_.remove(owner, {.id = object->id}, {}, now_);
    REQUIRE(drops.has_value());
    drop(*drops);
  }

  void drop(const DataDrops& drops) {
    for (const DataDrop& one : drops) {
      auto& executor = executors_.at(one.executor);
      executor.inbox.emplace_back([this, name = one.executor, data = one.data] {
        CopyExecutor& there = executors_.at(name);
        there.objects.erase(data);
        std::erase_if(there.fetches, [&](const auto& entry) { return entry.second == data; });
        there.outbox.emplace_back(
            [this, name, data] { books_.dropped(name, data, DataEnd::deleted); });
      });
    }
  }

  void pass_on() {
    for (const DataObject* object : books_.sealed_after({}, books_.count(DataState::sealed)))
      sizes_[object->id] = object->bytes;
    for (const CopyAction& action : copies_.take_actions())
      std::visit([this](const auto& one) { say(one); }, action);
    for (const CopyEnded& ended : copies_.take_ended()) {
      const auto waiting = waiting_.find({ended.data, ended.to});
      REQUIRE(waiting != waiting_.end());
      waiting_.erase(waiting);
    }
    drop(copies_.take_drops());
    drop(books_.take_orphans());
  }
  void tell(const ExecutorId& to, std::function<void(CopyExecutor&)> what) {
    executors_.at(to).inbox.emplace_back(
        [this, to, what = std::move(what)] { what(executors_.at(to)); });
  }
  void say(const MakeCopyRoom& one) {
    tell(one.to, [this, one](CopyExecutor& executor) {
      REQUIRE_FALSE(executor.objects.contains(one.data));
      if (random_() % 8 == 0)
        return executor.outbox.push_back([this, one] {
          copies_.refused(one.to, one.data, {ErrorCode::no_data_memory, "full"});
        });
      executor.objects[one.data] = false;
      executor.outbox.emplace_back([this, one] { copies_.made(one.to, one.data, now_); });
    });
  }
  void say(const OfferCopy& one) {
    tell(one.from, [this, one](CopyExecutor& executor) {
      const auto object = executor.objects.find(one.data);
      if (object == executor.objects.end() || !object->second)
        return executor.outbox.push_back([this, one] {
          copies_.not_offered(one.from, one.transfer, {ErrorCode::data_lost, "gone"}, now_);
        });
      executor.sends[one.transfer] = one.data;
      REQUIRE(executor.sends.size() <= 2 + 2);  // those that are about to be told to end
      executor.outbox.emplace_back(
          [this, one] { copies_.offered(one.from, one.transfer, "address", now_); });
    });
  }
  void say(const FetchCopy& one) {
    tell(one.to, [one](CopyExecutor& executor) {
      if (executor.objects.contains(one.data)) executor.fetches[one.transfer] = one.data;
    });
  }
  void say(const EndTransfer& one) {
    tell(one.at, [this, one](CopyExecutor& executor) {
      executor.sends.erase(one.transfer);
      if (executor.fetches.erase(one.transfer) == 0) return;
      executor.outbox.emplace_back([this, one] {
        copies_.not_fetched(one.at, one.transfer, ByteCount{1},
                            {ErrorCode::cancelled, "told to end"}, now_);
      });
    });
  }
  void say(const SealCopy& one) {
    tell(one.to, [this, one](CopyExecutor& executor) {
      const auto object = executor.objects.find(one.data);
      if (object == executor.objects.end()) return;
      object->second = true;
      executor.outbox.emplace_back([this, one] {
        // As the service does: what is sealed for nobody is dropped.
        if (!copies_.sealed(one.to, one.data) && !books_.has(one.to, one.data))
          drop({{one.to, one.data}});
      });
    });
  }

  void check() {
    std::map<ExecutorId, std::uint64_t> used;
    std::size_t arriving = 0;
    for (const DataObject* object : books_.sealed_after({}, books_.count(DataState::sealed))) {
      for (const DataHolder& holder : object->holders) {
        used[holder.executor] += object->bytes.value;
        REQUIRE(executors_.at(holder.executor).objects.contains(object->id));
        REQUIRE(executors_.at(holder.executor).objects.at(object->id));
      }
      for (const DataHolder& one : object->arriving) used[one.executor] += object->bytes.value;
      arriving += object->arriving.size();
    }
    for (const auto& [id, executor] : executors_) {
      REQUIRE(books_.used_at(id).value == used[id]);
      REQUIRE(books_.used_at(id, owner) == books_.used_at(id));  // there is nobody else
    }
    REQUIRE(copies_.under_way() == waiting_.size());
    REQUIRE(arriving <= copies_.under_way());
  }

  std::mt19937 random_;
  MonotonicTime now_{std::chrono::hours(1)};
  DataCatalogue books_{{}};
  std::map<ExecutorId, CopyExecutor> executors_;
  DataCopies copies_;
  std::multiset<std::pair<DataId, ExecutorId>> waiting_;  // for the end of a copy
  std::map<DataId, ByteCount> sizes_;
};

}  // namespace

TEST_CASE(
    "whatever happens to them, copies end once, and leave nothing that the books do not know") {
  log::configure("unit_gateway", LogLevel::error);
  for (unsigned seed = 1; seed <= copy_histories; ++seed) {
    CAPTURE(seed);
    CopyHistory history(seed);
    for (int i = 0; i < copy_steps; ++i) history.step();
    history.settle();
  }
}

}  // namespace orchid::gateway

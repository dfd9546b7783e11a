// Memory files and a disk under random histories: no page that nobody is charged for, and none
// charged that is not there.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "data/data_service.h"
#include "data_book_parts.h"
#include "data_pages.h"
#include "disk_calls.h"
#include "durable_host.h"
#include "event_loop.h"
#include "foundation/log.h"
#include "scratch_folder.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t page = 4096;
constexpr DataBook::Options small{.budget = ByteCount{64 * page},
                                  .per_tenant = ByteCount{48 * page},
                                  .most_objects = 12,
                                  .most_readers = 20,
                                  .disk = ByteCount{48 * page},
                                  .durable = ByteCount{96 * page}};

/// An executor's objects, and all who use them: those who say when they have done, and those who
/// do not.
class World : test::EventLoop {
 public:
  explicit World(unsigned seed)
      : random_(seed),
        data_(io, small, directory_.path(), DurableFolder::open(files_.path()).value()) {
    log::configure("unit_executor", LogLevel::error);
    data_.set_handlers({[this](const ControlMessage& message) { hear(message); }, {}});
  }
  void take_step() {
    switch (random_() % 10) {
      case 8:
        return random_() % 3 == 0 ? disk_.hold("fsync", files_.path().string()) : disk_.release();
      case 0:
      case 1:
        return order_one();
      case 2:
        return read_one();
      case 3:
        return take_one();
      case 4:
        return hang_up();
      case 5:
        return close_one();
      case 6:
        return data_.obey(DropData{any()});
      case 7:
        return random_() % 2 == 0 ? data_.obey(SpareData{any()}) : data_.tick();
      default:
        io.restart();
        static_cast<void>(random_() % 2 == 0 ? io.poll_one() : io.run_one_for(1ms));
    }
  }
  void check_bounds() const {
    const DataBook& book = data_.book();
    REQUIRE(book.used() <= small.budget);
    REQUIRE(book.on_disk() <= small.disk);
    REQUIRE(book.durable_used() <= small.durable);
    for (const std::uint32_t tenant : {ada, eve}) REQUIRE(book.used_by(tenant) <= small.per_tenant);
  }
  /// At any time, however long a disk takes and whatever of it nobody has heard of: but for what
  /// is just being given back.
  void check_charged() const {
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (!data_.closed()) REQUIRE(std::chrono::steady_clock::now() < give_up);
    REQUIRE(pages_held() <= data_.book().used().value);
  }
  /// When everything that was begun is over.
  void check_pages() {
    disk_.release();
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    io.restart();
    while (io.poll() != 0 || !data_.settled()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.run_one_for(1ms);
      io.restart();
    }
    data_.tick();  // who has closed a file since is charged no more
    while (!data_.settled()) REQUIRE(std::chrono::steady_clock::now() < give_up);
    CHECK(pages_held() == data_.book().used().value);
  }
  void end() {
    users_.clear();
    while (!readers_.empty()) data_.stop_reading(take_out(readers_));
    while (!takers_.empty()) data_.leave(take_out(takers_));
    for (const MakeData& one : made_) data_.obey(DropData{one.data});
    check_pages();
    CHECK(data_.book().used() == 0_B);
    CHECK(data_.book().on_disk() == 0_B);
    CHECK(data_.book().durable_used() == 0_B);
    CHECK(files_in(files_.path()) == 0);
  }
  /// That files began to be.
  [[nodiscard]] std::size_t written() {
    return static_cast<std::size_t>(std::ranges::count_if(
        disk_.calls(files_.path().string()),
        [](const DiskCalls::Call& call) { return call.is("fsync", ".orchid-"); }));
  }
  [[nodiscard]] std::uint64_t spilled() const {
    std::map<std::string, std::uint64_t> counters;
    data_.count(counters);
    return counters["data_spilled"];
  }

 private:
  template <typename T>
  T take_out(std::vector<T>& from) {
    const std::size_t at = random_() % from.size();
    T one = std::move(from[at]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    return one;
  }
  DataId any() { return made_.empty() ? make_data_id() : made_[random_() % made_.size()].data; }
  void order_one() {
    made_.push_back(room_request((1 + (random_() % 20)) * page, random_() % 2 == 0 ? "" : "name",
                                 random_() % 2 == 0 ? ada : eve));
    made_.back().terms.durable = random_() % 3 == 0;
    made_.back().terms.version = made_.back().terms.name.empty() ? 0 : 1;
    data_.obey(made_.back());
  }
  /// A room is written at once and as a whole; its writer may keep it open for longer.
  void hear(const ControlMessage& message) {
    const auto* room = std::get_if<DataMade>(&message);
    if (room == nullptr) return;
    const MakeData& made =
        *std::ranges::find_if(made_, [&](const MakeData& one) { return one.data == room->data; });
    auto opened = data_.open({made.data, made.terms.secret, DataAccess::write}, 0);
    if (!opened) return;  // it was told twice
    const std::string content(made.terms.bytes.value, 'x');
    REQUIRE(::pwrite(opened->file.get(), content.data(), content.size(), 0) ==
            static_cast<ssize_t>(content.size()));
    if (random_() % 4 == 0) users_.push_back(std::move(opened->file));
    opened->file.reset();
    data_.obey(SealData{made.data});
  }
  void read_one() {
    const DataId data = any();
    auto opened = data_.open({data, std::string(64, 'a'), DataAccess::read}, 0);
    if (!opened) return;
    users_.push_back(std::move(opened->file));
    readers_.push_back(data);
  }
  void take_one() {
    const DataId data = any();
    data_.prepare(data, 30s, [this, data](const Result<void>& there) {
      if (!there) return;
      auto taken = data_.take(data, random_() % 2 == 0 ? ada : eve);
      if (!taken) return;
      users_.push_back(std::move(taken->file));
      takers_.push_back(data);
    });
  }
  /// Which says nothing of the file.
  void hang_up() {
    if (random_() % 2 == 0 && !readers_.empty()) return data_.stop_reading(take_out(readers_));
    if (!takers_.empty()) data_.leave(take_out(takers_));
  }
  void close_one() {
    if (!users_.empty()) static_cast<void>(take_out(users_));
  }

  std::mt19937 random_;
  // Between two pieces of work there is none, and the loop is to go on all the same.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> more_to_come_ =
      boost::asio::make_work_guard(io);
  const tests::Scratch directory_;
  const tests::Scratch files_;
  DiskCalls disk_;  // outlives who calls it
  std::vector<MakeData> made_;
  std::vector<DataId> readers_;  // who have said that they read, and not yet that they have done
  std::vector<DataId> takers_;
  std::vector<UniqueFd> users_;  // that are open, whatever was said
  DataService data_;
};

TEST_CASE("under any history every page is charged to somebody, and nothing else is") {
  std::uint64_t spilled = 0;
  std::size_t written = 0;
  for (unsigned seed = 0; seed < 25; ++seed) {
    CAPTURE(seed);
    World world(seed);
    for (int step = 0; step < 250; ++step) {
      CAPTURE(step);
      world.take_step();
      world.check_bounds();
      world.check_charged();
      if (step % 20 == 0) world.check_pages();
    }
    spilled += world.spilled();
    written += world.written();
    world.end();
  }
  CHECK(spilled > 100);  // else this shows nothing of the disk
  CHECK(written > 100);
}

}  // namespace
}  // namespace orchid::executor

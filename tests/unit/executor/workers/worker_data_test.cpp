#include "workers/worker_data.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "channels/packet_channel.h"
#include "workers/worker_process.h"

namespace orchid::executor {
namespace {

using namespace std::chrono_literals;

const DataId first_data = make_data_id();
const DataId second_data = make_data_id();

/// What its handlers were told.
struct ToldOfData {
  WorkerData data;
  std::vector<std::string> words;

  WorkerData::Done done() {
    return [this](const Result<ByteCount>& mapped) {
      words.emplace_back(mapped ? to_string(*mapped) : std::string(to_string(mapped.error().code)));
    };
  }
  void add(const DataId& id) {
    data.add(id, 7_B, done(), [this] { words.emplace_back("gone"); });
  }
  void drop(const DataId& id) {
    data.drop(id);
    CHECK(data.tell_dropped([this](const DataId&) {
      words.emplace_back("unmap");
      return true;
    }));
  }
  std::vector<std::string> take() { return std::exchange(words, {}); }
};

using DataWords = std::vector<std::string>;

TEST_CASE("what a worker was given within a call is asked for before anybody counts on it") {
  ToldOfData told;
  told.data.adopt(first_data, 7_B, {}, [&told] { told.words.emplace_back("let go"); });
  CHECK(told.data.knows(first_data));
  CHECK_FALSE(told.data.waits());
  // It may not have managed to map it.
  CHECK_FALSE(told.data.join(first_data, told.done()));
  told.add(first_data);
  CHECK(told.take() == DataWords{"gone"});  // it has it once, however often it was given it
  CHECK(told.data.join(first_data, told.done()));
  CHECK(told.data.take_answer(DataMapped{first_data}));
  CHECK(told.take() == DataWords{"7 B", "7 B"});
  told.drop(first_data);
  CHECK(told.data.take_answer(DataUnmapped{first_data}));
  CHECK(told.take() == DataWords{"unmap", "let go"});

  told.data.adopt(second_data, 7_B, {}, [&told] { told.words.emplace_back("let go"); });
  told.add(second_data);
  CHECK(told.take() == DataWords{"gone"});
  CHECK(told.data.take_answer(DataNotMapped{second_data, "no memory"}));
  CHECK(told.take() == DataWords{"no_capacity", "let go"});
  CHECK_FALSE(told.data.knows(second_data));
}

TEST_CASE("an object is there when the worker says so, and gone when it says so") {
  ToldOfData told;
  CHECK_FALSE(told.data.join(first_data, told.done()));
  told.add(first_data);
  CHECK(told.data.waits());
  CHECK(told.data.join(first_data, told.done()));  // asked for twice
  CHECK(told.take().empty());
  CHECK(told.data.take_answer(DataMapped{first_data}));
  CHECK(told.take() == DataWords{"7 B", "7 B"});
  CHECK_FALSE(told.data.waits());
  CHECK(told.data.join(first_data, told.done()));
  CHECK(told.take() == DataWords{"7 B"});
  told.drop(first_data);
  CHECK(told.take() == DataWords{"unmap"});
  CHECK(told.data.waits());
  told.drop(first_data);  // it is told once
  CHECK(told.take().empty());
  CHECK_FALSE(told.data.join(first_data, told.done()));
  CHECK(told.take().empty());
  CHECK(told.data.take_answer(DataUnmapped{first_data}));
  CHECK(told.take() == DataWords{"gone"});
}

TEST_CASE("an object that cannot be mapped is gone at once") {
  ToldOfData told;
  told.add(first_data);
  CHECK(told.data.take_answer(DataNotMapped{first_data, "no room"}));
  CHECK(told.take() == DataWords{"no_capacity", "gone"});
  CHECK_FALSE(told.data.join(first_data, told.done()));
}

TEST_CASE("an object that is dropped before it is mapped is not told as mapped") {
  ToldOfData told;
  told.add(first_data);
  told.drop(first_data);
  CHECK(told.take() == DataWords{"unmap"});
  told.add(first_data);  // and is attached again
  CHECK(told.data.take_answer(DataMapped{first_data}));
  CHECK(told.take() == DataWords{"data_lost"});
  CHECK(told.data.take_answer(DataUnmapped{first_data}));
  CHECK(told.take() == DataWords{"gone"});
  CHECK(told.data.take_answer(DataMapped{first_data}));
  CHECK(told.take() == DataWords{"7 B"});

  told.add(second_data);
  told.drop(second_data);
  CHECK(told.take() == DataWords{"unmap"});
  CHECK(told.data.take_answer(DataNotMapped{second_data, "no room"}));
  CHECK(told.take() == DataWords{"no_capacity"});
  CHECK(told.data.take_answer(DataUnmapped{second_data}));
  CHECK(told.take() == DataWords{"gone"});
}

TEST_CASE("a worker that does not listen is told later, and is charged until then") {
  ToldOfData told;
  for (const DataId& data : {first_data, second_data}) {
    told.add(data);
    CHECK(told.data.take_answer(DataMapped{data}));
    told.data.drop(data);
  }
  (void)told.take();
  unsigned room = 0;
  std::vector<DataId> heard;
  const auto tell = [&](const DataId& data) {
    if (room == 0) return false;
    --room;
    heard.push_back(data);
    return true;
  };
  CHECK_FALSE(told.data.tell_dropped(tell));
  CHECK(told.data.waits());
  CHECK_FALSE(told.data.take_answer(DataUnmapped{first_data}));  // it cannot know of that
  room = 1;
  CHECK_FALSE(told.data.tell_dropped(tell));
  CHECK(heard == std::vector{first_data});
  CHECK(told.data.take_answer(DataUnmapped{first_data}));
  CHECK(told.take() == DataWords{"gone"});
  room = 9;
  CHECK(told.data.tell_dropped(tell));
  CHECK(told.data.tell_dropped(tell));
  CHECK(heard == std::vector{first_data, second_data});
  CHECK(told.data.take_answer(DataUnmapped{second_data}));
  CHECK(told.take() == DataWords{"gone"});
}

TEST_CASE(
    "what calls have opened, and none for a while, is to be unmapped; what a client gave stays") {
  ToldOfData told;
  const MonotonicTime start{1h};
  const auto let_go = [&told] { told.words.emplace_back("let go"); };
  const auto tell = [&told](const DataId& data) {
    told.words.emplace_back(data == first_data ? "unmap the first" : "unmap the second");
    return true;
  };
  told.data.adopt(first_data, 7_B, start, let_go);
  told.data.adopt(second_data, 7_B, start, let_go);
  const DataId given = make_data_id();
  told.add(given);
  CHECK(told.data.take_answer(DataMapped{given}));
  (void)told.take();
  told.data.use(second_data, start + 20s);
  told.data.drop_opened_before(start);
  CHECK(told.data.tell_dropped(tell));
  CHECK(told.take().empty());
  told.data.drop_opened_before(start + 10s);
  CHECK(told.data.tell_dropped(tell));
  CHECK(told.take() == DataWords{"unmap the first"});
  // A call asks for it once more before the worker has done it: it has it anew then.
  CHECK_FALSE(told.data.knows(first_data));
  told.data.adopt(first_data, 7_B, start + 10s, let_go);
  CHECK(told.data.take_answer(DataUnmapped{first_data}));
  CHECK(told.take() == DataWords{"let go"});
  CHECK(told.data.knows(first_data));
  told.data.drop_opened_before(start + 1h);
  CHECK(told.data.tell_dropped(tell));
  CHECK(told.take() == DataWords{"unmap the second", "unmap the first"});
  // What its client has attached as well is the client's to detach.
  told.data.adopt(second_data, 7_B, start, let_go);
  told.add(second_data);
  told.data.drop_opened_before(start + 2h);
  CHECK(told.data.tell_dropped(tell));
  CHECK(told.take() == DataWords{"gone"});
  CHECK(told.data.join(given, told.done()));
}

TEST_CASE("answers to what was not asked are none") {
  ToldOfData told;
  CHECK_FALSE(told.data.take_answer(DataMapped{first_data}));
  CHECK_FALSE(told.data.take_answer(DataUnmapped{first_data}));
  CHECK_FALSE(told.data.take_answer(DataNotMapped{first_data, ""}));
  CHECK_FALSE(told.data.take_answer(WorkerReady{}));
  told.add(first_data);
  CHECK_FALSE(told.data.take_answer(DataUnmapped{first_data}));
  CHECK(told.data.take_answer(DataMapped{first_data}));
  CHECK_FALSE(told.data.take_answer(DataMapped{first_data}));
}

TEST_CASE("a worker's end lets go of everything") {
  ToldOfData told;
  told.add(first_data);
  told.add(second_data);
  CHECK(told.data.take_answer(DataMapped{first_data}));
  CHECK(told.take() == DataWords{"7 B"});
  told.data.lose();
  CHECK(told.take() == DataWords{"gone", "no_capacity", "gone"});
  told.data.lose();
  CHECK(told.take().empty());
}

/// A worker without a process: this test hears what it is told.
struct SilentWorker {
  boost::asio::io_context io;
  WorkerProcess process{1, StatusPageMapping::create().value(),
                        transport::make_lane({4_MiB, 4_MiB}).value(), 1_GiB};
  UniqueFd end;
  std::vector<std::string> words;

  SilentWorker() {
    auto [ours, its] = make_packet_pair().value();
    process.born(-1, {},
                 std::make_unique<PacketChannel>(io, std::move(ours),
                                                 LaneChannel::Handlers{[](Packet&) {}, [] {}}));
    end = std::move(its);
  }
  void map(const DataId& data) {
    process.map_data(
        {.data = data, .file = process.page_descriptor(), .bytes = 4_KiB},
        [this](const Result<ByteCount>& mapped) {
          words.emplace_back(mapped ? "mapped" : to_string(mapped.error().code));
        },
        [this] { words.emplace_back("gone"); });
  }
  /// Until nothing more fits.
  void fill() {
    while (process.tell(Retire{std::string(1000, 'x')})) {
    }
  }
  /// What it has been told, but for that.
  std::vector<WorkerMessage> hear() {
    std::vector<WorkerMessage> heard;
    for (auto packet = receive_packet(end.get(), false).value(); packet;
         packet = receive_packet(end.get(), false).value()) {
      auto message = parse_worker_message(packet->text).value();
      if (!std::holds_alternative<Retire>(message)) heard.push_back(std::move(message));
    }
    return heard;
  }
};

TEST_CASE("data that a worker is to map or unmap has a time limit, as a load has") {
  SilentWorker worker;
  const MonotonicTime since{1h};
  CHECK_FALSE(worker.process.load_limit(since, since + 1h));
  worker.map(first_data);
  CHECK(worker.process.is_linking());
  CHECK_FALSE(worker.process.load_limit(since, since + 4999ms));
  CHECK(worker.process.load_limit(since, since + 5s) == LoadLimit::standard);
  const auto answers = worker.process.links_answered();
  REQUIRE(worker.process.take_answer(DataMapped{first_data}));
  CHECK(worker.process.links_answered() == answers + 1);
  CHECK_FALSE(worker.process.is_linking());
  CHECK_FALSE(worker.process.load_limit(since, since + 1h));
  worker.process.unmap_data(first_data);
  CHECK(worker.process.is_linking());
  CHECK(worker.process.load_limit(since, since + 5s) == LoadLimit::standard);
  REQUIRE(worker.process.take_answer(DataUnmapped{first_data}));
  CHECK_FALSE(worker.process.is_linking());
  CHECK(worker.words == std::vector<std::string>{"mapped", "gone"});
}

TEST_CASE("a worker is told to unmap what its calls have opened 30 s ago") {
  SilentWorker worker;
  const MonotonicTime start{1h};
  worker.process.adopt_data(first_data, 4_KiB, start, [&] { worker.words.emplace_back("gone"); });
  worker.process.tell_unmaps(start + 30s);
  CHECK(worker.hear().empty());
  worker.process.use_data(first_data, start + 30s);
  worker.process.tell_unmaps(start + 60s);
  CHECK(worker.hear().empty());
  worker.process.tell_unmaps(start + 61s);
  const auto heard = worker.hear();
  REQUIRE(heard.size() == 1);
  CHECK(std::get<UnmapData>(heard[0]).data == first_data);
  REQUIRE(worker.process.take_answer(DataUnmapped{first_data}));
  CHECK(worker.words == std::vector<std::string>{"gone"});
}

TEST_CASE("a worker whose socket is full is told to unmap when there is room again") {
  SilentWorker worker;
  worker.map(first_data);
  REQUIRE(worker.process.take_answer(DataMapped{first_data}));
  worker.fill();
  worker.process.unmap_data(first_data);
  CHECK(worker.process.is_linking());
  CHECK_FALSE(worker.process.tell_unmaps());
  // It would take the object that it maps again for the one that it is to unmap.
  worker.map(first_data);
  CHECK(worker.words == std::vector<std::string>{"mapped", "gone", "no_capacity"});
  const auto before = worker.hear();
  REQUIRE(before.size() == 1);
  CHECK(std::holds_alternative<MapData>(before[0]));
  CHECK(worker.process.tell_unmaps());
  const auto after = worker.hear();
  REQUIRE(after.size() == 1);
  REQUIRE(std::holds_alternative<UnmapData>(after[0]));
  CHECK(std::get<UnmapData>(after[0]).data == first_data);
  CHECK(worker.process.tell_unmaps());
  CHECK(worker.hear().empty());
}

}  // namespace
}  // namespace orchid::executor

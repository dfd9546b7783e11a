#include "workers/worker_data.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace orchid::executor {
namespace {

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

}  // namespace
}  // namespace orchid::executor

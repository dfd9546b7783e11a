#include "data/data_digests.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/data_service.h"
#include "data_book_parts.h"
#include "event_loop.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "protocol/digest.h"

namespace orchid::executor {
namespace {

/// An executor's part that keeps data, and what it has told its gateway.
struct DigestHost : test::EventLoop {
  DigestHost() {
    log::configure("unit_executor", LogLevel::error);
    data.set_handlers({[this](const ControlMessage& message) { said.push_back(message); },
                       [this](const DataId& id) { digests.dropped(id); }});
  }
  template <typename Message>
  Message await() {
    std::optional<Message> found;
    run_until([&] {
      while (!found && !said.empty()) {
        if (const auto* message = std::get_if<Message>(&said.front())) found = *message;
        said.pop_front();
      }
      return found.has_value();
    });
    return *found;
  }
  DataId make(const std::string& content) {
    const MakeData made = room_request(content.size(), "name");
    data.obey(made);
    auto room = data.open({made.data, made.terms.secret, DataAccess::write}, ada);
    REQUIRE(room.has_value());
    REQUIRE(::pwrite(room->file.get(), content.data(), content.size(), 0) ==
            static_cast<ssize_t>(content.size()));
    room->file.reset();
    data.obey(SealData{made.data});
    CHECK(await<DataSealed>().data == made.data);
    return made.data;
  }

  // Between two pieces of work there is none, and the loop is to go on all the same.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> more_to_come =
      boost::asio::make_work_guard(io);
  DataService data{io, {.budget = 64_MiB, .per_tenant = 64_MiB}};
  std::deque<ControlMessage> said;
  DataDigests digests{io, data, [this](const ControlMessage& message) { said.push_back(message); }};
};

TEST_CASE("a sealed object's digest is made when it is asked for, and known from then on") {
  DigestHost host;
  const std::string content(3'000'017, 'x');
  const DataId data = host.make(content);
  const DataId empty = host.make("");
  CHECK(host.data.introduce().front().digest.empty());
  host.digests.obey(DigestData{data});
  host.digests.obey(DigestData{data});  // asked twice: one answer
  host.digests.obey(DigestData{empty});
  const auto digest = host.await<DataDigest>();
  CHECK(digest.data == data);
  CHECK(digest.digest == digest_of(as_bytes(content)));
  CHECK(host.await<DataDigest>().digest == digest_of({}));
  CHECK(host.data.book().digest_of(data) == digest.digest);
  for (const DataHeld& held : host.data.introduce()) CHECK_FALSE(held.digest.empty());
  host.digests.obey(DigestData{data});
  CHECK(std::get<DataDigest>(host.said.back()).digest == digest.digest);  // at once
  CHECK(host.data.book().used() == ByteCount{content.size()});
  host.data.obey(DropData{data});
  CHECK(host.data.book().used() == 0_B);  // nobody reads it any more
}

TEST_CASE("what is not there, or goes while it is read, has no digest") {
  DigestHost host;
  host.digests.obey(DigestData{make_data_id()});
  CHECK(std::get<DataNotDigested>(host.said.back()).code == ErrorCode::data_lost);
  const MakeData room = room_request(10, "room");
  host.data.obey(room);
  host.digests.obey(DigestData{room.data});
  CHECK(std::get<DataNotDigested>(host.said.back()).code == ErrorCode::data_lost);

  const DataId data = host.make(std::string(32 << 20, 'x'));
  host.digests.obey(DigestData{data});
  host.data.obey(DropData{data});
  CHECK(host.data.book().used() >= 32_MiB);  // it is still read
  host.run_until([&] { return host.digests.idle() && host.data.book().used() <= 10_B; });
  CHECK(host.data.book().digest_of(data).empty());
}

TEST_CASE("an executor makes so many digests, and no more") {
  DigestHost host;
  std::vector<DataId> all;
  for (std::size_t i = 0; i <= DataDigests::most_waiting; ++i) all.push_back(host.make("x"));
  for (const DataId& data : all) host.digests.obey(DigestData{data});
  const auto& refused = std::get<DataNotDigested>(host.said.back());
  CHECK(refused.data == all.back());
  CHECK(refused.code == ErrorCode::no_capacity);
  for (std::size_t i = 0; i < DataDigests::most_waiting; ++i) (void)host.await<DataDigest>();
}

}  // namespace
}  // namespace orchid::executor

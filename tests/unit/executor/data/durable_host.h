// durable_host.h: an executor's data objects with a directory for those that are to be durable.
#pragma once
#include <doctest/doctest.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "data/data_service.h"
#include "data_book_parts.h"
#include "event_loop.h"
#include "foundation/log.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

constexpr std::uint64_t durable_size = 1 << 20;  // of each object

/// An executor with memory for so many objects, and files of so many.
struct DurableHost : test::EventLoop {
  explicit DurableHost(const std::filesystem::path& directory, std::uint64_t files = 3,
                       std::uint64_t objects = 2)
      : data(io,
             {.budget = ByteCount{objects * durable_size},
              .per_tenant = ByteCount{objects * durable_size},
              .durable = ByteCount{files * durable_size}},
             {}, DurableFolder::open(directory).value()) {
    log::configure("unit_executor", LogLevel::error);
    data.set_handlers({[this](const ControlMessage& message) { said.push_back(message); }, {}});
  }
  template <typename... Message>
  std::variant<Message...> await() {
    std::optional<std::variant<Message...>> found;
    const auto take = [&]<typename One>(const ControlMessage& message) {
      if (const auto* one = std::get_if<One>(&message)) found = *one;
    };
    run_until([&] {
      while (!found && !said.empty()) {
        (take.template operator()<Message>(said.front()), ...);
        said.pop_front();
      }
      return found.has_value();
    });
    return *found;
  }
  MakeData order(const std::string& name, bool durable = true, std::uint32_t tenant = ada) {
    MakeData made = room_request(durable_size, name, tenant);
    made.terms.version = name.empty() ? 0 : 1;
    made.terms.durable = durable;
    data.obey(made);
    return made;
  }
  void write(const MakeData& made, char content) {
    auto room = data.open({made.data, made.terms.secret, DataAccess::write}, 0);
    REQUIRE(room.has_value());
    const std::string bytes(durable_size, content);
    REQUIRE(::pwrite(room->file.get(), bytes.data(), durable_size, 0) ==
            static_cast<ssize_t>(durable_size));
    room->file.reset();
    data.obey(SealData{.data = made.data, .expires_in = {}, .order = 9});
  }
  std::variant<DataSealed, DataRefused> seal(const MakeData& made, char content) {
    write(made, content);
    return await<DataSealed, DataRefused>();
  }
  DataId make(char content, const std::string& name, bool durable = true) {
    const MakeData made = order(name, durable);
    REQUIRE(std::holds_alternative<DataMade>(await<DataMade, DataRefused>()));
    const auto sealed = seal(made, content);
    REQUIRE(std::holds_alternative<DataSealed>(sealed));
    return made.data;
  }
  /// Its first byte.
  Result<char> first_of(const DataId& object) {
    std::optional<Result<void>> there;
    data.prepare(object, std::chrono::seconds(30),
                 [&](const Result<void>& result) { there = result; });
    run_until([&] { return there.has_value(); });
    if (!*there) return fail(there->error());
    auto taken = data.take(object, ada);
    if (!taken) return fail(taken.error());
    char first = 0;
    REQUIRE(::pread(taken->file.get(), &first, 1, 0) == 1);
    taken->file.reset();
    data.leave(object);
    return first;
  }
  void settle() {
    run_until([&] { return data.settled(); });
  }

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> more_to_come =
      boost::asio::make_work_guard(io);
  std::deque<ControlMessage> said;
  DataService data;
};

/// Of objects, whatever they are called.
inline std::size_t files_in(const std::filesystem::path& directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    count += entry.is_regular_file() && entry.path().filename() != ".orchid-lock" ? 1 : 0;
  return count;
}

}  // namespace orchid::executor

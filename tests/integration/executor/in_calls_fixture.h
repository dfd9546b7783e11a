// executor/in_calls_fixture.h: an executor whose calls open and make data, with the test in the
// gateway's place.
#pragma once
#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor_fixture.h"

namespace orchid::tests {

/// What a gateway knows of data: names, of which each version is another object.
class Names {
 public:
  /// For the executor's thread.
  std::optional<ControlMessage> hear(const ControlMessage& message) {
    const std::lock_guard lock(mutex_);
    if (const auto* question = std::get_if<FindData>(&message)) return find(*question);
    if (const auto* gone = std::get_if<DataDropped>(&message)) dropped_.push_back(gone->data);
    const auto* offer = std::get_if<PublishData>(&message);
    if (offer == nullptr) return std::nullopt;
    if (!holds_) return take(*offer);
    held_ = *offer;
    return std::nullopt;
  }
  std::vector<PublishData::Object> objects() {
    const std::lock_guard lock(mutex_);
    return objects_;
  }
  /// From now on what is offered is declined, with that code.
  void decline_offers(ErrorCode code) {
    const std::lock_guard lock(mutex_);
    declined_ = code;
  }
  /// From now on what is offered has no answer, but that of `held`.
  void hold_offers() {
    const std::lock_guard lock(mutex_);
    holds_ = true;
    held_.reset();
  }
  std::optional<PublishData> held() {
    const std::lock_guard lock(mutex_);
    return held_;
  }
  /// Of which the gateway has heard that it is not there any more.
  bool was_dropped(const DataId& data) {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(dropped_, data) != dropped_.end();
  }
  std::size_t questions() {
    const std::lock_guard lock(mutex_);
    return questions_;
  }

 private:
  ControlMessage find(const FindData& question) {
    ++questions_;
    if (question.reference == "elsewhere")
      return DataDeclined{question.question, ErrorCode::data_elsewhere, "it is on the host n17"};
    for (auto object = objects_.rbegin(); object != objects_.rend(); ++object)
      if (object->terms.name == question.reference || to_string(object->data) == question.reference)
        return DataFound{question.question, object->data};
    return DataDeclined{question.question, ErrorCode::not_found,
                        "there is no data object '" + question.reference + "'"};
  }
  ControlMessage take(const PublishData& offer) {
    if (declined_) return DataDeclined{offer.question, *declined_, "the gateway does not want it"};
    DataAccepted accepted{.question = offer.question, .objects = {}};
    for (const PublishData::Object& object : offer.objects) {
      objects_.push_back(object);
      accepted.objects.push_back({.data = object.data, .version = objects_.size()});
    }
    return accepted;
  }

  std::mutex mutex_;
  std::vector<PublishData::Object> objects_;
  std::optional<ErrorCode> declined_;
  bool holds_ = false;
  std::optional<PublishData> held_;
  std::vector<DataId> dropped_;
  std::size_t questions_ = 0;
};

struct InCallsFixture : ExecutorFixture {
  InCallsFixture() {
    executor.be_gateway([this](const ControlMessage& message) { return names.hear(message); });
  }
  ~InCallsFixture() { executor.be_gateway({}); }
  InCallsFixture(const InCallsFixture&) = delete;
  InCallsFixture& operator=(const InCallsFixture&) = delete;

  /// A call that reaches a worker which is being replaced, for what an earlier one has left, is
  /// lost; clients begin it again, and so do we.
  WorkerClient::Reply act(const std::string& words) {
    constexpr int attempts = 5;
    WorkerClient::Reply reply = call("makes_data", words);
    for (int i = 1; i < attempts && reply.outcome == Outcome::worker_lost; ++i)
      reply = call("makes_data", words);
    return reply;
  }
  void check_fails(const std::string& words, const std::string& why) {
    const auto reply = act(words);
    CHECK(reply.outcome == Outcome::function_error);
    CHECK_MESSAGE(contains(reply.message, why), reply.message);
  }
  ByteCount used() {
    ByteCount bytes;
    executor.with_data([&](executor::DataService& data) {
      data.tick();  // as the agent does it, time and again
      bytes = data.book().used();
    });
    return bytes;
  }
  bool is_clean() {
    return eventually([this] { return used().value == 0; });
  }

  Names names;
};

/// What a gateway says that takes all that is offered.
inline DataAccepted acceptance_of(const PublishData& offer) {
  DataAccepted accepted{.question = offer.question, .objects = {}};
  for (const PublishData::Object& object : offer.objects)
    accepted.objects.push_back({.data = object.data, .version = 1});
  return accepted;
}

}  // namespace orchid::tests

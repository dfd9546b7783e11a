#include "data/data_sparing.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "data/clock_now.h"
#include "foundation/random.h"

namespace orchid::executor {
namespace {

std::uint64_t any_question() {
  std::array<std::uint64_t, 1> number{};
  fill_random(std::as_writable_bytes(std::span(number)));
  return number.front() >> 1U;  // so that it never wraps
}

}  // namespace

DataSparing::DataSparing(const DataBook& book, std::function<void(const ControlMessage&)> tell)
    : book_(book), tell_(std::move(tell)), last_question_(any_question()) {}

void DataSparing::make_room(const DataBook::Demand& demand, Done done) {
  const ByteCount lacking = book_.lacking(demand);
  if (lacking.value == 0 || !spares_data_) return done();
  auto& tokens = tokens_.try_emplace(demand.tenant, questions_of_tenant).first->second;
  const MonotonicTime now = clock_now();
  if (!tokens.take(now)) return done();
  const std::uint64_t number = ++last_question_;
  questions_.emplace(number, Question{.due = now + answer_within, .done = std::move(done)});
  tell_(SpareFor{.question = number, .bytes = lacking});
}

/// What was to go before this has gone, or is used.
void DataSparing::obey(const DataSpared& message) {
  auto question = questions_.extract(message.question);
  if (!question.empty()) question.mapped().done();
}

void DataSparing::go_on_without_answer() {
  for (auto& [number, question] : std::exchange(questions_, {})) question.done();
}

void DataSparing::begin(bool spares_data, bool resumed) {
  spares_data_ = spares_data;
  if (!resumed) go_on_without_answer();
}

void DataSparing::tick(MonotonicTime now) {
  // A tenant that has rested for so long is as good as new.
  std::erase_if(tokens_, [now](const auto& entry) { return entry.second.is_full(now); });
  std::map<std::uint64_t, Question> late;
  for (auto question = questions_.begin(); question != questions_.end();) {
    const auto next = std::next(question);
    if (question->second.due <= now) late.insert(questions_.extract(question));
    question = next;
  }
  for (auto& [number, question] : late) question.done();
}

void DataSparing::end() {
  spares_data_ = false;
  go_on_without_answer();
}

}  // namespace orchid::executor

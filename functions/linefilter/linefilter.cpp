// functions/linefilter: those lines of a text that contain a word, as fast as the text comes. The
// first line of the input is the word.
#include <string>
#include <string_view>

#include "orchid/function.hpp"

namespace {

/// Takes a text in pieces of any size and writes the lines that are wanted.
class LineFilter {
 public:
  explicit LineFilter(orchid::Chunks& output) : output_(output) {}

  /// False: there is no room for the output.
  bool take(std::string_view text) {
    while (true) {
      const std::size_t length = text.find('\n');
      if (length == std::string_view::npos) break;
      if (!end_line(text.substr(0, length + 1))) return false;
      text.remove_prefix(length + 1);
    }
    begun_.append(text);
    return true;
  }
  /// The last line may lack its end.
  bool finish() { return begun_.empty() || end_line({}); }

 private:
  /// `rest` follows what earlier pieces had of this line.
  bool end_line(std::string_view rest) {
    std::string_view line = rest;
    if (!begun_.empty()) line = begun_.append(rest);
    const bool keeps = has_word_ && line.find(word_) != std::string_view::npos;
    if (!has_word_) {
      word_ = line.substr(0, line.find('\n'));
      has_word_ = true;
    }
    const bool written = !keeps || output_.emit(line);
    begun_.clear();
    return written;
  }

  orchid::Chunks& output_;
  bool has_word_ = false;
  std::string word_;
  std::string begun_;  // a line whose end has not come
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ORCHID_ENTRY(linefilter) {
  orchid::Chunks chunks(call, input, input_size);
  LineFilter filter(chunks);
  for (const std::span<const std::byte> chunk : chunks)
    if (!filter.take(text_of(chunk))) return ORCHID_ERROR;
  return filter.finish() ? ORCHID_OK : ORCHID_ERROR;
}

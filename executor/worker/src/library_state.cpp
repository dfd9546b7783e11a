#include "library_state.h"

#include <initializer_list>
#include <ios>
#include <iostream>

namespace orchid::executor {

LibraryState::LibraryState()
    : thread_locale_(::uselocale(nullptr)),
      locale_(std::setlocale(LC_ALL, nullptr)),
      locale_place_(std::setlocale(LC_ALL, nullptr)),
      new_handler_(std::get_new_handler()),
      terminate_handler_(std::get_terminate()),
      memory_resource_(std::pmr::get_default_resource()) {
  for (std::ios* stream : std::initializer_list<std::ios*>{&std::cout, &std::cerr, &std::clog})
    streams_.push_back({.stream = stream,
                        .flags = stream->flags(),
                        .precision = stream->precision(),
                        .buffer = stream->rdbuf(),
                        .fill = stream->fill()});
}

void LibraryState::restore() {
  if (::uselocale(nullptr) != thread_locale_ || std::setlocale(LC_ALL, nullptr) != locale_place_ ||
      std::locale() != cpp_locale_)
    restore_locale();
  if (std::get_new_handler() != new_handler_) std::set_new_handler(new_handler_);
  if (std::get_terminate() != terminate_handler_) std::set_terminate(terminate_handler_);
  if (std::pmr::get_default_resource() != memory_resource_)
    std::pmr::set_default_resource(memory_resource_);
  for (const Stream& wanted : streams_)
    if (wanted.stream->getloc() != cpp_locale_) wanted.stream->imbue(cpp_locale_);
}

void LibraryState::restore_locale() {
  ::uselocale(thread_locale_);
  std::locale::global(cpp_locale_);
  std::setlocale(LC_ALL, locale_.c_str());
  locale_place_ = std::setlocale(LC_ALL, nullptr);
}

void LibraryState::restore_formats() {
  for (const Stream& wanted : streams_) {
    std::ios& stream = *wanted.stream;
    if (stream.flags() != wanted.flags) stream.flags(wanted.flags);
    if (stream.precision() != wanted.precision) stream.precision(wanted.precision);
    if (stream.width() != 0) stream.width(0);
    if (stream.fill() != wanted.fill) stream.fill(wanted.fill);
    if (stream.exceptions() != std::ios_base::goodbit) stream.exceptions(std::ios_base::goodbit);
    if (stream.rdbuf() != wanted.buffer) stream.rdbuf(wanted.buffer);
    if (!stream.good()) stream.clear();
  }
}

}  // namespace orchid::executor

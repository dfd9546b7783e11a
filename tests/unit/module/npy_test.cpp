#include "module/npy.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>

#include "foundation/files.h"

using namespace orchid;
using namespace orchid::module;

namespace {

/// What numpy.save writes for `head`, format `version`, followed by `data`.
std::string make_npy(std::string head, std::string_view data, char version = 1) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + head.size() + 1) % 64 != 0) head += ' ';
  head += '\n';
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  const auto length = static_cast<std::uint32_t>(head.size());
  file.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  return file + head + std::string(data);
}

std::string doubles(std::initializer_list<double> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(double)};
}

std::string npy_failure_of(const std::string& file) {
  const auto read = read_npy(as_bytes(file));
  REQUIRE_FALSE(read.has_value());
  return read.error().message;
}

}  // namespace

TEST_CASE("arrays of formats 1 and 2 are read") {
  for (const char version : {'\1', '\2'}) {
    const std::string file = make_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
                                      doubles({1, 2, 3, 4, 5, 6}), version);
    const auto array = read_npy(as_bytes(file));
    REQUIRE_MESSAGE(array.has_value(), array.error().message);
    CHECK(array->element == Scalar::f64);
    CHECK(array->shape == std::vector<std::uint64_t>{2, 3});
    CHECK(array->count() == 6);
    CHECK(as_text(array->data) == doubles({1, 2, 3, 4, 5, 6}));
  }
}

TEST_CASE("one-dimensional, single and empty arrays are read") {
  CHECK(read_npy(as_bytes(make_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }",
                                   doubles({1}))))
            ->count() == 1);
  CHECK(read_npy(as_bytes(make_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "x")))
            ->shape.empty());
  CHECK(
      read_npy(as_bytes(make_npy("{'descr': '<i4', 'fortran_order': False, 'shape': (0,), }", "")))
          ->count() == 0);
}

TEST_CASE("what cannot be passed is refused with what to do") {
  CHECK(npy_failure_of("hello").find("numpy.save") != std::string::npos);
  CHECK(npy_failure_of(
            make_npy("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", doubles({1})))
            .find("astype('<f8')") != std::string::npos);
  CHECK(npy_failure_of(make_npy("{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", ""))
            .find("'<c16'") != std::string::npos);
  CHECK(npy_failure_of(
            make_npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", ""))
            .find("records") != std::string::npos);
  CHECK(npy_failure_of(make_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }",
                                doubles({1, 2, 3, 4})))
            .find("ascontiguousarray") != std::string::npos);
  CHECK(npy_failure_of(
            make_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", doubles({1})))
            .find("truncated") != std::string::npos);
  CHECK(npy_failure_of(
            make_npy(
                "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 8), }",
                ""))
            .find("too large") != std::string::npos);
}

TEST_CASE("mutants and truncations of a file are harmless") {
  const std::string whole = make_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
                                     doubles({1, 2, 3, 4, 5, 6}));
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string mutant = whole;
    for (int i = 0; i < 3; ++i) mutant[random() % mutant.size()] = static_cast<char>(random());
    mutant.resize(random() % 4 == 0 ? random() % mutant.size() : mutant.size());
    const std::vector<char> exact(mutant.begin(), mutant.end());
    if (const auto array = read_npy(std::as_bytes(std::span(exact))))
      CHECK(array->data.size() <= exact.size());
  }
}

// functions/kvstore/record.h: what is stored, and what is asked.
#pragma once
#include <array>
#include <cstdint>

namespace kvstore {

struct Record {
  std::uint64_t key;
  double value;
};

/// Of whoever asks: the name of an entry that is given a Record and answers one byte, 1 for yes.
/// Empty: each record will do.
using Filter = std::array<char, 48>;

struct Lookup {
  std::uint64_t records;  // of the whole store
  std::uint64_t key;
  Filter filter;
};

struct Count {
  std::uint64_t records;
  std::uint64_t found;  // so far
  std::uint32_t left;   // members still to visit
  std::uint32_t moves;
  Filter filter;
};

}  // namespace kvstore

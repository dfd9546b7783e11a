// functions/words/piece.h: a part of a text.
#pragma once
#include <cstdint>

#include "orchid/values.h"

namespace words {

/// The bytes from `begin` to before `end`. No word goes over an end.
struct Piece {
  std::uint64_t begin;
  std::uint64_t end;
};
ORCHID_STRUCT(Piece, begin, end)

}  // namespace words

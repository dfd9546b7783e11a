// Functions that embedded_test.cpp calls natively, and whose module lies in the test program.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchid/embedded.h"

double scalar_product(std::span<const double> a, std::span<const double> b);
ORCHID_DECLARE_FUNCTION(scalar_product)

std::string greeting_with_call(orchid::Call& call, std::string_view name);
ORCHID_DECLARE_FUNCTION(greeting_with_call)

std::int32_t refuses(std::int32_t number);
ORCHID_DECLARE_FUNCTION(refuses)
std::optional<double> root_or_reason(orchid::Call& call, double value);
ORCHID_DECLARE_FUNCTION(root_or_reason)

std::vector<double> scaled(std::span<const double> values, double factor);
ORCHID_DECLARE_FUNCTION(scaled)

inline std::int32_t unmarked(std::int32_t number) { return number; }

ORCHID_DECLARE_ENTRY(reversed)
ORCHID_DECLARE_ENTRY(fails)
ORCHID_DECLARE_ENTRY(halve)
ORCHID_DECLARE_ENTRY(copies_too_much)
ORCHID_DECLARE_ENTRY(launches_too_much)
ORCHID_DECLARE_ENTRY(asks_for_data)
ORCHID_DECLARE_ENTRY(opens_data)
ORCHID_DECLARE_ENTRY(makes_room)
ORCHID_DECLARE_ENTRY(makes_room_without_number)
ORCHID_DECLARE_ENTRY(seals_nothing)

// Names of pharmacy articles in the manner of a German price list: capitals, no umlauts, never a space at the
// end. Pure functions of their arguments, callable from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace hailstone {

constexpr size_t kArticleNameLimit = 40;  // bytes
constexpr size_t kArticleTextLimit = 26;  // bytes

/// Appends the article's name and, after a tab, its form and pack size.
/// @param article       any number; equal numbers give equal names
/// @param manufacturer  number of the manufacturer, whose label many of its articles carry
void append_article_name(uint64_t article, uint64_t manufacturer, std::string& to);

}  // namespace hailstone

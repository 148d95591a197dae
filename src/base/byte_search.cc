#include "base/byte_search.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/byte_search.cc"
#include <hwy/foreach_target.h>  // compiles the rest of this file once for each kind of processor
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hailstone {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Compares the first and the last byte of the needle with as many places at once as `tag` has lanes, and the
/// bytes between them only where both are right. There must be as many places at least.
template <typename Tag>
HWY_INLINE size_t find_by_ends(Tag tag, const char* text, size_t places, const char* needle, size_t size) {
  const size_t lanes = hn::Lanes(tag);
  const auto* const begins = reinterpret_cast<const uint8_t*>(text);
  const auto* const ends = begins + size - 1;
  const auto first = hn::Set(tag, static_cast<uint8_t>(needle[0]));
  const auto last = hn::Set(tag, static_cast<uint8_t>(needle[size - 1]));
  for (size_t place = 0;;) {
    const auto likely =
        hn::And(hn::Eq(hn::LoadU(tag, begins + place), first), hn::Eq(hn::LoadU(tag, ends + place), last));
    if (!hn::AllFalse(tag, likely)) {
      alignas(8) uint8_t bytes[8] = {};
      hn::StoreMaskBits(tag, likely, bytes);
      uint64_t bits;
      std::memcpy(&bits, bytes, sizeof bits);
      for (bits &= (uint64_t{1} << lanes) - 1; bits != 0; bits &= bits - 1) {
        const size_t at = place + static_cast<size_t>(std::countr_zero(bits));
        if (std::memcmp(text + at + 1, needle + 1, size - 2) == 0) return at;
      }
    }
    if (place + lanes == places) return ByteView::npos;
    // The last step looks again at some places, rather than behind the text.
    place = std::min(place + lanes, places - lanes);
  }
}

size_t FindBytes(const char* text, size_t places, const char* needle, size_t size) {
  const hn::CappedTag<uint8_t, 32> wide;
  const hn::CappedTag<uint8_t, 16> narrow;
  const hn::CappedTag<uint8_t, 8> least;
  if (places >= hn::Lanes(wide)) return find_by_ends(wide, text, places, needle, size);
  if (places >= hn::Lanes(narrow)) return find_by_ends(narrow, text, places, needle, size);
  if (places >= hn::Lanes(least)) return find_by_ends(least, text, places, needle, size);
  for (size_t place = 0; place < places; ++place) {
    if (text[place] == needle[0] && std::memcmp(text + place, needle, size) == 0) return place;
  }
  return ByteView::npos;
}

}  // namespace HWY_NAMESPACE
}  // namespace hailstone
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hailstone {

HWY_EXPORT(FindBytes);

size_t ByteSearch::find(ByteView text) const {
  const size_t size = needle_.size();
  if (size > text.size()) return ByteView::npos;
  if (size == 0) return 0;
  if (size == 1) return text.find(needle_.front());
  return HWY_DYNAMIC_DISPATCH(FindBytes)(text.data(), text.size() - size + 1, needle_.data(), size);
}

}  // namespace hailstone
#endif

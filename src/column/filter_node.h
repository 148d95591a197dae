// The inside of SegmentFilter: a predicate compiled for one segment, and its evaluation on one block.
// Nodes are immutable once made and shared by threads; a FilterRun belongs to one thread and one block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/counters.h"
#include "base/status.h"
#include "column/block_reader.h"
#include "column/predicate.h"
#include "column/segment_filter.h"

namespace hailstone {

struct FilterNode {
  enum class Kind : uint8_t {
    Always,
    Never,
    And,
    Or,
    Integers,    // `ranges` of values
    Numbers,     // `filter` of values
    CodeRanges,  // `ranges` of dictionary codes
    Codes,       // `codes`: a bit per dictionary entry
    Bytes,       // `test` of values without dictionary
    Null,
    NotNull,
    Grouped,  // `subtree` on the columns of the row group
  };
  Kind kind = Kind::Always;
  size_t position = 0;               // leaves: column of the segment
  std::vector<FilterNode> parts;     // And, Or: in the order in which they are evaluated
  std::vector<IntegerRange> ranges;  // sorted, disjoint
  std::vector<uint64_t> codes;
  const NumberFilter* filter = nullptr;     // Numbers
  bool is_in_order = false;                 // Numbers: of a column by which the rows are sorted
  const BytesTest* test = nullptr;          // CodeRanges, Codes, Bytes
  std::optional<BytesTest::Limits> limits;  // Bytes; the next one, too
  std::optional<BytesTest::Limits> limits_of_others;
  const Predicate* subtree = nullptr;  // Grouped
  // For ordering the parts of And and Or.
  double cost = 0;   // nanoseconds a row, roughly
  double share = 1;  // of the rows that match, estimated
};

/// `predicate` must outlive the node. Reads the dictionaries of the columns that have one.
Result<FilterNode> make_filter_node(const Predicate& predicate, const SegmentColumns& columns);

/// What the summaries alone say of a block.
BlockOutcome block_outcome(const FilterNode& node, const Segment& segment, uint32_t block);
/// Whether a Bytes node is TRUE for all values of a block that are not NULL.
bool takes_all_values(const FilterNode& node, const Segment& segment, uint32_t block);

class FilterRun {
 public:
  FilterRun(BlockReader& reader, Counters& counters, uint32_t block)
      : reader_(reader), columns_(reader.columns()), counters_(counters), block_(block) {}

  /// Clears the bits of the rows for which `node` is not TRUE.
  Status apply(const FilterNode& node, BlockBitmap& rows);

 private:
  Status apply_and(const FilterNode& node, BlockBitmap& rows);
  Status apply_or(const FilterNode& node, BlockBitmap& rows);
  static bool apply_ranges_to_few(const FilterNode& node, const Block& block, BlockBitmap& rows);
  void apply_filter(const FilterNode& node, const Block& block, BlockBitmap& rows);
  Status apply_test(const FilterNode& node, const BlockReader::Pinned& pinned, BlockBitmap& rows);
  Status apply_grouped(const FilterNode& node, BlockBitmap& rows);
  Status decode_groups(const BlockBitmap& rows);

  BlockReader& reader_;
  const SegmentColumns& columns_;
  Counters& counters_;
  const uint32_t block_;
  // Row groups decoded so far, by row; empty until one is asked for.
  std::vector<ByteView> groups_;
  BlockBitmap groups_decoded_;
  Arena group_scratch_;
};

}  // namespace hailstone

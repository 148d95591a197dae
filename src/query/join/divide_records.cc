#include "query/join/divide_records.h"

#include <atomic>
#include <deque>

namespace hailstone {

void take_runs(RecordPartitions& from, std::vector<RecordRun>& to) {
  std::vector<RecordRun> runs = from.take_runs();
  to.resize(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) to[i].append(std::move(runs[i]));
}

Result<std::vector<RecordRun>> divide_records(const RecordRun& run, const RecordColumns& columns,
                                              const std::function<KeyHashes()>& make_hashes,
                                              unsigned used_bits, RecordMemory& memory, const QueryHost& host,
                                              unsigned threads, OperatorCounts* counts) {
  std::vector<RecordPiece> pieces;
  RecordPiece::add_all(run, pieces);
  std::deque<RecordPartitions> partitions;
  for (unsigned i = 0; i < threads; ++i) partitions.emplace_back(memory, used_bits);
  std::atomic<size_t> next{0};
  const PartWork divide_some = [&](unsigned part, const GoOn& go_on) -> Status {
    RecordBatches batches(columns);
    KeyHashes hashes = make_hashes();
    HashedRecords records{.kind = RecordKind::Rows, .bytes = {}, .places = {}, .hashes = {}};
    for (size_t i = next++; i < pieces.size(); i = next++) {
      HAILSTONE_TRY(batches.begin(pieces[i]));
      while (const RowBatch* const rows = batches.next()) {
        const std::span<const uint64_t> of_rows = hashes.hash(*rows);
        records.bytes = batches.bytes();
        records.hashes.assign(of_rows.begin(), of_rows.end());
        records.places.clear();
        for (const char* const record : batches.records())
          records.places.push_back(static_cast<size_t>(record - batches.bytes().data()));
        HAILSTONE_TRY(partitions[part].append(records, go_on));
      }
    }
    return partitions[part].finish(go_on);
  };
  HAILSTONE_TRY(work_by_threads(host, threads, counts, divide_some));
  std::vector<RecordRun> runs;
  for (RecordPartitions& each : partitions) take_runs(each, runs);
  return runs;
}

}  // namespace hailstone

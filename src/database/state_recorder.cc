#include "database/state_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "database/core.h"

namespace hailstone {
namespace {

// A manifest is rewritten when it is bigger than this and several times its live content.
constexpr uint64_t rewrite_bytes = uint64_t{1} << 20;
constexpr uint64_t rewrite_factor = 4;

bool same_files(const TableRecord& a, const TableRecord& b) {
  return std::ranges::equal(a.segments, b.segments,
                            [](const auto& left, const auto& right) { return left.file == right.file; });
}

CatalogRecord to_catalog(TableRecord&& record, size_t bytes) {
  const Timestamp definition_timestamp = record.definition_timestamp;
  return {{std::move(record)}, definition_timestamp, bytes};
}

/// Of a table that is not open, but for its definition.
TableRecord record_of(const CatalogEntry& entry) HAILSTONE_REQUIRES(entry.opening) {
  TableRecord record;
  record.id = entry.id;
  if (entry.recorded) static_cast<TableContents&>(record) = *entry.recorded;
  return record;
}

bool is_recorded(CatalogEntry& entry) {
  const MutexLock opening(entry.opening);
  return entry.recorded.has_value();
}

}  // namespace

bool StateRecorder::differs(const TableRecord& record, const std::optional<CatalogRecord>& recorded) {
  return !recorded || recorded->definition_timestamp != record.definition_timestamp ||
         recorded->segments != record.segments || recorded->next_row_id != record.next_row_id ||
         recorded->next_auto_increment != record.next_auto_increment ||
         recorded->last_publish != record.last_publish || recorded->rows != record.rows;
}

Result<TableRecord> StateRecorder::capture(Table& table, std::optional<Timestamp> rows_until) {
  if (!table.is_durable()) return table.record();
  // Ends of rows of the segments that the state names must be in the files that it names: replay does not
  // repeat what was committed before the last checkpoint. A flush or merge may bring new segments at any
  // moment, so the files are compared: what was there before and after the delete vectors were written was
  // there meanwhile.
  for (;;) {
    const TableRecord before = table.record();
    // A commit stamps one place after the other. A flush may have taken over what it stamped first; its ends
    // in other places must be there too, or the row would be there twice.
    Timestamp stamped = 0;
    HAILSTONE_TRY(core_.transactions().with_commits_stopped([&](Timestamp committed) {
      stamped = committed;
      return Status();
    }));
    // Before the rows, as a flush may take some of them out of the deltas meanwhile.
    const Timestamp applied = table.applied_until(stamped);
    // The rows come before the ends of those that they replaced, as replay would not end these again.
    std::string rows;
    if (rows_until) table.append_delta_rows(*rows_until, rows);
    HAILSTONE_TRY(table.write_delete_vectors());
    TableRecord after = table.record();
    if (!same_files(before, after)) continue;
    after.rows = std::move(rows);
    after.applied_until = applied;
    return after;
  }
}

Status StateRecorder::record(Table& table) {
  const MutexLock guard(mutex_);
  if (recovering_) return {};
  const EntryPointer entry = core_.catalog().find(table.id());
  if (entry == nullptr)
    return {};  // dropped, or its creation is not committed: nothing of it is in the manifest
  // A corrupt table's state may lack what could not be read; the manifest keeps the one before.
  HAILSTONE_TRY(table.usable());
  // Later commits are in the log, and so are those that the last checkpoint did not find worth recording.
  bool has_rows = false;
  {
    const MutexLock opening(entry->opening);
    has_rows = !entry->carried && entry->recorded && !entry->recorded->rows.empty();
  }
  HAILSTONE_ASSIGN(TableRecord record,
                   capture(table, has_rows ? std::optional(recorded_until_) : std::nullopt));
  auto definition = core_.catalog().committed_definition(entry);
  if (!definition) return {};
  std::tie(record.definition, record.definition_timestamp) = std::move(*definition);
  std::vector<Update> updates;
  updates.push_back({entry, table.shared_from_this(), std::move(record)});
  return write(updates, {}, mark_, false);
}

Status StateRecorder::collect(std::vector<Update>& updates, const std::vector<EntryPointer>& changed,
                              Timestamp committed, const std::unordered_set<TableId>& carried) {
  std::set<TableId> done;
  for (const auto& [entry, table] : core_.catalog().open_tables()) {
    if (entry->is_temporary || !table->usable()) continue;
    const bool is_carried = carried.contains(entry->id);
    {
      const MutexLock opening(entry->opening);
      entry->carried = is_carried;
    }
    auto captured = capture(*table, is_carried ? std::nullopt : std::optional(committed));
    if (!captured) {
      // Damage that just came to light; the manifest keeps the state that it has.
      if (captured.error().code() == ErrorCode::Corruption) continue;
      return std::unexpected(std::move(captured).error());
    }
    auto definition = core_.catalog().committed_definition(entry);
    if (!definition) continue;
    captured->definition_timestamp = definition->second;
    done.insert(entry->id);
    {
      const MutexLock opening(entry->opening);
      if (!differs(*captured, entry->recorded)) continue;
    }
    captured->definition = std::move(definition->first);
    updates.push_back({entry, table, std::move(*captured)});
  }
  for (const EntryPointer& entry : changed) {
    if (entry->is_temporary || !done.insert(entry->id).second) continue;
    auto definition = core_.catalog().committed_definition(entry);
    if (!definition) continue;
    TableRecord record;
    {
      const MutexLock opening(entry->opening);
      record = record_of(*entry);
    }
    std::tie(record.definition, record.definition_timestamp) = std::move(*definition);
    updates.push_back({entry, nullptr, std::move(record)});
  }
  return {};
}

Status StateRecorder::record_checkpoint(CheckpointMark mark, Timestamp committed,
                                        const std::unordered_set<TableId>& carried) {
  std::vector<FilesToRemove> files;
  {
    const MutexLock guard(mutex_);
    const std::vector<EntryPointer> changed = core_.catalog().changed();
    const std::vector<Catalog::Dropped> dropped = core_.catalog().dropped();
    std::map<TableId, Timestamp> drops = dropped_unwritten_;
    for (const Catalog::Dropped& each : dropped) {
      if (each.entry->is_temporary) continue;
      if (is_recorded(*each.entry) || each.timestamp > mark.committed) drops[each.entry->id] = each.timestamp;
    }
    std::vector<Update> updates;
    // Until the next checkpoint record() keeps the rows up to here in the states, also when this one fails.
    recorded_until_ = std::max(recorded_until_, committed);
    HAILSTONE_TRY(collect(updates, changed, committed, carried));
    mark.next_table = core_.next_table.load();
    mark.next_file = core_.file_numbers.next();
    HAILSTONE_TRY(write(updates, drops, mark, true));
    core_.catalog().forget_changed(changed.size());
    dropped_unwritten_.clear();
    for (const Catalog::Dropped& each : dropped) files.push_back(let_go(each.entry));
    core_.catalog().forget_dropped(dropped.size());
  }
  remove_files(files);
  return {};
}

Status StateRecorder::with_manifest_kept(const std::function<Status(const KeptManifest&)>& action) {
  const MutexLock guard(mutex_);
  return action({.bytes = manifest_.bytes(), .log_start = mark_.log_start});
}

Status StateRecorder::with_table_kept(
    Table& table, const std::function<Status(const TableRecord& record, Timestamp committed)>& action) {
  const MutexLock guard(mutex_);
  const EntryPointer entry = core_.catalog().find(table.id());
  auto definition = entry == nullptr ? std::nullopt : core_.catalog().committed_definition(entry);
  if (!definition) {
    return fail(ErrorCode::NotFound,
                fmt::format("table '{}' has been dropped, or is not committed yet", table.definition().name));
  }
  HAILSTONE_ASSIGN(TableRecord record, capture(table, core_.transactions().last_committed()));
  std::tie(record.definition, record.definition_timestamp) = std::move(*definition);
  return action(record, core_.transactions().last_committed());
}

bool StateRecorder::has_files(const Catalog::Dropped& dropped) {
  {
    const MutexLock opening(dropped.entry->opening);
    if (dropped.entry->recorded && !dropped.entry->recorded->segments.empty()) return true;
  }
  const auto table = core_.catalog().opened(dropped.entry);
  return table != nullptr && !table->record().segments.empty();
}

StateRecorder::FilesToRemove StateRecorder::let_go(const EntryPointer& entry) {
  const MutexLock opening(entry->opening);
  FilesToRemove files{core_.catalog().let_go(entry), record_of(*entry).segments};
  replace_recorded(*entry, std::nullopt);
  return files;
}

Result<bool> StateRecorder::finish_drops() {
  std::vector<FilesToRemove> files;
  bool had_files = false;
  {
    const MutexLock guard(mutex_);
    const std::vector<Catalog::Dropped> dropped = core_.catalog().dropped();
    std::map<TableId, Timestamp> drops;
    for (const Catalog::Dropped& each : dropped) {
      if (has_files(each)) drops[each.entry->id] = each.timestamp;
    }
    had_files = !drops.empty();
    if (had_files) {
      std::vector<Update> none;
      HAILSTONE_TRY(write(none, drops, mark_, false));
    }
    for (const Catalog::Dropped& each : dropped) {
      // Without files it is enough that the log says it until the next checkpoint.
      if (is_recorded(*each.entry) && !drops.contains(each.entry->id)) {
        dropped_unwritten_[each.entry->id] = each.timestamp;
      }
      files.push_back(let_go(each.entry));
    }
    core_.catalog().forget_dropped(dropped.size());
  }
  remove_files(files);
  return had_files;
}

void StateRecorder::remove_files(const std::vector<FilesToRemove>& files) {
  for (const FilesToRemove& each : files) {
    if (each.table != nullptr) {
      each.table->drop_files();
      continue;
    }
    for (const auto& segment : each.segments) {
      // A file that stays is an orphan, which the next recovery removes.
      static_cast<void>(core_.filesystem().remove(core_.segment_path(segment.file)));
      if (segment.delete_vector == 0) continue;
      static_cast<void>(core_.filesystem().remove(core_.delete_vector_path(segment.delete_vector)));
    }
  }
}

Status StateRecorder::write(std::vector<Update>& updates, const std::map<TableId, Timestamp>& dropped,
                            const CheckpointMark& mark, bool with_mark) {
  const bool rewrite = manifest_.must_be_rewritten() || (manifest_.bytes() > rewrite_bytes &&
                                                         manifest_.bytes() > rewrite_factor * live_bytes_);
  std::map<TableId, Timestamp> drops = dropped_;
  drops.insert(dropped.begin(), dropped.end());
  if (with_mark)
    std::erase_if(drops, [&](const auto& each) {
      return !dropped.contains(each.first) && each.second <= mark.committed;
    });
  ManifestRecords records;
  std::vector<size_t> sizes;
  sizes.reserve(updates.size());
  for (const Update& update : updates) {
    const size_t before = records.bytes();
    records.add_table(update.record);
    sizes.push_back(records.bytes() - before);
  }
  if (rewrite) {
    std::set<TableId> updated;
    for (const Update& update : updates) updated.insert(update.entry->id);
    for (const EntryPointer& entry : core_.catalog().entries()) {
      if (updated.contains(entry->id)) continue;
      auto definition = core_.catalog().committed_definition(entry);
      if (!definition) continue;
      const MutexLock opening(entry->opening);
      if (!entry->recorded) continue;
      TableRecord record = record_of(*entry);
      std::tie(record.definition, record.definition_timestamp) = std::move(*definition);
      records.add_table(record);
    }
  }
  for (const auto& [table, timestamp] : rewrite ? drops : dropped) records.add_dropped(table, timestamp);
  if (with_mark || rewrite) records.add_mark(mark);
  if (records.empty()) return {};
  const auto identity = core_.file_numbers.missing();
  if (rewrite) {
    for (const DatabaseIdentity& each : core_.file_numbers.databases()) records.add_database(each);
  }
  if (identity) records.add_database(*identity);
  HAILSTONE_TRY(core_.log->sync(core_.log->end(), [this] { return core_.closing.load(); }));
  HAILSTONE_TRY(rewrite ? manifest_.rewrite(std::move(records)) : manifest_.append(std::move(records)));
  if (identity) core_.file_numbers.recorded(*identity);
  if (with_mark) {
    mark_ = mark;
    core_.checkpoint_timestamp.store(mark.committed, std::memory_order_relaxed);
    std::erase_if(drops, [&](const auto& each) { return each.second <= mark.committed; });
  }
  dropped_ = std::move(drops);
  for (size_t i = 0; i < updates.size(); ++i) {
    Update& update = updates[i];
    const MutexLock opening(update.entry->opening);
    const uint64_t generation = update.record.generation;
    replace_recorded(*update.entry, to_catalog(std::move(update.record), sizes[i]));
    if (update.table != nullptr) update.table->recorded(generation);
  }
  return {};
}

void StateRecorder::adopt(CatalogEntry& entry, TableRecord record, size_t bytes) {
  const MutexLock guard(mutex_);
  const MutexLock opening(entry.opening);
  replace_recorded(entry, to_catalog(std::move(record), bytes));
}

void StateRecorder::replace_recorded(CatalogEntry& entry, std::optional<CatalogRecord> recorded) {
  const size_t bytes_before = entry.recorded ? entry.recorded->bytes : 0;
  const size_t rows_before = entry.recorded ? entry.recorded->rows.size() : 0;
  const size_t bytes = recorded ? recorded->bytes : 0;
  const size_t rows = recorded ? recorded->rows.size() : 0;
  live_bytes_ = live_bytes_ - bytes_before + bytes;
  row_bytes_.fetch_add(rows - rows_before, std::memory_order_relaxed);
  core_.budget().reserve(rows);
  core_.budget().release(rows_before);
  entry.recorded = std::move(recorded);
}

StateRecorder::Closed StateRecorder::close_idle(size_t most) {
  Closed result;
  const MutexLock guard(mutex_);
  auto open = core_.catalog().open_tables();
  size_t surplus = open.size() - std::min(open.size(), most);
  if (surplus == 0) return result;
  // From where the last call ended. Each from the beginning would leave holes in a part of the catalog's map
  // and ever longer runs of used slots in the rest.
  const size_t begin = clock_hand_ % open.size();
  std::ranges::rotate(open, open.begin() + static_cast<ptrdiff_t>(begin));
  size_t seen = 0;
  const auto close_one = [&](const EntryPointer& entry, const std::shared_ptr<Table>& table) {
    if (!entry->opening.try_lock()) return;
    const MutexLock opening(entry->opening, std::adopt_lock);
    // From here on whoever wants the table asks the catalog for it, and is noticed when it comes to closing.
    if (!core_.catalog().unused(entry, table)) return;
    // Its rows are nowhere else.
    if (!table->is_durable()) return;
    // Opened again it would have other places.
    if (core_.locks().has_places_of(table->id())) return;
    if (table->delta_bytes() > most_closed_delta_bytes) {
      ++result.unrecorded;
      return;
    }
    TableRecord record = table->record();
    table->append_delta_rows(infinity, record.rows);
    record.definition_timestamp = entry->recorded ? entry->recorded->definition_timestamp : 0;
    const bool recorded =
        entry->recorded ? !differs(record, entry->recorded) : !differs(record, CatalogRecord());
    if (!recorded || !table->is_settled()) {
      ++result.unrecorded;
      return;
    }
    auto analyzed = table->analyzed_counts();
    if (!core_.catalog().close(entry, table)) return;
    if (!analyzed.empty()) entry->analyzed = std::make_unique<Table::AnalyzedCounts>(std::move(analyzed));
    count(core_.counters().table_evictions);
    ++result.closed;
    --surplus;
  };
  std::vector<std::pair<EntryPointer, std::shared_ptr<Table>>> used_lately;
  for (auto& [entry, table] : open) {
    if (surplus == 0) break;
    ++seen;
    if (entry->used.exchange(false, std::memory_order_relaxed)) {
      used_lately.emplace_back(entry, std::move(table));
    } else {
      close_one(entry, table);
      table.reset();
    }
  }
  for (auto& [entry, table] : used_lately) {
    if (surplus == 0) break;
    close_one(entry, table);
    table.reset();
  }
  clock_hand_ = begin + seen - std::min(seen, result.closed);
  return result;
}

}  // namespace hailstone

// Huge pages for the memory of queries, in a server that wants none for its own.
#pragma once

namespace hailstone {

/// When it has started, the server forbids its process huge pages: malloc() and stacks would waste memory by
/// them. This takes back the ban for memory that asks for them, as the long arrays of queries do
/// (base/page_allocator.h), which are read all over: without them most of the time of a sort or of very many
/// groups goes by looking for pages' addresses. Linux 6.18 and later; on others nothing changes. Any thread;
/// what follows the first call does nothing.
void allow_advised_huge_pages();

}  // namespace hailstone

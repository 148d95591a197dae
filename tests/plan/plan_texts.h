// Plans as texts, with a node of each kind.
#pragma once

#include <string>
#include <vector>

namespace hailstone::plan {

inline const std::vector<std::string> plan_texts{
    R"(limit 5 offset 2
  sort n#20, a#1 desc
    aggregate (a#1, w#2) n#20 := count_rows(), m#21 := max(r#3), d#22 := count(distinct w#2) sets (a#1, w#2), (a#1), ()
      filter a#1 > 5, w#2 = 'it''s'
        scan t (a#1 int8, w#2 varchar(20) collate 1, r#3 double)
)",
    R"(left join a#1 = b#3, a#1 + 1 < b#3
  scan `a table` (a#1 int4, `odd name`#2 uint1)
  values (b#3 int8, c#4 varchar(20), d#5 double) (1, 'x', 1.5e0) (NULL, NULL, NULL)
)",
    R"(union distinct (x#7)
  project x#5 int8 := a#1 + 1
    scan t (a#1 int8)
  scan u (y#6 int8)
)",
    R"(project x#5 varchar(20) := 'x', y#6 := a#1 * 1.50, z#7 := CONCAT(w#2, 'y'), v#8 := a#1, u#9 := 1e0, t#10 int8 := NULL
  scan t (a#1 int8, w#2 varchar(20))
)",
    R"(mark join m#9: a#1 = b#2
  scan t (a#1 int8)
  host-scan u (b#2 int8)
)",
    R"(semi apply
  scan t (a#1 int8)
  filter a#1 = b#2
    scan u (b#2 int8)
)",
    R"(inner join x#3 = y#4
  materialize 1 (x#3)
    scan t (a#1 int8)
  materialize 1 (y#4)
)",
    R"(recurse 1 all (n#1)
  values (first#2 int8) (1)
  project next#3 int8 := n#4 + 1
    filter n#4 < 10
      round 1 (n#4 int8)
)",
    R"(window (a#1) order (b#2 desc) n#3 := row_number(), s#4 := sum(b#2)
  scan t (a#1 int8, b#2 int8)
)",
    R"(limit 5 with ties
  sort a#1
    scan t (a#1 int8 as decimal(10, 2, 0) not null held decimal(10, 2) unless zero, b#2 bytes(16) as decimal(38, 4, 0), c#3 blob, d#4 char(3), e#5 float)
)",
};

}  // namespace hailstone::plan

"""ClickBench's table and the shapes of its 43 queries, numbered from 0 as it does.

ClickBench (https://benchmark.clickhouse.com) asks them of 100 million rows of a web log. Here they are asked of rows that
clickbench_data.py makes, and of ClickBench's 105 columns only those that a query reads, and two more. Types are those that
ClickBench has for MySQL. What depends on the number of rows (a least count, an OFFSET) is made for fewer rows than 100
million, and values of single users and pages are those of our data.
"""

import dataclasses

from analytic_statement import Statement, group_of
from analytic_tables import Table

SCHEMA = "clickbench"

# Strings are compared byte by byte, as DuckDB does.
TEXT = "TEXT"
TABLE = Table("hits", (
    ("WatchID", "BIGINT"), ("JavaEnable", "SMALLINT"), ("Title", TEXT), ("EventTime", "TIMESTAMP"), ("EventDate", "DATE"),
    ("CounterID", "INTEGER"), ("ClientIP", "INTEGER"), ("RegionID", "INTEGER"), ("UserID", "BIGINT"), ("OS", "SMALLINT"),
    ("URL", TEXT), ("Referer", TEXT), ("IsRefresh", "SMALLINT"), ("ResolutionWidth", "SMALLINT"),
    ("MobilePhone", "SMALLINT"), ("MobilePhoneModel", TEXT), ("TraficSourceID", "SMALLINT"), ("SearchEngineID", "SMALLINT"),
    ("SearchPhrase", TEXT), ("AdvEngineID", "SMALLINT"), ("WindowClientWidth", "SMALLINT"),
    ("WindowClientHeight", "SMALLINT"), ("IsLink", "SMALLINT"), ("IsDownload", "SMALLINT"), ("DontCountHits", "SMALLINT"),
    ("RefererHash", "BIGINT"), ("URLHash", "BIGINT")), order="CounterID, EventDate, UserID, EventTime, WatchID")


@dataclasses.dataclass(frozen=True)
class Values:
    """Of the data, that queries name."""
    rows: int
    user: int          # with some hits
    referer_hash: int  # the most frequent one of site 62's visitors that came by themselves or by a link
    url_hash: int      # of site 62's most frequent page

    @property
    def many(self):
        """Hits of a site of more than a thousandth of all."""
        return self.rows // 1000


def find_values(rows, ask):
    """`ask` runs a query of DuckDB and returns its rows."""
    site = "FROM hits WHERE CounterID = 62 AND IsRefresh = 0"
    return Values(
        rows,
        ask("SELECT UserID FROM hits WHERE EventTime >= '2013-07-15' ORDER BY EventTime, UserID LIMIT 1")[0][0],
        ask(f"SELECT RefererHash {site} AND TraficSourceID IN (-1, 6) GROUP BY 1 ORDER BY COUNT(*) DESC, 1 LIMIT 1")[0][0],
        ask(f"SELECT URLHash {site} AND DontCountHits = 0 GROUP BY 1 ORDER BY COUNT(*) DESC, 1 LIMIT 1")[0][0])


def group(values):
    return group_of("ClickBench", "The statements are in `bench/clickbench.py`, the rows, in the order of time, in "
                    "`bench/clickbench_data.py`.", SCHEMA, _statements(values))


def _statements(values):
    month = "CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31'"
    counted = f"{month} AND DontCountHits = 0"
    fresh = f"{month} AND IsRefresh = 0"
    top = "LIMIT 10"
    host = r"'^https?://(?:www\.)?([^/]+)/.*$'"
    by_host = ("SELECT REGEXP_REPLACE(Referer, {}) AS k, AVG({}(Referer)) AS l, COUNT(*) AS c, MIN(Referer) FROM hits "
               f"WHERE Referer <> '' GROUP BY k HAVING COUNT(*) > {values.many} ORDER BY l DESC LIMIT 25")
    by_site = ("SELECT CounterID, AVG({}(URL)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID "
               f"HAVING COUNT(*) > {values.many} ORDER BY l DESC LIMIT 25")
    by_minute = ("SELECT {} AS M, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-14' "
                 "AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0 GROUP BY {} ORDER BY {} "
                 "LIMIT 10 OFFSET 100")
    widths = ", ".join(f"SUM(ResolutionWidth + {more})" for more in range(1, 90))
    return (
        Statement("c0", "all rows", "SELECT COUNT(*) FROM hits"),
        Statement("c1", "rows of a rare filter", "SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0"),
        Statement("c2", "sums and a mean of all", "SELECT SUM(AdvEngineID), COUNT(*), AVG(ResolutionWidth) FROM hits"),
        # ClickHouse adds whole numbers up modulo 2^64.
        Statement("c3", "mean of great numbers", "SELECT AVG(UserID) FROM hits",
                  clickhouse="SELECT AVG(CAST(UserID AS DOUBLE)) FROM hits"),
        Statement("c4", "different users", "SELECT COUNT(DISTINCT UserID) FROM hits"),
        Statement("c5", "different phrases", "SELECT COUNT(DISTINCT SearchPhrase) FROM hits"),
        Statement("c6", "first and last day", "SELECT MIN(EventDate), MAX(EventDate) FROM hits"),
        Statement("c7", "few groups of a rare filter",
                  "SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC",
                  order=(1,)),
        Statement("c8", "users by region", "SELECT RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID "
                  f"ORDER BY u DESC {top}", order=(1,), limit=10),
        Statement("c9", "sums and users by region", "SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, "
                  f"AVG(ResolutionWidth), COUNT(DISTINCT UserID) FROM hits GROUP BY RegionID ORDER BY c DESC {top}",
                  order=(2,), limit=10),
        Statement("c10", "users by model of phone", "SELECT MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits "
                  f"WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel ORDER BY u DESC {top}", order=(1,), limit=10),
        Statement("c11", "… by maker and model", "SELECT MobilePhone, MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits "
                  f"WHERE MobilePhoneModel <> '' GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC {top}",
                  order=(2,), limit=10),
        Statement("c12", "most frequent phrases", "SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' "
                  f"GROUP BY SearchPhrase ORDER BY c DESC {top}", order=(1,), limit=10),
        Statement("c13", "phrases by users", "SELECT SearchPhrase, COUNT(DISTINCT UserID) AS u FROM hits "
                  f"WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY u DESC {top}", order=(1,), limit=10),
        Statement("c14", "phrases by search engine", "SELECT SearchEngineID, SearchPhrase, COUNT(*) AS c FROM hits "
                  f"WHERE SearchPhrase <> '' GROUP BY SearchEngineID, SearchPhrase ORDER BY c DESC {top}",
                  order=(2,), limit=10),
        Statement("c15", "users with most hits", f"SELECT UserID, COUNT(*) FROM hits GROUP BY UserID ORDER BY COUNT(*) DESC {top}",
                  order=(1,), limit=10),
        Statement("c16", "pairs of user and phrase", "SELECT UserID, SearchPhrase, COUNT(*) FROM hits "
                  f"GROUP BY UserID, SearchPhrase ORDER BY COUNT(*) DESC {top}", order=(2,), limit=10),
        Statement("c17", "… any ten of them", f"SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase {top}",
                  limit=10),
        Statement("c18", "… and minute", "SELECT UserID, EXTRACT(MINUTE FROM EventTime) AS m, SearchPhrase, COUNT(*) FROM hits "
                  f"GROUP BY UserID, m, SearchPhrase ORDER BY COUNT(*) DESC {top}", order=(3,), limit=10),
        Statement("c19", "one user's hits", f"SELECT UserID FROM hits WHERE UserID = {values.user}"),
        Statement("c20", "a word in addresses", "SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%'"),
        Statement("c21", "… with phrases", "SELECT SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' "
                  f"AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC {top}", order=(2,), limit=10),
        Statement("c22", "a word in titles, not in addresses", "SELECT SearchPhrase, MIN(URL), MIN(Title), COUNT(*) AS c, "
                  "COUNT(DISTINCT UserID) FROM hits WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' "
                  f"AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC {top}", order=(3,), limit=10),
        Statement("c23", "all columns of the first ten", f"SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime {top}",
                  order=(3,), limit=10),
        Statement("c24", "first phrases", f"SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime {top}",
                  limit=10),
        Statement("c25", "phrases in their order", "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' "
                  f"ORDER BY SearchPhrase {top}", order=(0,), limit=10),
        Statement("c26", "first phrases in their order", "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' "
                  f"ORDER BY EventTime, SearchPhrase {top}"),
        Statement("c27", "lengths of addresses by site", by_site.format("LENGTH"), by_site.format("STRLEN"),
                  order=(1,), limit=25),
        Statement("c28", "lengths by a part of the address", by_host.format(host.replace("\\", "\\\\") + r", '\\1'", "LENGTH"),
                  by_host.format(host + r", '\1'", "STRLEN"), order=(1,), limit=25),
        Statement("c29", "90 sums", f"SELECT SUM(ResolutionWidth), {widths} FROM hits"),
        Statement("c30", "search engines and addresses", "SELECT SearchEngineID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), "
                  "AVG(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP "
                  f"ORDER BY c DESC {top}", order=(2,), limit=10),
        Statement("c31", "a group for each hit with a phrase", "SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), "
                  "AVG(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' GROUP BY WatchID, ClientIP "
                  f"ORDER BY c DESC {top}", order=(2,), limit=10),
        Statement("c32", "a group for each hit", "SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) "
                  f"FROM hits GROUP BY WatchID, ClientIP ORDER BY c DESC {top}", order=(2,), limit=10),
        Statement("c33", "most frequent addresses", f"SELECT URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC {top}",
                  order=(1,), limit=10),
        Statement("c34", "… and a constant", f"SELECT 1, URL, COUNT(*) AS c FROM hits GROUP BY 1, URL ORDER BY c DESC {top}",
                  order=(2,), limit=10),
        Statement("c35", "groups that follow from one", "SELECT ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, COUNT(*) AS c "
                  f"FROM hits GROUP BY ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 ORDER BY c DESC {top}",
                  order=(4,), limit=10),
        Statement("c36", "pages of a site", f"SELECT URL, COUNT(*) AS PageViews FROM hits WHERE {counted} AND IsRefresh = 0 "
                  f"AND URL <> '' GROUP BY URL ORDER BY PageViews DESC {top}", order=(1,), limit=10),
        Statement("c37", "titles of a site", f"SELECT Title, COUNT(*) AS PageViews FROM hits WHERE {counted} AND IsRefresh = 0 "
                  f"AND Title <> '' GROUP BY Title ORDER BY PageViews DESC {top}", order=(1,), limit=10),
        Statement("c38", "links of a site, behind the first", f"SELECT URL, COUNT(*) AS PageViews FROM hits WHERE {fresh} "
                  f"AND IsLink <> 0 AND IsDownload = 0 GROUP BY URL ORDER BY PageViews DESC {top} OFFSET 20",
                  order=(1,), limit=10, offset=True),
        Statement("c39", "ways into a site, behind the first", "SELECT TraficSourceID, SearchEngineID, AdvEngineID, "
                  "CASE WHEN SearchEngineID = 0 AND AdvEngineID = 0 THEN Referer ELSE '' END AS Src, URL AS Dst, "
                  f"COUNT(*) AS PageViews FROM hits WHERE {fresh} GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst "
                  f"ORDER BY PageViews DESC {top} OFFSET 100", order=(5,), limit=10, offset=True),
        Statement("c40", "pages and days of a referer", f"SELECT URLHash, EventDate, COUNT(*) AS PageViews FROM hits WHERE {fresh} "
                  f"AND TraficSourceID IN (-1, 6) AND RefererHash = {values.referer_hash} GROUP BY URLHash, EventDate "
                  f"ORDER BY PageViews DESC {top} OFFSET 10", order=(2,), limit=10, offset=True),
        Statement("c41", "sizes of windows of a page", "SELECT WindowClientWidth, WindowClientHeight, COUNT(*) AS PageViews "
                  f"FROM hits WHERE {counted} AND IsRefresh = 0 AND URLHash = {values.url_hash} "
                  f"GROUP BY WindowClientWidth, WindowClientHeight ORDER BY PageViews DESC {top} OFFSET 100",
                  order=(2,), limit=10, offset=True),
        Statement("c42", "minutes of two days of a site",
                  by_minute.format(*["DATE_FORMAT(EventTime, '%Y-%m-%d %H:%i:00')"] * 3),
                  by_minute.format(*["DATE_TRUNC('minute', EventTime)"] * 3), order=(0,)),
    )

"""Rows for ClickBench's table, made by DuckDB's SQL: the shape of a month of a web log, and nothing of a real one.

Rows come in the order of time. Sites, pages, users and phrases are skewed as on the web: few sites have most hits, and
many addresses are met once. One hit in eight comes with a search phrase. What belongs to a user (region, address,
screen, phone) and to a page (title, hash) follows from the user's and the page's number.
"""

from draws import chance, mix, pick, skewed, wide, zipf

SITES = 6500
RANK_OF_62 = 12  # of the site that queries ask for: about a hundredth of all hits
PAGES = 1000     # of each site that are met often
SECONDS = 31 * 24 * 3600

_WORDS = ("'погода'", "'новости'", "'karte'", "'rent'", "'купить'", "'телефон'", "'школа'", "'music'", "'видео'", "'games'",
          "'москва'", "'train'", "'рецепт'", "'garden'", "'дача'", "'ticket'", "'работа'", "'motor'", "'книги'", "'shoes'",
          "'ремонт'", "'forum'", "'фото'", "'city'", "'отзывы'", "'winter'", "'лето'", "'bank'", "'детям'", "'auto'", "'цена'",
          "'mail'")
_HOSTS = ("'forum'", "'shop'", "'news'", "'auto'", "'foto'", "'kino'", "'dom'", "'sport'", "'travel'", "'mama'", "'job'")
_ENDS = ("'ru'", "'ru'", "'ru'", "'com'", "'net'", "'com.ua'", "'kz'")
_SECTIONS = ("'catalog'", "'news'", "'forum/topic'", "'search'", "'user/profile'", "'gallery/photo'", "'item'", "'tags'")
_QUERIES = ("''", "'?page=2'", "'?sort=price&order=asc'", "'?utm_source=mail&utm_medium=letter'", "'#comments'", "'index.html'")
_SCREENS = ("1366", "1920", "1280", "1024", "1680", "1440", "1600", "320", "768", "0", "1366", "1280", "1920")
_MODELS = ("'iPad'", "'iPhone'", "'iPad'", "'A500'", "'N8-00'", "'GT-I9100'", "'GT-P5100'", "'One X'", "'Lumia 800'")


def _words(key, salts):
    return " || ' ' || ".join(pick(_WORDS, key, salt) for salt in salts)


def _host(site):
    """Of a site, by its number: one in three with www."""
    return (f"CASE WHEN {site} % 3 = 0 THEN 'www.' ELSE '' END || {pick(_HOSTS, site, 60)} || {site} || '.' || "
            f"{pick(_ENDS, site, 61)}")


def generator(rows):
    """DuckDB's SQL for so many rows."""
    users = max(1000, rows // 5)
    phrases = max(1000, rows // 16)
    counted_users = skewed("i", 6, users, 2)
    return f"""
        WITH drawn AS (
          SELECT i, {zipf('i', 1, SITES)} AS site, {chance('i', 3)} < 0.88 AS usual_page,
            {zipf('i', 4, PAGES)} AS usual, {PAGES} + {skewed('i', 5, rows, 1)} AS rare,
            1 + {counted_users} AS visitor, {chance('i', 7)} < 0.13 AS searched, {skewed('i', 8, phrases, 3)} AS phrase,
            {chance('i', 9)} AS from_where
          FROM range({rows}) AS counted(i)),
        keys AS (
          SELECT *, CASE WHEN usual_page THEN usual ELSE rare END AS page,
            site * 100000007 + CASE WHEN usual_page THEN usual ELSE rare END AS address FROM drawn),
        texts AS (
          SELECT *,
            CASE WHEN page = 1 THEN 'http://' || {_host('site')} || '/'
              WHEN page > {PAGES} AND {mix('address', 20)} % 300 = 0 THEN
                'http://' || {_host('site')} || '/go?to=http://www.google.com/search&n=' || page
              WHEN page > {PAGES} AND {mix('address', 20)} % 300 = 1 THEN
                'http://' || {_host('site')} || '/maps/google-' || page || '.html'
              ELSE 'http://' || {_host('site')} || '/' || {pick(_SECTIONS, 'address', 21)} || '/' || page || '/' ||
                {pick(_QUERIES, 'address', 22)} END AS url,
            CASE WHEN page > {PAGES} AND {mix('address', 23)} % 200 = 0 THEN 'Google ' ELSE '' END ||
              {_words('address', range(24, 30))} || ' - ' || {pick(_HOSTS, 'site', 60)} || site AS title,
            CASE WHEN from_where < 0.18 THEN 0
              WHEN searched AND from_where < 0.8 THEN 1
              WHEN from_where < 0.75 THEN 100 + site * 10007 + {zipf('i', 31, PAGES)}
              ELSE 100000000 + {zipf('i', 32, rows)} END AS referer
          FROM keys)
        SELECT {wide('i', 40)}, CAST({chance('visitor', 41)} < 0.9 AS SMALLINT), title,
          TIMESTAMP '2013-07-01' + to_seconds(i * {SECONDS} // {rows}),
          CAST(TIMESTAMP '2013-07-01' + to_seconds(i * {SECONDS} // {rows}) AS DATE),
          CASE WHEN site = {RANK_OF_62} THEN 62 ELSE 100 + {mix('site', 42)} % 200000 END,
          CAST({mix('visitor + i % 3', 43)} AS INTEGER), {zipf('visitor', 44, 9000)}, {wide('visitor', 45)},
          {mix('visitor', 46)} % 60, url,
          CASE WHEN referer = 0 THEN ''
            WHEN referer = 1 AND {mix('i', 33)} % 3 = 0 THEN 'https://www.google.ru/search?q=' || phrase
            WHEN referer = 1 THEN 'http://yandex.ru/yandsearch?text=' || phrase
            WHEN referer < 100000000 THEN 'http://' || {_host('site')} || '/' || {pick(_SECTIONS, 'referer', 34)} || '/' || (referer % 10007)
            ELSE 'http://' || {_host(zipf('referer', 35, SITES))} || '/' || {pick(_SECTIONS, 'referer', 34)} || '/' || referer END,
          CAST({chance('i', 47)} < 0.14 AS SMALLINT), {pick(_SCREENS, 'visitor', 48)},
          CASE WHEN {chance('visitor', 49)} < 0.05 THEN 1 + {mix('visitor', 50)} % 90 ELSE 0 END,
          CASE WHEN {chance('visitor', 49)} < 0.05 THEN
            CASE WHEN {mix('visitor', 51)} % 2 = 0 THEN {pick(_MODELS, 'visitor', 52)} ELSE 'M-' || {zipf('visitor', 53, 150)} END
            ELSE '' END,
          CASE WHEN searched THEN 2 ELSE [-1, 0, 1, 1, 3, 4, 5, 6, -1, 1][1 + {mix('i', 54)} % 10] END,
          CASE WHEN searched THEN [2, 2, 2, 3, 3, 4, 7, 13][1 + {mix('i', 55)} % 8] ELSE 0 END,
          CASE WHEN NOT searched THEN '' WHEN phrase % 3 = 0 THEN {_words('phrase', range(70, 73))}
            WHEN phrase % 3 = 1 THEN {_words('phrase', range(70, 72))} || ' ' || phrase
            ELSE {_words('phrase', range(70, 75))} END,
          CASE WHEN {chance('i', 56)} < 0.0063 THEN {zipf('i', 57, 40)} + 1 ELSE 0 END,
          CASE WHEN {mix('i', 58)} % 20 = 0 THEN 0 ELSE 300 + {mix('i', 59)} % 1600 END,
          CASE WHEN {mix('i', 58)} % 20 = 0 THEN 0 ELSE 200 + {mix('i', 62)} % 900 END,
          CAST({chance('i', 63)} < 0.08 AS SMALLINT), CAST({chance('i', 64)} < 0.002 AS SMALLINT),
          CAST({chance('i', 65)} < 0.06 AS SMALLINT), {wide('referer', 66)}, {wide('address', 67)}
        FROM texts"""

"""IMDB: films and their ratings by users.

Source: https://vincentarelbundock.github.io/Rdatasets/csv/ggplot2movies/movies.csv.
Licence: GPL-3, that of ggplot2movies.
sha256 of the decompressed file that this was checked with:
eb239065ea7a515fccb2518109d01e5a771aaa551dacbee0cc0e0cda324f5a69
The source adds a column of row numbers and writes numbers in another way, so a fetched copy is checked by its size.

All columns but the title. r1 to r10 are percentages in halves; 2 x + 1 makes them counts (appendix E.1). budget and
mpaa have missing cells. The paper says 28819 films, the number in an old help page; the data have 58788. It has four
real columns and a positive one among year, length, budget, rating and votes without saying which: votes, which is
above zero, always there and spans four orders of magnitude, is taken for the positive one.
"""

from __future__ import annotations

from ._columns import count, flags, nominal, positive, real
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "ggplot2movies_movies.csv",
    "eb239065ea7a515fccb2518109d01e5a771aaa551dacbee0cc0e0cda324f5a69",
    "https://vincentarelbundock.github.io/Rdatasets/csv/ggplot2movies/movies.csv",
    exact=False,
    r=("ggplot2movies", "movies"),
)
ALTERNATIVES = ((FILE,),)
RATINGS = [f"r{stars}" for stars in range(1, 11)]
COLUMNS = [
    *real("year", "length", "budget", "rating"),
    *positive("votes"),
    *count(*RATINGS),
    *nominal("mpaa", "PG", "PG-13", "R", "NC-17"),
    *flags("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"),
]


def imdb() -> Dataset:
    """IMDB: 58788 films, 23 columns."""
    frame = read_csv("imdb", FILE)
    frame[RATINGS] = (2 * frame[RATINGS] + 1).round().astype(int)
    return dataset(
        "imdb",
        frame,
        COLUMNS,
        note="58788 rows, where the paper's table says 28819. Which number the paper has as positive is a guess.",
    )

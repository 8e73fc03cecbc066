"""The report page: what it says, and that nothing in a stranger's file becomes markup."""

from __future__ import annotations

import base64
import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from evenhand.lab import diagnosed
from evenhand.lab.page import taken, write_page
from evenhand.lab.page._page import page
from evenhand.lab.results import TableReport

from .._reports import multimodal_report, samples, table_report

NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>window.ran=1</script>",
    "$x$ {{ 7 * 7 }} {% raw %}",
    "🦊 fox & <b>bold</b>",
    "עברית ‮ right to left",
    "a\x00b\x1fc\ud800",
    "x' onmouseover='alert(1)",
)
VOID = {"meta", "img", "br", "link"}
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da63fcff1f0003030200efa37c9f"
    "0000000049454e44ae426082"
)


class Reader(HTMLParser):
    """The elements of a page, its text, and whether everything that is opened is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"{tag} has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] not in ("script", "style"):
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))


def test_all_sections_are_there_in_order():
    report = table_report()
    read = Reader(page(report, samples(report)))
    order = [a["id"] for a in read.all("section")]
    assert order == ["take", "columns", "kinds", "neglect", "conflict", "rate", "rows", "choice", "data", "again"]
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    linked = {a["href"].removeprefix("#") for a in read.all("a")}
    ids = [a["id"] for _, a in read.elements if "id" in a]
    assert linked <= set(ids)
    assert len(set(ids)) == len(ids)


def test_the_answer_has_the_numbers():
    report = table_report(seeds=3)
    plain = report["runs"][0]
    chosen = report["runs"][report["generated"]["runs"][1]]
    for run in report["runs"]:
        if run is not chosen:
            run["validation"] = [9.0] * 3
    plain["error"], chosen["error"] = [0.5, 0.6, 0.4], [0.2, 0.3, 0.25]
    plain["hidden"], chosen["hidden"] = [0.3] * 3, [0.4] * 3
    plain["rate"], chosen["rate"] = [2.0] * 3, [6.0] * 3
    weaker = next(r for r in report["runs"] if r["kl_weight"] == 0.1)
    weaker["error"], weaker["rate"] = [0.3] * 3, [8.0] * 3
    other = next(r for r in report["runs"] if r["kl_weight"] == 0.3)
    other["error"], other["rate"] = [0.4] * 3, [4.0] * 3
    text = Reader(page(report)).text
    assert "falls from 0.500 to 0.250 (−50 %)" in text  # noqa: RUF001
    assert "spends 6.0 nats on the latent variables, plain training 2.0" in text
    assert "plain training has an error of 0.350" in text  # halfway between 0.4 and 0.3
    assert "Mean error at the same rate0.350 → 0.250" in text
    assert "hidden from the model the mean error rises from 0.300 to 0.400" in text
    assert "3 of 3" in text
    assert re.search(r"Validation chose the method \S+ out of 6\.", text)
    plain["log_likelihood"], chosen["log_likelihood"] = [-20.0] * 3, [-22.5] * 3
    text = Reader(page(report)).text
    assert "The log-likelihood of a test row, log p, falls from −20.0 to −22.5 nats (a nat is" in text  # noqa: RUF001
    assert "log p of a row−20.0 → −22.5" in text  # noqa: RUF001
    assert "Mean error, hidden cells0.300 → 0.400a fair test" in text


def test_what_may_be_chance_is_said():
    report = table_report(methods=["sum", "imtlg"])
    plain, chosen = report["runs"][0], report["runs"][report["generated"]["runs"][1]]
    plain["error"] = [0.5, 0.5, 0.5]
    for error, words in (
        ([0.4, 0.1, 0.6], "falls from 0.500 to 0.400 (−20 %)"),  # noqa: RUF001
        ([0.4, 0.1, 0.6], "With 3 seeds this may be chance (two-sided p = 0.57)."),
        ([0.4, 0.41, 0.4], "This is more than chance at the level of 0.1 (two-sided p = 0.0"),
        ([0.6, 0.61, 0.6], "rises from 0.500 to 0.600"),
        ([0.6, 0.61, 0.6], "This is more than chance at the level of 0.1 (two-sided p = 0.0"),
    ):
        chosen["error"] = error
        assert words in Reader(page(report)).text
    assert "nobody knows whether this is chance" in Reader(page(table_report(seeds=1))).text


def test_both_tails_together_have_the_level_of_chance():
    report = table_report(methods=["sum", "imtlg"])
    plain, chosen = report["runs"][0], report["runs"][report["generated"]["runs"][1]]
    for error in ([0.42, 0.45, 0.48], [0.58, 0.55, 0.52]):  # better or worse with a one-sided p between 0.05 and 0.1
        plain["error"], chosen["error"] = [0.5] * 3, error
        p = TableReport(report).p_value(chosen)
        assert 0.1 <= 2 * min(p, 1 - p) < 0.2
        assert f"this may be chance (two-sided p = {2 * min(p, 1 - p):.2f})" in Reader(page(report)).text


def test_words_agree_with_the_numbers_that_are_printed():
    report = table_report(methods=["sum", "imtlg"])
    chosen = report["runs"][report["generated"]["runs"][1]]
    for run in report["runs"]:
        run |= {"rate": [5.0 / run["kl_weight"]] * 3, "columns": [[0.55632] * 6] * 3}
        run |= {"error": [0.55632] * 3, "hidden": [0.7] * 3, "log_likelihood": [-6.14] * 3}
    chosen |= {"error": [0.55621] * 3, "hidden": [0.70001] * 3, "log_likelihood": [-6.12] * 3, "rate": [8.0] * 3}
    chosen["columns"] = [[0.55621] * 5 + [0.55641]] * 3
    text = Reader(page(report)).text
    assert "the mean error of a column on test rows that the model sees stays at 0.556;" in text
    assert "On cells that are hidden from the model the mean error stays at 0.700." in text
    assert "The log-likelihood of a test row, log p, stays at −6.1 nats (" in text  # noqa: RUF001
    assert "an error of 0.556: that is as good as impartial training, or better" in text
    assert not re.search(r"from (\S+) to \1[ ;.]", text)
    assert "remains" not in text
    assert "more than chance" not in text
    assert "No column pays for it." in text


def test_small_changes_are_not_rounded_to_none():
    report = table_report(methods=["sum", "imtlg"])
    chosen = report["runs"][report["generated"]["runs"][1]]
    for run in report["runs"]:
        run |= {"rate": [5.0 / run["kl_weight"]] * 3, "error": [0.6 if run["kl_weight"] == 1 else 0.5556] * 3}
    chosen |= {"error": [0.5554] * 3, "rate": [20.0] * 3}
    text = Reader(page(report)).text
    assert "an error of 0.556: of the gain, 0.001 remains." in text  # 0.556 and 0.555 are what is read
    chosen["error"] = [0.598] * 3
    assert "falls from 0.600 to 0.598 (−0.3 %)" in Reader(page(report)).text  # noqa: RUF001


def rates_at(weights, rate):
    """A report with a rate of 6 at KL weight 1, and other rates at other weights."""
    report = table_report(methods=["sum", "imtlg"], kl_weights=(1.0, *weights))
    for run in report["runs"]:
        run["rate"] = [6.0 / run["kl_weight"]] * 3
    report["runs"][report["generated"]["runs"][1]]["rate"] = [rate] * 3
    return Reader(page(report)).text


@pytest.mark.parametrize(
    ("weights", "rate", "words"),
    [
        ((0.3,), 10.0, "At the same rate, reached with a smaller KL weight, plain training has"),
        ((0.3,), 5.9, "At the same rate plain training has"),  # as it is at KL weight 1
        ((0.3,), 6.1, "At the same rate plain training has"),
        ((0.3, 2.0), 4.0, "At the same rate, reached with a larger KL weight, plain training has"),
        ((0.3, 2.0), 2.95, "At the same rate, reached with a larger KL weight, plain training has"),
        ((0.3, 2.0), 10.0, "At the same rate, reached with a smaller KL weight, plain training has"),
        ((0.3, 2.0), 20.4, "At the same rate, reached with a smaller KL weight, plain training has"),
        ((0.3, 2.0), 2.0, "No KL weight that was tried brings plain training to that rate"),
    ],
)
def test_how_plain_training_comes_to_the_rate_is_said_where_it_is_true(weights, rate, words):
    text = rates_at(weights, rate)
    assert words in text
    assert text.count("KL weight, plain training has") == words.count("KL weight, plain training has")


def test_one_kl_weight_is_no_curve():
    text = Reader(page(table_report(kl_weights=(1.0,)))).text
    assert "How plain training would do at that rate is not known: it was run at one KL weight only." in text
    assert "Mean error at" not in text


def test_it_is_said_when_shares_and_cosines_were_read():
    read = Reader(page(table_report()))
    assert "cosines at the end of training" not in read.text
    assert (
        "read from the checkpoint that validation chose, first seed. The shares above were read during" in read.text
    )


def test_shares_of_impartial_training_are_those_before_the_method():
    read = Reader(page(table_report()))
    assert "Impartial training, what the heads send, before the method" in read.text
    labels = [a.get("aria-label", "") for a in read.all("svg")]
    assert any(
        label.startswith("Impartial training, what the heads send, before the method: shares") for label in labels
    )
    assert "before the method" not in Reader(page(table_report(methods=("sum",)))).text


def test_a_gain_that_is_larger_at_the_same_rate_does_not_remain():
    report = table_report(methods=["sum", "imtlg"])
    chosen = report["runs"][report["generated"]["runs"][1]]
    for run in report["runs"]:
        run["rate"] = [5.0 / run["kl_weight"]] * 3
        run["error"] = [0.3 if run["kl_weight"] == 1 else 0.5] * 3
    chosen["error"], chosen["rate"] = [0.2] * 3, [20.0] * 3
    text = Reader(page(report)).text
    assert "an error of 0.500: impartial training is better by 0.300" in text
    assert "remains" not in text


def test_more_rate_is_not_said_to_be_always_better():
    assert (
        "can reconstruct better, whatever its gradients do, and a smaller KL weight"
        in Reader(page(table_report())).text
    )


def test_all_rows_are_accounted_for():
    text = Reader(page(table_report())).text
    assert "1,400 rows were trained on, 200 validated on and 400 tested on" in text


def test_pairs_that_hardly_conflict_are_not_called_opposed():
    report = table_report(columns=["one", "two"], kinds=["real"])
    for label in ("plain", "impartial"):
        report["conflicts"][label]["cosines"] = [[1.0, -0.01], [-0.01, 1.0]]
        report["conflicts"][label]["shares"] = [[0.9, 0.1]] * len(report["conflicts"]["steps"])
    text = Reader(page(report)).text
    assert "0 of 1 pairs of columns pull against each other" in text
    assert "most opposed" not in text
    assert "one has the largest share of the gradient, 90 % on average over training, where" in text
    assert "half of it" not in text  # one column with 90 % says it already


def test_a_smaller_kl_weight_that_does_as_well_is_said():
    report = table_report()
    for run in report["runs"]:
        if run["method"] == "sum" and run["kl_weight"] < 1:
            run["error"], run["rate"] = [0.001] * 3, [3.0 if run["kl_weight"] > 0.2 else 99.0] * 3
    assert "that is as good as impartial training, or better" in Reader(page(report)).text


def test_a_rate_that_plain_training_does_not_reach_is_said():
    report = table_report()
    for run in report["runs"]:
        run["rate"] = [(1.0 if run["method"] == "sum" else 50.0) / run["kl_weight"]] * 3
    text = Reader(page(report)).text
    assert "No KL weight that was tried brings plain training to that rate" in text
    assert "Mean error at the nearest rate" in text


def test_neglected_columns_are_named():
    report = table_report(columns=["one", "two"], kinds=["real"])
    report["trivial"]["columns"] = [0.5, 0.5]
    report["runs"][0]["columns"] = [[0.499, 0.1]] * 3
    for run in report["runs"][1:]:
        run["columns"] = [[0.1, 0.1]] * 3
    text = Reader(page(report)).text
    assert "its error (median over seeds) is above 98 % of what guessing its mean or mode gives (first seed)" in text
    assert "Plain training neglects 1 of 2 columns: one." in text
    assert "Impartial training neglects no column." in text


def test_nothing_is_fetched_and_only_the_own_script_may_run():
    report = table_report()
    text = page(report, samples(report))
    read = Reader(text)
    assert not read.all("link")
    assert len(read.all("script")) == 1
    assert "src" not in read.all("script")[0]
    assert not re.search(r"https?://|url\(|@import", text)
    policy = next(a["content"] for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "innerHTML" not in text


def nasty_report(**options):
    report = table_report(columns=NASTY, categories=NASTY[:2], **options)
    report["name"] = NASTY[2]
    report["command"] = f"evenhand run {NASTY[1]}"
    data = report["data"]
    data |= {"name": NASTY[0], "note": NASTY[4], "conversions": list(NASTY), "reasons": list(NASTY)}
    data["ignored"] = {name + "!": name for name in NASTY}
    report["config"]["data"]["path"] = NASTY[2]
    report["config"]["runs"]["methods"] = list(NASTY)
    report["versions"]["evenhand"] = NASTY[0]
    report["hardware"] = NASTY[1]
    return report


def test_nothing_of_a_strangers_file_becomes_markup():
    report = nasty_report()
    text = page(report, samples(report))
    read = Reader(text)
    assert len(read.all("script")) == 1
    assert not read.all("img")
    handlers = [key for _, a in read.elements for key in a if key.startswith("on")]
    assert handlers == []
    assert "<b>bold</b>" not in text
    assert "{{ 7 * 7 }}" in text  # a name is no template
    for name in NASTY[:6]:
        assert name.split("‮")[0].strip() in read.text
    text.encode("utf-8")
    assert "\x00" not in text


def test_labels_of_svg_are_escaped_in_attributes_too():
    report = nasty_report()
    read = Reader(page(report, samples(report)))
    labels = [a["aria-label"] for a in read.all("svg") if "aria-label" in a]
    assert any(NASTY[1] in label for label in labels)


def test_every_picture_has_words():
    report = table_report()
    read = Reader(page(report, samples(report)))
    for attributes in read.all("svg"):
        named = attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
        assert named, attributes
    assert len(read.all("figure")) == 6
    assert len(read.all("caption")) == len(read.all("table"))
    assert all(a.get("scope") in ("col", "row") for a in read.all("th"))


def test_columns_are_sorted_by_gain_and_the_chosen_f_is_marked():
    report = table_report()
    text = page(report)
    table = text.partition('aria-label="Table: errors of all columns"')[2].partition("</table>")[0]
    gains = [float(x) for row in re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.S)
             for x in re.findall(r'data-value="([^"]*)"', row)[3:4]]  # fmt: skip
    assert len(gains) == 6
    assert gains == sorted(gains, reverse=True)
    choice = text.partition('aria-label="Table: all methods"')[2].partition("</table>")[0]
    assert choice.count('class="chosen"') == 1
    assert choice.count("<tr") == 1 + len(report["runs"])


@pytest.mark.parametrize(
    "options",
    [
        {"columns": [f"column {i}" for i in range(60)], "unrestored": True},
        {"columns": ["x"], "kinds": ["real"]},
        {"columns": ["x"], "kinds": ["binary"], "seeds": 1, "methods": ("sum",), "kl_weights": (1.0,)},
        {"seeds": 1},
        {"methods": ("sum",)},
        {"methods": ("sum", "imtlg"), "kl_weights": (1.0,)},
        {"columns": ["n" * 500, "m" * 500], "kinds": ["real", "ordinal"]},
        {"columns": ["", " "], "kinds": ["real"]},
    ],
    ids=["sixty", "one column", "one of all", "one seed", "plain alone", "one weight", "long names", "no names"],
)
def test_unusual_reports_have_a_page(options):
    report = table_report(**options)
    text = page(report, samples(report))
    Reader(text)
    assert "nan" not in re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.S).lower().replace("finance", "")


def test_numbers_that_are_not_known_are_dashes():
    report = table_report()
    for run in report["runs"][:3]:
        run["columns"] = [[None] * 6] * 3
        for measure in ("validation", "error", "rate", "elbo", "log_likelihood", "hidden"):
            run[measure] = [None] * 3
        run["hidden_columns"] = None
    report["trivial"] = {"columns": [None] * 6}
    report["conflicts"]["plain"]["shares"][-1] = [None] * 6
    report["conflicts"]["plain"]["cosines"][0] = [None] * 6
    rows = samples(report)
    rows["plain"] = np.full_like(rows["plain"], math.nan)
    text = page(report, rows)
    Reader(text)
    assert not re.search(r"\b(nan|inf|None)\b", re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.S))


def test_parts_that_were_not_measured_are_left_out():
    report = table_report()
    del report["generated"], report["conflicts"]
    ids = [a["id"] for a in Reader(page(report)).all("section")]
    assert "rows" not in ids
    assert "conflict" not in ids


def test_the_config_can_be_copied():
    import tomllib

    report = nasty_report()
    report["config"]["data"]["path"] = 'a "quoted" <name>.csv'
    report["config"]["runs"]["methods"] = ["sum"]
    text = Reader(page(report)).text
    document = "".join(Reader(page(report)).words)
    config = document[document.index('experiment = "table"') :]
    config = config[: config.index("Made by Evenhand")]
    assert tomllib.loads(config)["data"]["path"] == report["config"]["data"]["path"]
    assert "evenhand run" in text


def test_a_page_is_written_from_a_directory(tmp_path):
    report = table_report()
    (tmp_path / "report.json").write_text(json.dumps(report))
    np.savez_compressed(tmp_path / "samples.npz", **samples(report))
    path = write_page(tmp_path, tmp_path / "deep" / "page.html")
    assert path == tmp_path / "deep" / "page.html"
    assert 'id="rows"' in path.read_text(encoding="utf-8")


def test_what_is_not_a_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no report.json"):
        write_page(tmp_path, tmp_path / "page.html")
    with pytest.raises(ValueError, match="Write a page for every table"):
        page([table_report(), table_report()])


def test_a_multimodal_page(tmp_path):
    report = multimodal_report()
    (tmp_path / "report.json").write_text(json.dumps(report))
    (tmp_path / "samples.png").write_bytes(PNG)
    read = Reader(write_page(str(tmp_path), tmp_path / "page.html").read_text(encoding="utf-8"))
    assert read.all("img")[0]["src"].startswith("data:image/png;base64,iVBOR")
    assert "mnist, svhn, text" in read.all("img")[0]["alt"]
    ids = [a["id"] for a in read.all("section")]
    assert ids == ["neglect", "coherence", "latent", "density", "rates", "samples", "again"]
    assert "'text' receives 3 % of the gradient" in read.text


def test_multimodal_pages_side_by_side():
    reports = [multimodal_report(goals, seed) for goals in ((), ("EEI",)) for seed in range(2)]
    reports[0]["sentences"] = []
    reports[1]["sentences"] = [NASTY[0]]
    read = Reader(page(reports))
    assert "4 runs side by side: MMVAE-SIWAE, vanilla (2 seeds) and" in read.text
    assert "Nobody" in read.text
    assert len(read.all("script")) == 1
    assert len(read.all("figure")) == 0


def test_a_seed_has_one_place_on_a_page():
    report = multimodal_report()
    again = r"one of MMVAE-SIWAE, CG \(α=0.4\), EEI, seed 0. Found 2; take one away"  # noqa: RUF001
    with pytest.raises(ValueError, match=again):
        page([report, report])
    plain, other = multimodal_report(()), multimodal_report(())
    other["config"]["impartial"]["alpha"] = 9.0  # which plain training does not have
    with pytest.raises(ValueError, match="one of MMVAE-SIWAE, vanilla, seed 0. Found 2"):
        page([plain, other])


def test_other_data_have_their_own_page():
    other = multimodal_report(seed=1)
    other["data"]["name"] = "digits_in_three"
    with pytest.raises(ValueError, match="the same data. Found mnist_svhn_text, digits_in_three. Write a page for"):
        page([multimodal_report(), other])


def test_other_settings_are_other_models():
    reports = [multimodal_report((), seed) for seed in range(4)]
    for report in reports[2:]:
        report["config"]["training"]["epochs"] = 60
        report["config"]["model"]["n_layers"] = 2
    reports[3]["config"]["training"]["seed"] = 0  # there once for each
    text = Reader(page(reports)).text
    assert (
        "MMVAE-SIWAE, n_layers 1, epochs 30, vanilla (2 seeds) and MMVAE-SIWAE, n_layers 2, epochs 60, vanilla"
        in text
    )
    assert "(2 seeds)." in text
    assert "MMVAE-SIWAE, n_layers 2, epochs 60, vanilla, seed 0:" in text
    reports[0]["config"]["impartial"]["goals"] = ["LI"]
    titles = re.findall(r"[^ ]*, seed \d(?=:)", Reader(page(reports)).text)
    assert titles == ["vanilla, seed 1", "vanilla, seed 0", "vanilla, seed 2", "LI, seed 0"]


def test_plain_runs_come_first_with_their_own_pictures():
    elbo = multimodal_report(("LI",), 0)
    elbo["config"]["objective"]["name"] = "elbo"
    reports = [elbo, multimodal_report(("EEI",), 1), multimodal_report(("EEI",), 0), multimodal_report((), 1)]
    read = Reader(page(reports, images=[None, PNG + b"impartial", None, PNG + b"plain"]))
    assert "MMVAE-ELBO, CG (α=0.4), LI (1 seed), MMVAE-SIWAE, vanilla (1 seed) and" in read.text  # noqa: RUF001
    titles = [re.sub(r".*, (.*, seed \d)", r"\1", t) for t in re.findall(r"MM[^:]*?, seed \d(?=:)", read.text)]
    assert titles == ["LI, seed 0", "vanilla, seed 1", "EEI, seed 0", "EEI, seed 1"]
    pictures = [(a["alt"].partition(":")[0], base64.b64decode(a["src"].partition(",")[2])) for a in read.all("img")]
    assert [(about.split(", ")[-2], data[len(PNG):]) for about, data in pictures] == [
        ("vanilla", b"plain"), ("EEI", b"impartial"),
    ]  # fmt: skip


def with_experts(shares, names=("mnist", "svhn", "text")):
    report = multimodal_report()
    rates = [[20.0, 18_193.4, 12.0]] * len(shares)
    report["experts"] = {
        "names": list(names),
        "steps": [100, 200, 300][: len(shares)],
        "share": shares,
        "rate": rates,
    }
    return report


def test_the_page_shows_the_lives_of_experts():
    text = page(with_experts([[0.4, 0.35, 0.25], [0.7, 0.2, 0.1], [0.97, 0.0, 0.03]]))
    words = " ".join(" ".join(Reader(text).words).split())
    assert "Lives of the experts" in words
    assert "At the end mnist has the most, 97 %." in words
    assert "svhn 18,193" in words
    assert text.count('class="area') == 3


def test_the_page_shows_the_last_readings_of_every_expert():
    report = with_experts([[0.4, 0.35, 0.25], [0.97, 0.0, 0.03]])
    assert "The experts at the end" not in page(report)  # a report of 0.1.0
    report["experts"] |= {
        "gradient_norm": [[9.0, 9.0, 9.0], [12.25, 0.001, 0.5]],
        "effective_experts": [2.9, 1.06],
        "modalities": ["mnist", "svhn", "text"],
        "log_likelihood_from": [[-10.0, -20.0, -30.0], [-11.0, -1234.5, None], [-12.0, -22.0, -32.0]],
    }
    words = " ".join(" ".join(Reader(page(report)).words).split())
    assert "The experts at the end, in nats; 1.1 of 3 count" in words
    assert "gradient log p of mnist log p of svhn log p of text" in words
    assert "12.25" in words
    assert "1,234.5" in words


def test_equal_shares_and_older_reports_have_no_lives():
    for report in (multimodal_report(), with_experts([[1 / 3] * 3] * 3), with_experts([[1.0]], ["mnist+svhn+text"])):
        assert "Lives of the experts" not in page(report)


def test_names_of_experts_are_no_markup():
    text = page(with_experts([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]], NASTY[:3]))
    assert "<script>alert(1)</script>" not in text
    assert not [attributes for tag, attributes in Reader(text).elements if "onerror" in attributes]


# ---------------------------------------------------------------- what to take


def with_values(measures, methods=("sum", "imtlg"), **options):
    """A report in which plain training, a smaller KL weight and an impartial method have these values."""
    report = table_report(methods=methods, kl_weights=(1.0, 0.3), **options)
    for run in report["runs"]:
        role = "impartial" if run["method"] != "sum" else "plain" if run["kl_weight"] == 1 else "smaller"
        for measure, values in measures.items():
            run[measure] = run[f"validation_{measure}"] = [values[role]] * len(report["seeds"])
    return report


def test_the_verdict_is_one_for_each_purpose():
    report = with_values({
        "hidden": {"plain": 0.25, "smaller": 0.23, "impartial": 0.24},
        "log_likelihood": {"plain": -30.0, "smaller": -30.05, "impartial": -31.0},
        "error": {"plain": 0.2, "smaller": 0.15, "impartial": 0.1},
    })  # fmt: skip
    advice = taken(TableReport(report))
    assert [(a["method"], a["kl_weight"]) for a in advice] == [("sum", 0.3), ("sum", 1.0), ("imtlg", 1.0)]
    text = Reader(page(report)).text
    assert "To fill holes: plain training with KL weight 0.3. Its error on hidden cells is 0.230;" in text
    assert "evenhand impute people.csv -o people-filled.csv --family vae --method sum --kl-weight 0.3" in text
    assert "evenhand sample people.csv -n 1000 -o people-new.csv --family vae --method sum --kl-weight 1" in text
    assert "TabularVAE(model='vae', method='imtlg', kl_weight=1).fit(df).encode(df)" in text


def test_what_is_not_better_in_every_split_is_not_taken():
    report = with_values({"hidden": {"plain": 0.25, "smaller": 0.2, "impartial": 0.3}})
    smaller = next(run for run in report["runs"] if run["kl_weight"] == 0.3)
    assert taken(TableReport(report))[0]["take"] == "smaller"
    smaller["hidden"] = [0.2, 0.2, 0.26]
    advice = taken(TableReport(report))[0]
    assert advice["take"] == "plain"
    assert "The difference is not clear, so it is the simplest." in advice["words"]
    smaller["hidden"] = [0.249] * 3  # clear, but less than 1 %
    assert taken(TableReport(report))[0]["take"] == "plain"


def test_few_rows_give_no_verdict():
    report = with_values({"hidden": {"plain": 0.25, "smaller": 0.2, "impartial": 0.1}})
    report["data"] |= {"rows": 25, "train_rows": 17, "test_rows": 6}
    text = Reader(page(report)).text
    assert "Too few rows: 6 rows to test on." in text
    assert {a["take"] for a in taken(TableReport(report))} == {"plain"}
    assert "Too few rows" not in Reader(page(table_report())).text


def test_where_no_cell_was_hidden_in_training_there_is_no_advice_on_holes():
    report = table_report()
    report["config"]["training"]["hide"] = 0.0
    assert [a["measure"] for a in taken(TableReport(report))] == ["log_likelihood", "error"]
    text = Reader(page(report)).text
    assert "no cell was hidden in training, so that they are no fair test" in text
    for run in report["runs"]:  # of a report that was written before
        for measure in ("error", "hidden", "log_likelihood"):
            del run[f"validation_{measure}"]
    del report["trivial"]["hidden_columns"]
    assert taken(TableReport(report)) == []
    assert "Which to take" not in Reader(page(report)).text


def test_columns_that_improve_and_those_that_do_not_add_up():
    report = table_report(columns=list("abcd"), kinds=["real"], methods=["sum", "imtlg"])
    report["runs"][0]["columns"] = [[0.3, 0.3, 0.3, 0.30001]] * 3
    chosen = report["runs"][report["generated"]["runs"][1]]
    chosen["columns"] = [[0.2, 0.1, 0.4, 0.3]] * 3  # the last is the same as it is printed
    text = Reader(page(report)).text
    assert "2 of 4 columns improve, 1 gets worse, 1 stays the same." in text
    assert "Columns that improve2 of 41 worse, 1 the same" in text
    assert "1 column gets worse; c loses most" in text


def test_neglect_is_judged_on_hidden_cells_too():
    report = table_report(columns=["one", "two"], kinds=["real"], methods=["sum", "imtlg"])
    report["trivial"] = {"columns": [0.5, 0.5], "hidden_columns": [0.5, 0.5]}
    for run in report["runs"]:
        impartial = run["method"] == "imtlg"
        run |= {"columns": [[0.1, 0.1]] * 3, "hidden_columns": [[0.4, 0.6 if impartial else 0.3]] * 3}
    text = Reader(page(report)).text
    assert "Impartial training neglects no column." in text
    assert "Plain training guesses every column better than that." in text
    assert "Impartial training guesses 1 of 2 columns: two no better." in text


def test_a_wide_table_has_a_small_page():
    report = table_report(columns=[f"column {i}" for i in range(500)])
    text = page(report)
    assert len(text) < 2_000_000  # it was 24 MB
    read = Reader(text).text
    assert "Shown are 300 of 500 columns, the 150 that gain most and the 150 that gain least." in read
    assert "Of 500 columns, the 60 in the sharpest conflict." in read


def test_of_a_very_wide_table_not_all_cosines_are_kept():
    report = table_report(columns=[f"column {i}" for i in range(120)])
    report["conflicts"]["columns"] = [3, 5, 7]
    for label in ("plain", "impartial"):
        report["conflicts"][label] |= {"cosines": [[1, -0.5, 0], [-0.5, 1, 0], [0, 0, 1]], "n_opposed": 77}
    text = Reader(page(report)).text
    assert "77 of 7,140 pairs of columns pull against each other in plain training" in text
    assert diagnosed(TableReport(report))["pairs"] == [{"cosine": -0.5, "columns": ["column 3", "column 5"]}]


def test_no_name_turns_the_direction_of_what_stands_beside_it():
    turning = "\u202e\u202d\u202a\u2066\u2067\u200f\u061c"
    report = table_report(columns=[f"a{c}b" for c in turning], categories=[f"x{turning}"])
    report["name"] = report["data"]["name"] = f"people{turning}"
    text = page(report, samples(report))
    assert not set(turning) & set(text)
    assert "a\ufffdb" in text

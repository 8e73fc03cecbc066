"""Reports read back, and which method is chosen."""
# ruff: noqa: RUF001  # the paper's letter is α

import json
import math

import numpy as np
import pytest
from scipy import stats

from evenhand.impartial import method_label, short_method_label
from evenhand.lab import MultimodalScores
from evenhand.lab.results import TableReport, read_reports
from evenhand.lab.results._selection import chosen_results, impartiality_label, multimodal_results, select
from evenhand.modalities.inference._given import all_subsets

from .._reports import multimodal_report, table_report


def run_of(method="sum", error=(0.2, 0.3, 0.4), **more):
    """A run with columns "a" (real), "b" and "c" (nominal) whose mean is the error."""
    error = list(error)
    return {
        "method": method, "kl_weight": 1.0, "restored": True, "validation": error, "error": error,
        "columns": [[x, x, x] for x in error], "rate": [2.0] * len(error), **more,
    }  # fmt: skip


def report_of(*runs, **more):
    data = {"name": "hi", "rows": 100, "train_rows": 70, "test_rows": 20, "columns": ["a", "b", "c"]}
    return TableReport(
        {
            "format": 1, "experiment": "table", "name": "hi-vae-elbo", "seeds": list(range(len(runs[0]["error"]))),
            "config": {"model": {"name": "vae"}, "objective": {"name": "elbo"}},
            "data": {**data, "kinds": ["real", "binary", "ordinal"]}, "runs": list(runs), **more,
        }
    )  # fmt: skip


# ---------------------------------------------------------------- reading


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def test_finished_runs_are_read_in_order_and_others_are_not(tmp_path):
    for name, done in (("b", True), ("a/deep", True), ("c", False)):
        write(tmp_path / name / "report.json", {**table_report(), "name": name})
        write(tmp_path / name / "history.json", [])
        if done:
            write(tmp_path / name / "DONE", "")
    assert [report["name"] for report in read_reports(tmp_path)] == ["a/deep", "b"]
    assert [report["name"] for report in read_reports(tmp_path / "b")] == ["b"]
    assert read_reports(tmp_path / "c") == []
    assert [report["name"] for report in read_reports(tmp_path / "b", tmp_path)] == ["b", "a/deep"]


def test_committed_reports_are_read(tmp_path):
    for name in ("y", "x"):
        write(tmp_path / f"{name}.json", {**table_report(), "name": name})
    write(tmp_path / "README.md", "words")
    assert [report["name"] for report in read_reports(str(tmp_path))] == ["x", "y"]
    assert [report["name"] for report in read_reports(tmp_path / "y.json")] == ["y"]


def test_both_experiments_are_read(tmp_path):
    write(tmp_path / "a.json", table_report())
    write(tmp_path / "b.json", multimodal_report())
    assert [report["experiment"] for report in read_reports(tmp_path)] == ["table", "multimodal"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ('{"format": 1, "experi', "bad.json should be a report in JSON. Found a damaged file"),
        ("[1, 2]", "bad.json should be the report of an experiment. Found another JSON file"),
        ({"command": "x", "rows": {}}, "bad.json should be the report of an experiment"),
        ({"format": 2, "experiment": "table"}, "bad.json should be a report of format 1. Found 2"),
        ({"format": 1, "experiment": "table", "name": "x", "config": {}, "data": {}}, "the keys seeds, runs"),
        ({"format": 1, "experiment": "multimodal", "name": "x", "config": {}, "data": {}}, "the keys scores"),
    ],
)
def test_files_that_are_no_reports_are_named(tmp_path, document, message):
    write(tmp_path / "bad.json", document)
    with pytest.raises(ValueError, match=message):
        read_reports(tmp_path)


def test_places_that_are_not_there_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="Found nothing at .*nowhere"):
        read_reports(tmp_path / "nowhere")


# ---------------------------------------------------------------- tables


def test_reports_of_other_experiments_are_refused():
    with pytest.raises(ValueError, match="report should be of a table or panel experiment. Found 'multimodal'"):
        TableReport(multimodal_report())


def test_runs_have_all_seeds():
    with pytest.raises(ValueError, match="an error for each of 3 seeds. Found .* for PCGrad"):
        report_of(run_of(), run_of("pcgrad", [0.1]))


@pytest.mark.parametrize(
    ("model", "objective", "setting"),
    [
        ("vae", "elbo", "VAE-ELBO"),
        ("vae", "iwae", "VAE-IWAE"),
        ("vae", "dreg", "VAE-DReG"),
        ("hivae", "elbo", "HI-VAE"),
        ("hivae", "iwae", "HI-VAE-IWAE"),
    ],
)
def test_settings(model, objective, setting):
    report = report_of(run_of(), config={"model": {"name": model}, "objective": {"name": objective}})
    assert report.setting == setting


def test_the_chosen_method_has_the_lowest_mean_validation_error():
    runs = [
        run_of("sum", kl_weight=0.1, validation=[0.0] * 3),
        run_of("sum", validation=[0.0] * 3),
        run_of("pcgrad", validation=[0.3, 0.3, 0.3], error=[0.0] * 3),
        run_of("imtlg", validation=[0.25, 0.25, 0.25]),
        run_of("mgda", validation=[0.1, 0.1, 0.6]),  # a lower median, a higher mean
        run_of("graddrop", validation=[0.0] * 3, restored=False),
        run_of("gradnorm", validation=[0.0] * 3, kl_weight=0.3),
    ]
    report = report_of(*runs)
    assert report.plain is runs[1]
    assert report.curve == [runs[1], runs[0]]
    assert report.chosen is runs[3]
    assert report.best(restored=False) is runs[5]


def test_methods_that_fail_are_chosen_last():
    fails = run_of("pcgrad", validation=[0.0, 0.0, None])
    sound = run_of("mgda", validation=[0.5, 0.5, 0.5])
    assert report_of(run_of(), fails, sound).chosen is sound
    assert report_of(run_of(), fails).chosen is fails


def test_missing_runs_are_named():
    report = report_of(run_of("pcgrad"))
    assert report.best(restored=False) is None
    with pytest.raises(ValueError, match=r"hi-vae-elbo should have a run of plain training \('sum'\)"):
        _ = report.plain
    with pytest.raises(ValueError, match="hi-vae-elbo should have runs of impartial methods"):
        _ = report_of(run_of()).chosen


@pytest.mark.parametrize(
    ("method", "label", "short"),
    [
        ("sum", "vanilla", "vanilla"),
        ("gradnorm", "GradNorm 0", "GN (α=0)"),
        ("gradnorm-1>>pcgrad", "GradNorm 1 >> PCGrad", "GN-PG (α=1)"),
        ("imtlg>>graddrop", "IMTL-G >> GradDrop", "IMTL-G-GD"),
        ("mgda", "MGDA", "MGDA"),
        ("cagrad", "CAGrad", "CG"),
        ("CAGrad(c=0.1)", "CAGrad(c=0.1)", "CAGrad(c=0.1)"),
        ("my-own", "my-own", "my-own"),
    ],
)
def test_labels(method, label, short):
    assert method_label(method) == label
    assert short_method_label(method) == short


def test_labels_say_what_is_unusual():
    report = report_of(run_of())
    assert report.label(run_of("sum", kl_weight=0.3)) == "vanilla, KL x 0.3"
    assert report.label(run_of("gradnorm-1", restored=False)) == "GradNorm 1, not restored"
    assert report.short_label(run_of("mgda>>pcgrad")) == "MGDA-PG"


def test_statistics_over_seeds():
    run = run_of(error=[0.2, 0.6, 0.1])
    report = report_of(run)
    assert report.median(run, "error") == pytest.approx(0.2)
    assert report.mean(run, "error") == pytest.approx(0.3)
    assert report.std(run, "error") == pytest.approx(np.std([0.2, 0.6, 0.1], ddof=1))
    assert math.isnan(report.median(run, "quality"))


def test_seeds_that_are_not_finite_break_nothing():
    error = [0.1, None, 0.3, math.inf]
    run = run_of("pcgrad", error, columns=[[x] * 3 for x in error])
    report = report_of(run_of(error=[0.5] * 4), run)
    assert report.median(run, "error") == pytest.approx(0.2)
    assert report.mean(run, "error") == pytest.approx(0.2)
    assert report.wins(run) == 2
    assert report.by_kind(run) == {"real": pytest.approx(0.2), "nominal": pytest.approx(0.2)}
    assert math.isnan(report.p_value(run))  # no claim for what fails where plain training does not
    assert not report.significant(run)
    nothing = run_of("mgda", error=[None] * 4, columns=[[None] * 3] * 4)
    assert math.isnan(report.median(nothing, "error"))
    assert math.isnan(report.by_kind(nothing)["real"])


def test_seeds_where_plain_training_fails_are_left_out_of_the_test():
    run = run_of("pcgrad", error=[0.1, 0.2, 0.3, 0.1])
    with_hole = report_of(run_of(error=[0.2, 0.31, 0.42, None]), run)
    without = report_of(run_of(error=[0.2, 0.31, 0.42]), run_of("pcgrad", error=[0.1, 0.2, 0.3]))
    assert with_hole.p_value(run) == without.p_value(without.runs[1])


def test_the_t_test_is_corrected_by_the_rows():
    plain, ours = [0.2, 0.3, 0.4, 0.35, 0.1], [0.15, 0.31, 0.3, 0.3, 0.08]
    run = run_of("pcgrad", error=ours)
    report = report_of(run_of(error=plain), run)
    d = np.subtract(ours, plain)
    t = d.mean() / math.sqrt((1 / 5 + 20 / 70) * d.var(ddof=1))
    assert report.p_value(run) == pytest.approx(stats.t.cdf(t, 4))
    assert report.p_value(run) > stats.ttest_rel(ours, plain, alternative="less").pvalue
    assert report.wins(run) == 4
    assert report.significant(run) == (report.p_value(run) < 0.1)


def test_significance_has_the_paper_s_level():
    plain = run_of(error=[0.2, 0.3, 0.4])
    better, level = run_of("pcgrad", error=[0.1, 0.19, 0.31]), run_of("mgda", error=[0.3, 0.2, 0.4])
    report = report_of(plain, better, level)
    assert report.significant(better)
    assert not report.significant(level)
    assert not report.significant(plain)
    one_seed = report_of(run_of(error=[0.2]), run_of("mgda", error=[0.1]))
    assert math.isnan(one_seed.p_value(one_seed.runs[1]))


def test_errors_by_kind_are_medians_of_means():
    run = run_of(columns=[[0.1, 0.2, 0.4], [0.3, 0.0, 0.0], [0.2, 1.0, 0.5]])
    assert report_of(run).by_kind(run) == {"real": pytest.approx(0.2), "nominal": pytest.approx(0.3)}


def test_the_plain_curve_at_a_rate():
    runs = [
        run_of("sum", error=[0.4, 0.4, 9.0], rate=[2.0, 2.0, 2.0]),
        run_of("sum", error=[0.2, 0.2, 0.2], rate=[6.0, 6.0, 6.0], kl_weight=0.3),
        run_of("sum", error=[None] * 3, rate=[4.0, 4.0, 4.0], kl_weight=0.1),
        run_of("pcgrad", error=[0.0, 0.0, 0.0], rate=[3.0, 3.0, 3.0]),
    ]
    report = report_of(*runs)
    assert report.at_rate("error", 3.0) == pytest.approx(0.35)
    assert report.at_rate("error", 0.0) == pytest.approx(0.4)
    assert report.at_rate("error", 100.0) == pytest.approx(0.2)
    assert math.isnan(report.at_rate("hidden", 3.0))
    assert math.isnan(report.at_rate("error", math.inf))
    reached = {rate: report.reaches(rate) for rate in (1.9, 1.95, 3.0, 6.1, 6.3, math.nan)}
    assert list(reached.values()) == [False, True, True, True, False, None]


def test_one_kl_weight_is_no_curve():
    unknown = run_of("sum", error=[None] * 3, kl_weight=0.3)
    for runs in ([run_of()], [run_of(), unknown]):
        report = report_of(*runs, run_of("pcgrad"))
        assert math.isnan(report.at_rate("error", 2.0))
        assert report.reaches(2.0) is None


def test_neglected_columns():
    run = run_of(columns=[[0.5, 0.1, None], [0.5, 0.1, None], [0.0, 0.1, None]])
    report = report_of(run, trivial={"columns": [0.5, 0.2, 0.1], "hidden_columns": [0.5, 0.2, 0.1]})
    assert report.neglected(run) == ["a"]
    assert report_of(run).neglected(run) == []


# ---------------------------------------------------------------- several modalities

NAMES = ("m", "s")
SUBSETS = tuple(all_subsets(NAMES))


def scores_of(own, cross, latent_own=0.5, latent_cross=0.5):
    """Scores with one number for each group, but for the coherence of "s", which stays."""
    coherence = {(given, d): 0.5 for given in SUBSETS for d in NAMES}
    coherence |= {(("m",), "m"): own, (("s",), "m"): cross}
    latent = [[latent_own if i == j else latent_cross for j in range(3)] for i in range(3)]
    return MultimodalScores(NAMES, SUBSETS, dict.fromkeys(SUBSETS, 1.0), coherence, 0.5, tuple(map(tuple, latent)))


def test_relative_improvement_and_counts_choose_differently():
    plain = ("X", "vanilla", [scores_of(0.5, 0.5)])
    one_leap = ("X", "leap", [scores_of(0.4, 1.0, 0.45, 0.45)])
    many_steps = ("X", "steps", [scores_of(0.51, 0.51, 0.51, 0.51)])
    assert select([plain, one_leap, many_steps], "relative") == "leap"
    assert select([plain, one_leap, many_steps], "count") == "steps"


def test_improvements_are_relative():
    plain = ("X", "vanilla", [scores_of(0.1, 0.8)])
    of_little = ("X", "of little", [scores_of(0.15, 0.8)])  # 50 % better
    of_much = ("X", "of much", [scores_of(0.1, 0.9)])  # twice as much, but 12.5 % better
    assert select([plain, of_much, of_little], "relative") == "of little"


def test_groups_have_equal_weight():
    # latent cross has 6 cells, self coherence 2: a loss of 10 % there is outweighed by a gain of 30 % for "m" here
    plain = ("X", "vanilla", [scores_of(0.5, 0.5)])
    ours = ("X", "ours", [scores_of(0.65, 0.5, 0.5, 0.45)])
    nothing = ("X", "nothing", [scores_of(0.5, 0.5)])
    assert select([plain, ours, nothing], "relative") == "ours"
    assert select([plain, nothing, ours], "count") == "nothing"


def test_means_over_seeds_are_compared():
    plain = ("X", "vanilla", [scores_of(0.5, 0.5), scores_of(0.3, 0.5)])
    one = ("X", "one", [scores_of(0.9, 0.5), scores_of(0.1, 0.5)])
    two = ("X", "two", [scores_of(0.4, 0.5), scores_of(0.4, 0.5)])
    assert select([plain, two, one], "relative") == "one"


def test_unknown_scores_are_left_out():
    plain = ("X", "vanilla", [scores_of(0.0, math.nan)])
    ours = ("X", "ours", [scores_of(0.9, 0.9)])
    assert select([plain, ours], "relative") == "ours"


@pytest.mark.parametrize(
    ("results", "rule", "message"),
    [
        ([("X", "vanilla"), ("X", "a")], "best", "rule should be 'relative' or 'count'. Found 'best'"),
        ([("X", "vanilla"), ("Y", "a")], "count", "results should be of one model"),
        ([("X", "vanilla"), ("X", "vanilla")], "count", "with different methods"),
        ([("X", "a"), ("X", "b")], "count", "results should have 'vanilla' and another method. Found a, b"),
        ([("X", "vanilla")], "count", "and another method"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(results, rule, message):
    with pytest.raises(ValueError, match=message):
        select([(*result, [scores_of(0.5, 0.5)]) for result in results], rule)


def test_nothing_to_compare():
    empty = MultimodalScores(NAMES, SUBSETS, dict.fromkeys(SUBSETS, 1.0))
    with pytest.raises(ValueError, match="results should have coherence or latent classification"):
        select([("X", "vanilla", [empty]), ("X", "a", [empty])], "count")


def test_labels_of_impartiality():
    assert impartiality_label({"goals": [], "method": "cagrad", "alpha": 0.4}) == "vanilla"
    assert impartiality_label({"goals": ["LI", "EEI"], "method": "cagrad", "alpha": 10.0}) == "CG (α=10), LI + EEI"
    assert impartiality_label({"goals": ["LI"], "method": "gradnorm", "alpha": 0.5}) == "GN (α=0.5), LI"


def mixture(goals, seed, own, validation=None, experts="mmvae", objective="siwae"):
    report = multimodal_report(goals, seed)
    report["config"] |= {"model": {"experts": experts}, "objective": {"name": objective}}
    report["scores"] = scores_of(own, 0.5).to_dict()
    report["validation"] = None if validation is None else scores_of(validation, 0.5).to_dict()
    return report


def test_results_by_model_and_method():
    reports = [
        mixture(["LI"], 1, 0.4), mixture(["LI"], 0, 0.3), mixture([], 0, 0.2), mixture([], 0, 0.1, experts="mvae"),
        mixture([], 0, 0.9, objective="elbo"), table_report(),
    ]  # fmt: skip
    found = multimodal_results(reports, "siwae")
    labels = [("MVAE", "vanilla"), ("MMVAE", "vanilla"), ("MMVAE", "CG (α=0.4), LI")]
    assert [result[:2] for result in found] == labels
    assert [scores.coherence[("m",), "m"] for scores in found[-1][2]] == [0.3, 0.4]
    assert multimodal_results(reports, "siwae", data="digits_in_three") == []


def test_a_seed_counts_once():
    with pytest.raises(ValueError, match="reports should have one of mnist_svhn_text-.*-0. Found two"):
        multimodal_results([mixture([], 0, 0.2), mixture([], 0, 0.3)], "siwae")


def test_seeds_have_the_same_settings():
    reports = [mixture([], 0, 0.2), mixture([], 1, 0.3)]
    reports[1]["config"]["training"]["epochs"] = 60
    message = "of MMVAE, vanilla should differ in their seeds only. .*-1 differs in training.epochs; take it away"
    with pytest.raises(ValueError, match=message):
        multimodal_results(reports, "siwae")
    plain, ours = reports
    ours["config"]["impartial"]["goals"] = ["LI"]
    assert len(multimodal_results([plain, ours], "siwae")) == 2


def test_methods_are_chosen_on_validation_rows():
    reports = [
        mixture([], 0, 0.5, 0.5), mixture(["LI"], 0, 0.6, 0.9), mixture(["LI", "EEI"], 0, 0.9, 0.6),
        mixture([], 0, 0.5, experts="mopoe"), mixture(["LI"], 0, 0.5, experts="mopoe"),
    ]  # fmt: skip
    chosen = chosen_results(reports, "siwae")
    assert [result[1] for result in chosen] == ["vanilla", "CG (α=0.4), LI"] * 2
    assert chosen[1][2][0].coherence[("m",), "m"] == 0.6  # what is shown are test rows


def test_a_method_with_fewer_seeds_was_tried_and_is_not_chosen():
    """Its mean over two lucky seeds would stand beside plain training's over five."""
    reports = [mixture([], seed, 0.5, 0.5) for seed in (0, 1)]
    reports += [mixture(["LI"], seed, 0.6, 0.6) for seed in (0, 1)]
    reports += [mixture(["LI", "EEI"], 0, 0.9, 0.9)]
    assert [result[1] for result in chosen_results(reports, "siwae")] == ["vanilla", "CG (α=0.4), LI"]
    unfinished = [
        report
        for report in reports
        if report["config"]["training"]["seed"] == 0 or not report["config"]["impartial"]["goals"]
    ]
    assert [result[1] for result in chosen_results(unfinished, "siwae")] == ["vanilla", "CG (α=0.4), LI + EEI"]


def test_a_method_with_fewer_seeds_is_chosen_where_the_finished_ones_do_harm():
    reports = [mixture([], seed, 0.5, 0.5) for seed in (0, 1)]
    reports += [mixture(["LI", "EEI"], seed, 0.4, 0.4) for seed in (0, 1)]
    reports += [mixture(["LI"], 0, 0.6, 0.6)]
    assert [result[1] for result in chosen_results(reports, "siwae")] == ["vanilla", "CG (α=0.4), LI"]
    for report in reports:  # by counts, harm is what more than half of the metrics tell
        report["config"]["model"] = {"experts": "mvae"}
    for report in reports[2:4]:
        report["validation"] = scores_of(0.4, 0.4, 0.4, 0.4).to_dict()
    assert [result[1] for result in chosen_results(reports, "siwae")] == ["vanilla", "CG (α=0.4), LI"]


def test_no_choice_without_validation_rows():
    reports = [mixture([], 0, 0.5), mixture(["LI"], 0, 0.6), mixture(["LI", "EEI"], 0, 0.9)]
    with pytest.raises(ValueError, match="should have validation scores to choose a method by. Found none"):
        chosen_results(reports, "siwae")


def test_mvae_is_chosen_by_counts():
    reports = [mixture(goals, 0, 0.5, 0.5, experts="mvae") for goals in ([], ["LI"], ["LI", "EEI"])]
    for report, scores in zip(reports[1:], (scores_of(0.4, 1.0, 0.45, 0.45), scores_of(0.5, 0.5)), strict=True):
        report["validation"] = scores.to_dict()
    assert chosen_results(reports, "siwae")[1][1] == "CG (α=0.4), LI + EEI"
    for report in reports:
        report["config"]["model"] = {"experts": "mmvae"}
    assert chosen_results(reports, "siwae")[1][1] == "CG (α=0.4), LI"

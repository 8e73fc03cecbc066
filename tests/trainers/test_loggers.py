"""What a monitor logs can be read back from TensorBoard, W&B and MLflow."""

import json

import pytest
import torch

from evenhand.impartial import Block, Monitor, Sum

STEPS = (10, 20)


def train(log):
    """Two recorded steps; what was logged, by name."""
    block = Block(Sum())
    monitor = Monitor({"y": block}, heads=["age", "region"], log=log)
    written = {}
    for step in STEPS:
        y = torch.zeros(3, requires_grad=True)
        torch.autograd.backward(block(y, 2), [torch.randn(3), step * torch.randn(3)])
        monitor.record(step)
        for name, number in monitor.latest().items():
            written.setdefault(name, []).append((step, number))
    assert len(written) == 10
    return written


def assert_same(read, written):
    assert read.keys() == written.keys()
    for name, rows in written.items():
        assert [step for step, _ in read[name]] == list(STEPS)
        assert [x for _, x in read[name]] == pytest.approx([x for _, x in rows], rel=1e-6)


@pytest.mark.filterwarnings("ignore")  # what tensorboard says about itself
def test_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        written = train(writer)
    events = EventAccumulator(str(tmp_path)).Reload()
    read = {name: [(e.step, e.value) for e in events.Scalars(name)] for name in events.Tags()["scalars"]}
    assert_same(read, written)


@pytest.mark.filterwarnings("ignore")  # what W&B says about itself; its reader leaves the file open
def test_wandb_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")  # nothing is sent anywhere
    import wandb

    quiet = wandb.Settings(console="off", silent=True, x_disable_stats=True, disable_git=True)
    with wandb.init(mode="offline", dir=tmp_path, project="evenhand", settings=quiet) as run:
        written = train(run.log)
    wandb.teardown()  # its own process writes the file, and may do so after the run has ended
    assert_same(read_offline_run(run.settings.sync_file), written)


def read_offline_run(file):
    """Every number of the history by name, as `wandb sync` would send it."""
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    store, read = DataStore(), {}
    store.open_for_scan(file)
    while (data := store.scan_data()) is not None:
        history = Record.FromString(data).history
        for item in history.item:
            if not item.nested_key[0].startswith("_"):  # time and step, which W&B adds
                read.setdefault(item.nested_key[0], []).append((history.step.num, json.loads(item.value_json)))
    return read


@pytest.mark.filterwarnings("ignore")  # what MLflow says about itself
def test_mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # its database needs more packages
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    import mlflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        written = train(mlflow.log_metrics)
    client = mlflow.MlflowClient()
    names = client.get_run(run.info.run_id).data.metrics
    read = {n: [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, n)] for n in names}
    assert_same(read, written)

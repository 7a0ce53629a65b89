#!/usr/bin/python3
"""Weights to and from PyTorch: torch_interop.py PEER (the program of torch_peer.c) TOOL (douzero.py).

The model of the original system is written down here as its paper and state_dict say: an LSTM over
the history whose last output goes, in front of state and action, through six linear layers. Files
that we write must load into it (load_state_dict, strict) and give our values to 1e-5, in every dtype;
checkpoints of it must come back the same. Exit code 77: PyTorch is not installed.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError as e:
    print(f"skipped: no PyTorch for {sys.executable} ({e}); apt-get install python3-torch")
    sys.exit(77)

SEATS = {"landlord": 373, "landlord_down": 484, "landlord_up": 484}
PEER, TOOL = sys.argv[1:3]


class Model(torch.nn.Module):
    def __init__(self, x_dim):
        super().__init__()
        self.lstm = torch.nn.LSTM(162, 128, batch_first=True)
        widths = [128 + x_dim] + 5 * [512] + [1]
        for k in range(6):
            setattr(self, f"dense{k + 1}", torch.nn.Linear(widths[k], widths[k + 1]))

    def forward(self, z, x):
        steps, _ = self.lstm(z)
        y = torch.cat([steps[:, -1, :], x], dim=-1)
        for k in range(1, 6):
            y = torch.relu(getattr(self, f"dense{k}")(y))
        return self.dense6(y)[:, 0]


def run(*command, ok=True):
    done = subprocess.run(command, capture_output=True, text=True)
    if (done.returncode == 0) != ok:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def features(folder, seat):
    def read(suffix):
        with open(os.path.join(folder, f"{seat}.{suffix}"), "rb") as f:
            return torch.frombuffer(bytearray(f.read()), dtype=torch.float32)
    return read("z").reshape(-1, 5, 162), read("x").reshape(-1, SEATS[seat])


def our_values(path):
    values = {}
    for line in run(PEER, "values", path).stdout.splitlines():
        seat, q = line.split()
        values.setdefault(seat, []).append(float(q))
    return values


def compare(what, folder, models, path):
    """The models' values against ours of the weights in path."""
    ours, worst = our_values(path), 0
    if set(ours) != set(models):
        sys.exit(f"{what}: seats {sorted(ours)}, not {sorted(models)}")
    for seat, model in models.items():
        z, x = features(folder, seat)
        with torch.no_grad():
            theirs = model(z, x)
        difference = (theirs - torch.tensor(ours[seat])).abs().max().item()
        spread = theirs.std().item()
        if len(ours[seat]) != len(theirs) or not spread > 1e-4:
            sys.exit(f"{what}: {seat}: {len(ours[seat])} values with a spread of {spread}")
        worst = max(worst, difference)
    print(f"{what}: {len(ours)} seats, largest difference {worst:.2g}")
    if not worst < 1e-5:
        sys.exit(f"{what}: values differ")


def load_models(state_dicts):
    models = {}
    for seat, state in state_dicts.items():
        models[seat] = Model(SEATS[seat])
        models[seat].load_state_dict(state, strict=True)
    return models


def main():
    spec = importlib.util.spec_from_file_location("douzero", TOOL)
    douzero = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(douzero)
    with tempfile.TemporaryDirectory() as folder:
        path = lambda *names: os.path.join(folder, *names)
        run(PEER, "write", folder)

        for dtype in ("fp32", "bf16", "int8"):  # ours -> theirs
            states, metadata = douzero.read_weights(path(dtype))
            assert metadata["command"] == "torch_peer", metadata
            compare(f"written by us, {dtype}", folder, load_models(states), path(dtype))

        run(sys.executable, TOOL, "export", path("fp32"), "-o", path("theirs"))
        checkpoints = [path("theirs", f"{seat}.ckpt") for seat in SEATS]
        states = {s: torch.load(c) for s, c in zip(SEATS, checkpoints)}
        compare("exported", folder, load_models(states), path("fp32"))
        run(sys.executable, TOOL, "import", *checkpoints, "-o", path("back"))
        again, _ = douzero.read_weights(path("back"))
        for seat in SEATS:  # export and import change no bit
            assert all(torch.equal(again[seat][n], t) for n, t in states[seat].items()), seat

        models = {seat: Model(x_dim) for seat, x_dim in SEATS.items()}  # theirs -> ours
        for seat, model in models.items():
            torch.save(model.state_dict(), path(f"{seat}_weights_123456.ckpt"))
        files = [path(f"{seat}_weights_123456.ckpt") for seat in SEATS]
        run(sys.executable, TOOL, "import", *files, "-o", path("imported"), "--objective", "adp")
        compare("written by PyTorch", folder, models, path("imported"))
        torch.save({"model_state_dict": {s: m.state_dict() for s, m in models.items()},
                    "frames": 3200}, path("model.tar"))
        run(sys.executable, TOOL, "import", path("model.tar"), "-o", path("tar"))
        compare("a training checkpoint", folder, models, path("tar"))

        peasant = path("landlord_up_weights_123456.ckpt")  # what must be refused
        assert "dense1.weight has shape" in run(
            sys.executable, TOOL, "import", f"landlord={peasant}", "-o", path("no"), ok=False).stderr
        assert "not a PyTorch checkpoint" in run(
            sys.executable, TOOL, "import", f"landlord={path('fp32')}", "-o", path("no"), ok=False).stderr
        os.rename(peasant, path("unnamed"))
        assert "which seat" in run(
            sys.executable, TOOL, "import", path("unnamed"), "-o", path("no"), ok=False).stderr
        assert not os.path.exists(path("no"))


main()
print("ok")

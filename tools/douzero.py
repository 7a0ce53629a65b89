#!/usr/bin/python3
"""Converts the weights of DouZero (https://github.com/kwai/DouZero) to ours and back.

  tools/douzero.py import landlord.ckpt landlord_up.ckpt landlord_down.ckpt -o w.safetensors
  tools/douzero.py import model.tar -o w.safetensors       a training checkpoint, all three seats
  tools/douzero.py export w.safetensors -o DIRECTORY       writes DIRECTORY/SEAT.ckpt

A .ckpt file is a PyTorch state_dict of one seat, named by the file: the longest seat name that the
file's name begins with, or SEAT=FILE. Needs PyTorch (Debian: python3-torch), nothing else.
The format of our file is in docs/weights.md.
"""
import argparse
import json
import os
import struct
import sys

import torch

SEATS = ("landlord", "landlord_down", "landlord_up")
DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "I8": torch.int8}


class Refused(Exception):
    """What is wrong with a file, in one line."""


def shapes(seat):
    """Tensor name -> shape, in the order of the state_dict."""
    state = 319 if seat == "landlord" else 430
    result = {"lstm.weight_ih_l0": (512, 162), "lstm.weight_hh_l0": (512, 128),
              "lstm.bias_ih_l0": (512,), "lstm.bias_hh_l0": (512,)}
    widths = [128 + state + 54, 512, 512, 512, 512, 512, 1]
    for k in range(6):
        result[f"dense{k + 1}.weight"] = (widths[k + 1], widths[k])
        result[f"dense{k + 1}.bias"] = (widths[k + 1],)
    return result


def check_seat(seat, tensors, what):
    """The tensors in order, as float32; they must be exactly those of the seat's net."""
    want = shapes(seat)
    for name in tensors:
        if name not in want:
            raise Refused(f"{what}: tensor {name} belongs to no net of {seat}")
    result = {}
    for name, shape in want.items():
        if name not in tensors:
            raise Refused(f"{what}: tensor {name} is missing")
        tensor = tensors[name]
        if tuple(tensor.shape) != shape:
            raise Refused(f"{what}: tensor {name} has shape {list(tensor.shape)}, not {list(shape)}")
        result[name] = tensor.detach().to("cpu", torch.float32).contiguous()
        if not torch.isfinite(result[name]).all():
            raise Refused(f"{what}: tensor {name} is not finite")
    return result


def read_weights(path):
    """Seat -> state_dict (float32), and the metadata, of a weights file in any of its dtypes."""
    with open(path, "rb") as f:
        raw = f.read()
    if len(raw) < 8 or struct.unpack("<Q", raw[:8])[0] > len(raw) - 8:
        raise Refused(f"{path}: not a safetensors file")
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    metadata = header.pop("__metadata__", {})
    data = bytearray(raw[8 + length:])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] not in DTYPES:
            raise Refused(f"{path}: tensor {name} has dtype {entry['dtype']}")
        flat = torch.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"]).float()
    for name in [n for n in tensors if n.endswith(".scale")]:
        tensors[name[:-len(".scale")]] *= tensors.pop(name)[:, None]
    seats = {}
    for name, tensor in tensors.items():
        seat, _, rest = name.partition(".")
        if seat not in SEATS:
            raise Refused(f"{path}: tensor {name} belongs to no seat")
        seats.setdefault(seat, {})[rest] = tensor
    return {s: check_seat(s, t, path) for s, t in seats.items()}, metadata


def write_weights(path, seats, metadata):
    """A float32 file without our checksum."""
    header, blocks, at = {"__metadata__": metadata}, [], 0
    for seat in SEATS:
        for name, tensor in seats.get(seat, {}).items():
            block = tensor.numpy().astype("<f4").tobytes()
            header[f"{seat}.{name}"] = {"dtype": "F32", "shape": list(tensor.shape),
                                        "data_offsets": [at, at + len(block)]}
            blocks.append(block)
            at += len(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    temporary = f"{path}.tmp-{os.getpid()}"
    with open(temporary, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blocks))
        f.flush()
        os.fsync(f.fileno())
    os.replace(temporary, path)


def seat_of(argument):
    """(seat, path) of `SEAT=FILE` or of a file whose name begins with a seat."""
    seat, equals, path = argument.partition("=")
    if equals and seat in SEATS:
        return seat, path
    base = os.path.basename(argument)
    named = [s for s in SEATS if base.startswith(s)]
    return (max(named, key=len) if named else None), argument


def load_checkpoint(path):
    """Only tensors and plain containers are unpickled: a checkpoint from a stranger runs no code."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as e:
        raise Refused(f"{path}: not a PyTorch checkpoint ({str(e).splitlines()[0]})") from e


def do_import(args):
    seats, frames = {}, 0
    for argument in args.files:
        seat, path = seat_of(argument)
        content = load_checkpoint(path)
        if not isinstance(content, dict):
            raise Refused(f"{path}: not a state_dict")
        if "model_state_dict" in content:
            found = content["model_state_dict"]
            frames = int(content.get("frames", 0))
        elif seat:
            found = {seat: content}
        else:
            raise Refused(f"{path}: which seat? Name it SEAT=FILE, SEAT one of {', '.join(SEATS)}")
        for s, tensors in found.items():
            if s not in SEATS or s in seats:
                raise Refused(f"{path}: seat {s} is unknown or given twice")
            seats[s] = check_seat(s, tensors, path)
    write_weights(args.out, seats, {
        "format": "pt", "features": "douzero", "ruleset": "douzero", "objective": args.objective,
        "frames": str(frames), "command": "tools/douzero.py import"})
    print(f"{args.out}: {', '.join(s for s in SEATS if s in seats)}")


def do_export(args):
    seats, _ = read_weights(args.file)
    os.makedirs(args.out, exist_ok=True)
    for seat, tensors in seats.items():
        path = os.path.join(args.out, f"{seat}.ckpt")
        torch.save(tensors, path)
        print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    to_ours = commands.add_parser("import", help="DouZero's checkpoints to one weights file")
    to_ours.add_argument("files", nargs="+", metavar="[SEAT=]FILE")
    to_ours.add_argument("-o", "--out", required=True, metavar="FILE")
    to_ours.add_argument("--objective", choices=("wp", "adp", "logadp"), default="wp",
                         help="what they were trained for (default wp)")
    to_theirs = commands.add_parser("export", help="a weights file to DouZero's checkpoints")
    to_theirs.add_argument("file", metavar="FILE")
    to_theirs.add_argument("-o", "--out", required=True, metavar="DIRECTORY")
    args = parser.parse_args()
    try:
        (do_import if args.command == "import" else do_export)(args)
    except (Refused, OSError) as e:
        print(e, file=sys.stderr)
        return 1
    except (ValueError, KeyError, TypeError) as e:
        print(f"damaged weights file: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

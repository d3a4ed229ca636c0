#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures, sounds and texts of examples/data/: needed only to change them, never to build, test or run.

Needs Debian's python3-pil, python3-numpy, fonts-dejavu-core and espeak-ng. The same versions of these give the same bytes.
Writes the files and examples/data/truth.json, which the tests compare with; README.md is written by hand.
"""
import io
import json
import subprocess
import wave
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

OUT = Path(__file__).resolve().parent.parent / "examples" / "data"
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
LINES = [("Fresh bread daily", 34), ("Open from 7 to 18", 30), ("Two rolls: 1.60 EUR", 32)]
SIZE = (448, 256)  # sides are multiples of 32, so the detector needs no resizing
RATE = 16000
SENTENCES = ["Warm bread will be ready soon.", "Seven ships sailed away."]
SILENCES = [0.6, 0.9, 0.7]  # seconds before, between and after


def page():
    picture = Image.new("RGB", SIZE, (250, 248, 240))
    draw = ImageDraw.Draw(picture)
    y = 32
    for text, size in LINES:
        font = ImageFont.truetype(FONT, size)
        draw.text((36, y), text, font=font, fill=(28, 30, 40))
        y += 70
    picture.save(OUT / "page.png", optimize=True)
    return [text for text, _ in LINES]


def spoken(text):
    """espeak-ng's voice, at RATE, with the silence at both ends cut off."""
    data = subprocess.run(["espeak-ng", "-v", "en-us", "-s", "150", "-a", "120", "--stdout", text], check=True,
                          capture_output=True).stdout
    # espeak-ng writes to a pipe with sizes of "unknown": the samples follow the 44 bytes of the header.
    rate = int.from_bytes(data[24:28], "little")
    sound = np.frombuffer(data[44:len(data) // 2 * 2], dtype="<i2").astype(np.float64)
    # Low-pass by a windowed sinc at 0.45 of the new rate, evaluated at the new times.
    times = np.arange(int(len(sound) * RATE / rate)) * rate / RATE
    reach, cut = 32, 0.9 * RATE / rate
    out = np.zeros(len(times))
    for k in range(-reach, reach + 1):
        index = np.floor(times).astype(int) + k
        distance = times - index
        weight = cut * np.sinc(cut * distance) * (0.5 + 0.5 * np.cos(np.pi * np.clip(distance / (reach + 1), -1, 1)))
        out += np.where((index >= 0) & (index < len(sound)), sound[np.clip(index, 0, len(sound) - 1)], 0) * weight
    loud = np.nonzero(np.abs(out) > 200)[0]
    return out[loud[0]:loud[-1] + 1]


def speech():
    random = np.random.RandomState(7)
    parts, segments, at = [], [], 0
    for i, silence in enumerate(SILENCES):
        parts.append(np.zeros(int(silence * RATE)))
        at += len(parts[-1])
        if i < len(SENTENCES):
            voice = spoken(SENTENCES[i])
            segments.append([round(at / RATE, 3), round((at + len(voice)) / RATE, 3)])
            parts.append(voice)
            at += len(voice)
    sound = np.concatenate(parts)
    sound += random.normal(0, 6, len(sound))  # a room is never quite silent
    samples = np.clip(np.rint(sound), -32768, 32767).astype("<i2")
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())
    (OUT / "speech16k.wav").write_bytes(content.getvalue())
    return {"rate": RATE, "frames": len(samples), "segments": segments, "sentences": SENTENCES}


PYTHON = '''#!/usr/bin/env python3
"""Prints how full a bakery's shelves are, from a list of deliveries and sales."""
import argparse
import csv
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Shelf:
    name: str
    loaves: int = 0
    history: list = field(default_factory=list)

    def put(self, count, day):
        if count < 0:
            raise ValueError(f"{self.name}: cannot put {count} loaves")
        self.loaves += count
        self.history.append((day, count))

    def take(self, count, day):
        taken = min(count, self.loaves)
        self.loaves -= taken
        self.history.append((day, -taken))
        return taken


def read_rows(path):
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            yield row["day"], row["shelf"], int(row["loaves"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="CSV files with the columns day, shelf, loaves")
    arguments = parser.parse_args()
    shelves = defaultdict(lambda: Shelf("unnamed"))
    for path in arguments.files:
        for day, name, loaves in read_rows(path):
            shelf = shelves[name]
            shelf.name = name
            if loaves >= 0:
                shelf.put(loaves, day)
            else:
                shelf.take(-loaves, day)
    for name in sorted(shelves):
        print(f"{name:20} {shelves[name].loaves:6d}")


if __name__ == "__main__":
    main()
'''

TEXT = """The miller and the three winds

There was once a miller whose mill stood on a low hill beside the sea. When the wind came from the west it brought rain, and
the sails turned so fast that the flour came out warm. When it came from the north it brought cold, and the sails turned
slowly and evenly, and the bread of those days was the best in the country. But when it came from the east it brought
nothing at all, and the mill stood still.

One spring the east wind stayed for seven weeks. The miller sat in front of his door, and the neighbours came with their
sacks and went away with them again. On the last day of the seventh week an old woman came up the hill with a very small bag.
She asked him to grind it. He said that he was sorry, but there was no wind for it.

"Then let us wait together," said the woman, and sat down beside him. They spoke about the weather, about the harvest, and
about her grandchildren, of whom there were eleven. Towards the evening the leaves of the poplar began to move. The miller
stood up and listened. The wind had turned to the north.

He ground her bag first. It held no more than two handfuls of rye, and she paid him with a story, which is this one.
"""


def texts():
    (OUT / "shelves.py").write_text(PYTHON)
    (OUT / "story.txt").write_text(TEXT)
    cities = ["Aarhus", "Bremen", "Cork", "Delft", "Evora", "Funchal", "Ghent", "Hamar", "Izola", "Jelgava", "Kotka", "Lund"]
    rows = [{"id": 100 + i, "city": city, "loaves": 17 * i % 43 + 5, "fresh": i % 3 != 0,
             "price": {"amount": round(1.2 + 0.35 * (i % 5), 2), "currency": "EUR"}} for i, city in enumerate(cities)]
    (OUT / "orders.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"shelves.py": "python", "orders.jsonl": "jsonl", "story.txt": "txt"}


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    truth = {"page.png": {"lines": page()}, "speech16k.wav": speech(), "types": texts()}
    (OUT / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    for path in sorted(OUT.iterdir()):
        print(f"{path.stat().st_size:8d}  {path.name}")


if __name__ == "__main__":
    main()

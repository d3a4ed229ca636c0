#!/usr/bin/env python3
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

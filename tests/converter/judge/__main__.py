"""``python -m tests.converter.judge model 0 1000``: trials of a kind, from a number on, so many."""

import sys

from tests.converter.judge.agreement import verdict


def main() -> None:
    what, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    both = disagreements = 0
    for number in range(first, first + count):
        try:
            found = verdict(what, number)
        except Exception as error:  # the next trial may go on
            print(f"{what} {number}: {type(error).__name__}: {error}", flush=True)
            disagreements += 1
            continue
        both += found.agrees and bool(found.judged)
        if not found.agrees:
            disagreements += 1
            print(f"{what} {number}: {found.trial}", flush=True)
            for line in found.judged:
                print(f"    the product: {line}", flush=True)
            for line in found.seen:
                print(f"    the tests: {line}", flush=True)
    print(f"{count} trials of a {what} from {first} on: {disagreements} disagreements, {both} seen by both")


if __name__ == "__main__":
    main()

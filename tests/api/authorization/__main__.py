"""Command that records the matrix from Apache Kafka, or shows how Dray differs.

python -m tests.api.authorization --record [API …]     record the answers of Kafka again
python -m tests.api.authorization [API …]              show the differences of Dray
"""

import argparse
import logging
import sys
import tempfile
from pathlib import Path

from tests.api.authorization.comparing import contradictions_of
from tests.api.authorization.golden_files import path_of
from tests.api.authorization.playing import APIS
from tests.api.authorization.recording import recorded


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.api.authorization",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("apis", nargs="*", help="names of APIs; all by default")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--record", action="store_true", help="record the answers of Kafka again")
    action.add_argument("--verify", action="store_true", help="record, and only show what has changed")
    options = parser.parse_args()
    apis = options.apis or list(APIS)
    if options.record or options.verify:
        with tempfile.TemporaryDirectory() as directory:
            for api, text in recorded(Path(directory), apis):
                changed = not path_of(api).exists() or path_of(api).read_text() != text
                sys.stdout.write(f"{api}: {'changed' if changed else 'as before'}\n")
                if options.record:
                    path_of(api).write_text(text)
        return
    logging.disable()  # the audit log has a line for each denial
    for api in apis:
        for found in contradictions_of(api):
            if not found.explained:
                sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main()

"""Whether a transaction whose COMMIT failed has happened.

The commit with the transaction's first revision bears its id, or it did not happen. After a failed sync the
log may still hold the whole transaction, unseen, and a recovery after a crash would bring it back; so it is
fenced by a commit of our own, which is written over it. A fence that fails leaves the doubt as it was.
"""

import apsw

from dray.meta.port import OutcomeUnknown
from dray.meta.sqlite.errors import left_no_commit
from dray.meta.sqlite.schema import rows
from dray.meta.sqlite.transaction import CommitInDoubt, Stamp


def find_or_fence(db: apsw.Connection, doubt: CommitInDoubt, stamp: Stamp) -> bool:
    """Return whether it happened; if not, it never will. Raises `apsw.Error` or `OutcomeUnknown`."""
    if doubt.first_revision is None:
        return False
    rows(db, "BEGIN IMMEDIATE")
    happened = _find(db, doubt.first_revision, stamp.transaction_id)
    if happened or left_no_commit(doubt.error):
        rows(db, "ROLLBACK")
    else:
        rows(db, "UPDATE state SET revision = max(revision, ?)", (doubt.first_revision,))
        rows(db, "COMMIT")
    return happened


def _find(db: apsw.Connection, revision: int, transaction_id: bytes) -> bool:
    if rows(db, "SELECT 1 FROM state WHERE forgotten >= ?", (revision,)):
        raise OutcomeUnknown(f"the commits up to revision {revision} have been forgotten meanwhile")
    found = rows(db, "SELECT transaction_id FROM commits WHERE revision = ?", (revision,))
    return found == [(transaction_id,)]

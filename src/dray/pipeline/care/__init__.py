"""What looks after tables between the rounds: others may change, drop and roll back tables, and delete files.

care           what is done when: before and after a turn of the compactor, and before and after a round
upkeep         snapshots are expired, and files that nothing names any more deleted
table_files    what is in a table's own folder
detach         files that the log has given up leave the table
asking         files that are about to be deleted: does a table name them again?
departed       what topics that are no more have left
rebuild        a table that somebody has dropped is made again
missing        Parquet files that the index names and the store does not have
notes          what readers say that they have missed
repair         those files are written again from the rows that the table still has
foreign_rows   our records in a file that another engine has written
differences    what a table has otherwise than the index, and what of that can be put right; pure
audit          those differences are looked for, put right or told
stored_values  values of the metadata store, of which one that cannot be read holds up no other

The index is the truth, and what others have done to a table on purpose stays. So nothing is changed here that
would change a row of somebody's, and what cannot be mended is told. Rounds know nothing of all this.
"""

"""Backups of the metadata store: to a file or to the object store, and back into any empty store.

contents            what a backup contains, and in which order the domains are read
save                one backup, from a snapshot of the store to a file or to objects
places              where backups are: files, and the folder of backups in the object store
restore, commits    a backup written into an empty store, so that a kill at any point is harmless
reading             frames of a backup
verify, value_types checks of a backup: structure, and every value by the key family that it belongs to
continuous          backups at an interval, by one broker of the cluster
metrics             of the continuous backups

docs/decisions/0031-metadata-backups.md has the reasons.
"""
